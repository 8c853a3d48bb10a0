/* conv.c - convolutions as products (conv.h). */
#include "kernels/conv/conv.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/gemm/pack.h"
#include "kernels/row/floats.h"
#include "tensor/op_attrs.h"

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
    bool packs;               /* weights of an output channel do not lie side by side */
    bool apart;               /* results go through the scratch: they are rounded, or their pixels lie odd */
    int64_t packed, n_packed; /* output channels whose weights the scratch has */
    char *scratch;
} conv;

/* Do the rows of a result's channel follow each other, as if they were one? */
static bool rows_meet(const conv *c)
{
    return c->p->pixels == c->out_width || c->ys[c->xh] == c->out_width * c->ys[c->xw];
}

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
              .groups = a[TERN__ATTR_conv2d_groups].i,
              .scratch = args->scratch};
    c.height = x->type->shape[c.xh];
    c.width = x->type->shape[c.xw];
    c.out_width = y->type->shape[c.xw];
    c.packs = !((c.kw == 1 || c.ws[3] == 1) && (c.kh == 1 || c.ws[2] == c.kw) &&
                (c.group_in == 1 || c.ws[1] == c.kh * c.kw));
    c.apart = c.dtype != TERN_F32 || !rows_meet(&c);
    return c;
}

/* One strip of one image and group: pixels [first, first + n). */
typedef struct strip {
    const char *x; /* first channel of the group */
    char *y;       /* its first output channel, pixel 0 */
    int64_t group, first, n;
} strip;

static strip strip_of(const conv *c, int64_t number)
{
    const tern__conv_program *p = c->p;
    const int64_t at = number % p->strips, lane = number / p->strips;
    const int64_t image = lane / c->groups, group = lane % c->groups;
    strip s = {.group = group, .first = at * p->strip};
    s.n = tern__smaller(p->strip, p->pixels - s.first);
    s.x = c->x + (image * c->xs[0] + group * c->group_in * c->xs[c->xc]) * c->bytes;
    s.y = c->y + (image * c->ys[0] + group * c->group_out * c->ys[c->xc]) * c->bytes;
    return s;
}

/* ---- windows, unrolled ---- */

/* Elements of row h of a channel that a tap meets for results [from, past) of a row, `shift` being the first one's column: zeros in
 * the padding. */
static void unroll_run(const conv *c, const char *channel, int64_t h, int64_t shift, int64_t from,
                       int64_t past, float *to)
{
    const int64_t step = c->stride_w * c->xs[c->xw];
    if (h < 0 || h >= c->height) {
        memset(to, 0, (size_t)(past - from) * sizeof *to);
        return;
    }
    /* first <= column < last are those whose element shift + column * stride lies in the image */
    int64_t first = shift >= 0 ? 0 : tern__parts_of(-shift, c->stride_w);
    int64_t last = c->width - shift <= 0 ? 0 : tern__parts_of(c->width - shift, c->stride_w);
    first = tern__smaller(tern__larger(first, from), past);
    last = tern__larger(tern__smaller(last, past), first);
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
                    const int64_t run = tern__smaller(n - done, c->out_width - from);
                    unroll_run(c, x + channel * c->xs[c->xc] * c->bytes,
                               row * c->stride_h - c->pad_h + i * c->dilation_h, j * c->dilation_w - c->pad_w,
                               from, from + run, to + done);
                    done += run;
                }
                if (n < columns)
                    memset(to + n, 0, (size_t)(columns - n) * sizeof *to);
            }
}

static float *windows_of(const conv *c)
{
    return (float *)(void *)(c->scratch + c->p->windows_at);
}

static void unroll_strip(const conv *c, const strip *s)
{
    const int64_t columns = c->p->kernel->columns;
    for (int64_t done = 0; done < s->n; done += columns)
        unroll_tile(c, s->x, s->first + done, tern__smaller(columns, s->n - done),
                    windows_of(c) + done * c->p->k);
}

/* ---- weights ---- */

