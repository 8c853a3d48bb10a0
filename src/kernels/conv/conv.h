/* conv.h - 2-D convolutions of f32, f16 or bf16 as matrix products: weights (out, c * kh * kw) times windows (c * kh * kw, pixels).
 *
 * The windows are never written out as a whole: a strip of pixels at a time is unrolled, straight into the tiles that the
 * product's kernel reads, in memory that stays in the second-level cache. An output is one chain of multiply-adds over ascending
 * (channel, row, column) in f32, like ref/conv.c's, and so are its bits. Images of 16 bits are widened as they are unrolled, and a
 * strip's results are rounded when all of it is computed. Weights whose elements lie apart (a permuted filter bank) are brought
 * together, some output channels at a time.
 *
 * Where a group has few output channels, as in depthwise convolutions, its rows are not unrolled but copied once, with their padding:
 * the windows of neighbours overlap there as they do in the image. */
#ifndef TERN_KERNELS_CONV_H
#define TERN_KERNELS_CONV_H

#include "kernels/gemm/gemm.h"
#include "kernels/kernel.h"
#include "kernels/row/rowops.h"

typedef struct tern__conv_program {
    const tern__gemm_kernel *kernel;
    const tern__rowop_table *rows;
    tern__gemm_blocking blocking;
    int64_t k;      /* elements of a window */
    int64_t pixels; /* of a result's channel */
    bool in_place;  /* windows are not unrolled: few output channels in a group, elements side by side */
    int64_t strip;  /* pixels that are computed at a time: unrolled, whole tiles; or in place, whole rows */
    int64_t strip_results; /* floats of the scratch for a strip's results of an output channel */
    int64_t pitch;      /* in place: from a row of results, or of the image with its padding, to the next */
    int64_t plane_rows; /* likewise: of the image, for a strip */
    int64_t strips;     /* of an image and group */
    int64_t blocks;     /* of output channels of a group, where strips are too few to share */
    int64_t work;       /* images x groups x strips x blocks */
    int64_t channels;   /* output channels whose weights or results go through the scratch at a time */
    size_t windows_at;  /* in the scratch, behind the product's own */
    size_t
        results_at; /* likewise: (channels, strip), before they are rounded to 16 bits or stored in odd places */
    size_t
        weights_at; /* likewise: (channels, k), where the weights of an output channel do not lie side by side */
    size_t scratch_bytes;
} tern__conv_program;

/* The program of a call of op conv2d: types and attributes in the order of its row. false: types that the kernel lacks. */
bool tern__conv_plan(const tern__gemm_kernel *kernel, const tern__rowop_table *rows, int n_in,
                     const tern__type *const *in, const tern__type *y, const tern__attr *attrs, int workers,
                     tern__conv_program *out);

/* The kernel; args->program is a tern__conv_program. */
TERN__KERNEL(conv2d__gemm);

#endif
