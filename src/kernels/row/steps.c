/* steps.c - one instruction of a row program at a time: on a single element, on a run of a tile's elements, and the loads and
 * stores of a whole tile that no cell does. What strips leave over is run by these. */
#include <math.h>
#include <string.h>

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

void tern__row_step_one(tern__row_frame *f, int k)
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

/* What a computation gave is handed to the next one in a register: by way of memory each would wait for the one before. */
void tern__row_steps_one(tern__row_frame *f, const uint8_t *list, int n)
{
    const tern__row_instr *const instrs = f->p->instrs;
    double newest = 0;
    int holder = -1; /* of `newest` */
    for (int k = 0; k < n; k++) {
        const tern__row_instr *i = &instrs[list[k]];
        if (i->kind == TERN__ROW_COMPUTE) {
            const double a = i->a == holder ? newest : f->registers[i->a];
            newest = compute((tern__rowscalar)i->op, a, f->registers[i->b], i->number);
            holder = i->dst;
            f->registers[holder] = newest;
        } else if (i->kind == TERN__ROW_VALUE) {
            const double a = i->a == holder ? newest : f->registers[i->a];
            *(float *)(void *)*f->where[i->dst] = (float)a;
        } else {
            tern__row_step_one(f, list[k]);
        }
    }
}

void tern__row_step_tile(tern__row_frame *f, int k, int64_t t, int64_t n)
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

void tern__row_step_run(tern__row_frame *f, int k, int64_t first, int64_t n)
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
