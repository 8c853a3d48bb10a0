/* softmax.c - softmax of columns: a block of neighbouring columns at a time, three times over its rows. Maps are the row
 * programs' own instructions, on a row of the block or, where rows follow each other without a gap, on many at once. */
#include "kernels/reduce/softmax.h"

#include <math.h>
#include <string.h>

#include "kernels/reduce/axis.h"
#include "kernels/row/frame.h"
#include "kernels/row/floats.h"
#include "tensor/convert.h"

enum {
    LINE = TERN__COLUMNS_LINE,
    LANES = 16,        /* of a row program's reductions */
    PAIRS = 2 * LANES, /* rows of which a sum takes two to a lane */
    MOST = 128,        /* columns of a block: what is known of them stays in the first-level cache */
    CHUNK = PAIRS * MOST,
    NARROW = CHUNK / 4, /* elements at a time of a block with few columns */
    KEPT = 128 << 10,   /* e^x of a block that the second-level cache holds; else it is computed again */
};

typedef struct space {
    double lanes[LANES * MOST];
    float chunk[CHUNK], shift[CHUNK], last[CHUNK], kept[KEPT];
} space;

/* x or y: an element of row r and column c lies at r * row + c * step. */
typedef struct side {
    char *data; /* of x: read only */
    tern_dtype dtype;
    int64_t bytes, row, step;
    bool dense;    /* columns follow each other */
    bool flat;     /* and so do rows */
    bool in_place; /* dense, of f32 */
} side;

/* The block of a call that is worked on. */
typedef struct block {
    const tern__columns_program *p;
    space *s;
    side x, y;
    int64_t rows, n; /* n columns */
    int64_t chunk;   /* rows at a time, a multiple of PAIRS */
    bool keeps;
} block;

static const tern__rowop_map *maps_of(const block *b, tern__rowop op)
{
    return b->p->rows->map[op];
}

/* ---- rows ---- */

typedef struct run {
    const float *at;
    int64_t stride;
} run;

/* Rows [r, r + count) of x as f32: where they lie, or in the chunk. */
static run rows_of(const block *b, int64_t r, int64_t count)
{
    const side *x = &b->x;
    const char *from = x->data + r * x->row * x->bytes;
    if (x->in_place)
        return (run){(const float *)(const void *)from, x->row};
    for (int64_t i = 0; i < count; i++, from += x->row * x->bytes)
        tern__floats_load(b->p->rows, x->dtype, from, x->step, b->n, b->s->chunk + i * b->n);
    return (run){b->s->chunk, b->n};
}

/* Rows apart are often on pages of their own, where the hardware's prefetchers start anew, and share a few sets of the first-level
 * cache: they are fetched into the second.
 *
 * to = op(from, by): `by` is a row, which stands as often as there are rows in a chunk if rows follow each other. */
static void map_rows(const block *b, tern__rowop op, float *to, int64_t to_stride, run from, const float *by,
                     int64_t count, bool more)
{
    const tern__rowop_map map = maps_of(b, op)[0];
    if (to_stride == b->n && from.stride == b->n) {
        map(to, from.at, by, NULL, NULL, count * b->n);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const float *row = from.at + i * from.stride;
        if (more)
            tern__floats_fetch(row + b->chunk * from.stride, b->n * (int64_t)sizeof *row);
        map(to + i * to_stride, row, by, NULL, NULL, b->n);
    }
}

/* The first row as many more times as a chunk needs. */
static void repeat(const block *b, float *row)
{
    const int64_t count = b->rows < b->chunk ? b->rows : b->chunk;
    for (int64_t i = 1; i < count; i++)
        memcpy(row + i * b->n, row, (size_t)b->n * sizeof *row);
}

