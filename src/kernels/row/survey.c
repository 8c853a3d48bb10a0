/* survey.c - the beginning of a row program's call: looks at where operands and results lie. Axes along which
 * everything is equally spaced are run together; each operand turns out to be read in place (4-byte elements without
 * gaps), converted as it is loaded, or gathered; each result is written in place, converted, streamed or scattered. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/row/across.h"

enum {
    SHORT_RUN = 256,       /* innermost axes below this are not worth a call per instruction */
    AHEAD_LEAST = 1 << 16, /* elements of a domain whose operands are worth fetching ahead */
};

typedef tern__row_frame frame;
typedef tern__row_operand operand;

tern__rowop tern__row_load_op(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F16:
        return TERN__ROWOP_load_f16;
    case TERN_BF16:
        return TERN__ROWOP_load_bf16;
    case TERN_I8:
        return TERN__ROWOP_load_i8;
    case TERN_U8:
        return TERN__ROWOP_load_u8;
    case TERN_BOOL:
        return TERN__ROWOP_load_bool;
    default:
        return (tern__rowop)0;
    }
}

tern__rowop tern__row_store_op(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F16:
        return TERN__ROWOP_store_f16;
    case TERN_BF16:
        return TERN__ROWOP_store_bf16;
    case TERN_I8:
        return TERN__ROWOP_store_i8;
    case TERN_U8:
    case TERN_BOOL:
        return TERN__ROWOP_store_u8;
    default:
        return (tern__rowop)0;
    }
}

/* ---- operands ---- */

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

/* Runs axis d - 1 and d together wherever all operands allow it, and drops axes of size 1; the last axis is left alone
 * if it is to be kept. Returns the new rank. */
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

/* Tiles begin at multiples of 16 elements: so do the lines of memory that cells store past the caches. */
static bool is_aligned(const frame *f, const operand *o)
{
    int64_t off = (int64_t)((uintptr_t)o->base & 63);
    for (int d = 0; d < f->rank && !f->by_tile; d++)
        off |= o->strides[d];
    return off % (16 * o->bytes) == 0 && (f->by_tile || f->p->reduces || f->rank == 0 || f->inner % 16 == 0);
}

static void survey_operands(frame *f, const tern__kernel_args *args)
{
    const tern__row_program *p = f->p;
    int n = p->n_in + p->n_out;
    int64_t strides[TERN__ROW_MAX_OPERANDS][TERN__MAX_RANK], shape[TERN__MAX_RANK] = {0};
    for (int k = 0; k < p->n_in; k++)
        align(p, &args->in[k], false, &f->operands[k], strides[k]);
    for (int k = 0; k < p->n_out; k++)
        align(p, &args->out[k], p->squeezed >> k & 1, &f->operands[p->n_in + k], strides[p->n_in + k]);
    int rank = merge_axes(p, n, strides, shape, p->reduces || p->narrow);
    f->inner = rank ? shape[rank - 1] : 1;
    f->by_tile = !p->reduces && rank > 1 && f->inner < SHORT_RUN;
    f->rank = rank ? rank - 1 : 0;
    tern__row_find_across(f, (char *)args->scratch + p->scratch_bytes - p->across_bytes, rank, strides,
                          shape);
    memcpy(f->shape, shape, sizeof shape);
    for (int k = 0; k < n; k++) {
        operand *o = &f->operands[k];
        o->inner = rank ? strides[k][rank - 1] : 0;
        memcpy(o->strides, strides[k], sizeof o->strides);
        o->dense = o->inner == o->bytes || f->inner == 1;
        o->flat = is_flat(o, rank, strides[k], shape);
        o->solid = f->by_tile ? o->flat : o->dense;
        o->aligned = is_aligned(f, o);
        o->past = p->streams && k >= p->n_in && o->solid && (o->bytes == 4 || o->aligned);
        o->at = o->base;
    }
}

/* ---- values ---- */

static bool lies_in_place(const frame *f, const tern__row_value *v, bool one)
{
    int k = v->operand >= 0 ? v->operand : v->result >= 0 ? f->p->n_in + v->result : -1;
    if (k < 0)
        return false;
    const operand *o = &f->operands[k];
    bool same = v->is_i32 ? o->dtype == TERN_I32 : o->dtype == TERN_F32;
    if (v->operand < 0 && !one && o->past)
        return false;
    return same && (one || o->solid);
}

