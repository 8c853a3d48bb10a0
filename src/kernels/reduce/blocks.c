/* blocks.c - blocks of elements that are reduced by themselves, and their fold. */
#include "kernels/reduce/blocks.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/row/floats.h"
#include "tensor/convert.h"

enum {
    LANES = 16,           /* of a row program's reductions */
    PAIRS = 2 * LANES,    /* rows of which a sum takes two to a lane */
    MOST = 64,            /* columns of a group */
    BLOCK = 1 << 14,      /* elements of a block */
    GATHERED = 32 * MOST, /* elements that are brought together at a time */
    LEAST = 1 << 16,      /* elements of columns that are worth blocks; and how many groups of them are few */
    FEW = 16,
};

bool tern__blocks_plan(const tern__type *x, const tern__attr *axes, tern__blocks_program *out)
{
    tern__blocks_program p = {.op = out->op,
                              .columns = out->columns,
                              .rows = 1,
                              .groups = 1,
                              .lanes = 1,
                              .partials = out->op == TERN__BLOCKS_VAR ? 2 : 1,
                              .ddof = out->ddof};
    const int last = x->rank - 1;
    const bool whole = tern__is_whole(x->dtype) && p.op != TERN__BLOCKS_MEAN && p.op != TERN__BLOCKS_VAR;
    if ((!whole && !tern__floats_reads(x->dtype)) || x->rank == 0)
        return false;
    p.reduced = tern__columns_reduced(x, axes);
    const bool of_columns = (p.reduced >> last & 1) == 0;
    for (int d = 0; d <= last; d++)
        *(p.reduced >> d & 1 ? &p.rows : d == last ? &p.lanes : &p.groups) *= x->shape[d];
    if (of_columns && (p.lanes > MOST || p.groups > FEW || p.rows * p.lanes < LEAST))
        return false;
    p.block = BLOCK / (p.lanes ? p.lanes : 1) / PAIRS * PAIRS;
    p.blocks = p.rows <= p.block ? 1 : (p.rows + p.block - 1) / p.block;
    size_t partials = 0;
    if (p.blocks > 1 &&
        (!tern__size_mul((size_t)(p.groups * p.blocks), (size_t)(p.lanes * p.partials), &partials) ||
         !tern__size_mul(partials, sizeof(double), &p.shared_bytes)))
        return false;
    *out = p;
    return true;
}

/* ---- where elements lie ---- */

typedef struct walk {
    const tern__blocks_program *p;
    const char *x;
    char *y;
    tern_dtype x_dtype, y_dtype;
    int64_t x_bytes, y_bytes;
    int64_t x_step, y_step; /* from lane to lane */
    int n_kept, n_reduced;
    int64_t kept[TERN__MAX_RANK], x_kept[TERN__MAX_RANK], y_kept[TERN__MAX_RANK]; /* innermost first */
    int64_t reduced[TERN__MAX_RANK],
        x_reduced[TERN__MAX_RANK]; /* likewise, merged where one continues the other */
} walk;

static void add_reduced(walk *w, int64_t size, int64_t stride)
{
    const int n = w->n_reduced;
    if (size == 1)
        return;
    if (n > 0 && stride == w->x_reduced[n - 1] * w->reduced[n - 1]) {
        w->reduced[n - 1] *= size;
        return;
    }
    w->reduced[n] = size;
    w->x_reduced[n] = stride;
    w->n_reduced++;
}

static walk walk_of(const tern__kernel_args *args)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const bool keeps = x->type->rank == y->type->rank;
    int y_axis = y->type->rank - 1;
    walk w = {.p = args->program,
              .x = x->data,
              .y = y->data,
              .x_dtype = x->type->dtype,
              .y_dtype = y->type->dtype,
              .x_bytes = (int64_t)tern__dtype_unit_bytes(x->type->dtype),
              .y_bytes = (int64_t)tern__dtype_unit_bytes(y->type->dtype),
              .x_step = 1,
              .y_step = 1};
    const int last = x->type->rank - 1;
    for (int d = last; d >= 0; d--) {
        const bool taken = w.p->reduced >> d & 1;
        const int64_t y_stride = !taken ? y->strides[y_axis] : 0;
        y_axis -= !taken || keeps;
        if (taken) {
            add_reduced(&w, x->type->shape[d], x->strides[d]);
        } else if (d == last) {
            w.x_step = x->strides[d];
            w.y_step = y_stride;
        } else {
            w.kept[w.n_kept] = x->type->shape[d];
            w.x_kept[w.n_kept] = x->strides[d];
            w.y_kept[w.n_kept++] = y_stride;
        }
    }
    if (w.n_reduced == 0) {
        w.reduced[0] = w.p->rows; /* 1 */
        w.n_reduced = 1;
    }
    return w;
}

