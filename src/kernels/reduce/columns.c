/* columns.c - the walk around the inner loops: runs of columns that lie side by side, and for each all its rows. */
#include "kernels/reduce/columns.h"

#include <math.h>

#include "tensor/layout.h"

/* Columns at a time: their results stay in the first-level cache, and a row of them is longer than a prefetcher needs. */
enum { MOST = 1024, LINE = TERN__COLUMNS_LINE };

/* A reduction as rows of columns. */
typedef struct columns {
    const float *x;
    float *y;
    int64_t lanes, y_step; /* of the last axis */
    int n_kept, n_reduced;
    int64_t kept[TERN__MAX_RANK], x_kept[TERN__MAX_RANK],
        y_kept[TERN__MAX_RANK];                                 /* sizes and strides, innermost first */
    int64_t reduced[TERN__MAX_RANK], x_reduced[TERN__MAX_RANK]; /* of the reduced axes, likewise */
    int64_t count;                                              /* elements of a column */
} columns;

static unsigned reduced_axes(int rank, const tern__attr *axes)
{
    unsigned reduced = axes->count == 0 ? (1u << rank) - 1 : 0;
    for (uint32_t i = 0; i < axes->count; i++)
        reduced |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + rank : axes->ints[i]);
    return reduced;
}

bool tern__columns_fit(const tern__type *x, const tern__attr *axes)
{
    return x->dtype == TERN_F32 && x->rank > 1 && (reduced_axes(x->rank, axes) >> (x->rank - 1) & 1) == 0;
}

/* The axes of a call, reduced ones merged where one continues the other. */
static columns columns_of(const tern__kernel_args *args)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int last = x->type->rank - 1;
    const unsigned reduced = reduced_axes(last + 1, &args->attrs[0]);
    int y_axis = y->type->rank - 1;
    columns c = {
        .x = x->data, .y = y->data, .lanes = x->type->shape[last], .y_step = y->strides[y_axis], .count = 1};
    for (int d = last - 1; d >= 0; d--) {
        const int64_t size = x->type->shape[d], stride = x->strides[d];
        const bool taken = reduced >> d & 1;
        if (!taken || args->attrs[1].i)
            y_axis--;
        if (!taken) {
            c.kept[c.n_kept] = size;
            c.x_kept[c.n_kept] = stride;
            c.y_kept[c.n_kept++] = y->strides[y_axis];
            continue;
        }
        c.count *= size;
        if (c.n_reduced > 0 && stride == c.x_reduced[c.n_reduced - 1] * c.reduced[c.n_reduced - 1]) {
            c.reduced[c.n_reduced - 1] *= size;
            continue;
        }
        c.reduced[c.n_reduced] = size;
        c.x_reduced[c.n_reduced++] = stride;
    }
    return c;
}

/* What is done with rows of columns. */
typedef struct taking {
    const tern__columns_kernel *kernel;
    double sums[MOST], centres[MOST];
    float floats[MOST];
} taking;

typedef void take_fn(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n);

static void take_sum(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->sum(t->sums, x, stride, rows, n);
}

static void take_squares(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->squares(t->sums, t->centres, x, stride, rows, n);
}

static void take_largest(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->largest(t->floats, x, stride, rows, n);
}

static void take_smallest(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->smallest(t->floats, x, stride, rows, n);
}

/* All elements of n columns from x on, in ascending order of the reduced axes. */
static void take_all(const columns *c, taking *t, take_fn *take, const float *x, int64_t n)
{
    int64_t index[TERN__MAX_RANK] = {0};
    int d = 0;
    if (c->count == 0)
        return;
    while (d < c->n_reduced) {
        take(t, x, c->x_reduced[0], c->reduced[0], n);
        for (d = 1; d < c->n_reduced && ++index[d] == c->reduced[d]; d++) {
            x -= (index[d] - 1) * c->x_reduced[d];
            index[d] = 0;
        }
        if (d < c->n_reduced)
            x += c->x_reduced[d];
    }
}

typedef void reduce_fn(const columns *c, taking *t, const float *x, float *y, int64_t n,
                       const tern__attr *attrs);

static void start_sums(taking *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        t->sums[i] = 0;
}

static void reduce_sum(const columns *c, taking *t, const float *x, float *y, int64_t n,
                       const tern__attr *attrs)
{
    (void)attrs;
    start_sums(t, n);
    take_all(c, t, take_sum, x, n);
    for (int64_t i = 0; i < n; i++)
        y[i * c->y_step] = (float)t->sums[i];
}

