/* evaluate.c - one call at compile time, for constant folding: the kernel that would run it, on the device's threads if it
 * is worth waking them. */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "kernels/kernel.h"

typedef struct evaluation {
    const tern__kernel *kernel;
    tern__kernel_args args;
    char *scratch;
    size_t scratch_bytes; /* per worker */
    int64_t work;
    int parts;
    _Atomic(int) failed; /* status of a worker that failed */
} evaluation;

static void run_part(void *user, int worker, int workers)
{
    evaluation *e = user;
    (void)workers;
    int64_t share = e->work / e->parts, begin = share * worker;
    int64_t end = worker == e->parts - 1 ? e->work : begin + share;
    if (begin >= end)
        return;
    tern__kernel_args args = e->args;
    args.scratch = e->scratch ? e->scratch + (size_t)worker * e->scratch_bytes : NULL;
    tern_status status = e->kernel->run(&args, begin, end);
    if (status != TERN_OK)
        atomic_store_explicit(&e->failed, (int)status, memory_order_relaxed);
}

static tern_status run_choice(const tern__target *target, const tern__call *call, const tern__choice *choice,
                              const tern__buffer *in, const tern__buffer *out)
{
    const double worth_sharing = 1 << 20; /* flops */
    const tern__device *device = target->data;
    evaluation e = {.kernel = choice->kernel, .parts = target->workers};
    e.work = choice->work >= 0 ? choice->work : call->op->work(call);
    e.args = (tern__kernel_args){.n_in = call->n_in,
                                 .n_out = call->n_out,
                                 .in = in,
                                 .out = out,
                                 .attrs = call->attrs,
                                 .program = choice->program};
    atomic_init(&e.failed, TERN_OK);
    if (call->op->cost(call, call->op->cost_factor) < worth_sharing || e.work < e.parts)
        e.parts = 1;
    e.scratch_bytes = (choice->scratch_bytes + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
    void *own = NULL;
    if (e.scratch_bytes) {
        e.scratch = own = tern__alloc_aligned(e.scratch_bytes * (size_t)e.parts, TERN__ALIGN);
        if (!own)
            return tern__out_of_memory(e.scratch_bytes * (size_t)e.parts);
    } else if (choice->program) {
        e.scratch = device->row_memory;
        e.scratch_bytes = TERN__CPU_ROW_BYTES;
    }
    if (e.parts == 1)
        run_part(&e, 0, 1);
    else
        tern__threads_run(device->threads, e.parts, run_part, &e);
    tern__free(own);
    return (tern_status)atomic_load_explicit(&e.failed, memory_order_relaxed);
}

tern_status tern__cpu_evaluate(const tern__target *target, const tern__call *call, const tern__buffer *in,
                               const tern__buffer *out)
{
    tern__arena arena; /* of what the kernel interprets */
    tern__choice choice;
    tern__arena_init(&arena, 1024);
    tern_status status = target->choose(target, call, &arena, &choice);
    if (status == TERN_OK)
        status = run_choice(target, call, &choice, in, out);
    tern__arena_free(&arena);
    return status;
}
