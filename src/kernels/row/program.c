/* program.c - runs row programs.
 *
 * A call first looks at where operands and results lie: axes along which everything is equally spaced are run together,
 * and each operand turns out to be read in place (4-byte elements without gaps), or loaded into a slot. Then
 *
 *   - a program that reduces takes the rows one by one, each phase by phase, tile by tile;
 *   - another takes runs of elements along the innermost axis, or, where that is short, tiles of elements in row-major
 *     order whatever rows they belong to; operands that are not dense are gathered.
 *
 * Either way an element is computed by the same instructions from the same numbers: its bits do not depend on the way. */
#include "kernels/row/program.h"

#include <math.h>
#include <string.h>
#if defined __SSE2__
#include <emmintrin.h>
#endif

#include "base/alloc.h"
#include "base/status.h"
#include "tensor/convert.h"

enum { SHORT_RUN = 256 }; /* innermost axes below this are not worth a call per instruction */

/* An operand or result, its axes those of the walk. */
typedef struct operand {
    char *base, *at;                 /* element [0,0,...]; the first element of the current row or run */
    int64_t strides[TERN__MAX_RANK]; /* bytes, of the outer axes */
    int64_t inner;                   /* bytes, along the innermost */
    int64_t bytes;                   /* of an element */
    tern_dtype dtype;
    bool dense; /* no gaps along the innermost axis */
    bool flat;  /* no gaps at all, in row-major order */
} operand;

typedef struct frame {
    const tern__row_program *p;
    operand operands[TERN__ROW_MAX_OPERANDS]; /* operands, then results */
    int rank;                                 /* outer axes */
    int64_t shape[TERN__MAX_RANK], index[TERN__MAX_RANK];
    int64_t inner; /* elements along the innermost axis */
    bool by_tile;  /* tiles in row-major order, whatever rows they belong to */
    char *slots, *longs, *singles;
    int n_ahead; /* operands that are fetched ahead */
    uint8_t ahead[TERN__ROW_MAX_OPERANDS];
    const char *ahead_at[TERN__ROW_MAX_OPERANDS];
    int64_t ahead_bytes, ahead_done,
        ahead_step; /* of the next tile of each; so far; after each instruction */
    double registers[TERN__ROW_MAX_REGISTERS];
    tern__rowop_state states[TERN__ROW_MAX_REGISTERS];
    tern__rowop_map maps[TERN__ROW_MAX_INSTRS];
    bool one[TERN__ROW_MAX_INSTRS]; /* of values: a single element in this walk */
    bool in_place
        [TERN__ROW_MAX_INSTRS];     /* of values: loaded without a copy, or computed where the result lies */
    char *at[TERN__ROW_MAX_INSTRS]; /* of values: where its current elements are */
} frame;

size_t tern__row_frame_bytes(const tern__row_program *p)
{
    return (sizeof(frame) + TERN__ALIGN + (size_t)p->n_single * 16 + TERN__ALIGN - 1) / TERN__ALIGN *
           TERN__ALIGN;
}

/* ---- looking at the operands ---- */

/* Strides along the domain's axes, in bytes: 0 where it repeats. */
static void align(const tern__row_program *p, const tern__buffer *b, bool squeezed, operand *o,
                  int64_t *strides)
{
    int shift = p->domain.rank - b->type->rank - squeezed;
    o->base = b->data;
    o->dtype = b->type->dtype;
    o->bytes = (int64_t)tern__dtype_unit_bytes(o->dtype);
    for (int d = 0; d < p->domain.rank; d++) {
        int own = d - shift;
        strides[d] =
            own < 0 || own >= b->type->rank || b->type->shape[own] == 1 ? 0 : b->strides[own] * o->bytes;
    }
}

/* Runs axis d - 1 and d together wherever all operands allow it, and drops axes of size 1. `last` axes from the end are
 * left alone. Returns the new rank. */
static int merge_axes(const tern__row_program *p, int n, int64_t strides[][TERN__MAX_RANK], int64_t *shape,
                      bool keep_last)
{
    int rank = 0, from = p->domain.rank;
    for (int d = 0; d < from; d++) {
        bool last = keep_last && d == from - 1;
        if (p->domain.shape[d] == 1 && !last)
            continue;
        bool joins = rank > 0 && !last;
        for (int k = 0; k < n && joins; k++)
            joins = strides[k][rank - 1] == strides[k][d] * p->domain.shape[d];
        int to = joins ? rank - 1 : rank++;
        shape[to] = joins ? shape[to] * p->domain.shape[d] : p->domain.shape[d];
        for (int k = 0; k < n; k++)
            strides[k][to] = strides[k][d];
    }
    return rank;
}

