/* columns.c - the walk around the inner loops: runs of columns that lie side by side, and for each all its rows. */
#include "kernels/reduce/columns.h"

#include <math.h>

#include "kernels/row/floats.h"
#include "tensor/convert.h"
#include "tensor/layout.h"

enum {
    MOST =
        1024, /* columns at a time: their results stay in the first-level cache, and a row of them is longer than a prefetcher needs */
    LINE = TERN__COLUMNS_LINE,
    GATHERED =
        4 * MOST, /* elements that are brought together at a time, where they lie apart or are of 16 bits */
};

/* A reduction as rows of columns. */
typedef struct columns {
    const char *x;
    char *y;
    tern_dtype x_dtype, y_dtype;
    int64_t x_bytes, y_bytes;      /* of an element */
    int64_t lanes, x_step, y_step; /* of the last axis */
    int n_kept, n_reduced;
    int64_t kept[TERN__MAX_RANK], x_kept[TERN__MAX_RANK],
        y_kept[TERN__MAX_RANK];                                 /* sizes and strides, innermost first */
    int64_t reduced[TERN__MAX_RANK], x_reduced[TERN__MAX_RANK]; /* of the reduced axes, likewise */
    int64_t count;                                              /* elements of a column */
} columns;

uint32_t tern__columns_reduced(const tern__type *x, const tern__attr *axes)
{
    uint32_t reduced = axes->count == 0 ? (1u << x->rank) - 1 : 0;
    for (uint32_t i = 0; i < axes->count; i++)
        reduced |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + x->rank : axes->ints[i]);
    return reduced;
}

bool tern__columns_fit(const tern__type *x, const tern__attr *axes, bool whole)
{
    return (whole ? tern__is_whole(x->dtype) : tern__floats_reads(x->dtype)) && x->rank > 1 &&
           (tern__columns_reduced(x, axes) >> (x->rank - 1) & 1) == 0;
}

/* The axes of a call, reduced ones merged where one continues the other. */
static columns columns_of(const tern__kernel_args *args)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int last = x->type->rank - 1;
    const uint32_t reduced = tern__columns_reduced(x->type, &args->attrs[0]);
    int y_axis = y->type->rank - 1;
    columns c = {.x = x->data,
                 .y = y->data,
                 .x_dtype = x->type->dtype,
                 .y_dtype = y->type->dtype,
                 .x_bytes = (int64_t)tern__dtype_unit_bytes(x->type->dtype),
                 .y_bytes = (int64_t)tern__dtype_unit_bytes(y->type->dtype),
                 .lanes = x->type->shape[last],
                 .x_step = x->strides[last],
                 .y_step = y->strides[y_axis],
                 .count = 1};
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
    const tern__columns_program *p;
    const tern__columns_kernel *kernel;
    double sums[MOST], centres[MOST];
    float floats[MOST], gathered[GATHERED];
    int64_t wholes[MOST], whole_row[MOST];
    void (*take_whole)(int64_t *to, const void *x, int64_t stride, int64_t rows, int64_t n);
    void (*take_i64)(int64_t *to, const void *x, int64_t stride, int64_t rows, int64_t n);
} taking;

typedef void take_fn(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n);

static void take_sum(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->sum(t->sums, x, stride, rows, n, t->p->in_order);
}

static void take_squares(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->squares(t->sums, t->centres, x, stride, rows, n, t->p->in_order);
}

static void take_largest(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->largest(t->floats, x, stride, rows, n, t->p->in_order);
}

static void take_smallest(taking *t, const float *x, int64_t stride, int64_t rows, int64_t n)
{
    t->kernel->smallest(t->floats, x, stride, rows, n, t->p->in_order);
}

/* Elements that lie apart are brought together row by row. */
static void take_whole_rows(const columns *c, taking *t, const char *x, int64_t n)
{
    const int64_t rows = c->reduced[0], stride = c->x_reduced[0];
    if (c->x_step == 1 || n == 1) {
        t->take_whole(t->wholes, x, stride, rows, n);
        return;
    }
    for (int64_t r = 0; r < rows; r++, x += stride * c->x_bytes) {
        tern__convert(c->x_dtype, x, c->x_step, TERN_I64, t->whole_row, 1, n);
        t->take_i64(t->wholes, t->whole_row, n, 1, n);
    }
}

/* Rows that follow each other along the innermost reduced axis. `take` is of floats. */
static void take_rows(const columns *c, taking *t, take_fn *take, const char *x, int64_t n)
{
    const int64_t rows = c->reduced[0], stride = c->x_reduced[0];
    if (!take) {
        take_whole_rows(c, t, x, n);
        return;
    }
    if (c->x_dtype == TERN_F32 && (c->x_step == 1 || n == 1)) {
        take(t, (const float *)(const void *)x, stride, rows, n);
        return;
    }
    for (int64_t r = 0, count, most = GATHERED / n; r < rows; r += count) {
        count = rows - r < most ? rows - r : most;
        for (int64_t i = 0; i < count; i++) {
            if (c->x_step == 1) /* the row that is loaded in the next turn */
                tern__floats_fetch(x + (r + i + most) * stride * c->x_bytes, n * c->x_bytes);
            tern__floats_load(t->p->rows, c->x_dtype, x + (r + i) * stride * c->x_bytes, c->x_step, n,
                              t->gathered + i * n);
        }
        take(t, t->gathered, n, count, n);
    }
}

