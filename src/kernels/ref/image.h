/* image.h - tensors of images, [n, c, h, w] or [n, h, w, c], with their axes by name. Private to
 * kernels/ref. */
#ifndef TERN_KERNELS_REF_IMAGE_H
#define TERN_KERNELS_REF_IMAGE_H

#include "kernels/ref/loops.h"

/* Positions of the axes; n is the first in both orders. */
typedef struct tern__image_axes {
    int c, h, w;
} tern__image_axes;

static inline tern__image_axes tern__image_axes_of(bool nhwc)
{
    return nhwc ? (tern__image_axes){3, 1, 2} : (tern__image_axes){1, 2, 3};
}

/* The taps of a window along one axis of the input, those in the padding left out: taps [first, past) of
 * the kernel, tap t at `origin` + t * dilation. */
typedef struct tern__taps {
    int64_t origin, first, past;
} tern__taps;

static inline tern__taps tern__taps_of(int64_t size, int64_t kernel, int64_t out, int64_t stride, int64_t pad,
                                       int64_t dilation)
{
    tern__taps t = {out * stride - pad, 0, kernel};
    while (t.first < t.past && t.origin + t.first * dilation < 0)
        t.first++;
    while (t.past > t.first && t.origin + (t.past - 1) * dilation >= size)
        t.past--;
    return t;
}

#endif