/* Rows of a chunk go to y, where they cannot be computed: past the caches, rounded, or apart. */
static void store_rows(const block *b, int64_t r, const float *from, int64_t count)
{
    const side *y = &b->y;
    const tern__rowop store = y->in_place ? TERN__ROWOP_stream
                              : y->dense  ? tern__row_store_op(y->dtype)
                                          : (tern__rowop)0;
    const int64_t at_once = y->flat ? count : 1;
    for (int64_t i = 0; i < count; i += at_once) {
        char *to = y->data + (r + i) * y->row * y->bytes;
        if (store)
            maps_of(b, store)[0](to, from + i * b->n, NULL, NULL, NULL, at_once * b->n);
        else
            tern__convert(TERN_F32, from + i * b->n, 1, y->dtype, to, y->step, b->n);
    }
}

/* ---- passes ---- */

/* Each column's largest element, in `shift`. */
static void find_largest(const block *b)
{
    const tern__columns_kernel *k = b->p->kernel;
    const bool in_order = b->p->in_order;
    float *lanes = (float *)b->s->lanes;
    const int64_t n = b->n, all = LANES * n;
    for (int64_t i = 0; i < all; i++)
        lanes[i] = -INFINITY;
    for (int64_t r = 0, count; r < b->rows; r += count) {
        count = b->rows - r < b->chunk ? b->rows - r : b->chunk;
        if (b->x.in_place)
            count = b->rows; /* nothing is gathered */
        const run from = rows_of(b, r, count);
        if (from.stride == n) {
            k->largest(lanes, from.at, all, count / LANES, all, in_order);
            k->largest(lanes, from.at + count / LANES * all, 0, 1, count % LANES * n, in_order);
            continue;
        }
        const int64_t together = 4 * LANES;
        for (int64_t i = 0; i < count; i += together)
            for (int64_t j = i; j < i + LANES && j < count; j++) {
                const int64_t left = (count - j + LANES - 1) / LANES;
                for (int64_t next = j + together; next < j + 2 * together && next < count; next += LANES)
                    tern__floats_fetch(from.at + next * from.stride, n * (int64_t)sizeof *from.at);
                k->largest(lanes + (j - i) * n, from.at + j * from.stride, LANES * from.stride,
                           left < 4 ? left : 4, n, in_order);
            }
    }
    for (int64_t half = all / 2; half >= n; half /= 2)
        k->largest(lanes, lanes + half, 0, 1, half, in_order);
    memcpy(b->s->shift, lanes, (size_t)n * sizeof *lanes);
    if (b->x.flat || !b->x.in_place)
        repeat(b, b->s->shift);
}

/* e^(x - largest) of rows from r on. */
static const float *exponentials(const block *b, int64_t r, int64_t count)
{
    float *to = b->keeps ? b->s->kept + r * b->n : b->s->chunk;
    map_rows(b, TERN__ROWOP_sub, to, b->n, rows_of(b, r, count), b->s->shift, count,
             r + 2 * b->chunk <= b->rows);
    maps_of(b, TERN__ROWOP_exp)[0](to, to, NULL, NULL, NULL, count * b->n);
    return to;
}

/* Their sums, in the first row of `lanes`. */
static void add_exponentials(const block *b)
{
    const tern__columns_kernel *k = b->p->kernel;
    double *lanes = b->s->lanes;
    const int64_t all = LANES * b->n;
    memset(lanes, 0, (size_t)all * sizeof *lanes);
    for (int64_t r = 0; r < b->rows; r += b->chunk) {
        const int64_t count = b->rows - r < b->chunk ? b->rows - r : b->chunk;
        const float *e = exponentials(b, r, count);
        for (int64_t i = 0; i < count; i += PAIRS)
            k->pairs(lanes, e + i * b->n, all, (count - i < PAIRS ? count - i : PAIRS) * b->n);
    }
    for (int64_t half = all / 2; half >= b->n; half /= 2)
        k->fold(lanes, lanes + half, half);
}

static void repeat_last(const block *b)
{
    if (b->y.flat || !b->y.in_place || b->p->streams)
        repeat(b, b->s->last);
}

/* y = op(`from`, last) of rows from r on. */
static void write_rows(const block *b, tern__rowop op, int64_t r, run from, int64_t count)
{
    const side *y = &b->y;
    if (y->in_place && !b->p->streams) {
        map_rows(b, op, (float *)(void *)y->data + r * y->row, y->row, from, b->s->last, count, false);
        return;
    }
    map_rows(b, op, b->s->chunk, b->n, from, b->s->last, count, false);
    store_rows(b, r, b->s->chunk, count);
}