static const char *weights_of(const conv *c, int64_t channel)
{
    return c->weight + channel * c->ws[0] * c->bytes;
}

/* One output channel's weights side by side, as f32. */
static void pack_channel(const conv *c, const char *from, float *to)
{
    const int64_t taps = c->kh * c->kw;
    if (c->kh == 1 || c->kw == 1 ||
        c->ws[2] == c->kw * c->ws[3]) { /* taps are as far from each other everywhere */
        tern__gemm_pack_lanes(c->p->kernel, c->dtype, from, c->kw == 1 ? c->ws[2] : c->ws[3], c->ws[1], taps,
                              taps, c->group_in, to);
        return;
    }
    for (int64_t channel = 0; channel < c->group_in; channel++)
        for (int64_t i = 0; i < c->kh; i++)
            for (int64_t j = 0; j < c->kw; j++)
                *to++ = tern__float_at(c->dtype, from, channel * c->ws[1] + i * c->ws[2] + j * c->ws[3]);
}

/* Output channels [first, first + n), n <= p->channels: the scratch has them until it gets others. */
static const float *packed_weights(conv *c, int64_t first, int64_t n)
{
    float *to = (float *)(void *)(c->scratch + c->p->weights_at);
    if (c->packed == first && c->n_packed >= n)
        return to;
    for (int64_t o = 0; o < n; o++)
        pack_channel(c, weights_of(c, first + o), to + o * c->p->k);
    c->packed = first;
    c->n_packed = n;
    return to;
}

/* ---- padding, which is left out: 0 times an infinite weight, or NaN, is no part of a chain ---- */

