/* move.h - copies between memory of different strides: permuted views made contiguous, changes of layout. The kernel of family
 * `move` in kernels.def; its reference is tern_copy__ref. */
#ifndef TERN_KERNELS_MOVE_MOVE_H
#define TERN_KERNELS_MOVE_MOVE_H

#include "kernels/kernel.h"

/* Items of work of a copy to `type`: parts of about equal size, at most a few thousand. */
int64_t tern__move_work(const tern__type *type);

/* Results beyond tern__past_bytes are stored past the caches. in[0] to out[0]: of one shape and type, 1, 2, 4 or 8 bytes an element; any strides. */
tern_status tern__move_run(tern__kernel_args *args, int64_t begin, int64_t end);

#endif