static int64_t offset_of(int64_t i, int n, const int64_t *sizes, const int64_t *strides)
{
    int64_t at = 0;
    for (int d = 0; d < n; d++) {
        at += i % sizes[d] * strides[d];
        i /= sizes[d];
    }
    return at;
}

/* ---- a block ---- */

/* What a block has gathered: for each lane of a row program's reductions one number of each column. */
typedef struct state {
    union {
        double sums[LANES * MOST];
        float extremes[LANES * MOST];
        tern__rowop_state row; /* extremes of one column */
        int64_t wholes[LANES * MOST];
    };
    bool centred;
    double centres[LANES * MOST]; /* of variances, when the means are known */
} state;

static bool is_sum(const tern__blocks_program *p)
{
    return p->op == TERN__BLOCKS_SUM || p->op == TERN__BLOCKS_MEAN || p->op == TERN__BLOCKS_VAR;
}

static void start(const tern__blocks_program *p, state *s)
{
    const int64_t n = LANES * p->lanes;
    s->centred = false;
    for (int64_t i = 0; i < n; i++) {
        if (is_sum(p))
            s->sums[i] = 0;
        else
            s->extremes[i] = p->op == TERN__BLOCKS_MAX ? -INFINITY : INFINITY;
    }
}

/* `count` rows that follow each other without a gap; they begin at a multiple of PAIRS in the block. */
static void take(const tern__blocks_program *p, state *s, const float *x, int64_t count)
{
    const tern__columns_kernel *k = p->columns.kernel;
    const int64_t all = LANES * p->lanes, whole = count / LANES;
    if (is_sum(p)) {
        if (s->centred)
            k->square_pairs(s->sums, s->centres, x, all, count * p->lanes);
        else
            k->pairs(s->sums, x, all, count * p->lanes);
        return;
    }
    const bool largest = p->op == TERN__BLOCKS_MAX;
    if (p->lanes == 1) { /* the same order, several vectors at a time */
        p->columns.rows->reduce[largest ? TERN__ROWOP_max : TERN__ROWOP_min](&s->row, x, count);
        return;
    }
    void (*const extreme)(float *, const float *, int64_t, int64_t, int64_t, bool) =
        largest ? k->largest : k->smallest;
    extreme(s->extremes, x, all, whole, all, p->columns.in_order);
    extreme(s->extremes, x + whole * all, 0, 1, count % LANES * p->lanes, p->columns.in_order);
}

/* The lanes become one. */
static void fold_lanes(const tern__blocks_program *p, state *s)
{
    const tern__columns_kernel *k = p->columns.kernel;
    for (int64_t half = LANES / 2 * p->lanes; half >= p->lanes; half /= 2) {
        if (is_sum(p))
            k->fold(s->sums, s->sums + half, half);
        else
            (p->op == TERN__BLOCKS_MAX ? k->largest : k->smallest)(s->extremes, s->extremes + half, 0, 1,
                                                                   half, p->columns.in_order);
    }
}

/* Rows [row, end) of the group at x. Where they lie without gaps they are taken from there, else a few at a time are brought
 * together. */
static void take_block(const walk *w, const char *x, int64_t row, int64_t end, state *s)
{
    const int64_t n = w->p->lanes, most = GATHERED / n / PAIRS * PAIRS;
    const bool flat = w->x_dtype == TERN_F32 && (w->x_step == 1 || n == 1) && w->x_reduced[0] == n;
    const tern__rowop_table *rows = w->p->columns.rows;
    float gathered[GATHERED];
    int64_t filled = 0;
    while (row < end) {
        const int64_t left = w->reduced[0] - row % w->reduced[0], until = end - row < left ? end - row : left;
        const char *from = x + offset_of(row, w->n_reduced, w->reduced, w->x_reduced) * w->x_bytes;
        if (flat && filled == 0 && (until >= PAIRS || row + until == end)) {
            const int64_t count = row + until == end ? until : until / PAIRS * PAIRS;
            take(w->p, s, (const float *)(const void *)from, count);
            row += count;
            continue;
        }
        const int64_t count = until < most - filled ? until : most - filled;
        if (n == 1) { /* rows are elements */
            tern__floats_gather(rows, w->x_dtype, from, w->x_reduced[0], count, gathered + filled);
        } else {
            for (int64_t i = 0; i < count; i++, from += w->x_reduced[0] * w->x_bytes)
                tern__floats_gather(rows, w->x_dtype, from, w->x_step, n, gathered + (filled + i) * n);
        }
        filled += count;
        row += count;
        if (filled == most || row == end) {
            take(w->p, s, gathered, filled);
            filled = 0;
        }
    }
}