static void softmax_block(const block *b)
{
    find_largest(b);
    add_exponentials(b);
    for (int64_t c = 0; c < b->n; c++)
        b->s->last[c] = (float)(1 / b->s->lanes[c]);
    repeat_last(b);
    for (int64_t r = 0; r < b->rows; r += b->chunk) {
        const int64_t count = b->rows - r < b->chunk ? b->rows - r : b->chunk;
        const float *e = b->keeps ? b->s->kept + r * b->n : exponentials(b, r, count);
        write_rows(b, TERN__ROWOP_mul, r, (run){e, b->n}, count);
    }
}

static void log_softmax_block(const block *b)
{
    find_largest(b);
    add_exponentials(b);
    for (int64_t c = 0; c < b->n; c++) /* an infinite largest element is the logsumexp itself */
        b->s->last[c] = isinf(b->s->shift[c]) ? 0 : (float)log(b->s->lanes[c]);
    repeat_last(b);
    for (int64_t r = 0; r < b->rows; r += b->chunk) {
        const int64_t count = b->rows - r < b->chunk ? b->rows - r : b->chunk;
        map_rows(b, TERN__ROWOP_sub, b->s->chunk, b->n, rows_of(b, r, count), b->s->shift, count,
                 r + 2 * b->chunk <= b->rows);
        write_rows(b, TERN__ROWOP_sub, r, (run){b->s->chunk, b->n}, count);
    }
}

/* ---- the walk ---- */

bool tern__softmax_columns_fit(const tern__type *x, const tern__attr *axis)
{
    return x->rank > 1 && tern__axis_of(x, axis) < x->rank - 1 && tern__floats_reads(x->dtype);
}

int64_t tern__softmax_columns_work(const tern__type *x, const tern__attr *axis)
{
    return tern__axis_work(x, tern__axis_of(x, axis));
}

size_t tern__softmax_columns_scratch(void)
{
    return sizeof(space);
}

/* A call: what stays from block to block, and what is done with each. */
typedef struct walk {
    block b;
    void (*work)(const block *b);
} walk;

static void work_on(void *user, const tern__axis_block *of)
{
    walk *w = user;
    block *b = &w->b;
    b->rows = of->rows;
    b->n = of->n;
    b->chunk = b->n * PAIRS >= NARROW ? PAIRS : NARROW / PAIRS / b->n * PAIRS;
    b->keeps = b->rows <= KEPT / b->n;
    b->x.data = (char *)of->x;
    b->x.row = of->x_row;
    b->x.step = of->x_step;
    b->y.data = of->y;
    b->y.row = of->y_row;
    b->y.step = of->y_step;
    side *sides[] = {&b->x, &b->y};
    for (int i = 0; i < 2; i++) {
        sides[i]->dense = sides[i]->step == 1 || b->n == 1;
        sides[i]->flat = sides[i]->dense && sides[i]->row == b->n;
        sides[i]->in_place = sides[i]->dense && sides[i]->dtype == TERN_F32;
    }
    w->work(b);
}

static side side_of(const tern__buffer *of)
{
    return (side){.dtype = of->type->dtype, .bytes = (int64_t)tern__dtype_unit_bytes(of->type->dtype)};
}

static tern_status softmax_lines(tern__kernel_args *args, int64_t begin, int64_t end,
                                 void (*work)(const block *b))
{
    walk w = {.b = {.p = args->program,
                    .s = args->scratch,
                    .x = side_of(&args->in[0]),
                    .y = side_of(&args->out[0])},
              .work = work};
    tern__axis_walk(args, tern__axis_of(args->in[0].type, &args->attrs[0]), begin, end, MOST, work_on, &w);
    if (w.b.p->streams)
        tern__rowop_settle();
    return TERN_OK;
}

TERN__KERNEL(softmax__columns)
{
    return softmax_lines(args, begin, end, softmax_block);
}

TERN__KERNEL(log_softmax__columns)
{
    return softmax_lines(args, begin, end, log_softmax_block);
}