static bool is_flat(const operand *o, int rank, const int64_t *strides, const int64_t *shape)
{
    int64_t want = o->bytes;
    for (int d = rank - 1; d >= 0; d--) {
        if (strides[d] != want)
            return false;
        want *= shape[d];
    }
    return true;
}

static void survey(frame *f, const tern__kernel_args *args)
{
    const tern__row_program *p = f->p;
    int n = p->n_in + p->n_out;
    int64_t strides[TERN__ROW_MAX_OPERANDS][TERN__MAX_RANK], shape[TERN__MAX_RANK] = {0};
    for (int k = 0; k < p->n_in; k++)
        align(p, &args->in[k], false, &f->operands[k], strides[k]);
    for (int k = 0; k < p->n_out; k++)
        align(p, &args->out[k], p->squeezed >> k & 1, &f->operands[p->n_in + k], strides[p->n_in + k]);
    int rank = merge_axes(p, n, strides, shape, p->reduces);
    f->inner = rank ? shape[rank - 1] : 1;
    f->by_tile = !p->reduces && rank > 1 && f->inner < SHORT_RUN;
    f->rank = rank ? rank - 1 : 0;
    memcpy(f->shape, shape, sizeof shape);
    for (int k = 0; k < n; k++) {
        operand *o = &f->operands[k];
        o->inner = rank ? strides[k][rank - 1] : 0;
        memcpy(o->strides, strides[k], sizeof o->strides);
        o->dense = o->inner == o->bytes || f->inner == 1;
        o->flat = is_flat(o, rank, strides[k], shape);
        o->at = o->base;
    }
}

/* Stores past the caches need whole lines of 4-byte elements. */
static bool streams(const frame *f, const tern__row_value *v)
{
    const operand *o = &f->operands[f->p->n_in + v->result];
    return f->p->streams && v->extent == TERN__ROW_FULL && o->bytes == 4 && (((uintptr_t)o->base & 15) == 0);
}

static bool lies_in_place(const frame *f, const tern__row_value *v)
{
    int k = v->operand >= 0 ? v->operand : v->result >= 0 ? f->p->n_in + v->result : -1;
    if (k < 0)
        return false;
    const operand *o = &f->operands[k];
    bool same = v->is_i32 ? o->dtype == TERN_I32 : o->dtype == TERN_F32;
    if (v->operand < 0 && streams(f, v))
        return false;
    bool single = f->by_tile ? v->extent == TERN__ROW_SCALAR : v->extent != TERN__ROW_FULL;
    return same && (single || (f->by_tile ? o->flat : o->dense));
}

/* Values: how many elements, where. Instructions: the function for operands like these. */
static void resolve(frame *f)
{
    const tern__row_program *p = f->p;
    for (int v = 0; v < p->n_values; v++) {
        const tern__row_value *value = &p->values[v];
        bool single = value->extent == TERN__ROW_SCALAR || (p->reduces && value->extent == TERN__ROW_EACH);
        f->one[v] = f->by_tile ? value->extent == TERN__ROW_SCALAR : value->extent != TERN__ROW_FULL;
        f->in_place[v] = lies_in_place(f, value);
        f->at[v] = single                   ? f->singles + value->slot * 16
                   : p->row && value->stays ? f->longs + value->slot * p->row * 4
                                            : f->slots + value->slot * p->tile * 4;
    }
    for (int k = 0; k < p->n_instrs; k++) {
        const tern__row_instr *i = &p->instrs[k];
        if (i->kind != TERN__ROW_MAP)
            continue;
        /* A single result has single operands: a run of one. */
        int form = f->one[i->dst] ? 0 : f->one[i->a] | f->one[i->b] << 1 | f->one[i->c] << 2;
        const tern__rowop_map *maps = p->table->map[i->op];
        /* What an instruction does not read is said to be `a`; forms it has not are those of fewer operands. */
        f->maps[k] = maps[form] ? maps[form] : maps[form & 3] ? maps[form & 3] : maps[form & 1];
    }
}

