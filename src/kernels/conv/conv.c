/* conv.c - convolutions as products of strips (conv.h). */
#include "kernels/conv/conv.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/row/floats.h"
#include "tensor/op_attrs.h"

enum {
    STRIP_FLOATS = 64 << 10, /* of unrolled windows: well below a second-level cache */
    STRIPS_PER_WORKER = 4,
};

/* ---- planning ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t parts_of(int64_t size, int64_t part)
{
    return (size + part - 1) / part;
}

/* Adds `floats` times `each` of them to what the scratch has. */
static bool add_scratch(size_t *bytes, int64_t floats, int64_t each)
{
    size_t a, b;
    return tern__size_from_i64(floats, &a) && tern__size_from_i64(each, &b) && tern__size_mul(a, b, &a) &&
           tern__size_mul(a, sizeof(float), &a) && tern__size_add(*bytes, a, bytes);
}

bool tern__conv_plan(const tern__gemm_kernel *kernel, const tern__rowop_table *rows, int n_in,
                     const tern__type *const *in, const tern__type *y, const tern__attr *attrs, int workers,
                     tern__conv_program *out)
{
    const tern__type *weight = in[1];
    const bool half = y->dtype != TERN_F32;
    for (int i = 0; i < n_in; i++)
        if (!tern__floats_reads(in[i]->dtype) || !tern__gemm_reads(kernel, in[i]->dtype) ||
            in[i]->dtype != y->dtype)
            return false;
    const int h = attrs[TERN__ATTR_conv2d_nhwc].i ? 1 : 2;
    const int64_t lanes = y->shape[0] * attrs[TERN__ATTR_conv2d_groups].i,
                  m = weight->shape[0] / attrs[TERN__ATTR_conv2d_groups].i;
    tern__conv_program p = {.kernel = kernel,
                            .rows = rows,
                            .k = weight->shape[1] * weight->shape[2] * weight->shape[3],
                            .pixels = y->shape[h] * y->shape[h + 1]};
    if (p.k == 0 || p.pixels == 0 || lanes == 0)
        return false;
    const int64_t columns = kernel->columns, tiles = parts_of(p.pixels, columns);
    int64_t strip_tiles = larger(1, STRIP_FLOATS / (p.k + (half ? m : 0)) / columns);
    /* Enough strips that workers end together. */
    const int64_t wanted = parts_of(workers > 1 ? STRIPS_PER_WORKER * workers : 1, lanes);
    strip_tiles = smaller(strip_tiles, larger(1, tiles / wanted));
    p.strips = parts_of(tiles, strip_tiles);
    p.strip = strip_tiles * columns;
    p.work = lanes * p.strips;
    const tern__cpu_info *cpu = tern__cpu();
    p.blocking = tern__gemm_blocking_for(kernel, cpu->l1d_bytes, cpu->l2_bytes, m, p.strip, p.k);
    p.windows_at = (tern__gemm_scratch_bytes(kernel, &p.blocking, true) + TERN__GEMM_ALIGN - 1) /
                   TERN__GEMM_ALIGN * TERN__GEMM_ALIGN;
    p.scratch_bytes = p.windows_at;
    if (!add_scratch(&p.scratch_bytes, p.strip, p.k))
        return false;
    p.results_at = p.scratch_bytes;
    if (half && !add_scratch(&p.scratch_bytes, p.strip, m))
        return false;
    *out = p;
    return true;
}

/* ---- a call ---- */

typedef struct conv {
    const tern__conv_program *p;
    const char *x, *weight, *bias;
    char *y;
    tern_dtype dtype;
    int64_t bytes;               /* of an element */
    const int64_t *xs, *ws, *ys; /* strides */
    int64_t bias_step;
    int xc, xh, xw;                   /* axes of x and y */
    int64_t height, width, out_width; /* of x; of y */
    int64_t kh, kw, group_in, group_out;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
} conv;

