/* grad_rules_images.c - gradients of convolution and pooling, as convolutions, pads and slices.
 *
 * All of it is in NCHW; images in NHWC are turned for it, and their gradients turned back. */
#include <math.h>

#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

enum { CHANNELS = 1, HIGH = 2 }; /* axes: [n, c, h, w] */

/* Of h and w: how windows lie in the image. */
typedef struct windows {
    int64_t kernel[2], stride[2], pad[2], dilation[2];
} windows;

static tern_tensor *turned(tern_tensor *x, bool nhwc)
{
    return nhwc ? tern_permute(x, 4, (int64_t[]){0, 3, 1, 2}) : x;
}

static tern_tensor *turned_back(tern_tensor *x, bool nhwc)
{
    return nhwc ? tern_permute(x, 4, (int64_t[]){0, 2, 3, 1}) : x;
}

/* Adds zeros around h and w, or cuts off where there are fewer than none. */
static tern_tensor *fit_image(tern_tensor *x, const int64_t *before, const int64_t *after)
{
    int64_t front[4] = {0}, back[4] = {0};
    for (int i = 0; i < 2; i++) {
        front[HIGH + i] = before[i] > 0 ? before[i] : 0;
        back[HIGH + i] = after[i] > 0 ? after[i] : 0;
    }
    x = tern_pad(x, 4, front, back, 0);
    for (int i = 0; i < 2 && !tern__tensor_is_error(x); i++)
        x = tern_narrow(x, HIGH + i, before[i] < 0 ? -before[i] : 0,
                        tern_dim(x, HIGH + i) + (after[i] < 0 ? after[i] : 0));
    return x;
}

/* [groups * a, b, ...] -> [groups * b, a, ...] */
static tern_tensor *swap_in_groups(tern_tensor *x, int64_t groups)
{
    const int64_t a = tern_dim(x, 0) / groups, b = tern_dim(x, 1), h = tern_dim(x, 2), w = tern_dim(x, 3);
    tern_tensor *apart = tern_reshape(x, 5, (int64_t[]){groups, a, b, h, w});
    return tern_reshape(tern_permute(apart, 5, (int64_t[]){0, 2, 1, 3, 4}), 4,
                        (int64_t[]){groups * b, a, h, w});
}

/* Of y = conv2d(x, weight) in x, of h x w: what lies between windows' steps is filled with zeros, and the weights go over it turned
 * round, so that every element meets those that it was multiplied with. */
static tern_tensor *back_through(tern_tensor *d, tern_tensor *weight, const windows *s, int64_t groups,
                                 const int64_t *size)
{
    int64_t before[2], after[2];
    const int64_t both[] = {2, 3};
    for (int i = 0; i < 2 && !tern__tensor_is_error(d); i++) {
        const int64_t reach = s->dilation[i] * (s->kernel[i] - 1),
                      long_ = tern_dim(d, HIGH + i) * s->stride[i];
        before[i] = reach - s->pad[i];
        after[i] = size[i] - long_ + s->pad[i];
        d = tern__grad_stretch(d, HIGH + i, s->stride[i]);
    }
    if (tern__tensor_is_error(d))
        return d;
    tern_tensor *round = tern_flip(swap_in_groups(weight, groups), 2, both);
    return tern_conv2d(fit_image(d, before, after), round, NULL, 1, 1, 0, 0, s->dilation[0], s->dilation[1],
                       groups, false);
}

/* The same in the weights: images are the channels here, and the gradient goes over x with stride and dilation exchanged. */
static tern_tensor *of_weight(tern_tensor *x, tern_tensor *d, const windows *s, int64_t groups)
{
    const int64_t n = tern_dim(x, 0), c = tern_dim(x, CHANNELS), h = tern_dim(x, 2), w = tern_dim(x, 3);
    tern_tensor *apart = tern_reshape(x, 5, (int64_t[]){n, groups, c / groups, h, w});
    tern_tensor *images = tern_reshape(tern_permute(apart, 5, (int64_t[]){2, 1, 0, 3, 4}), 4,
                                       (int64_t[]){c / groups, groups * n, h, w});
    tern_tensor *y =
        tern_conv2d(images, tern_permute(d, 4, (int64_t[]){1, 0, 2, 3}), NULL, s->dilation[0], s->dilation[1],
                    s->pad[0], s->pad[1], s->stride[0], s->stride[1], groups, false);
    /* rows that no window reached, because the stride did not divide the rest */
    for (int i = 0; i < 2; i++)
        y = tern_narrow(y, HIGH + i, 0, s->kernel[i]);
    return tern_permute(y, 4, (int64_t[]){1, 0, 2, 3});
}

RULE(conv2d)
{
    const tern__attr *a = g->attrs;
    const int64_t groups = a[TERN__ATTR_conv2d_groups].i;
    const bool nhwc = a[TERN__ATTR_conv2d_nhwc].i != 0;
    tern_tensor *x = turned(X, nhwc), *d = turned(GRAD, nhwc), *weight = g->in[1];
    const windows s = {{tern_dim(weight, 2), tern_dim(weight, 3)},
                       {a[TERN__ATTR_conv2d_stride_h].i, a[TERN__ATTR_conv2d_stride_w].i},
                       {a[TERN__ATTR_conv2d_pad_h].i, a[TERN__ATTR_conv2d_pad_w].i},
                       {a[TERN__ATTR_conv2d_dilation_h].i, a[TERN__ATTR_conv2d_dilation_w].i}};
    const int64_t size[] = {tern_dim(x, 2), tern_dim(x, 3)}, all_but_channels[] = {0, 2, 3};
    if (g->wanted[0])
        g->of_in[0] = turned_back(back_through(d, weight, &s, groups, size), nhwc);
    if (g->wanted[1])
        g->of_in[1] = of_weight(x, d, &s, groups);
    if (g->n_in > 2 && g->wanted[2])
        g->of_in[2] = tern_sum(d, 3, all_but_channels, false);
    return TERN_OK;
}