static float window_sum(const conv *c, const strip *s, const char *weight, int64_t row, int64_t column)
{
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

static bool meets_padding(const conv *c, int64_t pixel)
{
    const int64_t h = pixel / c->out_width * c->stride_h - c->pad_h,
                  w = pixel % c->out_width * c->stride_w - c->pad_w;
    return h < 0 || w < 0 || h + (c->kh - 1) * c->dilation_h >= c->height ||
           w + (c->kw - 1) * c->dilation_w >= c->width;
}

/* Row o of a product's weights. */
static bool weights_are_finite(const tern__gemm *g, int64_t o)
{
    const void *row = tern__gemm_at(g->a_type, g->a, o * g->a_row);
    int all = 1;
    if (g->a_type == TERN_F32)
        for (int64_t i = 0; i < g->k; i++)
            all &= fabsf(((const float *)row)[i]) <= FLT_MAX;
    else
        for (int64_t i = 0; i < g->k; i++)
            all &= fabsf(tern__float_at(g->a_type, row, i)) <= FLT_MAX;
    return all != 0;
}

static bool has_nan(const float *x, int64_t step, int64_t n)
{
    int any = 0;
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            any |= x[i] != x[i];
    else
        for (int64_t i = 0; i < n; i++)
            any |= x[i * step] != x[i * step];
    return any != 0;
}

/* (n, columns) sums of which some are NaN? Along memory. */
static bool any_is_nan(const tern__gemm *g)
{
    const bool by_rows = g->y_column <= g->y_row;
    const int64_t outer = by_rows ? g->m : g->n, apart = by_rows ? g->y_row : g->y_column;
    for (int64_t i = 0; i < outer; i++)
        if (has_nan(g->y + i * apart, by_rows ? g->y_column : g->y_row, by_rows ? g->n : g->m))
            return true;
    return false;
}

/* Zeros in the place of padding change no chain but those of weights that are not finite, and these end as NaN. So sums tell, and
 * there are far fewer of them than weights. Such sums are made again, one by one. */
static void leave_padding_out(const conv *c, const strip *s, const tern__gemm *g, int64_t first)
{
    if ((c->pad_h == 0 && c->pad_w == 0) || !any_is_nan(g))
        return;
    for (int64_t o = 0; o < g->m; o++) {
        const char *weight = weights_of(c, first + o);
        float *y = g->y + o * g->y_row;
        if (!has_nan(y, g->y_column, s->n) || weights_are_finite(g, o))
            continue;
        for (int64_t i = 0; i < s->n; i++)
            if (isnan(y[i * g->y_column]) && meets_padding(c, s->first + i))
                y[i * g->y_column] =
                    window_sum(c, s, weight, (s->first + i) / c->out_width, (s->first + i) % c->out_width);
    }
}

/* ---- products ---- */

static void add_bias(const conv *c, const tern__gemm *g, int64_t first)
{
    for (int64_t o = 0; c->bias && o < g->m; o++) {
        const float bias = tern__float_at(c->dtype, c->bias, (first + o) * c->bias_step);
        for (int64_t i = 0; i < g->n; i++)
            g->y[o * g->y_row + i * g->y_column] += bias;
    }
}

/* One channel's results of a strip from the scratch: rows as one, or each by itself. */
static void store_channel(const conv *c, const strip *s, const float *from, char *y)
{
    const int64_t width = rows_meet(c) ? c->p->pixels : c->out_width;
    for (int64_t done = 0, n; done < s->n; done += n) {
        const int64_t row = (s->first + done) / width, column = (s->first + done) % width;
        n = tern__smaller(s->n - done, width - column);
        tern__floats_store(c->p->rows, from + done, c->dtype,
                           y + (row * c->ys[c->xh] + column * c->ys[c->xw]) * c->bytes, c->ys[c->xw], n);
    }
}

/* Output channels [first, first + n) of the group, of a strip that is unrolled. */
static void multiply_channels(conv *c, const strip *s, int64_t first, int64_t n)
{
    const tern__conv_program *p = c->p;
    const int64_t channel = s->group * c->group_out + first, step = c->ys[c->xc];
    char *y = s->y + first * step * c->bytes;
    tern__gemm g = {.blocking = p->blocking,
                    .m = n,
                    .n = s->n,
                    .k = p->k,
                    .a = weights_of(c, channel),
                    .a_type = c->dtype,
                    .a_row = c->ws[0],
                    .a_k = 1,
                    .b_type = TERN_F32,
                    .packed = windows_of(c),
                    .y = (float *)(void *)(c->scratch + p->results_at),
                    .y_row = p->strip,
                    .y_column = 1};
    if (c->packs) {
        g.a = packed_weights(c, channel, n);
        g.a_type = TERN_F32;
        g.a_row = p->k;
    }
    if (!c->apart) {
        g.y = (float *)(void *)(y + s->first * c->ys[c->xw] * c->bytes);
        g.y_row = step;
        g.y_column = c->ys[c->xw];
    }
    tern__gemm_multiply(p->kernel, &g, 0, n, 0, tern__parts_of(s->n, p->kernel->columns), c->scratch);
    leave_padding_out(c, s, &g, channel);
    add_bias(c, &g, channel);
    for (int64_t o = 0; c->apart && o < n; o++)
        store_channel(c, s, g.y + o * g.y_row, y + o * step * c->bytes);
}

/* ---- few output channels in a group, as in depthwise convolutions: unrolling would cost more than the products ---- */

/* Rows of a channel that a strip's windows meet, with the padding around them, `pitch` apart. */
static void fill_plane(const conv *c, const strip *s, int64_t channel, float *to)
{
    const tern__conv_program *p = c->p;
    const int64_t h = s->first / c->out_width * c->stride_h - c->pad_h, rows = s->n / c->out_width;
    const int64_t n = (rows - 1) * c->stride_h + (c->kh - 1) * c->dilation_h + 1;
    for (int64_t i = 0; i < n; i++)
        unroll_run(c, s->x + channel * c->xs[c->xc] * c->bytes, h + i, -c->pad_w, 0, p->pitch,
                   to + i * p->pitch);
}

/* Adds the products of a channel's plane. A row of a filter is a product whose b has rows that overlap, each a step further into the
 * image. Where rows of results are as far apart as those of the plane, all of them are one: what lies between them is nobody's. */
static void multiply_plane(const conv *c, const strip *s, const tern__gemm *g, int64_t channel,
                           const float *plane)
{
    const tern__gemm_kernel *kernel = c->p->kernel;
    const int64_t pitch = c->p->pitch, rows = s->n / c->out_width,
                  whole = kernel->ragged ? 1 : kernel->vector;
    const bool one = c->stride_h == 1;
    const int64_t runs = one ? 1 : rows, n = (one ? (rows - 1) * pitch : 0) + c->out_width;
    tern__gemm_tile t = {
        .a_row = g->a_row, .a_k = 1, .b_k = c->dilation_w, .y_row = g->y_row, .k = c->kw, .rows = (int)g->m};
    for (int64_t run = 0; run < runs; run++)
        for (int64_t at = 0; at < n; at += kernel->columns) {
            t.columns = (int)(tern__parts_of(tern__smaller(kernel->columns, n - at), whole) * whole);
            t.y = g->y + run * pitch + at;
            for (int64_t i = 0; i < c->kh; i++) {
                t.a = (const float *)g->a + (channel * c->kh + i) * c->kw;
                t.b = plane + (run * c->stride_h + i * c->dilation_h) * pitch + at;
                t.add = channel > 0 || i > 0;
                kernel->multiply(&t);
            }
        }
}

/* All output channels of the strip's group. */
static void multiply_in_place(conv *c, const strip *s)
{
    const tern__conv_program *p = c->p;
    const int64_t first = s->group * c->group_out, rows = s->n / c->out_width;
    const bool packs = c->packs || c->dtype != TERN_F32;
    const tern__gemm g = {.m = c->group_out,
                          .n = (rows - 1) * p->pitch + c->out_width,
                          .k = p->k,
                          .a = packs ? (const void *)packed_weights(c, first, c->group_out)
                                     : weights_of(c, first),
                          .a_type = TERN_F32,
                          .a_row = packs ? p->k : c->ws[0],
                          .y = (float *)(void *)(c->scratch + p->results_at),
                          .y_row = p->strip_results,
                          .y_column = 1};
    for (int64_t channel = 0; channel < c->group_in; channel++) {
        fill_plane(c, s, channel, windows_of(c));
        multiply_plane(c, s, &g, channel, windows_of(c));
    }
    const bool meets_nan = any_is_nan(&g);
    for (int64_t row = 0; row < rows; row++) {
        const strip one = {s->x, s->y, s->group, s->first + row * c->out_width, c->out_width};
        tern__gemm of = g;
        of.n = c->out_width;
        of.y = g.y + row * p->pitch;
        if (meets_nan)
            leave_padding_out(c, &one, &of, first);
        add_bias(c, &of, first);
        for (int64_t o = 0; o < g.m; o++)
            store_channel(c, &one, of.y + o * g.y_row, s->y + o * c->ys[c->xc] * c->bytes);
    }
}

/* ---- items ---- */

/* Blocks are whole tiles high. */
static int64_t first_channel(const conv *c, int64_t block)
{
    const tern__gemm_kernel *kernel = c->p->kernel;
    const int64_t height = tern__gemm_low_rows(kernel);
    return tern__smaller(tern__parts_of(c->group_out, height) * block / c->p->blocks * height, c->group_out);
}

TERN__KERNEL(conv2d__gemm)
{
    conv c = conv_of(args);
    const int64_t blocks = c.p->blocks;
    for (int64_t item = begin, n; item < end; item += n) {
        const int64_t block = item % blocks;
        n = tern__smaller(end - item, blocks - block);
        const strip s = strip_of(&c, item / blocks);
        const int64_t last = first_channel(&c, block + n);
        if (c.p->in_place) {
            multiply_in_place(&c, &s);
            continue;
        }
        unroll_strip(&c, &s);
        for (int64_t o = first_channel(&c, block), some; o < last; o += some) {
            some = c.packs || c.apart ? tern__smaller(c.p->channels, last - o) : last - o;
            multiply_channels(&c, &s, o, some);
        }
    }
    return TERN_OK;
}
