/* run.c - executes a plan: one parallel region in which the workers walk the steps together.
 *
 * A step that is shared has a barrier before and after it; consecutive steps that are not run on worker 0 without
 * meeting. When no step is shared the calling thread runs everything and no worker wakes.
 *
 * A step of a decoder reads its weights from memory at full speed, and then memory rests while workers wait for each
 * other, or for worker 0 and its small steps. So who waits asks for the first weights that it will read next. */
#include <inttypes.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/status.h"
#include "devices/trace_step.h"
#include "devices/cpu/cpu.h"
#include "kernels/kernel.h"

typedef struct run {
    tern__device *device;
    const tern__plan *plan;
    uint32_t first, end;         /* steps to be run */
    const tern__buffer *buffers; /* (n_operands) */
    char *arena;
    uint64_t *step_ns; /* (n_steps) or NULL */
    tern__stop stop;
    _Atomic(int) failed; /* set once, by the first worker that fails */
    tern_status status;  /* of that worker */
    const tern__step *step;
    tern__fault fault;
} run;

static void fill_buffers(const tern__plan *plan, const tern__bindings *bindings, tern__buffer *buffers)
{
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        const tern__operand *operand = &plan->operands[i];
        char *base = tern__base_of(bindings, operand->space, operand->index);
        /* A view may start before the part of a state's memory that the leaf is: offsets are signed there. What another partition
         * has in its own memory has no address here. */
        buffers[i] = (tern__buffer){.data = base ? base + (ptrdiff_t)operand->byte_offset : NULL,
                                    .type = operand->type,
                                    .strides = operand->strides};
    }
}

/* What worker 0 has when `turn` steps have been shared before. */
static tern__cpu_claim *claims_of(const run *r, uint32_t turn)
{
    return r->device->claims + turn % 2 * (uint32_t)r->plan->workers;
}

static void set_back(tern__cpu_claim *claim)
{
    atomic_store_explicit(&claim->next, 0, memory_order_relaxed);
}

/* What a worker sees at the time `*at`, which moves on to the end of the event: the next one begins there, and the clock is
 * read once for both. 0: nobody records. `parts` 0: none of the step's work, which is counted already. */
static inline void trace_step(const run *r, uint32_t number, const char *wait, int parts, uint64_t *at)
{
    if (!TERN__UNLIKELY(*at != 0))
        return;
    tern__trace_what what = tern__trace_of_step(r->plan, number);
    what.name = wait ? wait : what.name;
    what.category = wait ? "wait" : what.category;
    what.flops = parts ? what.flops / (uint64_t)parts : 0;
    what.bytes = parts ? what.bytes / (uint64_t)parts : 0;
    *at = tern__trace_record(*at, &what);
}

static void trace_run(const run *r, int worker, uint64_t start)
{
    if (TERN__UNLIKELY(start != 0))
        tern__trace_record(start, &(tern__trace_what){.name = "run",
                                                      .category = "run",
                                                      .program = r->plan->number,
                                                      .step = (uint32_t)worker});
}

static tern__cpu_work work_of(const run *r, const tern__step *step, int parts)
{
    const tern__buffer *operands = r->buffers + step->operands;
    char *scratch = r->arena ? r->arena + step->scratch_offset : NULL; /* a plan without any has no arena */
    return (tern__cpu_work){.kernel = step->kernel,
                            .args = {.n_in = (int)step->n_in,
                                     .n_out = (int)step->n_out,
                                     .in = operands,
                                     .out = operands + step->n_in,
                                     .attrs = step->attrs,
                                     .program = step->program,
                                     .shared = step->shared_bytes ? scratch : NULL},
                            .items = step->work,
                            .parts = parts,
                            .stop = r->stop,
                            .scratch = step->scratch_bytes ? scratch + step->shared_bytes : NULL,
                            .scratch_stride = step->scratch_bytes};
}

/* `claims` and `next`, which will be read after it, may be NULL. */
static void run_part(run *r, uint32_t number, bool finishing, int part, int parts, tern__cpu_claim *claims,
                     const void *next, uint64_t *at)
{
    const tern__step *step = &r->plan->steps[number];
    tern__cpu_work work = work_of(r, step, parts);
    work.claims = claims;
    work.next = next;
    tern__fault fault;
    tern_status status = tern__cpu_run_part(r->device, &work, finishing, part, &fault);
    if (TERN__UNLIKELY(status != TERN_OK)) {
        int expected = 0;
        if (atomic_compare_exchange_strong(&r->failed, &expected, 1)) {
            r->status = status;
            r->step = step;
            r->fault = fault;
        }
    }
    trace_step(r, number, NULL, finishing ? 0 : parts, at);
}

static bool stopped(run *r)
{
    return TERN__UNLIKELY(atomic_load_explicit(&r->failed, memory_order_relaxed) != 0);
}

/* Worker 0 sees every step from its begin to the barrier at its end. */
static uint64_t begin_step(const run *r, int worker)
{
    return TERN__UNLIKELY(r->step_ns && worker == 0) ? tern__now_ns() : 0;
}

static void end_step(const run *r, int worker, uint32_t s, uint64_t start)
{
    if (TERN__UNLIKELY(r->step_ns && worker == 0))
        r->step_ns[s] = tern__now_ns() - start;
}

static void run_whole(run *r, uint32_t s, uint64_t *at)
{
    run_part(r, s, false, 0, 1, NULL, NULL, at);
    if (r->plan->steps[s].kernel->finish && !stopped(r))
        run_part(r, s, true, 0, 1, NULL, NULL, at);
}