static void place_values(frame *f)
{
    const tern__row_program *p = f->p;
    for (int v = 0; v < p->n_values; v++) {
        const tern__row_value *value = &p->values[v];
        bool single = value->extent == TERN__ROW_SCALAR || (p->reduces && value->extent == TERN__ROW_EACH);
        int k = value->operand >= 0 ? value->operand : p->n_in + value->result;
        f->one[v] = f->by_tile ? value->extent == TERN__ROW_SCALAR : value->extent != TERN__ROW_FULL;
        f->in_place[v] = lies_in_place(f, value, f->one[v]);
        f->at[v] = single ? f->singles + value->slot * 16
                   : p->row && value->stays
                       ? f->longs + value->slot * p->row * 4
                       : f->slots + value->slot * p->tile * 4 + (f->one[v] ? f->place * 64 : 0);
        f->where[v] = !f->in_place[v] ? &f->at[v] : f->one[v] ? &f->operands[k].at : &f->tile[k];
    }
}

/* ---- instructions ---- */

/* The function for operands like these. */
static tern__rowop_map map_for(const frame *f, const tern__row_instr *i)
{
    /* A single result has single operands: a run of one. */
    int form = f->one[i->dst] ? 0 : f->one[i->a] | f->one[i->b] << 1 | f->one[i->c] << 2;
    const tern__rowop_map *maps = f->p->table->map[i->op];
    /* What an instruction does not read is said to be `a`; forms it has not are those of fewer operands. */
    return maps[form] ? maps[form] : maps[form & 3] ? maps[form & 3] : maps[form & 1];
}

static tern__row_action action_of_load(const frame *f, const tern__row_instr *i)
{
    const operand *o = &f->operands[i->a];
    if (f->in_place[i->dst])
        return TERN__ROW_SKIP;
    if (f->one[i->dst])
        return TERN__ROW_ONE;
    return o->solid && !f->p->values[i->dst].is_i32 && tern__row_load_op(o->dtype) ? TERN__ROW_WALK
                                                                                   : TERN__ROW_FIRST;
}

static tern__row_action action_of_store(const frame *f, const tern__row_instr *i)
{
    const tern__row_value *v = &f->p->values[i->a];
    const operand *o = &f->operands[f->p->n_in + i->dst];
    if (f->in_place[i->a] && v->operand < 0 && v->result == i->dst)
        return TERN__ROW_SKIP;
    if (f->one[i->a])
        return TERN__ROW_ONE;
    bool same = v->is_i32 ? o->dtype == TERN_I32 : o->dtype == TERN_F32;
    bool cell = same ? !o->past || o->aligned : !v->is_i32 && tern__row_store_op(o->dtype);
    return o->solid && cell ? TERN__ROW_WALK : TERN__ROW_FINAL;
}

static void choose_actions(frame *f)
{
    const tern__row_program *p = f->p;
    for (int k = 0; k < p->n_instrs; k++) {
        const tern__row_instr *i = &p->instrs[k];
        switch ((tern__row_kind)i->kind) {
        case TERN__ROW_LOAD:
            f->action[k] = (uint8_t)action_of_load(f, i);
            break;
        case TERN__ROW_STORE:
            f->action[k] = (uint8_t)action_of_store(f, i);
            break;
        case TERN__ROW_MAP:
            f->maps[k] = map_for(f, i);
            f->action[k] = f->one[i->dst] ? TERN__ROW_ONE : TERN__ROW_WALK;
            break;
        case TERN__ROW_REDUCE:
            f->action[k] = TERN__ROW_WALK;
            break;
        default:
            f->action[k] = TERN__ROW_ONE;
        }
    }
}

static uint8_t append(frame *f, int begin, int end, tern__row_action action, int once, uint8_t n)
{
    for (int k = begin; k < end; k++)
        if (f->action[k] == action && (once < 0 || f->p->instrs[k].once == once))
            f->list[n++] = (uint8_t)k;
    return n;
}