/* ---- a block of whole numbers ---- */

/* Of bools: none is the largest of nothing, all the smallest. */
static int64_t whole_start(const walk *w)
{
    const bool bools = w->x_dtype == TERN_BOOL;
    return w->p->op == TERN__BLOCKS_MAX   ? (bools ? 0 : INT64_MIN)
           : w->p->op == TERN__BLOCKS_MIN ? (bools ? 1 : INT64_MAX)
                                          : 0;
}

static int64_t whole_folded(tern__blocks_op op, int64_t was, int64_t e)
{
    if (op == TERN__BLOCKS_SUM)
        return (int64_t)((uint64_t)was + (uint64_t)e);
    return (op == TERN__BLOCKS_MAX ? e > was : e < was) ? e : was;
}

/* `count` rows that are `stride` elements apart, `step` from lane to lane. */
static void take_whole(const walk *w, const char *x, int64_t stride, int64_t step, int64_t count, int64_t *to)
{
    const tern__blocks_program *p = w->p;
    const tern__whole_loops *loops = &p->columns.kernel->whole[w->x_dtype];
    const int64_t n = p->lanes, all = LANES * n, whole = count / LANES;
    if (n == 1 && stride == 1) {
        to[0] = whole_folded(p->op, to[0],
                             (p->op == TERN__BLOCKS_SUM   ? loops->sum
                              : p->op == TERN__BLOCKS_MAX ? loops->largest
                                                          : loops->smallest)(x, count));
        return;
    }
    void (*const take_rows)(int64_t *, const void *, int64_t, int64_t, int64_t) =
        p->op == TERN__BLOCKS_SUM   ? loops->add
        : p->op == TERN__BLOCKS_MAX ? loops->largests
                                    : loops->smallests;
    if (step == 1 && stride == n) { /* several rows are one */
        take_rows(to, x, all, whole, all);
        take_rows(to, x + whole * all * w->x_bytes, 0, 1, count % LANES * n);
        return;
    }
    for (int64_t c = 0; c < n; c++, x += step * w->x_bytes)
        take_rows(to + c, x, stride, count, 1);
}

static void reduce_whole_block(const walk *w, const char *x, int64_t row, int64_t end, state *s, int64_t *out)
{
    const tern__blocks_program *p = w->p;
    for (int64_t i = 0; i < LANES * p->lanes; i++)
        s->wholes[i] = whole_start(w);
    for (int64_t count; row < end; row += count) {
        const int64_t left = w->reduced[0] - row % w->reduced[0];
        count = end - row < left ? end - row : left;
        take_whole(w, x + offset_of(row, w->n_reduced, w->reduced, w->x_reduced) * w->x_bytes,
                   w->x_reduced[0], w->x_step, count, s->wholes);
    }
    for (int64_t c = 0; c < p->lanes; c++) {
        out[c] = s->wholes[c];
        for (int64_t lane = 1; lane < LANES; lane++)
            out[c] = whole_folded(p->op, out[c], s->wholes[lane * p->lanes + c]);
    }
}

static void put_whole(const walk *w, int64_t group, const int64_t *results)
{
    char *y = w->y + offset_of(group, w->n_kept, w->kept, w->y_kept) * w->y_bytes;
    tern__convert(TERN_I64, results, 1, w->y_dtype, y, w->y_step, w->p->lanes);
}

/* ---- all blocks ---- */

/* What rows [row, end) leave of each lane: its number, or mean and deviations. */
static void reduce_block(const walk *w, const char *x, int64_t row, int64_t end, state *s, double *out)
{
    const tern__blocks_program *p = w->p;
    start(p, s);
    take_block(w, x, row, end, s);
    fold_lanes(p, s);
    for (int64_t c = 0; c < p->lanes; c++)
        out[c] = is_sum(p) ? s->sums[c] : (double)s->extremes[c];
    if (p->op != TERN__BLOCKS_VAR)
        return;
    for (int64_t c = 0; c < p->lanes; c++)
        out[c] /= (double)(end - row);
    for (int64_t i = 0; i < LANES * p->lanes; i++)
        s->centres[i] = out[i % p->lanes];
    memset(s->sums, 0, (size_t)(LANES * p->lanes) * sizeof *s->sums);
    s->centred = true;
    take_block(w, x, row, end, s);
    fold_lanes(p, s);
    memcpy(out + p->lanes, s->sums, (size_t)p->lanes * sizeof *out);
}

