/* evaluate.c - one call at compile time, for constant folding: run like a step of a plan. */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/status.h"
#include "devices/cpu/cpu.h"

typedef struct evaluation {
    const tern__device *device;
    tern__cpu_work work;
    bool finishing;
    _Atomic(int) failed; /* status of a worker that failed */
} evaluation;

static void run_part(void *user, int worker, int workers)
{
    evaluation *e = user;
    tern__fault fault;
    (void)workers;
    tern_status status = tern__cpu_run_part(e->device, &e->work, e->finishing, worker, &fault);
    if (status != TERN_OK)
        atomic_store_explicit(&e->failed, (int)status, memory_order_relaxed);
}

static void run_parts(evaluation *e)
{
    tern__threads_run_as("fold", e->work.parts == 1 ? NULL : e->device->threads, e->work.parts, run_part, e);
}

static tern_status run_choice(const tern__target *target, const tern__call *call, const tern__choice *choice,
                              const tern__buffer *in, const tern__buffer *out)
{
    evaluation e = {.device = target->data,
                    .work = {.kernel = choice->kernel,
                             .args = {.n_in = call->n_in,
                                      .n_out = call->n_out,
                                      .in = in,
                                      .out = out,
                                      .attrs = call->attrs,
                                      .program = choice->program},
                             .items = choice->work >= 0 ? choice->work : call->op->work(call)}};
    atomic_init(&e.failed, TERN_OK);
    e.work.parts = tern__target_parts(target, e.work.items, call->op->cost(call, call->op->cost_factor),
                                      tern__step_bytes(call));
    e.work.scratch_stride = (choice->scratch_bytes + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
    const size_t shared = (choice->shared_bytes + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
    const size_t bytes = shared + e.work.scratch_stride * (size_t)e.work.parts;
    char *memory = NULL;
    if (bytes) {
        memory = tern__alloc_aligned(bytes, TERN__ALIGN);
        if (!memory)
            return tern__out_of_memory(bytes);
    }
    e.work.args.shared = memory;
    e.work.scratch = e.work.scratch_stride ? memory + shared : NULL;
    run_parts(&e);
    e.finishing = true;
    if (choice->kernel->finish && atomic_load_explicit(&e.failed, memory_order_relaxed) == TERN_OK)
        run_parts(&e);
    tern__free(memory);
    return (tern_status)atomic_load_explicit(&e.failed, memory_order_relaxed);
}

tern_status tern__cpu_evaluate(const tern__target *target, const tern__call *call, const tern__buffer *in,
                               const tern__buffer *out)
{
    tern__arena arena; /* of what the kernel interprets */
    tern__choice choice;
    tern__arena_init(&arena, 1024);
    tern_status status = target->choose(target, call, NULL, &arena, &choice);
    if (status == TERN_OK)
        status = run_choice(target, call, &choice, in, out);
    tern__arena_free(&arena);
    return status;
}