/* ---- fetching ahead ----
 *
 * Only a tile's first instructions touch memory; the others find everything in L1. So that memory is not idle meanwhile, and
 * since the processor's own prefetching stops where a page ends, they ask for the next tile, each for a part of it. */

enum {
    AHEAD_LEAST = 1 << 16,
    AHEAD_MOST = 16 << 10
}; /* elements of a domain that is worth it; bytes of an operand */

static void plan_ahead(frame *f)
{
    const tern__row_program *p = f->p;
    int walking = 0;
    f->n_ahead = 0;
    f->ahead_done = f->ahead_bytes = 0;
    if (tern__type_numel(&p->domain) < AHEAD_LEAST)
        return;
    for (int v = 0; v < p->n_values; v++) {
        int k = p->values[v].operand;
        if (k >= 0 && p->values[v].extent == TERN__ROW_FULL &&
            (f->by_tile ? f->operands[k].flat : f->operands[k].dense))
            f->ahead[f->n_ahead++] = (uint8_t)k;
    }
    for (int k = 0; k < p->n_instrs; k++)
        walking += !p->instrs[k].once &&
                   (p->instrs[k].kind == TERN__ROW_MAP || p->instrs[k].kind == TERN__ROW_REDUCE);
    f->ahead_step = walking ? walking : 1; /* a count until bytes are known */
}

/* The next tile has n elements, `skip` bytes of an element's size behind the current row or run. */
static void look_ahead(frame *f, int64_t n, int64_t first, bool next_row)
{
    for (int k = 0; k < f->n_ahead; k++) {
        const operand *o = &f->operands[f->ahead[k]];
        int64_t row = next_row && f->rank > 0 ? o->strides[f->rank - 1] : 0;
        f->ahead_at[k] = (f->by_tile ? o->base : o->at) + row + first * o->bytes;
    }
    f->ahead_bytes = n * 4 < AHEAD_MOST ? n * 4 : AHEAD_MOST;
    f->ahead_done = 0;
}

static void fetch_ahead(frame *f)
{
    if (f->ahead_done >= f->ahead_bytes)
        return;
    int64_t step = (f->ahead_bytes / f->ahead_step + 127) / 64 * 64, end = f->ahead_done + step;
    end = end < f->ahead_bytes ? end : f->ahead_bytes;
    for (int k = 0; k < f->n_ahead; k++) {
        int64_t bytes = f->operands[f->ahead[k]].bytes;
        for (int64_t at = f->ahead_done; at < end; at += 64)
            if (bytes == 4 || (at * bytes & 255) == 0)
                __builtin_prefetch(f->ahead_at[k] + at * bytes / 4);
    }
    f->ahead_done = end;
}

/* ---- moving elements ---- */

static const tern__rowop loads[TERN_DTYPE_COUNT] = {[TERN_F16] = TERN__ROWOP_load_f16,
                                                    [TERN_BF16] = TERN__ROWOP_load_bf16,
                                                    [TERN_I8] = TERN__ROWOP_load_i8,
                                                    [TERN_U8] = TERN__ROWOP_load_u8};
static const tern__rowop stores[TERN_DTYPE_COUNT] = {[TERN_F16] = TERN__ROWOP_store_f16,
                                                     [TERN_BF16] = TERN__ROWOP_store_bf16,
                                                     [TERN_I8] = TERN__ROWOP_store_i8,
                                                     [TERN_U8] = TERN__ROWOP_store_u8,
                                                     [TERN_BOOL] = TERN__ROWOP_store_u8};

static void load_run(const frame *f, const operand *o, const char *from, int64_t step, bool is_i32, void *to,
                     int64_t n)
{
    tern__rowop_map load =
        o->dtype == TERN_BOOL || loads[o->dtype] == 0 ? NULL : f->p->table->map[loads[o->dtype]][0];
    if (load && !is_i32 && (step == o->bytes || n == 1))
        load(to, from, NULL, NULL, NULL, n);
    else
        tern__convert(o->dtype, from, step / o->bytes, is_i32 ? TERN_I32 : TERN_F32, to, 1, n);
}