static void run_alone(run *r)
{
    const uint64_t begin = tern__trace_begin();
    uint64_t at = begin;
    for (uint32_t s = r->first; s < r->end && !stopped(r); s++) {
        uint64_t start = begin_step(r, 0);
        run_whole(r, s, &at);
        end_step(r, 0, s, start);
    }
    trace_run(r, 0, begin);
}

/* ---- weights that will be read next ---- */

enum { LINE = 64, LINES_AT_ONCE = 8 };

/* What a worker asks for while it waits. */
typedef struct ahead {
    uint32_t step; /* that reads it */
    const char *at, *end;
} ahead;

static bool ask_ahead(void *arg)
{
    ahead *a = arg;
    const char *at = a->at;
    for (int i = 0; i < LINES_AT_ONCE && at < a->end; i++, at += LINE)
        __builtin_prefetch(at, 0, 2); /* into the second cache: the first one is full of other things */
    const bool any = at != a->at;
    a->at = at;
    return any;
}

static int parts_of(const tern__step *step, int workers)
{
    return step->parts < workers ? step->parts : workers;
}

/* Aims at what `worker` reads first in the next step of those from `s` on that streams weights. */
static void aim(const run *r, uint32_t s, int worker, int workers, ahead *a)
{
    while (s < r->end && (!r->plan->steps[s].streamed || parts_of(&r->plan->steps[s], workers) <= worker))
        s++;
    if (s == a->step)
        return;
    *a = (ahead){.step = s};
    if (s == r->end)
        return;
    const tern__step *step = &r->plan->steps[s];
    const tern__cpu_work work = work_of(r, step, parts_of(step, workers));
    const tern__buffer *weights = &work.args.in[step->streamed];
    const int64_t each = (int64_t)tern__type_bytes(weights->type) / (step->work > 0 ? step->work : 1),
                  begin = tern__cpu_part_begin(&work, worker), end = tern__cpu_part_begin(&work, worker + 1),
                  share = (end - begin) * each;
    a->at = (const char *)weights->data + begin * each;
    a->end = a->at + (share < r->device->ahead_bytes ? share : r->device->ahead_bytes);
}

static void meet(const run *r, uint32_t s, const char *why, ahead *a, uint64_t *at)
{
    tern__threads_barrier(r->device->threads, &(tern__idle){.work = ask_ahead, .arg = a});
    trace_step(r, s, why, 0, at);
}

static void run_shared(void *arg, int worker, int workers)
{
    run *r = arg;
    const uint64_t begin = tern__trace_begin();
    uint64_t at = begin;
    bool together = true; /* nobody is ahead: no barrier is needed */
    uint32_t turn = 0;    /* shared steps until now */
    ahead next = {.step = UINT32_MAX};
    for (uint32_t s = r->first; s < r->end; s++) {
        int parts = parts_of(&r->plan->steps[s], workers);
        if (parts == 1) {
            if (worker == 0 && !stopped(r)) {
                uint64_t start = begin_step(r, worker);
                run_whole(r, s, &at);
                end_step(r, worker, s, start);
            }
            together = false;
            continue;
        }
        if (!together) {
            aim(r, s, worker, workers, &next);
            meet(r, s - 1, "idle", &next, &at);
        }
        uint64_t start = begin_step(r, worker);
        aim(r, s + 1, worker, workers, &next);
        if (worker < parts && !stopped(r))
            run_part(r, s, false, worker, parts, r->plan->steps[s].claimed ? claims_of(r, turn) : NULL,
                     next.at, &at);
        set_back(&claims_of(r, ++turn)[worker]); /* nobody looks at them until the barrier */
        meet(r, s, "barrier", &next, &at);
        if (r->plan->steps[s].kernel->finish) {
            if (worker < parts && !stopped(r))
                run_part(r, s, true, worker, parts, NULL, NULL, &at);
            meet(r, s, "barrier", &next, &at);
        }
        end_step(r, worker, s, start);
        together = true;
    }
    trace_run(r, worker, begin);
}

static tern_status report(const run *r)
{
    const char *op = tern__ops[r->step->op].name;
    if (r->status == TERN_OUT_OF_RANGE)
        return tern__fail(TERN_OUT_OF_RANGE, "%s: index %" PRId64 " is outside [0, %" PRId64 ")", op,
                          r->fault.value, r->fault.limit);
    if (r->status == TERN_CANCELLED)
        return tern__fail(TERN_CANCELLED, "run: stopped at %s, as it was asked", op);
    return tern__fail(r->status, "%s: kernel %s failed", op, r->step->kernel_name);
}

tern_status tern__cpu_run(tern__device *device, const tern__plan *plan, tern__code *code,
                          const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    (void)code;
    *n_done = part->first;
    if (!tern__grow(&device->buffers, &device->cap_buffers, plan->n_operands, sizeof(tern__buffer)))
        return tern__out_of_memory(plan->n_operands * sizeof(tern__buffer));
    tern__buffer *buffers = device->buffers;
    fill_buffers(plan, bindings, buffers);
    run r = {.device = device,
             .plan = plan,
             .first = part->first,
             .end = part->end,
             .buffers = buffers,
             .step_ns = bindings->step_ns,
             .stop = bindings->stop,
             .arena = bindings->arena};
    /* Fewer than planned: each step is shared by those that there are. */
    const int most = bindings->workers;
    const int workers = most > 0 && most < plan->workers ? most : plan->workers;
    if (workers == 1) {
        run_alone(&r);
    } else {
        for (int w = 0; w < workers; w++)
            set_back(&device->claims[w]);
        tern__threads_run(device->threads, workers, run_shared, &r);
    }
    *n_done = stopped(&r) ? (uint32_t)(r.step - plan->steps) : part->end;
    return stopped(&r) ? report(&r) : TERN_OK;
}
