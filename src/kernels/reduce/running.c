/* running.c - running sums, several lanes at a time. */
#include "kernels/reduce/running.h"

#include <string.h>

#include "kernels/reduce/axis.h"
#include "kernels/row/floats.h"
#include "tensor/convert.h"

enum {
    MOST = 1024, /* columns of a block: their sums stay in the first-level cache */
    SIDE = TERN__RUNNING_SIDE,
    PIECE = 512, /* elements of each of them at a time */
};

/* Lines of columns that are an item of work: a page of f32. Two threads that each had half of its columns took twice as long as one
 * that had all; probably each fetched ahead what the other was about to write. */
enum { ITEM_LINES = MOST / TERN__COLUMNS_LINE };

bool tern__running_fit(const tern__type *x, const tern__attr *axis, int64_t *work)
{
    if (x->rank == 0 || !(tern__floats_reads(x->dtype) || tern__is_whole(x->dtype)))
        return false;
    const int at = tern__axis_of(x, axis);
    const int64_t size = x->shape[at];
    if (size == 0)
        return false;
    *work = at == x->rank - 1 ? tern__type_numel(x) / size
                              : (tern__axis_work(x, at) + ITEM_LINES - 1) / ITEM_LINES;
    return true;
}

typedef struct running {
    const tern__columns_program *p;
    tern_dtype x_dtype, y_dtype;
    int64_t x_bytes, y_bytes;
} running;

/* ---- columns ---- */

static void run_columns(void *user, const tern__axis_block *b)
{
    const running *s = user;
    double sums[MOST];
    float x_room[MOST], y[MOST];
    memset(sums, 0, (size_t)b->n * sizeof *sums);
    for (int64_t r = 0; r < b->rows; r++) {
        const float *x = tern__floats_load(s->p->rows, s->x_dtype, b->x + r * b->x_row * s->x_bytes,
                                           b->x_step, b->n, x_room);
        s->p->kernel->run(sums, y, x, b->n);
        tern__floats_store(s->p->rows, y, s->y_dtype, b->y + r * b->y_row * s->y_bytes, b->y_step, b->n);
    }
}

static void run_whole_columns(void *user, const tern__axis_block *b)
{
    const running *s = user;
    int64_t sums[MOST] = {0}, x[MOST], y[MOST];
    for (int64_t r = 0; r < b->rows; r++) {
        tern__convert(s->x_dtype, b->x + r * b->x_row * s->x_bytes, b->x_step, TERN_I64, x, 1, b->n);
        s->p->kernel->run_whole(sums, y, x, b->n);
        tern__convert(TERN_I64, y, 1, s->y_dtype, b->y + r * b->y_row * s->y_bytes, b->y_step, b->n);
    }
}

/* ---- rows ---- */

/* Rows that are summed together, and a piece of each. */
typedef struct rows {
    int64_t count, n, x_step, y_step;
    const char *x[SIDE];
    char *y[SIDE];
    double sums[SIDE];
    float x_room[SIDE][PIECE], y_room[SIDE][PIECE];
} rows;

static void run_rows(const running *s, rows *r)
{
    const bool in_place = s->y_dtype == TERN_F32 && r->y_step == 1;
    memset(r->sums, 0, sizeof r->sums);
    for (int64_t i = 0, n; i < r->n; i += n) {
        const float *x[SIDE];
        float *y[SIDE];
        n = r->n - i < PIECE ? r->n - i : PIECE;
        for (int64_t k = 0; k < SIDE; k++) /* what is missing repeats the first, and is not stored */
            x[k] = k < r->count
                       ? tern__floats_load(s->p->rows, s->x_dtype, r->x[k] + i * r->x_step * s->x_bytes,
                                           r->x_step, n, r->x_room[k])
                       : x[0];
        for (int k = 0; k < SIDE; k++) /* where they lie at once, if that is as f32 */
            y[k] = in_place && k < r->count ? (float *)(void *)r->y[k] + i : r->y_room[k];
        s->p->kernel->run_rows(r->sums, y, x, n);
        for (int64_t k = 0; !in_place && k < r->count; k++)
            tern__floats_store(s->p->rows, r->y_room[k], s->y_dtype, r->y[k] + i * r->y_step * s->y_bytes,
                               r->y_step, n);
    }
}

