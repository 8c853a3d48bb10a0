/* attend.h - attention on operands with strides: which chunks are computed by whom. */
#ifndef TERN_KERNELS_ATTENTION_ATTEND_H
#define TERN_KERNELS_ATTENTION_ATTEND_H

#include "kernels/attention/attention.h"
#include "kernels/kernel.h"

/* How a call runs. None of it changes a bit of the result. */
typedef struct tern__attention_program {
    const tern__attention_kernel *kernel;
    int64_t block; /* rows of one sequence that share a pass over its keys */
    /* A single row reads keys and values in the order of memory (TERN__FEATURE_ONE_STREAM), not head by head. */
    bool in_order;
    bool to_first; /* what is fetched on the way: into the first-level cache */
    bool split; /* the chunks of one block may be shared among workers, and are merged when all are there */
    int64_t work;
    size_t scratch_bytes, shared_bytes;
} tern__attention_program;

/* What is to be chosen; 0 or negative: as suits the shapes. */
typedef struct tern__attention_variant {
    int64_t block; /* rows */
    int split;     /* 0 or 1 */
} tern__attention_variant;

/* The program for a call of op `attention`: operand types in the order of its row. false: types that the kernels lack. */
bool tern__attention_plan(const tern__attention_kernel *kernel, int n_in, const tern__type *const *in,
                          int workers, tern__attention_variant variant, tern__attention_program *out);

/* The kernel with args->program, and what has to follow on the same items when all of them are done, if it splits. */
TERN__KERNEL(attention__chunks);
TERN__KERNEL(attention__merge);

#endif
