/* pool.c - pools by pieces of result rows: each element of the window is taken for a whole piece at once, whose running
 * results lie in the first-level cache. A piece is some results side by side (elements that go into them are a stride apart) or,
 * with channels last, channels of one result. */
#include "kernels/pool/pool.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/row/floats.h"
#include "tensor/op_attrs.h"

/* max_pool2d has the attributes of avg_pool2d but the last, in the same places. */
_Static_assert((int)TERN__ATTR_max_pool2d_kernel_h == (int)TERN__ATTR_avg_pool2d_kernel_h &&
                   (int)TERN__ATTR_max_pool2d_nhwc == (int)TERN__ATTR_avg_pool2d_nhwc,
               "the numbers of avg_pool2d serve both");

enum {
    PIECE = 256,
    TAPS = 16,
    RUN = PIECE + TERN__POOL_WIDEST, /* elements of 16 bits that are widened at a time */
};

typedef struct pool {
    const tern__pool_kernel *kernel;
    const tern__rowop_table *rows;
    const char *x;
    char *y;
    tern_dtype dtype;
    int64_t bytes;          /* of an element */
    int64_t piece;          /* results that are computed at a time */
    const int64_t *xs, *ys; /* strides */
    int c, h, w;            /* axes */
    int64_t channels, height, width, out_height, out_width;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    bool nhwc, mean, count_padding;
} pool;

/* The running results of a piece. */
typedef struct piece {
    int64_t n;
    float largest[PIECE]; /* and at the end the results */
    double sum[PIECE];    /* of means */
} piece;

/* ---- pieces ---- */

static void begin_piece(const pool *p, piece *o, int64_t n)
{
    const int64_t filled = (n + 15) / 16 * 16; /* whole vectors: there is room */
    o->n = n;
    if (p->mean)
        for (int64_t i = 0; i < filled; i++)
            o->sum[i] = 0;
    else
        for (int64_t i = 0; i < filled; i++)
            o->largest[i] = -INFINITY;
}

/* Results [first, first + n) of the piece take elements that are `step` apart. */
static void take(const pool *p, piece *o, int64_t first, int64_t n, const float *x, int64_t step)
{
    if (p->mean)
        p->kernel->take_sum(o->sum + first, x, step, n);
    else
        p->kernel->take_largest(o->largest + first, x, step, n);
}

/* n elements, `step` apart, as f32, which are *step_after apart. */
static const float *floats_at(const pool *p, int64_t at, int64_t step, int64_t n, float *room,
                              int64_t *step_after)
{
    const char *from = p->x + at * p->bytes;
    *step_after = p->dtype == TERN_F32 ? step : 1;
    return p->dtype == TERN_F32 ? (const float *)(const void *)from
                                : tern__floats_load(p->rows, p->dtype, from, step, n, room);
}

/* What becomes of the running results: each mean is of `count` elements. */
static void end_piece(const pool *p, piece *o, double count)
{
    for (int64_t i = 0; p->mean && i < o->n; i++)
        o->largest[i] = (float)(o->sum[i] / count);
}

static void put_piece(const pool *p, const piece *o, int64_t at, int64_t step)
{
    tern__floats_store(p->rows, o->largest, p->dtype, p->y + at * p->bytes, step, o->n);
}

/* ---- windows along one axis ---- */

/* Elements [first, past) of a window lie in the image; element t is at `origin` + t. */
typedef struct span {
    int64_t origin, first, past;
} span;

static span span_of(int64_t size, int64_t kernel, int64_t out, int64_t stride, int64_t pad)
{
    const int64_t origin = out * stride - pad;
    const int64_t first = tern__smaller(tern__larger(-origin, 0), kernel);
    return (span){origin, first, tern__larger(tern__smaller(size - origin, kernel), first)};
}

/* Those results of [from, from + n) whose window's element t lies in the image. */
static span outs_of(const pool *p, int64_t t, int64_t from, int64_t n)
{
    const int64_t before = p->pad_w - t; /* of the image's first column */
    const int64_t first = before > 0 ? (before + p->stride_w - 1) / p->stride_w : 0;
    const int64_t past = p->width + before > 0 ? (p->width + before - 1) / p->stride_w + 1 : 0;
    const int64_t begin = tern__larger(first, from);
    return (span){0, begin, tern__larger(tern__smaller(past, from + n), begin)};
}

static double count_of(const pool *p, const span *rows, const span *columns)
{
    return (double)(p->count_padding ? p->kernel_h * p->kernel_w
                                     : (rows->past - rows->first) * (columns->past - columns->first));
}

/* ---- rows ---- */

/* For each of the first TAPS elements of a window the results of a piece that have it; all rows share them. */
typedef struct piece_outs {
    int64_t from, n;
    span outs[TAPS];
} piece_outs;

