/* cpu.h - the CPU device: threads and the target it shows to the compiler. Private to devices/cpu. */
#ifndef TERN_DEVICES_CPU_CPU_H
#define TERN_DEVICES_CPU_CPU_H

#include <stdalign.h>
#include <stdatomic.h>

#include "base/threads.h"
#include "devices/device.h"
#include "kernels/kernel.h"
#include "kernels/row/program.h"
#include "kernels/select.h"

/* Scratch that the device has for each worker, and lends to calls that have a program. Those that need more (very long rows) take it
 * from the plan's arena, as those without a program do. A product with an epilogue makes do with it. */
enum { TERN__CPU_SCRATCH_BYTES = TERN__ROW_LENT };

/* How many pieces of a worker's share have been claimed (parts.c). */
typedef struct tern__cpu_claim {
    alignas(64) _Atomic(int64_t) next;
} tern__cpu_claim;

struct tern__device {
    tern__target target;
    uint32_t isa_mask;
    tern__threads *threads;
    char *scratch_memory;    /* TERN__CPU_SCRATCH_BYTES for each worker */
    tern__cpu_claim *claims; /* (2, workers): those of one shared step are set back during the next */
    int64_t ahead_bytes;     /* of weights that a worker asks for before it may read them (run.c) */
    void *buffers;           /* operands of the plan that runs, reused from run to run */
    size_t cap_buffers;
};

/* A call whose operands have their places: a step of a plan, or a call at compile time. */
typedef struct tern__cpu_work {
    const tern__kernel *kernel;
    tern__kernel_args args; /* `scratch` and `fault` are each part's own */
    int64_t items;
    int parts;               /* that share the items */
    char *scratch;           /* of part 0; NULL: a program that makes do with the device's, or none */
    size_t scratch_stride;   /* from one part's to the next */
    const void *next;        /* what this worker reads after its part, or NULL */
    tern__stop stop;         /* asked between slices of what a part has to do */
    tern__cpu_claim *claims; /* (parts) all 0 before the first part begins; NULL: shares are fixed */
    bool claims_all;         /* all of a share is claimed, not its last quarter only */
} tern__cpu_work;

/* Runs one part: items are split evenly, but for what is claimed. `finishing`: the kernel's second half, when all parts
 * of the first are done. *fault is filled on failure. TERN_CANCELLED: work->stop
 * said so, and the rest is not computed. */
tern_status tern__cpu_run_part(const tern__device *device, const tern__cpu_work *work, bool finishing,
                               int part, tern__fault *fault);

/* The next items [*begin, *end) of those that are claimed for a part: of its own share first, then of others'. `*turn` is 0 before
 * the first call and kept between them. false: nothing is left. */
bool tern__cpu_next_piece(const tern__cpu_work *work, int part, int *turn, int64_t *begin, int64_t *end);

/* The first item of a part, which it computes first; of part work->parts the end of the last one. */
int64_t tern__cpu_part_begin(const tern__cpu_work *work, int part);

tern_status tern__cpu_run(tern__device *device, const tern__plan *plan, tern__code *code,
                          const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done);

/* Makes a copy of a program that lives as long as the plan. */
tern_status tern__cpu_keep(tern__arena *arena, const void *program, size_t bytes, const void **out);

/* What choosers end with: *out, which has scratch and work already, is `kernel` on a row of kernels.def with a copy of its program. */
tern_status tern__cpu_chosen(const tern__kernel *kernel, const tern__kernel_row *row, const void *program,
                             size_t bytes, tern__arena *arena, tern__choice *out, bool *found);

/* Chooses a kernel for a call of an op whose row TERN_CHOOSER of kernels.def it is: *out is filled and *found set, or both stay as
 * they are (false) where none of its families will do. `scratch_bytes` is what a call needs, wherever it comes from.
 * `candidate`: how, of what tern__cpu_candidates listed; NULL: as usual. */
typedef tern_status tern__cpu_chooser(const tern__target *target, const tern__call *call,
                                      const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                                      bool *found);

#define TERN_CHOOSER(op, chooser, ways) tern__cpu_chooser tern__cpu_##chooser;
#include "kernels/kernels.def"

/* Does it reduce rows so long that workers share each (TERN__LONGEST_ROW)? Then it is no row program. */
bool tern__cpu_shares_rows(const tern__call *call);

/* What runs row programs: an interpreter. */
#define TERN__ROW_KERNEL_NAME "row"

/* catalog.c: tern__device_ops.describe and list. */
void tern__cpu_describe(tern__isa_cap cap, tern_device_info *out);
bool tern__cpu_list(int i, tern__isa_cap cap, tern_kernel_info *out);

/* tern__target.evaluate of the CPU. */
tern_status tern__cpu_evaluate(const tern__target *target, const tern__call *call, const tern__buffer *in,
                               const tern__buffer *out);

#endif
