/* move.h - copies between memory of different strides: permuted views made contiguous, changes of layout, reshapes that no view can do,
 * what is joined and cut. They turn squares with the family `move` of kernels.def; their references are in kernels/ref. */
#ifndef TERN_KERNELS_MOVE_MOVE_H
#define TERN_KERNELS_MOVE_MOVE_H

#include "kernels/kernel.h"

/* Turns a square of 64 bytes by 64 bytes: 64 bytes from each of as many places as fit in a line, to as many lines. `past`: stored
 * past the caches, `to` and `to_step` being multiples of a line. */
typedef void (*tern__move_square)(char *to, int64_t to_step, const char *from, int64_t from_step, bool past);

typedef struct tern__move_kernel {
    tern__move_square of1, of2, of4, of8; /* bytes of an element */
} tern__move_kernel;

/* What copies interpret. */
typedef struct tern__move_program {
    const tern__move_kernel *kernel;
    bool past;     /* results go past the caches */
    bool small_l1; /* eight ways of a page each (move.c) */
    int64_t work;  /* items: parts of about equal size, at most a few thousand */
} tern__move_program;

/* How `bytes` are copied. Those beyond tern__past_bytes are stored past the caches. */
void tern__move_plan(const tern__move_kernel *kernel, const tern__cpu_info *cpu, int64_t bytes,
                     tern__move_program *out);

/* args->program is a tern__move_program; elements of 1, 2, 4 or 8 bytes, of one type in all operands and results; any strides.
 * reshape: to a result of any shape, which may be the operand's (op contiguous). overwrite: of what broadcasts to it. concat, stack
 * and split: of the ops' attributes. */
TERN__KERNEL(reshape__move);
TERN__KERNEL(overwrite__move);
TERN__KERNEL(concat__move);
TERN__KERNEL(stack__move);
TERN__KERNEL(split__move);

#endif