static piece_outs piece_outs_of(const pool *p, int64_t from, int64_t most)
{
    piece_outs t = {.from = from, .n = tern__smaller(most, p->out_width - from)};
    for (int64_t j = 0; j < tern__smaller(p->kernel_w, TAPS); j++)
        t.outs[j] = outs_of(p, j, t.from, t.n);
    return t;
}

/* Results [from, from + n) of row (image, channel, row) in [n, c, h, w]. A row of the image is widened once for all elements of
 * windows that lie in it. */
static void pool_columns(const pool *p, const piece_outs *all, int64_t image, int64_t channel, int64_t row)
{
    const int64_t from = all->from, n = all->n;
    const int64_t at = image * p->xs[0] + channel * p->xs[p->c];
    const span rows = span_of(p->height, p->kernel_h, row, p->stride_h, p->pad_h);
    const int64_t first = tern__larger(from * p->stride_w - p->pad_w, 0),
                  past = tern__smaller((from + n - 1) * p->stride_w - p->pad_w + p->kernel_w, p->width);
    float room[RUN];
    piece o;
    begin_piece(p, &o, n);
    for (int64_t i = rows.first; i < rows.past && first < past; i++) {
        int64_t step;
        const float *x = floats_at(p, at + (rows.origin + i) * p->xs[p->h] + first * p->xs[p->w], p->xs[p->w],
                                   past - first, room, &step);
        for (int64_t j = 0; j < p->kernel_w; j++) {
            const span outs = j < TAPS ? all->outs[j] : outs_of(p, j, from, n);
            const int64_t column = outs.first * p->stride_w - p->pad_w + j;
            if (outs.first < outs.past)
                take(p, &o, outs.first - from, outs.past - outs.first, x + (column - first) * step,
                     p->stride_w * step);
        }
    }
    end_piece(p, &o, count_of(p, &rows, &(span){0, 0, p->kernel_w}));
    /* Windows that have columns in the padding are means of fewer elements. */
    for (int64_t i = 0; i < n && p->mean && !p->count_padding && p->pad_w > 0; i++) {
        const span columns = span_of(p->width, p->kernel_w, from + i, p->stride_w, p->pad_w);
        if (columns.past - columns.first < p->kernel_w)
            o.largest[i] = (float)(o.sum[i] / count_of(p, &rows, &columns));
    }
    put_piece(p, &o, image * p->ys[0] + channel * p->ys[p->c] + row * p->ys[p->h] + from * p->ys[p->w],
              p->ys[p->w]);
}

/* Channels [from, from + n) of result (image, row, column) in [n, h, w, c]. */
static void pool_channels(const pool *p, int64_t image, int64_t row, int64_t column, int64_t from, int64_t n)
{
    const int64_t at = image * p->xs[0] + from * p->xs[p->c];
    const span rows = span_of(p->height, p->kernel_h, row, p->stride_h, p->pad_h);
    const span columns = span_of(p->width, p->kernel_w, column, p->stride_w, p->pad_w);
    float room[PIECE];
    piece o;
    begin_piece(p, &o, n);
    for (int64_t i = rows.first; i < rows.past; i++)
        for (int64_t j = columns.first; j < columns.past; j++) {
            int64_t step;
            const float *x =
                floats_at(p, at + (rows.origin + i) * p->xs[p->h] + (columns.origin + j) * p->xs[p->w],
                          p->xs[p->c], n, room, &step);
            take(p, &o, 0, n, x, step);
        }
    end_piece(p, &o, count_of(p, &rows, &columns));
    put_piece(p, &o, image * p->ys[0] + row * p->ys[p->h] + column * p->ys[p->w] + from * p->ys[p->c],
              p->ys[p->c]);
}

/* Results side by side whose windows' columns are at most RUN elements, if those have to be widened. */
static int64_t piece_of(const pool *p)
{
    return p->dtype == TERN_F32
               ? PIECE
               : tern__larger(1, tern__smaller(PIECE, (RUN - p->kernel_w) / p->stride_w + 1));
}

bool tern__pool_fits(const tern__type *x, const tern__attr *attrs)
{
    return tern__floats_reads(x->dtype) &&
           (x->dtype == TERN_F32 || attrs[TERN__ATTR_avg_pool2d_kernel_w].i <= TERN__POOL_WIDEST);
}