/* `results` are all blocks' partials folded. */
static void put(const walk *w, int64_t group, double *results)
{
    const tern__blocks_program *p = w->p;
    char *y = w->y + offset_of(group, w->n_kept, w->kept, w->y_kept) * w->y_bytes;
    const double freedom = (double)p->rows - (double)p->ddof;
    for (int64_t c = 0; c < p->lanes; c++) {
        if (p->op == TERN__BLOCKS_MEAN)
            results[c] /= (double)p->rows;
        else if (p->op == TERN__BLOCKS_VAR)
            results[c] = results[p->lanes + c] / (freedom > 0 ? freedom : 0);
    }
    tern__convert(TERN_F64, results, 1, w->y_dtype, y, w->y_step, p->lanes);
}

TERN__KERNEL(blocks__reduce)
{
    const walk w = walk_of(args);
    const tern__blocks_program *p = w.p;
    const int64_t each = p->lanes * p->partials;
    state s;
    for (int64_t item = begin; item < end; item++) {
        const int64_t group = item / p->blocks, row = item % p->blocks * p->block;
        const char *x = w.x + offset_of(group, w.n_kept, w.kept, w.x_kept) * w.x_bytes;
        const int64_t until = p->rows - row < p->block ? p->rows : row + p->block;
        if (tern__is_whole(w.x_dtype)) {
            int64_t results[MOST];
            reduce_whole_block(&w, x, row, until, &s,
                               p->blocks > 1 ? (int64_t *)args->shared + item * each : results);
            if (p->blocks == 1)
                put_whole(&w, group, results);
            continue;
        }
        double results[2 * MOST];
        reduce_block(&w, x, row, until, &s, p->blocks > 1 ? (double *)args->shared + item * each : results);
        if (p->blocks == 1)
            put(&w, group, results);
    }
    return TERN_OK;
}

/* The later one where it is better, or NaN. */
static double folded(tern__blocks_op op, double was, double e)
{
    if (op == TERN__BLOCKS_SUM || op == TERN__BLOCKS_MEAN)
        return was + e;
    return (op == TERN__BLOCKS_MAX ? e > was : e < was) || isnan(e) ? e : was;
}

/* Block b's mean and deviations, and those of the blocks before it, which have b * block rows. */
static void fold_deviations(const tern__blocks_program *p, int64_t b, double *was, const double *of)
{
    const double before = (double)(b * p->block),
                 all = b + 1 < p->blocks ? before + (double)p->block : (double)p->rows;
    for (int64_t c = 0; c < p->lanes; c++) {
        const double apart = of[c] - was[c], share = (all - before) / all;
        was[c] += apart * share;
        was[p->lanes + c] += of[p->lanes + c] + apart * apart * before * share;
    }
}

static void finish_whole(const walk *w, int64_t group, const int64_t *of)
{
    const tern__blocks_program *p = w->p;
    int64_t results[MOST];
    memcpy(results, of, (size_t)p->lanes * sizeof *of);
    for (int64_t b = 1; b < p->blocks; b++)
        for (int64_t c = 0; c < p->lanes; c++)
            results[c] = whole_folded(p->op, results[c], of[b * p->lanes + c]);
    put_whole(w, group, results);
}

TERN__KERNEL(blocks__finish)
{
    const walk w = walk_of(args);
    const tern__blocks_program *p = w.p;
    const int64_t each = p->lanes * p->partials;
    for (int64_t item = begin; item < end; item++) {
        if (item % p->blocks != 0) /* a group is whoever's its first block was */
            continue;
        if (tern__is_whole(w.x_dtype)) {
            finish_whole(&w, item / p->blocks, (const int64_t *)args->shared + item * each);
            continue;
        }
        const double *of = (const double *)args->shared + item * each;
        double results[2 * MOST];
        memcpy(results, of, (size_t)each * sizeof *of);
        for (int64_t b = 1; b < p->blocks; b++) {
            if (p->op == TERN__BLOCKS_VAR)
                fold_deviations(p, b, results, of + b * each);
            for (int64_t c = 0; p->op != TERN__BLOCKS_VAR && c < p->lanes; c++)
                results[c] = folded(p->op, results[c], of[b * each + c]);
        }
        put(&w, item / p->blocks, results);
    }
    return TERN_OK;
}