static conv conv_of(const tern__kernel_args *args)
{
    const tern__attr *a = args->attrs;
    const tern__buffer *x = &args->in[0], *weight = &args->in[1], *y = &args->out[0];
    const bool nhwc = a[TERN__ATTR_conv2d_nhwc].i != 0, has_bias = args->n_in > 2;
    conv c = {.p = args->program,
              .x = x->data,
              .weight = weight->data,
              .bias = has_bias ? args->in[2].data : NULL,
              .bias_step = has_bias ? args->in[2].strides[0] : 0,
              .y = y->data,
              .dtype = x->type->dtype,
              .bytes = (int64_t)tern__dtype_unit_bytes(x->type->dtype),
              .xs = x->strides,
              .ws = weight->strides,
              .ys = y->strides,
              .xc = nhwc ? 3 : 1,
              .xh = nhwc ? 1 : 2,
              .xw = nhwc ? 2 : 3,
              .kh = weight->type->shape[2],
              .kw = weight->type->shape[3],
              .group_in = weight->type->shape[1],
              .group_out = weight->type->shape[0] / a[TERN__ATTR_conv2d_groups].i,
              .stride_h = a[TERN__ATTR_conv2d_stride_h].i,
              .stride_w = a[TERN__ATTR_conv2d_stride_w].i,
              .pad_h = a[TERN__ATTR_conv2d_pad_h].i,
              .pad_w = a[TERN__ATTR_conv2d_pad_w].i,
              .dilation_h = a[TERN__ATTR_conv2d_dilation_h].i,
              .dilation_w = a[TERN__ATTR_conv2d_dilation_w].i,
              .groups = a[TERN__ATTR_conv2d_groups].i};
    c.height = x->type->shape[c.xh];
    c.width = x->type->shape[c.xw];
    c.out_width = y->type->shape[c.xw];
    return c;
}

/* One strip of one image and group: pixels [first, first + n). */
typedef struct strip {
    const char *x; /* first channel of the group */
    char *y;       /* its first output channel, pixel 0 */
    int64_t group, first, n;
} strip;

static strip strip_of(const conv *c, int64_t item)
{
    const tern__conv_program *p = c->p;
    const int64_t at = item % p->strips, lane = item / p->strips;
    const int64_t image = lane / c->groups, group = lane % c->groups;
    strip s = {.group = group, .first = at * p->strip};
    s.n = smaller(p->strip, p->pixels - s.first);
    s.x = c->x + (image * c->xs[0] + group * c->group_in * c->xs[c->xc]) * c->bytes;
    s.y = c->y + (image * c->ys[0] + group * c->group_out * c->ys[c->xc]) * c->bytes;
    return s;
}

/* ---- windows, unrolled ---- */

/* Elements of output row `row`, columns [from, past), under tap (i, j): zeros in the padding. */
static void unroll_run(const conv *c, const char *channel, int64_t i, int64_t j, int64_t row, int64_t from,
                       int64_t past, float *to)
{
    const int64_t h = row * c->stride_h - c->pad_h + i * c->dilation_h, shift = j * c->dilation_w - c->pad_w;
    const int64_t step = c->stride_w * c->xs[c->xw];
    if (h < 0 || h >= c->height) {
        memset(to, 0, (size_t)(past - from) * sizeof *to);
        return;
    }
    /* first <= column < last are those whose element shift + column * stride lies in the image */
    int64_t first = shift >= 0 ? 0 : parts_of(-shift, c->stride_w);
    int64_t last = c->width - shift <= 0 ? 0 : parts_of(c->width - shift, c->stride_w);
    first = smaller(larger(first, from), past);
    last = larger(smaller(last, past), first);
    for (int64_t w = from; w < first; w++)
        *to++ = 0;
    const char *x = channel + (h * c->xs[c->xh] + (shift + first * c->stride_w) * c->xs[c->xw]) * c->bytes;
    if (c->dtype == TERN_F32 && step != 1)
        for (int64_t w = 0; w < last - first; w++)
            to[w] = ((const float *)(const void *)x)[w * step];
    else if (first < last)
        tern__floats_gather(c->p->rows, c->dtype, x, step, last - first, to);
    to += last - first;
    for (int64_t w = last; w < past; w++)
        *to++ = 0;
}

/* Pixels [first, first + n), one tile: to[k * columns + pixel]. */
static void unroll_tile(const conv *c, const char *x, int64_t first, int64_t n, float *to)
{
    const int64_t columns = c->p->kernel->columns;
    for (int64_t channel = 0; channel < c->group_in; channel++)
        for (int64_t i = 0; i < c->kh; i++)
            for (int64_t j = 0; j < c->kw; j++, to += columns) {
                for (int64_t done = 0; done < n;) {
                    const int64_t row = (first + done) / c->out_width, from = (first + done) % c->out_width;
                    const int64_t run = smaller(n - done, c->out_width - from);
                    unroll_run(c, x + channel * c->xs[c->xc] * c->bytes, i, j, row, from, from + run,
                               to + done);
                    done += run;
                }
                if (n < columns)
                    memset(to + n, 0, (size_t)(columns - n) * sizeof *to);
            }
}

/* ---- products ---- */

static float bias_of(const conv *c, const strip *s, int64_t o)
{
    return tern__float_at(c->dtype, c->bias, (s->group * c->group_out + o) * c->bias_step);
}

