/* conv.c - 2-D convolution. An output is one chain of fused multiply-adds over ascending (channel, row,
 * column) of the window, the padding left out, then the bias: the same chain as a matmul over unrolled
 * windows. */
#include "kernels/ref/image.h"
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

typedef struct conv {
    const tern__buffer *x, *weight, *bias; /* weight (out, c / groups, kh, kw); bias (out) or NULL */
    tern_dtype dtype;
    tern__image_axes axes;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int64_t group_in, group_out; /* channels of a group */
} conv;

static conv conv_of(const tern__kernel_args *args)
{
    const tern__attr *a = args->attrs;
    conv v = {.x = &args->in[0],
              .weight = &args->in[1],
              .bias = args->n_in > 2 ? &args->in[2] : NULL,
              .dtype = args->in[0].type->dtype,
              .axes = tern__image_axes_of(a[TERN__ATTR_conv2d_nhwc].i != 0),
              .stride_h = a[TERN__ATTR_conv2d_stride_h].i,
              .stride_w = a[TERN__ATTR_conv2d_stride_w].i,
              .pad_h = a[TERN__ATTR_conv2d_pad_h].i,
              .pad_w = a[TERN__ATTR_conv2d_pad_w].i,
              .dilation_h = a[TERN__ATTR_conv2d_dilation_h].i,
              .dilation_w = a[TERN__ATTR_conv2d_dilation_w].i};
    v.group_in = v.weight->type->shape[1];
    v.group_out = v.weight->type->shape[0] / a[TERN__ATTR_conv2d_groups].i;
    return v;
}

/* The output at coordinates `index` (in the order of the result's axes). */
static double output_at(const conv *v, const int64_t *index)
{
    const tern__type *x = v->x->type, *weight = v->weight->type;
    const int64_t *xs = v->x->strides, *ws = v->weight->strides;
    const int64_t channel = index[v->axes.c], first_in = channel / v->group_out * v->group_in;
    const tern__taps rows = tern__taps_of(x->shape[v->axes.h], weight->shape[2], index[v->axes.h],
                                          v->stride_h, v->pad_h, v->dilation_h);
    const tern__taps columns = tern__taps_of(x->shape[v->axes.w], weight->shape[3], index[v->axes.w],
                                             v->stride_w, v->pad_w, v->dilation_w);
    double sum = 0;
    for (int64_t c = 0; c < v->group_in; c++) {
        for (int64_t i = rows.first; i < rows.past; i++) {
            for (int64_t j = columns.first; j < columns.past; j++) {
                int64_t x_at = index[0] * xs[0] + (first_in + c) * xs[v->axes.c] +
                               (rows.origin + i * v->dilation_h) * xs[v->axes.h] +
                               (columns.origin + j * v->dilation_w) * xs[v->axes.w];
                int64_t w_at = channel * ws[0] + c * ws[1] + i * ws[2] + j * ws[3];
                sum = tern__fma_as(v->dtype, tern__load_float(v->dtype, v->x->data, x_at),
                                   tern__load_float(v->dtype, v->weight->data, w_at), sum);
            }
        }
    }
    if (v->bias != NULL)
        sum = tern__as(v->dtype,
                       sum + tern__load_float(v->dtype, v->bias->data, channel * v->bias->strides[0]));
    return sum;
}

KERNEL(conv2d)
{
    const conv v = conv_of(args);
    const tern__buffer *y = &args->out[0];
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        for (int64_t i = 0; i < r.n; i++) {
            tern__store_float(v.dtype, y->data, tern__at(4, r.index, y->strides), output_at(&v, r.index));
            r.index[3]++;
        }
    }
    return TERN_OK;
}