static void store_run(const frame *f, const operand *o, char *to, int64_t step, bool is_i32, const void *from,
                      int64_t n)
{
    tern__rowop_map store = stores[o->dtype] == 0 ? NULL : f->p->table->map[stores[o->dtype]][0];
    if (store && !is_i32 && (step == o->bytes || n == 1))
        store(to, from, NULL, NULL, NULL, n);
    else
        tern__convert(is_i32 ? TERN_I32 : TERN_F32, from, 1, o->dtype, to, step / o->bytes, n);
}

/* One value for a run of results. */
static void store_same(const operand *o, char *to, int64_t step, bool is_i32, const void *from, int64_t n)
{
    tern__convert(is_i32 ? TERN_I32 : TERN_F32, from, 0, o->dtype, to, step / o->bytes, n);
}

static void stream_run(char *to, const char *from, int64_t n)
{
#if defined __SSE2__
    if (((uintptr_t)to & 15) == 0) {
        int64_t k = 0;
        for (; k + 16 <= n; k += 16) {
            __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(from + k * 4));
            __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + k * 4 + 16));
            __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + k * 4 + 32));
            __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + k * 4 + 48));
            _mm_stream_si128((__m128i *)(void *)(to + k * 4), a);
            _mm_stream_si128((__m128i *)(void *)(to + k * 4 + 16), b);
            _mm_stream_si128((__m128i *)(void *)(to + k * 4 + 32), c);
            _mm_stream_si128((__m128i *)(void *)(to + k * 4 + 48), d);
        }
        memcpy(to + k * 4, from + k * 4, (size_t)(n - k) * 4);
        return;
    }
#endif
    memcpy(to, from, (size_t)n * 4);
}

/* What was streamed must be seen by whoever is told that the work is done. */
static void settle_streams(const tern__row_program *p)
{
#if defined __SSE2__
    if (p->streams)
        _mm_sfence();
#else
    (void)p;
#endif
}

/* n elements of row-major order from element `first` on, through a function on runs of the innermost axis. */
typedef void (*move_fn)(const frame *f, const operand *o, char *memory, int64_t step, bool is_i32, char *slot,
                        int64_t n);

static void gather_move(const frame *f, const operand *o, char *memory, int64_t step, bool is_i32, char *slot,
                        int64_t n)
{
    load_run(f, o, memory, step, is_i32, slot, n);
}

static void scatter_move(const frame *f, const operand *o, char *memory, int64_t step, bool is_i32,
                         char *slot, int64_t n)
{
    store_run(f, o, memory, step, is_i32, slot, n);
}

static void walk_tile(const frame *f, const operand *o, int64_t first, int64_t n, bool is_i32, char *slot,
                      move_fn move)
{
    int64_t index[TERN__MAX_RANK], outer = first / f->inner, skip = first % f->inner;
    char *at = o->base;
    for (int d = f->rank - 1; d >= 0; d--) {
        index[d] = outer % f->shape[d];
        outer /= f->shape[d];
        at += index[d] * o->strides[d];
    }
    while (n > 0) {
        int64_t run = f->inner - skip < n ? f->inner - skip : n;
        move(f, o, at + skip * o->inner, o->inner, is_i32, slot, run);
        slot += run * 4;
        n -= run;
        skip = 0;
        for (int d = f->rank - 1; d >= 0; d--) {
            at += o->strides[d];
            if (++index[d] < f->shape[d])
                break;
            at -= f->shape[d] * o->strides[d];
            index[d] = 0;
        }
    }
}

/* ---- instructions ---- */

static double compute(tern__rowscalar op, double a, double b, double n)
{
    switch (op) {
    case TERN__ROWSCALAR_divide:
        return a / n;
    case TERN__ROWSCALAR_add:
        return a + n;
    case TERN__ROWSCALAR_at_least:
        return a < n ? n : a;
    case TERN__ROWSCALAR_over:
        return n / a;
    case TERN__ROWSCALAR_sqrt:
        return sqrt(a);
    case TERN__ROWSCALAR_log:
        return log(a);
    case TERN__ROWSCALAR_narrow:
        return (double)(float)a;
    case TERN__ROWSCALAR_rest:
        return isfinite(a) ? a - (double)(float)a : 0;
    case TERN__ROWSCALAR_sum_finite:
        return isfinite(a) ? a + b : a;
    case TERN__ROWSCALAR_unless_inf:
        return isinf(b) ? 0 : a;
    }
    return a;
}