static void reduce_mean(const columns *c, taking *t, const float *x, float *y, int64_t n,
                        const tern__attr *attrs)
{
    (void)attrs;
    start_sums(t, n);
    take_all(c, t, take_sum, x, n);
    for (int64_t i = 0; i < n; i++)
        y[i * c->y_step] = (float)(t->sums[i] / (double)c->count);
}

static void reduce_var(const columns *c, taking *t, const float *x, float *y, int64_t n,
                       const tern__attr *attrs)
{
    const double freedom = (double)c->count - (double)attrs[TERN__ATTR_var_ddof].i;
    start_sums(t, n);
    take_all(c, t, take_sum, x, n);
    for (int64_t i = 0; i < n; i++)
        t->centres[i] = t->sums[i] / (double)c->count;
    start_sums(t, n);
    take_all(c, t, take_squares, x, n);
    for (int64_t i = 0; i < n; i++)
        y[i * c->y_step] = (float)(t->sums[i] / (freedom > 0 ? freedom : 0));
}

static void reduce_floats(const columns *c, taking *t, take_fn *take, float start, const float *x, float *y,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        t->floats[i] = start;
    take_all(c, t, take, x, n);
    for (int64_t i = 0; i < n; i++)
        y[i * c->y_step] = t->floats[i];
}

static void reduce_max(const columns *c, taking *t, const float *x, float *y, int64_t n,
                       const tern__attr *attrs)
{
    (void)attrs;
    reduce_floats(c, t, take_largest, -INFINITY, x, y, n);
}

static void reduce_min(const columns *c, taking *t, const float *x, float *y, int64_t n,
                       const tern__attr *attrs)
{
    (void)attrs;
    reduce_floats(c, t, take_smallest, INFINITY, x, y, n);
}

static int64_t lines_of(int64_t lanes)
{
    return lanes / LINE + (lanes % LINE != 0);
}

int64_t tern__columns_work(const tern__type *x, const tern__type *y)
{
    const int64_t lanes = x->shape[x->rank - 1];
    return lanes == 0 ? 0 : tern__type_numel(y) / lanes * lines_of(lanes);
}

/* Lines [begin, end) where columns do not lie side by side. */
static tern_status reduce_apart(tern__kernel_args *args, int64_t begin, int64_t end, int64_t lanes,
                                tern__kernel_fn reference)
{
    const int64_t lines = lines_of(lanes);
    for (int64_t line = begin; line < end; line++) {
        const int64_t first = line / lines * lanes + line % lines * LINE, left = lanes - line % lines * LINE;
        TERN_TRY(reference(args, first, first + (left < LINE ? left : LINE)));
    }
    return TERN_OK;
}

/* Lines [begin, end), as many as lie side by side at a time. */
static tern_status reduce(tern__kernel_args *args, int64_t begin, int64_t end, reduce_fn *reduction,
                          tern__kernel_fn reference)
{
    const columns c = columns_of(args);
    const int64_t lines = lines_of(c.lanes);
    if (args->in[0].strides[args->in[0].type->rank - 1] != 1)
        return reduce_apart(args, begin, end, c.lanes, reference);
    taking t;
    t.kernel = args->program;
    for (int64_t line = begin, n; line < end; line += lines_of(n)) {
        const int64_t lane = line % lines * LINE, most = (end - line) * LINE;
        int64_t outer = line / lines, x_at = lane, y_at = lane * c.y_step;
        n = c.lanes - lane < most ? c.lanes - lane : most;
        n = n < MOST ? n : MOST;
        for (int d = 0; d < c.n_kept; d++) {
            x_at += outer % c.kept[d] * c.x_kept[d];
            y_at += outer % c.kept[d] * c.y_kept[d];
            outer /= c.kept[d];
        }
        reduction(&c, &t, c.x + x_at, c.y + y_at, n, args->attrs);
    }
    return TERN_OK;
}

#define COLUMNS(op)                                                     \
    TERN__KERNEL(op##__ref);                                            \
    TERN__KERNEL(op##__columns)                                         \
    {                                                                   \
        return reduce(args, begin, end, reduce_##op, tern_##op##__ref); \
    }
COLUMNS(sum)
COLUMNS(mean)
COLUMNS(var)
COLUMNS(max)
COLUMNS(min)
