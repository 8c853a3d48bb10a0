/* program.c - runs row programs.
 *
 * A call first looks at where operands and results lie (survey.c) and writes cells (strips.c). Then
 *
 *   - a program that reduces takes the rows one by one, each phase by phase, tile by tile;
 *   - another takes runs of elements along the innermost axis, or, where that is short, tiles of elements in row-major
 *     order whatever rows they belong to; operands that are not dense are gathered.
 *
 * Whole strips of a tile are run by cells, in registers; what is left of it instruction by instruction, through slots. Either
 * way an element is computed by the same instructions from the same numbers: its bits do not depend on the way. */
#include "kernels/row/program.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/row/frame.h"
#include "tensor/convert.h"

typedef tern__row_frame frame;
typedef tern__row_operand operand;

/* ---- moving elements ---- */

static void load_run(const frame *f, const operand *o, const char *from, int64_t step, bool is_i32, void *to,
                     int64_t n)
{
    tern__rowop load = tern__row_load_op(o->dtype);
    if (load && !is_i32 && (step == o->bytes || n == 1))
        f->p->table->map[load][0](to, from, NULL, NULL, NULL, n);
    else
        tern__convert(o->dtype, from, step / o->bytes, is_i32 ? TERN_I32 : TERN_F32, to, 1, n);
}

static void store_run(const frame *f, const operand *o, char *to, int64_t step, bool is_i32, const void *from,
                      int64_t n)
{
    tern__rowop store = tern__row_store_op(o->dtype);
    if (o->past && o->bytes == 4)
        f->p->table->map[TERN__ROWOP_stream][0](to, from, NULL, NULL, NULL, n);
    else if (store && !is_i32 && (step == o->bytes || n == 1))
        f->p->table->map[store][0](to, from, NULL, NULL, NULL, n);
    else
        tern__convert(is_i32 ? TERN_I32 : TERN_F32, from, 1, o->dtype, to, step / o->bytes, n);
}