static void list_phases(frame *f)
{
    const tern__row_program *p = f->p;
    uint8_t n = 0, reductions = 0;
    for (int phase = 0, begin = 0; phase < p->n_phases; phase++) {
        tern__row_phase *to = &f->phases[phase];
        int end = p->phase_end[phase];
        for (int k = begin; k < end; k++)
            if (p->instrs[k].kind == TERN__ROW_REDUCE)
                f->reductions[reductions++] = (uint8_t)k;
        *to = (tern__row_phase){.begin = n, .reduces = reductions, .code = -1};
        to->once = append(f, begin, end, TERN__ROW_ONE, true, to->begin);
        to->one = append(f, begin, end, TERN__ROW_ONE, false, to->once);
        to->first = append(f, begin, end, TERN__ROW_FIRST, -1, to->one);
        to->walk = append(f, begin, end, TERN__ROW_WALK, -1, to->first);
        to->final = n = append(f, begin, end, TERN__ROW_FINAL, -1, to->walk);
        to->walks = to->final > to->once;
        begin = end;
    }
}

/* The phase whose instructions read value v first. */
static int first_reader(const tern__row_program *p, int v)
{
    for (int k = 0; k < p->n_instrs; k++) {
        uint8_t from[3];
        for (int j = tern__row_reads(&p->instrs[k], from) - 1; j >= 0; j--)
            if (from[j] == v)
                return p->instrs[k].phase;
    }
    return 0;
}

/* The same elements for every row, such as a weight: they stay in the caches by themselves. */
static bool is_repeated(const frame *f, const operand *o)
{
    bool moves = !f->p->reduces;
    for (int d = 0; d < f->rank; d++)
        moves = moves || o->strides[d] != 0;
    return f->rank > 0 && !moves;
}

/* Its blocks are in a cache. */
static bool lies_across(const frame *f, int which)
{
    for (int k = 0; k < f->n_across; k++)
        if (f->across[k].operand == which)
            return true;
    return false;
}

/* Bytes from what is read to what is fetched. Where rows lie apart it is what a row to come has in the same place: nobody reads what lies
 * between them. Of rows that are much longer than the way ahead only the end would be fetched there. */
static int64_t bytes_ahead(const frame *f, const operand *o)
{
    enum { MUCH = 4 };
    const int64_t usual = f->p->ahead, row = f->inner * o->bytes,
                  pitch = f->rank > 0 ? o->strides[f->rank - 1] : row;
    if (pitch == row || row == 0 || row >= MUCH * usual)
        return usual;
    const int64_t rows = (usual + row / 2) / row;
    return rows > 1 ? rows * pitch : pitch;
}

/* Operands of large domains are fetched a little ahead of where they are read first. */
static void plan_ahead(frame *f)
{
    const tern__row_program *p = f->p;
    f->n_ahead = 0;
    if (tern__type_numel(&p->domain) < AHEAD_LEAST)
        return;
    for (int v = 0; v < p->n_values && f->n_ahead < TERN__ROW_MAX_AHEAD; v++) {
        int k = p->values[v].operand;
        if (k < 0 || p->values[v].extent != TERN__ROW_FULL || !f->operands[k].solid ||
            is_repeated(f, &f->operands[k]) || lies_across(f, k))
            continue;
        f->ahead[f->n_ahead].operand = (uint8_t)k;
        f->ahead[f->n_ahead].bytes = bytes_ahead(f, &f->operands[k]);
        f->ahead[f->n_ahead++].phase = (uint8_t)first_reader(p, v);
    }
}

void tern__row_survey(tern__row_frame *f, const tern__kernel_args *args)
{
    survey_operands(f, args);
    f->singles = (char *)(f + 1) + (TERN__ALIGN - sizeof(frame) % TERN__ALIGN);
    f->longs = f->slots + (int64_t)f->p->n_slots * f->p->tile * 4;
    place_values(f);
    choose_actions(f);
    list_phases(f);
    plan_ahead(f);
}

size_t tern__row_frame_bytes(const tern__row_program *p)
{
    return (sizeof(frame) + TERN__ALIGN + (size_t)p->n_single * 16 + TERN__ALIGN - 1) / TERN__ALIGN *
           TERN__ALIGN;
}