static void multiply_strip(const conv *c, const strip *s, char *scratch)
{
    const bool half = c->dtype != TERN_F32;
    const tern__conv_program *p = c->p;
    const int64_t columns = p->kernel->columns, tiles = parts_of(s->n, columns);
    float *windows = (float *)(void *)(scratch + p->windows_at);
    for (int64_t t = 0; t < tiles; t++)
        unroll_tile(c, s->x, s->first + t * columns, smaller(columns, s->n - t * columns),
                    windows + t * columns * p->k);
    const tern__gemm g = {
        .blocking = p->blocking,
        .m = c->group_out,
        .n = s->n,
        .k = p->k,
        .a = c->weight + s->group * c->group_out * c->ws[0] * c->bytes,
        .a_type = c->dtype,
        .a_row = c->ws[0],
        .a_k = 1,
        .b_type = TERN_F32,
        .packed = windows,
        .y = (float *)(void *)(half ? scratch + p->results_at : s->y + s->first * c->ys[c->xw] * c->bytes),
        .y_row = half ? p->strip : c->ys[c->xc],
        .y_column = half ? 1 : c->ys[c->xw]};
    tern__gemm_multiply(p->kernel, &g, 0, g.m, 0, tiles, scratch);
    for (int64_t o = 0; c->bias && o < g.m; o++) {
        const float bias = bias_of(c, s, o);
        for (int64_t i = 0; i < s->n; i++)
            g.y[o * g.y_row + i * g.y_column] += bias;
    }
    for (int64_t o = 0; half && o < g.m; o++)
        tern__floats_store(p->rows, g.y + o * g.y_row, c->dtype,
                           s->y + (o * c->ys[c->xc] + s->first * c->ys[c->xw]) * c->bytes, c->ys[c->xw],
                           s->n);
}

/* ---- what products cannot do: odd strides of weights or results, infinite weights, which padding must not meet ---- */

static float window_sum(const conv *c, const strip *s, int64_t o, int64_t row, int64_t column)
{
    const char *weight = c->weight + (s->group * c->group_out + o) * c->ws[0] * c->bytes;
    float sum = 0;
    for (int64_t channel = 0; channel < c->group_in; channel++)
        for (int64_t i = 0; i < c->kh; i++)
            for (int64_t j = 0; j < c->kw; j++) {
                const int64_t h = row * c->stride_h - c->pad_h + i * c->dilation_h;
                const int64_t w = column * c->stride_w - c->pad_w + j * c->dilation_w;
                if (h >= 0 && h < c->height && w >= 0 && w < c->width)
                    sum = fmaf(
                        tern__float_at(c->dtype, s->x,
                                       channel * c->xs[c->xc] + h * c->xs[c->xh] + w * c->xs[c->xw]),
                        tern__float_at(c->dtype, weight, channel * c->ws[1] + i * c->ws[2] + j * c->ws[3]),
                        sum);
            }
    return sum;
}

static void sum_strip(const conv *c, const strip *s)
{
    for (int64_t o = 0; o < c->group_out; o++)
        for (int64_t pixel = s->first; pixel < s->first + s->n; pixel++) {
            const int64_t row = pixel / c->out_width, column = pixel % c->out_width;
            float y = window_sum(c, s, o, row, column);
            if (c->bias)
                y += bias_of(c, s, o);
            tern__floats_store(
                c->p->rows, &y, c->dtype,
                s->y + (o * c->ys[c->xc] + row * c->ys[c->xh] + column * c->ys[c->xw]) * c->bytes, 1, 1);
        }
}

static bool weights_are_finite(const conv *c)
{
    const int64_t n = c->group_out * c->groups;
    for (int64_t o = 0; o < n; o++) {
        float sum = 0;
        for (int64_t i = 0; i < c->p->k; i++)
            sum += tern__float_at(c->dtype, c->weight, o * c->ws[0] + i) * 0.0f;
        if (sum != 0)
            return false;
    }
    return true;
}

static bool is_product(const conv *c)
{
    const bool rows = (c->kw == 1 || c->ws[3] == 1) && (c->kh == 1 || c->ws[2] == c->kw) &&
                      (c->group_in == 1 || c->ws[1] == c->kh * c->kw);
    const bool pixels = c->p->pixels == c->out_width || c->ys[c->xh] == c->out_width * c->ys[c->xw];
    return rows && pixels && ((c->pad_h == 0 && c->pad_w == 0) || weights_are_finite(c));
}

TERN__KERNEL(conv2d__gemm)
{
    const conv c = conv_of(args);
    const bool product = is_product(&c);
    for (int64_t item = begin; item < end; item++) {
        const strip s = strip_of(&c, item);
        if (product)
            multiply_strip(&c, &s, args->scratch);
        else
            sum_strip(&c, &s);
    }
    return TERN_OK;
}
