/* kernel.h - what a kernel is: a pure function over operands. It allocates nothing, keeps no state, asks nothing
 * of the system, and computes the same bits however its work is split.
 *
 * The work of a step is a number of independent items (the `work` column of ops.def: elements, rows, ...). A kernel
 * is called with a range [begin, end) of them; ranges of one step run on several threads at once. */
#ifndef TERN_KERNELS_KERNEL_H
#define TERN_KERNELS_KERNEL_H

#include <tern/status.h>

#include "base/cpu.h"
#include "tensor/attr.h"
#include "tensor/buffer.h"
#include "tensor/op_attrs.h"

/* Filled by a kernel that returns something other than TERN_OK (an index read from data is out of range):
 * `value` is the offending number, `limit` what it must stay below. The executor writes the sentence. */
typedef struct tern__fault {
    int64_t value, limit;
} tern__fault;

typedef struct tern__kernel_args {
    int n_in, n_out;
    const tern__buffer *in;  /* (n_in)  any strides; absent optional operands are simply not counted */
    const tern__buffer *out; /* (n_out) any strides without overlap; never aliases an input, except that an
                                   elementwise op's output (and a region's, where
                                   tern__region_may_overwrite says so) may be exactly one of its inputs, and that the result of
                                   write_slice / write_rows is its first input */
    const tern__attr *attrs; /* in the order of the op's row */
    const void *program;     /* what the kernel interprets, if it does (row/program.h) */
    const struct tern__epilogue *epilogue; /* of a product: takes the result, or NULL (row/epilogue.h) */
    /* an address that the caller reads next: worth a prefetch at the end of a call; NULL: unknown */
    const void *next;
    void *scratch; /* 64-byte aligned, as many bytes as its chooser asked, this call's own */
    void *shared;  /* likewise, of all calls of the step */
    tern__fault fault;
} tern__kernel_args;

typedef tern_status (*tern__kernel_fn)(tern__kernel_args *args, int64_t begin, int64_t end);

/* Bytes of scratch that one call needs, from operand types (TERN_SCRATCH of kernels.def). */
typedef size_t tern__scratch_rule(int n_in, const tern__type *const *in, const tern__attr *attrs);
typedef tern__scratch_rule *tern__scratch_fn;

/* What plans name it, and the level that it needs, stand in tables: ops.def, kernels.def. */
typedef struct tern__kernel {
    tern__kernel_fn run;
    tern__kernel_fn finish; /* NULL, or: on the same items, when `run` has done all of the step's */
} tern__kernel;

/* Declares a kernel; every kernel has this one signature. */
#define TERN__KERNEL(name) tern_status tern_##name(tern__kernel_args *args, int64_t begin, int64_t end)

#endif