/* ---- pooling ------------------------------------------------------------------------------------------------------- */

/* Attributes of both kinds of pools have the same places. */
static windows windows_of_pool(const tern__attr *a)
{
    return (windows){{a[TERN__ATTR_max_pool2d_kernel_h].i, a[TERN__ATTR_max_pool2d_kernel_w].i},
                     {a[TERN__ATTR_max_pool2d_stride_h].i, a[TERN__ATTR_max_pool2d_stride_w].i},
                     {a[TERN__ATTR_max_pool2d_pad_h].i, a[TERN__ATTR_max_pool2d_pad_w].i},
                     {1, 1}};
}

static tern_tensor *ones(const tern_tensor *like, int rank, const int64_t *shape)
{
    return tern_full(like->node->ctx, like->type.dtype, rank, shape, 1);
}

/* A pool of means is a convolution of each channel with 1 / the elements that its windows count. */
RULE(avg_pool2d)
{
    tern__grad_widen(g);
    const tern__attr *a = g->attrs;
    const bool nhwc = a[TERN__ATTR_avg_pool2d_nhwc].i != 0;
    const windows s = windows_of_pool(a);
    tern_tensor *d = turned(GRAD, nhwc), *x = turned(X, nhwc);
    if (tern__tensor_is_error(x))
        return tern__tensor_check(x);
    const int64_t size[] = {tern_dim(x, 2), tern_dim(x, 3)}, channels = tern_dim(x, CHANNELS);
    tern_tensor *share = tern__grad_number(x, 1 / ((double)s.kernel[0] * (double)s.kernel[1]));
    if (!a[TERN__ATTR_avg_pool2d_count_padding].i) {
        /* the part of a window that is image, as the mean of ones among zeros tells */
        tern_tensor *image = ones(x, 4, (int64_t[]){1, 1, size[0], size[1]});
        tern_tensor *part = tern_avg_pool2d(image, s.kernel[0], s.kernel[1], s.stride[0], s.stride[1],
                                            s.pad[0], s.pad[1], false, true);
        share = tern_div(share, part);
    }
    tern_tensor *weight = ones(x, 4, (int64_t[]){channels, 1, s.kernel[0], s.kernel[1]});
    g->of_in[0] = turned_back(back_through(tern_mul(d, share), weight, &s, channels, size), nhwc);
    return TERN_OK;
}

/* What is at place (i, k) of every window of an image with its padding. */
static tern_tensor *at_place(tern_tensor *padded, const tern_tensor *d, const windows *s, int64_t i,
                             int64_t k)
{
    const int64_t *shape = d->type.shape, start[] = {0, 0, i, k},
                  stop[] = {shape[0], shape[1], i + (shape[2] - 1) * s->stride[0] + 1,
                            k + (shape[3] - 1) * s->stride[1] + 1},
                  step[] = {1, 1, s->stride[0], s->stride[1]};
    return tern_slice(padded, 4, start, stop, step);
}

/* Of windows back to where (i, k) of each was. */
static tern_tensor *to_place(tern_tensor *t, const windows *s, const int64_t *size, int64_t i, int64_t k)
{
    const int64_t place[] = {i, k};
    int64_t before[2], after[2];
    for (int at = 0; at < 2 && !tern__tensor_is_error(t); at++) {
        before[at] = place[at] - s->pad[at];
        after[at] = size[at] - before[at] - tern_dim(t, HIGH + at) * s->stride[at];
        t = tern__grad_stretch(t, HIGH + at, s->stride[at]);
    }
    return tern__tensor_is_error(t) ? t : fit_image(t, before, after);
}

/* Shared evenly among equals of a window; place by place of a window, all windows at once. */
RULE(max_pool2d)
{
    tern__grad_widen(g);
    const bool nhwc = g->attrs[TERN__ATTR_max_pool2d_nhwc].i != 0;
    const windows s = windows_of_pool(g->attrs);
    tern_tensor *d = turned(GRAD, nhwc), *x = turned(X, nhwc), *y = turned(Y, nhwc), *count = NULL,
                *sum = NULL;
    if (tern__tensor_is_error(x) || tern__tensor_is_error(y) || tern__tensor_is_error(d))
        return tern__tensor_check(tern__tensor_is_error(x) ? x : tern__tensor_is_error(y) ? y : d);
    const int64_t size[] = {tern_dim(x, 2), tern_dim(x, 3)}, pad[] = {0, 0, s.pad[0], s.pad[1]};
    tern_tensor *padded = tern_pad(x, 4, pad, pad, -(double)INFINITY);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < s.kernel[0]; i++)
            for (int64_t k = 0; k < s.kernel[1]; k++) {
                tern_tensor *is = tern_eq(at_place(padded, d, &s, i, k), y);
                tern_tensor *chosen = tern_cast(is, d->type.dtype);
                if (pass == 0) {
                    count = count ? tern_add(count, chosen) : chosen;
                    continue;
                }
                tern_tensor *part = to_place(tern_div(tern_mul(chosen, d), count), &s, size, i, k);
                sum = sum ? tern_add(sum, part) : part;
            }
    g->of_in[0] = turned_back(sum, nhwc);
    return TERN_OK;
}
