/* move.h - copies between memory of different strides: permuted views made contiguous, changes of layout. The kernel of family
 * `move` in kernels.def; its reference is tern_copy__ref. */
#ifndef TERN_KERNELS_MOVE_MOVE_H
#define TERN_KERNELS_MOVE_MOVE_H

#include "kernels/kernel.h"

/* Items of work of a copy to `type`: parts of about equal size, at most a few thousand. */
int64_t tern__move_work(const tern__type *type);

/* Turns a square of 64 bytes by 64 bytes: 64 bytes from each of as many places as fit in a line, to as many lines. `past`: stored
 * past the caches, `to` and `to_step` being multiples of a line. */
typedef void (*tern__move_square)(char *to, int64_t to_step, const char *from, int64_t from_step, bool past);

typedef struct tern__move_squares {
    tern__move_square of1, of2, of4, of8; /* bytes of an element */
} tern__move_squares;

/* Results beyond tern__past_bytes are stored past the caches. in[0] to out[0]: of one shape and type, 1, 2, 4 or 8 bytes an element; any strides. */
tern_status tern__move_run(tern__kernel_args *args, int64_t begin, int64_t end,
                           const tern__move_squares *squares);

#endif