static pool pool_of(const tern__kernel_args *args, bool mean)
{
    const tern__attr *a = args->attrs;
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const bool nhwc = a[TERN__ATTR_avg_pool2d_nhwc].i != 0;
    const tern__pool_program *program = args->program;
    pool p = {.kernel = program->kernel,
              .rows = program->rows,
              .dtype = x->type->dtype,
              .bytes = (int64_t)tern__dtype_unit_bytes(x->type->dtype),
              .x = x->data,
              .y = y->data,
              .xs = x->strides,
              .ys = y->strides,
              .c = nhwc ? 3 : 1,
              .h = nhwc ? 1 : 2,
              .w = nhwc ? 2 : 3,
              .kernel_h = a[TERN__ATTR_avg_pool2d_kernel_h].i,
              .kernel_w = a[TERN__ATTR_avg_pool2d_kernel_w].i,
              .stride_h = a[TERN__ATTR_avg_pool2d_stride_h].i,
              .stride_w = a[TERN__ATTR_avg_pool2d_stride_w].i,
              .pad_h = a[TERN__ATTR_avg_pool2d_pad_h].i,
              .pad_w = a[TERN__ATTR_avg_pool2d_pad_w].i,
              .nhwc = nhwc,
              .mean = mean,
              .count_padding = mean && a[TERN__ATTR_avg_pool2d_count_padding].i != 0};
    p.channels = x->type->shape[p.c];
    p.height = x->type->shape[p.h];
    p.width = x->type->shape[p.w];
    p.out_height = y->type->shape[p.h];
    p.out_width = y->type->shape[p.w];
    p.piece = piece_of(&p);
    return p;
}

int64_t tern__pool_work(const tern__type *y, const tern__attr *attrs)
{
    return y->shape[0] * y->shape[1] * (attrs[TERN__ATTR_avg_pool2d_nhwc].i ? 1 : y->shape[2]);
}

/* Are the largest elements of windows found with all of a window at a time? */
static bool takes_whole_windows(const pool *p)
{
    return p->kernel->largest && !p->mean && (p->stride_w == 1 || p->stride_w == 2) &&
           (p->xs[p->w] == 1 || p->width == 1) && (p->ys[p->w] == 1 || p->out_width == 1);
}

/* The same for windows that lie in the image's columns from the first to the last. */
static void pool_inside(const pool *p, int64_t from, int64_t n, int64_t image, int64_t channel, int64_t row)
{
    const span rows = span_of(p->height, p->kernel_h, row, p->stride_h, p->pad_h);
    const int64_t x = image * p->xs[0] + channel * p->xs[p->c] + (rows.origin + rows.first) * p->xs[p->h] +
                      from * p->stride_w - p->pad_w;
    const int64_t y = image * p->ys[0] + channel * p->ys[p->c] + row * p->ys[p->h] + from;
    p->kernel->largest(p->y + y * p->bytes, p->x + x * p->bytes, p->dtype, p->xs[p->h],
                       rows.past - rows.first, p->kernel_w, p->stride_w, n);
}

/* Windows with columns in the padding, on both sides, are taken element by element. */
static void run_whole_windows(const pool *p, int64_t begin, int64_t end)
{
    const int64_t first = tern__smaller((p->pad_w + p->stride_w - 1) / p->stride_w, p->out_width);
    const int64_t fits =
        p->width + p->pad_w - p->kernel_w; /* where the last window that lies in the image may begin */
    const int64_t past =
        tern__larger(fits >= 0 ? tern__smaller(fits / p->stride_w + 1, p->out_width) : 0, first);
    for (int64_t item = begin; item < end; item++) {
        const int64_t plane = item / p->out_height, row = item % p->out_height;
        const int64_t image = plane / p->channels, channel = plane % p->channels;
        if (past > first)
            pool_inside(p, first, past - first, image, channel, row);
        for (int64_t from = 0; from < p->out_width; from++) {
            if (from == first)
                from = past;
            if (from == p->out_width)
                break;
            const piece_outs one = piece_outs_of(p, from, 1);
            pool_columns(p, &one, image, channel, row);
        }
    }
}

static void run_planes(const pool *p, int64_t begin, int64_t end)
{
    if (takes_whole_windows(p)) {
        run_whole_windows(p, begin, end);
        return;
    }
    for (int64_t from = 0; from < p->out_width; from += p->piece) {
        const piece_outs all = piece_outs_of(p, from, p->piece);
        for (int64_t item = begin; item < end; item++) {
            const int64_t plane = item / p->out_height;
            pool_columns(p, &all, plane / p->channels, plane % p->channels, item % p->out_height);
        }
    }
}

static void run_pixels(const pool *p, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        for (int64_t column = 0; column < p->out_width; column++)
            for (int64_t from = 0; from < p->channels; from += PIECE)
                pool_channels(p, item / p->out_height, item % p->out_height, column, from,
                              tern__smaller(PIECE, p->channels - from));
}

static void run(const pool *p, int64_t begin, int64_t end)
{
    if (p->nhwc)
        run_pixels(p, begin, end);
    else
        run_planes(p, begin, end);
}

TERN__KERNEL(max_pool2d__rows)
{
    const pool p = pool_of(args, false);
    run(&p, begin, end);
    return TERN_OK;
}

TERN__KERNEL(avg_pool2d__rows)
{
    const pool p = pool_of(args, true);
    run(&p, begin, end);
    return TERN_OK;
}