/* `t` is the first element of the tile: in its row or run, or (by_tile) in row-major order. */
static void load_value(frame *f, int v, const operand *o, int64_t t, int64_t n)
{
    const tern__row_value *value = &f->p->values[v];
    if (f->in_place[v])
        f->at[v] = f->one[v] ? o->at : (f->by_tile ? o->base : o->at) + t * o->bytes;
    else if (f->one[v])
        load_run(f, o, o->at, o->bytes, value->is_i32, f->at[v], 1);
    else if (!f->by_tile)
        load_run(f, o, o->at + t * o->inner, o->inner, value->is_i32, f->at[v], n);
    else if (o->flat)
        load_run(f, o, o->base + t * o->bytes, o->bytes, value->is_i32, f->at[v], n);
    else
        walk_tile(f, o, t, n, value->is_i32, f->at[v], gather_move);
}

static void store_value(frame *f, int v, int result, int64_t t, int64_t n)
{
    const tern__row_value *value = &f->p->values[v];
    const operand *o = &f->operands[f->p->n_in + result];
    if (f->in_place[v] && value->operand < 0 && value->result == result)
        return;
    if (f->one[v])
        store_same(o, o->at, o->inner ? o->inner : o->bytes, value->is_i32, f->at[v],
                   o->inner ? f->inner : 1);
    else if (f->p->streams && value->result == result && streams(f, value) &&
             (f->by_tile ? o->flat : o->dense))
        stream_run((f->by_tile ? o->base : o->at) + t * 4, f->at[v], n);
    else if (!f->by_tile)
        store_run(f, o, o->at + t * o->inner, o->inner, value->is_i32, f->at[v], n);
    else if (o->flat)
        store_run(f, o, o->base + t * o->bytes, o->bytes, value->is_i32, f->at[v], n);
    else
        walk_tile(f, o, t, n, value->is_i32, f->at[v], scatter_move);
}

/* Where the value's elements go: the slot, which for a long one is as long as the row, or the result. */
static void place_result(frame *f, int v, int64_t t)
{
    const tern__row_value *value = &f->p->values[v];
    if (f->in_place[v]) {
        const operand *o = &f->operands[f->p->n_in + value->result];
        f->at[v] = f->one[v] ? o->at : (f->by_tile ? o->base : o->at) + t * 4;
    }
}

static void step_instr(frame *f, int k, int64_t t, int64_t n)
{
    const tern__row_instr *i = &f->p->instrs[k];
    switch ((tern__row_kind)i->kind) {
    case TERN__ROW_LOAD:
        load_value(f, i->dst, &f->operands[i->a], t, n);
        break;
    case TERN__ROW_CONSTANT:
        place_result(f, i->dst, t);
        *(float *)(void *)f->at[i->dst] = (float)i->number;
        break;
    case TERN__ROW_MAP:
        place_result(f, i->dst, t);
        f->maps[k](f->at[i->dst], f->at[i->a], f->at[i->b], f->at[i->c], i->imm, f->one[i->dst] ? 1 : n);
        fetch_ahead(f);
        break;
    case TERN__ROW_REDUCE:
        f->p->table->reduce[i->op](&f->states[i->dst], (const float *)(const void *)f->at[i->a], n);
        fetch_ahead(f);
        break;
    case TERN__ROW_COMPUTE:
        f->registers[i->dst] =
            compute((tern__rowscalar)i->op, f->registers[i->a], f->registers[i->b], i->number);
        break;
    case TERN__ROW_VALUE:
        place_result(f, i->dst, t);
        *(float *)(void *)f->at[i->dst] = (float)f->registers[i->a];
        break;
    case TERN__ROW_STORE:
        store_value(f, i->a, i->dst, t, n);
        break;
    }
}

/* ---- programs that reduce: rows ---- */

/* Values that stay from phase to phase, of a row in several tiles: where the tile's elements are. */
static void enter_tile(frame *f, int64_t t)
{
    const tern__row_program *p = f->p;
    for (int v = 0; v < p->n_values; v++) {
        const tern__row_value *value = &p->values[v];
        if (value->extent != TERN__ROW_FULL)
            continue;
        if (f->in_place[v]) {
            const operand *o = &f->operands[value->operand >= 0 ? value->operand : p->n_in + value->result];
            f->at[v] = o->at + t * 4;
        } else if (value->stays && p->row) {
            f->at[v] = f->longs + (value->slot * p->row + t) * 4;
        }
    }
}

