/* strips.c - writes the cells of a row program's phases (rowops.h): instructions that follow each other hand the strip on in
 * registers; a value goes to its slot only if it is read again later, or the result lies there.
 *
 * What is computed, in which order, is what the instructions say; cells only leave out stores and loads. So cells and
 * runs of elements (for what is left of a tile behind its last whole strip) have the same bits. */
#include "kernels/row/frame.h"

typedef tern__row_frame frame;

typedef struct encoder {
    frame *f;
    int held;                             /* the value in the strip, or -1 */
    bool fails;                           /* no room */
    bool in_memory[TERN__ROW_MAX_INSTRS]; /* of values: where they lie now */
} encoder;

static void emit(encoder *e, tern__rowop_cell cell)
{
    frame *f = e->f;
    if (!cell.run || f->n_cells == TERN__ROW_MAX_CELLS)
        e->fails = true;
    else
        f->cells[f->n_cells++] = cell;
}

static tern__rowop_cell_fn cell_of(const encoder *e, unsigned op, int form)
{
    return e->f->p->table->cell[op][form];
}

static void put(encoder *e)
{
    emit(e,
         (tern__rowop_cell){.run = cell_of(e, TERN__ROWOP_copy, TERN__CELL_PUT), .at = e->f->where[e->held]});
    e->in_memory[e->held] = true;
}

/* Puts the strip into memory if the value in it is read by instruction k or later. One element that was repeated in the strip is in
 * memory, which has room for no more than it. */
static void keep_from(encoder *e, int k)
{
    if (e->held >= 0 && !e->f->one[e->held] && !e->in_memory[e->held] && e->f->p->values[e->held].last >= k)
        put(e);
}

/* A value that is converted as it is loaded: its instruction, else NULL. It is loaded where it is first read. */
static const tern__row_instr *load_of(const encoder *e, int v)
{
    const tern__row_program *p = e->f->p;
    for (int k = 0; k < p->n_instrs && p->values[v].operand >= 0; k++)
        if (p->instrs[k].kind == TERN__ROW_LOAD && p->instrs[k].dst == v)
            return &p->instrs[k];
    return NULL;
}

/* Gets value v into the strip, for instruction k. */
static void take(encoder *e, int v, int k)
{
    frame *f = e->f;
    if (e->held == v)
        return;
    keep_from(e, k);
    e->held = v;
    if (f->one[v] || e->in_memory[v]) {
        int form = f->one[v] ? TERN__CELL_GET_ONE : TERN__CELL_GET;
        emit(e, (tern__rowop_cell){.run = cell_of(e, TERN__ROWOP_copy, form), .at = f->where[v]});
        return;
    }
    const tern__row_instr *load = load_of(e, v);
    if (load)
        emit(e, (tern__rowop_cell){.run = cell_of(e, tern__row_load_op(f->operands[load->a].dtype), 0),
                                   .at = &f->tile[load->a]});
    else
        e->fails = true;
}

/* Sees to it that value v lies in memory before instruction k. */
static void want_in_memory(encoder *e, int v, int k)
{
    if (e->f->one[v] || e->in_memory[v])
        return;
    take(e, v, k);
    if (!e->in_memory[v])
        put(e);
}

static void encode_binary(encoder *e, const tern__row_instr *i, int k, tern__rowop_cell *cell)
{
    const frame *f = e->f;
    if (i->a == i->b) {
        take(e, i->a, k);
        cell->run = cell_of(e, i->op, TERN__CELL_SS);
        return;
    }
    bool second = f->one[i->a] || (e->held == i->b && !f->one[i->b]);
    int strip = second ? i->b : i->a, other = second ? i->a : i->b;
    want_in_memory(e, other, k);
    take(e, strip, k);
    int form = f->one[other] ? TERN__CELL_S1 : TERN__CELL_SR;
    cell->run = cell_of(e, i->op, form + second);
    cell->at = f->where[other];
}