/* All elements of n columns from x on, in ascending order of the reduced axes. */
static void take_all(const columns *c, taking *t, take_fn *take, const char *x, int64_t n)
{
    int64_t index[TERN__MAX_RANK] = {0};
    int d = 0;
    if (c->count == 0)
        return;
    while (d < c->n_reduced) {
        take_rows(c, t, take, x, n);
        for (d = 1; d < c->n_reduced && ++index[d] == c->reduced[d]; d++) {
            x -= (index[d] - 1) * c->x_reduced[d] * c->x_bytes;
            index[d] = 0;
        }
        if (d < c->n_reduced)
            x += c->x_reduced[d] * c->x_bytes;
    }
}

static void put_sums(const columns *c, const taking *t, char *y, int64_t n)
{
    tern__convert(TERN_F64, t->sums, 1, c->y_dtype, y, c->y_step, n);
}

typedef void reduce_fn(const columns *c, taking *t, const char *x, char *y, int64_t n,
                       const tern__attr *attrs);

static void start_sums(taking *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        t->sums[i] = 0;
}

/* With the loop of this place in tern__whole_loops. */
#define REDUCE_WHOLE(c, t, loop, start, x, y, n)                 \
    do {                                                         \
        (t)->take_whole = (t)->kernel->whole[(c)->x_dtype].loop; \
        (t)->take_i64 = (t)->kernel->whole[TERN_I64].loop;       \
        reduce_whole(c, t, start, x, y, n);                      \
    } while (0)

static void reduce_whole(const columns *c, taking *t, int64_t start, const char *x, char *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        t->wholes[i] = start;
    take_all(c, t, NULL, x, n);
    tern__convert(TERN_I64, t->wholes, 1, c->y_dtype, y, c->y_step, n);
}

static void reduce_sum(const columns *c, taking *t, const char *x, char *y, int64_t n,
                       const tern__attr *attrs)
{
    (void)attrs;
    if (tern__is_whole(c->x_dtype)) {
        REDUCE_WHOLE(c, t, add, 0, x, y, n);
        return;
    }
    start_sums(t, n);
    take_all(c, t, take_sum, x, n);
    put_sums(c, t, y, n);
}

static void reduce_mean(const columns *c, taking *t, const char *x, char *y, int64_t n,
                        const tern__attr *attrs)
{
    (void)attrs;
    start_sums(t, n);
    take_all(c, t, take_sum, x, n);
    for (int64_t i = 0; i < n; i++)
        t->sums[i] /= (double)c->count;
    put_sums(c, t, y, n);
}

static void reduce_var(const columns *c, taking *t, const char *x, char *y, int64_t n,
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
        t->sums[i] /= freedom > 0 ? freedom : 0;
    put_sums(c, t, y, n);
}

static void reduce_floats(const columns *c, taking *t, take_fn *take, float start, const char *x, char *y,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        t->floats[i] = start;
    take_all(c, t, take, x, n);
    tern__convert(TERN_F32, t->floats, 1, c->y_dtype, y, c->y_step, n);
}

static void reduce_max(const columns *c, taking *t, const char *x, char *y, int64_t n,
                       const tern__attr *attrs)
{
    (void)attrs;
    if (tern__is_whole(c->x_dtype)) /* of no bools: none */
        REDUCE_WHOLE(c, t, largests, c->x_dtype == TERN_BOOL ? 0 : INT64_MIN, x, y, n);
    else
        reduce_floats(c, t, take_largest, -INFINITY, x, y, n);
}

static void reduce_min(const columns *c, taking *t, const char *x, char *y, int64_t n,
                       const tern__attr *attrs)
{
    (void)attrs;
    if (tern__is_whole(c->x_dtype)) /* of no bools: all */
        REDUCE_WHOLE(c, t, smallests, c->x_dtype == TERN_BOOL ? 1 : INT64_MAX, x, y, n);
    else
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

/* Lines [begin, end), as many as lie side by side at a time. */
static tern_status reduce(tern__kernel_args *args, int64_t begin, int64_t end, reduce_fn *reduction)
{
    const columns c = columns_of(args);
    const int64_t lines = lines_of(c.lanes);
    taking t;
    t.p = args->program;
    t.kernel = t.p->kernel;
    for (int64_t line = begin, n; line < end; line += lines_of(n)) {
        const int64_t lane = line % lines * LINE, most = (end - line) * LINE;
        int64_t outer = line / lines, x_at = lane * c.x_step, y_at = lane * c.y_step;
        n = c.lanes - lane < most ? c.lanes - lane : most;
        n = n < MOST ? n : MOST;
        for (int d = 0; d < c.n_kept; d++) {
            x_at += outer % c.kept[d] * c.x_kept[d];
            y_at += outer % c.kept[d] * c.y_kept[d];
            outer /= c.kept[d];
        }
        reduction(&c, &t, c.x + x_at * c.x_bytes, c.y + y_at * c.y_bytes, n, args->attrs);
    }
    return TERN_OK;
}

#define COLUMNS(op)                                   \
    TERN__KERNEL(op##__columns)                       \
    {                                                 \
        return reduce(args, begin, end, reduce_##op); \
    }
COLUMNS(sum)
COLUMNS(mean)
COLUMNS(var)
COLUMNS(max)
COLUMNS(min)