/* One value for a run of results. */
static void store_same(const operand *o, char *to, int64_t step, bool is_i32, const void *from, int64_t n)
{
    tern__convert(is_i32 ? TERN_I32 : TERN_F32, from, 0, o->dtype, to, step / o->bytes, n);
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

/* On one element, before the tile's others. */
static void step_one(frame *f, int k)
{
    const tern__row_instr *i = &f->p->instrs[k];
    const tern__row_value *value = &f->p->values[i->kind == TERN__ROW_STORE ? i->a : i->dst];
    const operand *o;
    switch ((tern__row_kind)i->kind) {
    case TERN__ROW_LOAD:
        o = &f->operands[i->a];
        load_run(f, o, o->at, o->bytes, value->is_i32, *f->where[i->dst], 1);
        break;
    case TERN__ROW_CONSTANT:
        *(float *)(void *)*f->where[i->dst] = (float)i->number;
        break;
    case TERN__ROW_MAP:
        f->maps[k](*f->where[i->dst], *f->where[i->a], *f->where[i->b], *f->where[i->c], i->imm, 1);
        break;
    case TERN__ROW_REDUCE:
        break;
    case TERN__ROW_COMPUTE:
        f->registers[i->dst] =
            compute((tern__rowscalar)i->op, f->registers[i->a], f->registers[i->b], i->number);
        break;
    case TERN__ROW_VALUE:
        *(float *)(void *)*f->where[i->dst] = (float)f->registers[i->a];
        break;
    case TERN__ROW_STORE:
        o = &f->operands[f->p->n_in + i->dst];
        store_same(o, o->at, o->inner ? o->inner : o->bytes, value->is_i32, *f->where[i->a],
                   o->inner ? f->inner : 1);
        break;
    }
}

/* Loads and stores that no cell does, of a whole tile; `t` is its first element: in its row or run, or (by_tile) in row-major
 * order. */
static void step_tile(frame *f, int k, int64_t t, int64_t n)
{
    const tern__row_instr *i = &f->p->instrs[k];
    bool loads = i->kind == TERN__ROW_LOAD;
    int v = loads ? i->dst : i->a;
    const operand *o = &f->operands[loads ? i->a : f->p->n_in + i->dst];
    move_fn move = loads ? gather_move : scatter_move;
    bool is_i32 = f->p->values[v].is_i32;
    if (!f->by_tile)
        move(f, o, o->at + t * o->inner, o->inner, is_i32, *f->where[v], n);
    else if (o->flat)
        move(f, o, o->base + t * o->bytes, o->bytes, is_i32, *f->where[v], n);
    else
        walk_tile(f, o, t, n, is_i32, *f->where[v], move);
}

static char *element(const frame *f, int v, int64_t first)
{
    return *f->where[v] + (f->one[v] ? 0 : first * 4);
}

/* On n elements of the tile from `first` on. */
static void step_run(frame *f, int k, int64_t first, int64_t n)
{
    const tern__row_instr *i = &f->p->instrs[k];
    const operand *o;
    switch ((tern__row_kind)i->kind) {
    case TERN__ROW_LOAD:
        o = &f->operands[i->a];
        load_run(f, o, f->tile[i->a] + first * o->bytes, o->bytes, false, element(f, i->dst, first), n);
        break;
    case TERN__ROW_MAP:
        f->maps[k](element(f, i->dst, first), element(f, i->a, first), element(f, i->b, first),
                   element(f, i->c, first), i->imm, n);
        break;
    case TERN__ROW_REDUCE:
        f->p->table->reduce[i->op](&f->states[i->dst], (const float *)(const void *)element(f, i->a, first),
                                   n);
        break;
    case TERN__ROW_STORE:
        o = &f->operands[f->p->n_in + i->dst];
        store_run(f, o, f->tile[f->p->n_in + i->dst] + first * o->bytes, o->bytes, f->p->values[i->a].is_i32,
                  element(f, i->a, first), n);
        break;
    default:
        break;
    }
}

/* ---- tiles ---- */

/* Where the tile's elements are: of operands, and of values that stay from phase to phase in rows of several tiles. */
static void enter_tile(frame *f, int64_t t)
{
    const tern__row_program *p = f->p;
    for (int k = 0; k < p->n_in + p->n_out; k++) {
        const operand *o = &f->operands[k];
        f->tile[k] = (f->by_tile ? o->base : o->at) + t * o->bytes;
    }
    for (int v = 0; p->row && v < p->n_values; v++)
        if (p->values[v].stays && p->values[v].extent == TERN__ROW_FULL)
            f->at[v] = f->longs + (p->values[v].slot * p->row + t) * 4;
}

enum { AHEAD_BYTES = 2048 }; /* that are on their way while memory answers, about */

static void look_ahead(const frame *f, int number, tern__rowop_ahead *out)
{
    out->n = 0;
    for (int k = 0; k < f->n_ahead; k++) {
        const operand *o = &f->operands[f->ahead[k]];
        int64_t share = f->ahead_share[k];
        if (share == 0 && number > 0)
            continue;
        int64_t rows = f->p->pairs ? 2 : 1; /* from one row of this frame to the next, mostly */
        out->at[out->n] = share ? o->at + (f->rank > 0 ? rows * o->strides[f->rank - 1] : 0) + number * share
                                : f->tile[f->ahead[k]] + AHEAD_BYTES;
        out->bytes[out->n++] = f->ahead_bytes[k];
    }
}

/* A phase on the n elements from element t on; `started`: what is known once was computed. */
static void run_tile(frame *f, const tern__row_phase *phase, int64_t t, int64_t n, bool started)
{
    const tern__rowop_table *table = f->p->table;
    enter_tile(f, t);
    for (int k = started ? phase->once : phase->begin; k < phase->one; k++)
        step_one(f, f->list[k]);
    if (!phase->walks)
        return;
    for (int k = phase->one; k < phase->first; k++)
        step_tile(f, f->list[k], t, n);
    int64_t whole = 0;
    if (phase->code >= 0 && n >= table->strip) {
        tern__rowop_ahead ahead;
        look_ahead(f, phase->number, &ahead);
        whole = n / table->strip * table->strip;
        table->run_strips(&f->cells[phase->code], whole, &ahead);
    }
    for (int k = phase->first; k < phase->walk && whole < n; k++)
        step_run(f, f->list[k], whole, n - whole);
    for (int k = phase->walk; k < phase->final; k++)
        step_tile(f, f->list[k], t, n);
}

/* ---- programs that reduce: rows ---- */

static void run_phase(frame *f, const tern__row_phase *phase, int reductions)
{
    const tern__row_program *p = f->p;
    int64_t row = phase->walks ? f->inner : 0;
    for (int k = reductions; k < phase->reduces; k++) {
        const tern__row_instr *i = &p->instrs[f->reductions[k]];
        tern__rowop_start((tern__rowop)i->op, &f->states[i->dst]);
    }
    for (int64_t t = 0; t == 0 || t < row; t += p->tile)
        run_tile(f, phase, t, row - t < p->tile ? row - t : p->tile, t > 0);
    for (int k = reductions; k < phase->reduces; k++) {
        const tern__row_instr *i = &p->instrs[f->reductions[k]];
        f->registers[i->dst] = tern__rowop_finish((tern__rowop)i->op, &f->states[i->dst]);
    }
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

/* What a reduction gave is known some time after its last element was added. So that the processor has something to do
 * meanwhile, two rows are taken at a time, phase by phase. */
static void run_rows(frame *const f[2], int together, int64_t begin, int64_t end)
{
    const tern__row_program *p = f[0]->p;
    for (int k = 0; k < together; k++)
        seek(f[k], begin + k);
    for (int64_t row = begin; row < end; row += together) {
        int n = end - row < together ? (int)(end - row) : together;
        for (int phase = 0; phase < p->n_phases; phase++)
            for (int k = 0; k < n; k++)
                run_phase(f[k], &f[k]->phases[phase], phase ? f[k]->phases[phase - 1].reduces : 0);
        for (int k = 0; k < n; k++)
            for (int skip = 0; skip < together; skip++)
                next_row(f[k]);
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
        run_tile(f, &f->phases[0], t, n, started);
        started = true;
        first += n;
        t += n;
        if (!f->by_tile && t == f->inner) {
            next_row(f);
            t = 0;
        }
    }
}

static frame *set_up(const tern__kernel_args *args, const tern__row_program *p, char *memory)
{
    frame *f = (frame *)(void *)memory;
    f->p = p;
    tern__row_survey(f, args);
    tern__row_encode(f);
    return f;
}

tern_status tern__row_run(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__row_program *p = args->program;
    if (begin >= end)
        return TERN_OK;
    frame *f[2] = {set_up(args, p, args->scratch), NULL};
    int together = p->pairs && end - begin > 1 ? 2 : 1;
    if (together == 2)
        f[1] = set_up(args, p, (char *)args->scratch + p->frame_bytes);
    if (p->reduces) {
        run_rows(f, together, begin, end);
    } else {
        int64_t numel = tern__type_numel(&p->domain), last = end * TERN__ROW_CHUNK;
        run_elements(f[0], begin * TERN__ROW_CHUNK, last < numel ? last : numel);
    }
    if (p->streams)
        tern__rowop_settle(); /* what was streamed must be seen by whoever is told that the work is done */
    return TERN_OK;
}

void tern__row_run_part(const tern__kernel_args *args, int64_t columns, int64_t begin, int64_t end)
{
    tern__row_program part = *(const tern__row_program *)args->program;
    part.domain.shape[part.domain.rank - 1] = columns;
    part.narrow = columns == 1;
    run_elements(set_up(args, &part, args->scratch), begin * columns, end * columns);
}