static void encode_map(encoder *e, const tern__row_instr *i, int k)
{
    frame *f = e->f;
    tern__rowop_cell cell = {.imm = {i->imm[0], i->imm[1]}};
    int operands = tern__row_operand_count((tern__rowop)i->op);
    if (operands == 1) {
        take(e, i->a, k);
        cell.run = cell_of(e, i->op, 0);
    } else if (operands == 2) {
        encode_binary(e, i, k, &cell);
    } else {
        want_in_memory(e, i->b, k);
        want_in_memory(e, i->c, k);
        take(e, i->a, k);
        cell.run = cell_of(e, i->op, TERN__CELL_WHERE + f->one[i->b] + 2 * f->one[i->c]);
        cell.at = f->where[i->b];
        cell.at_c = f->where[i->c];
    }
    keep_from(e, k + 1); /* the strip changes now */
    emit(e, cell);
    e->held = i->dst;
    if (f->in_place[i->dst])
        put(e);
}

static void encode_store(encoder *e, const tern__row_instr *i, int k)
{
    const frame *f = e->f;
    const tern__row_operand *o = &f->operands[f->p->n_in + i->dst];
    tern__rowop op = tern__row_store_op(o->dtype);
    int form = op ? (o->past ? TERN__CELL_STREAM : TERN__CELL_STORE)
                  : (o->past ? TERN__CELL_PUT_PAST : TERN__CELL_PUT);
    take(e, i->a, k);
    emit(e, (tern__rowop_cell){.run = cell_of(e, op ? op : TERN__ROWOP_copy, form),
                               .at = &f->tile[f->p->n_in + i->dst]});
}

/* A value that lies in memory, or has to because a later phase reads it, is reduced from there if the instruction can. */
static void encode_reduce(encoder *e, const tern__row_instr *i, int k)
{
    frame *f = e->f;
    tern__rowop_cell cell = {
        .run = cell_of(e, i->op, TERN__CELL_REDUCE_RUN), .at = f->where[i->a], .state = &f->states[i->dst]};
    const bool kept = e->in_memory[i->a] || (e->held == i->a && f->p->values[i->a].stays);
    if (cell.run && kept && !f->one[i->a]) {
        want_in_memory(e, i->a, k);
    } else {
        take(e, i->a, k);
        cell.run = cell_of(e, i->op, TERN__CELL_REDUCE);
    }
    emit(e, cell);
}

static void encode_instr(encoder *e, int k)
{
    frame *f = e->f;
    const tern__row_instr *i = &f->p->instrs[k];
    if (i->kind == TERN__ROW_MAP) {
        encode_map(e, i, k);
    } else if (i->kind == TERN__ROW_REDUCE) {
        encode_reduce(e, i, k);
    } else if (i->kind == TERN__ROW_STORE) {
        encode_store(e, i, k);
    } /* loads wait until they are read */
}

static void encode_phase(encoder *e, int phase, int begin, int end)
{
    frame *f = e->f;
    int first = f->n_cells;
    e->held = -1;
    e->fails = false;
    for (int k = begin; k < end; k++) {
        if (f->action[k] == TERN__ROW_WALK)
            encode_instr(e, k);
        else if (f->action[k] == TERN__ROW_FIRST)
            e->in_memory[f->p->instrs[k].dst] = true;
        else if (f->action[k] == TERN__ROW_SKIP && f->p->instrs[k].kind == TERN__ROW_LOAD)
            e->in_memory[f->p->instrs[k].dst] = true;
        else if (f->action[k] == TERN__ROW_FINAL)
            want_in_memory(e, f->p->instrs[k].a, k);
    }
    keep_from(e, end);
    bool any = f->n_cells > first;
    emit(e, (tern__rowop_cell){.run = f->p->table->end});
    if (any && !e->fails) {
        f->phases[phase].code = (int16_t)first;
        return;
    }
    f->n_cells = first;
    for (int k = begin; k < end; k++) /* runs put everything into memory */
        if (f->action[k] == TERN__ROW_WALK && f->p->instrs[k].kind != TERN__ROW_REDUCE &&
            f->p->instrs[k].kind != TERN__ROW_STORE)
            e->in_memory[f->p->instrs[k].dst] = true;
}

void tern__row_encode(tern__row_frame *f)
{
    const tern__row_program *p = f->p;
    encoder e = {.f = f};
    f->n_cells = 0;
    for (int phase = 0, begin = 0; phase < p->n_phases; phase++) {
        if (f->phases[phase].walks)
            encode_phase(&e, phase, begin, p->phase_end[phase]);
        begin = p->phase_end[phase];
    }
}