static void run_one_row(const running *s, rows *r)
{
    double sum = 0;
    for (int64_t i = 0, n; i < r->n; i += n) {
        n = r->n - i < PIECE ? r->n - i : PIECE;
        const float *x = tern__floats_load(s->p->rows, s->x_dtype, r->x[0] + i * r->x_step * s->x_bytes,
                                           r->x_step, n, r->x_room[0]);
        for (int64_t j = 0; j < n; j++) {
            sum += (double)x[j];
            r->y_room[0][j] = (float)sum;
        }
        tern__floats_store(s->p->rows, r->y_room[0], s->y_dtype, r->y[0] + i * r->y_step * s->y_bytes,
                           r->y_step, n);
    }
}

/* A sum of whole numbers waits one cycle for the one before it. */
static void run_whole_row(const running *s, const rows *r)
{
    uint64_t sum = 0;
    int64_t room[PIECE];
    for (int64_t i = 0, n; i < r->n; i += n) {
        n = r->n - i < PIECE ? r->n - i : PIECE;
        tern__convert(s->x_dtype, r->x[0] + i * r->x_step * s->x_bytes, r->x_step, TERN_I64, room, 1, n);
        for (int64_t j = 0; j < n; j++) {
            sum += (uint64_t)room[j];
            room[j] = (int64_t)sum;
        }
        tern__convert(TERN_I64, room, 1, s->y_dtype, r->y[0] + i * r->y_step * s->y_bytes, r->y_step, n);
    }
}

static int64_t row_offset(const tern__buffer *of, int64_t row)
{
    int64_t at = 0;
    for (int d = of->type->rank - 2; d >= 0; d--) {
        at += row % of->type->shape[d] * of->strides[d];
        row /= of->type->shape[d];
    }
    return at;
}

static void run_all_rows(const running *s, const tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int last = x->type->rank - 1;
    const bool whole = tern__is_whole(s->x_dtype);
    rows r = {.n = x->type->shape[last], .x_step = x->strides[last], .y_step = y->strides[last]};
    for (int64_t row = begin; row < end; row += r.count) {
        r.count = whole ? 1 : end - row < SIDE ? end - row : SIDE;
        for (int64_t k = 0; k < r.count; k++) {
            r.x[k] = (const char *)x->data + row_offset(x, row + k) * s->x_bytes;
            r.y[k] = (char *)y->data + row_offset(y, row + k) * s->y_bytes;
        }
        if (whole)
            run_whole_row(s, &r);
        else if (r.count == 1)
            run_one_row(s, &r);
        else
            run_rows(s, &r);
    }
}

TERN__KERNEL(cumsum__lanes)
{
    const tern__type *x = args->in[0].type, *y = args->out[0].type;
    const int axis = tern__axis_of(x, &args->attrs[0]);
    running s = {.p = args->program,
                 .x_dtype = x->dtype,
                 .y_dtype = y->dtype,
                 .x_bytes = (int64_t)tern__dtype_unit_bytes(x->dtype),
                 .y_bytes = (int64_t)tern__dtype_unit_bytes(y->dtype)};
    if (axis == x->rank - 1) {
        run_all_rows(&s, args, begin, end);
        return TERN_OK;
    }
    const int64_t lines = tern__axis_work(x, axis), past = end * ITEM_LINES;
    tern__axis_walk(args, axis, begin * ITEM_LINES, past < lines ? past : lines, MOST,
                    tern__is_whole(x->dtype) ? run_whole_columns : run_columns, &s);
    return TERN_OK;
}