static void run_phase(frame *f, int phase, int begin, int end)
{
    const tern__row_program *p = f->p;
    int64_t row = p->phase_walks[phase] ? f->inner : 0;
    for (int k = begin; k < end; k++)
        if (p->instrs[k].kind == TERN__ROW_REDUCE)
            tern__rowop_start((tern__rowop)p->instrs[k].op, &f->states[p->instrs[k].dst]);
    for (int64_t t = 0; t == 0 || t < row; t += p->tile) {
        int64_t n = row - t < p->tile ? row - t : p->tile;
        if (f->inner > p->tile)
            enter_tile(f, t);
        for (int k = begin; k < end; k++)
            if (t == 0 || !p->instrs[k].once)
                step_instr(f, k, t, n);
    }
    for (int k = begin; k < end; k++)
        if (p->instrs[k].kind == TERN__ROW_REDUCE)
            f->registers[p->instrs[k].dst] =
                tern__rowop_finish((tern__rowop)p->instrs[k].op, &f->states[p->instrs[k].dst]);
}

static void seek(frame *f, int64_t row)
{
    int n = f->p->n_in + f->p->n_out;
    for (int d = f->rank - 1; d >= 0; d--) {
        f->index[d] = row % f->shape[d];
        row /= f->shape[d];
    }
    for (int k = 0; k < n; k++) {
        operand *o = &f->operands[k];
        o->at = o->base;
        for (int d = 0; d < f->rank; d++)
            o->at += f->index[d] * o->strides[d];
    }
}

static void next_row(frame *f)
{
    int n = f->p->n_in + f->p->n_out;
    for (int d = f->rank - 1; d >= 0; d--) {
        for (int k = 0; k < n; k++)
            f->operands[k].at += f->operands[k].strides[d];
        if (++f->index[d] < f->shape[d])
            return;
        for (int k = 0; k < n; k++)
            f->operands[k].at -= f->shape[d] * f->operands[k].strides[d];
        f->index[d] = 0;
    }
}

static void run_rows(frame *f, int64_t begin, int64_t end)
{
    const tern__row_program *p = f->p;
    seek(f, begin);
    for (int64_t row = begin; row < end; row++) {
        if (f->n_ahead && f->inner <= p->tile)
            look_ahead(f, f->inner, 0, true);
        for (int phase = 0, first = 0; phase < p->n_phases; phase++) {
            run_phase(f, phase, first, p->phase_end[phase]);
            first = p->phase_end[phase];
        }
        next_row(f);
    }
}

/* ---- programs that do not: runs of elements ---- */

static void run_elements(frame *f, int64_t begin, int64_t end)
{
    const tern__row_program *p = f->p;
    int64_t first = begin, t = f->by_tile ? begin : begin % f->inner;
    bool started = false;
    seek(f, begin / f->inner);
    while (first < end) {
        int64_t n = end - first < p->tile ? end - first : p->tile;
        if (!f->by_tile && f->inner - t < n)
            n = f->inner - t;
        if (f->n_ahead && (f->by_tile || t + n < f->inner))
            look_ahead(f, n, t + n, false);
        for (int k = 0; k < p->n_instrs; k++)
            if (!started || !p->instrs[k].once)
                step_instr(f, k, t, n);
        started = true;
        first += n;
        t += n;
        if (!f->by_tile && t == f->inner) {
            next_row(f);
            t = 0;
        }
    }
}

tern_status tern__row_run(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__row_program *p = args->program;
    frame *f = args->scratch;
    if (begin >= end)
        return TERN_OK;
    f->p = p;
    survey(f, args);
    f->singles = (char *)(f + 1) + (TERN__ALIGN - sizeof(frame) % TERN__ALIGN);
    f->slots = (char *)f + tern__row_frame_bytes(p);
    f->longs = f->slots + (int64_t)p->n_slots * p->tile * 4;
    resolve(f);
    plan_ahead(f);
    if (p->reduces) {
        run_rows(f, begin, end);
    } else {
        int64_t numel = tern__type_numel(&p->domain), last = end * TERN__ROW_CHUNK;
        run_elements(f, begin * TERN__ROW_CHUNK, last < numel ? last : numel);
    }
    settle_streams(p);
    return TERN_OK;
}
