/* assemble.c - makes row programs: puts instructions in phases and gives values places to lie in. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/row/across.h"
#include "kernels/row/program.h"
#include "kernels/select.h"

/* ---- the builder ---- */

void tern__row_begin(tern__row_builder *b, const tern__type *domain, int n_in, int n_out)
{
    b->domain = *domain;
    b->n_in = (uint8_t)n_in;
    b->n_out = (uint8_t)n_out;
    b->squeezed = 0;
    b->tile = 0;
    b->places = 0;
    b->upright = false;
    b->full = n_in + n_out > TERN__ROW_MAX_OPERANDS;
    b->n_instrs = b->n_values = b->n_registers = 0;
}

static int64_t row_size(const tern__type *domain)
{
    return domain->rank ? domain->shape[domain->rank - 1] : 1;
}

tern__row_extent tern__row_extent_of(const tern__type *domain, const tern__type *type)
{
    if (tern__type_numel(type) == 1)
        return TERN__ROW_SCALAR;
    return row_size(domain) != 1 && row_size(type) == 1 ? TERN__ROW_EACH : TERN__ROW_FULL;
}

/* Room for an instruction; when there is none, the last one is lost, and so is the program. */
static tern__row_instr *next_instr(tern__row_builder *b, tern__row_kind kind, int op, int phase)
{
    if (b->n_instrs == TERN__ROW_MAX_INSTRS) {
        b->full = true;
        b->n_instrs--;
    }
    tern__row_instr *i = &b->instrs[b->n_instrs++];
    *i = (tern__row_instr){.kind = (uint8_t)kind, .op = (uint8_t)op, .phase = (uint8_t)phase};
    return i;
}

static tern__row_id next_value(tern__row_builder *b, int extent, bool is_i32, int phase)
{
    if (b->n_values == TERN__ROW_MAX_INSTRS) {
        b->full = true;
        b->n_values--;
    }
    int v = b->n_values++;
    b->values[v] = (tern__row_value){
        .extent = (uint8_t)extent, .is_i32 = is_i32, .operand = -1, .result = -1, .slot = -1};
    b->value_phase[v] = (uint8_t)phase;
    return (tern__row_id)v;
}

static tern__row_id next_register(tern__row_builder *b, int phase)
{
    if (b->n_registers == TERN__ROW_MAX_REGISTERS) {
        b->full = true;
        b->n_registers--;
    }
    b->register_phase[b->n_registers] = (uint8_t)phase;
    return (tern__row_id)b->n_registers++;
}

tern__row_id tern__row_load(tern__row_builder *b, int operand, tern__row_extent extent, bool is_i32)
{
    tern__row_id v = next_value(b, (int)extent, is_i32, 0);
    b->values[v].operand = (int16_t)operand;
    tern__row_instr *i = next_instr(b, TERN__ROW_LOAD, 0, 0);
    i->dst = v;
    i->a = (uint8_t)operand;
    return v;
}

tern__row_id tern__row_constant(tern__row_builder *b, double number)
{
    tern__row_id v = next_value(b, TERN__ROW_SCALAR, false, 0);
    tern__row_instr *i = next_instr(b, TERN__ROW_CONSTANT, 0, 0);
    i->dst = v;
    i->number = number;
    return v;
}

static const uint8_t operand_count[TERN__ROWOP_COUNT] = {
#define TERN_ROWOP(name, operands, kind) [TERN__ROWOP_##name] = operands,
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
};

static const bool rounded[TERN__ROWOP_COUNT] = {
#define TERN_ROWOP(name, operands, kind)
#define TERN_ROWOP_ROUNDED(name, operands, kind) [TERN__ROWOP_##name] = true,
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
};

bool tern__row_rounds(tern__rowop op)
{
    return rounded[op];
}

int tern__row_operand_count(tern__rowop op)
{
    return operand_count[op];
}

static bool gives_i32(tern__rowop op)
{
    return op == TERN__ROWOP_add_i32 || op == TERN__ROWOP_sub_i32 || op == TERN__ROWOP_mul_i32 ||
           op == TERN__ROWOP_i32_from_f32;
}

tern__row_id tern__row_map(tern__row_builder *b, tern__rowop op, tern__row_id x, tern__row_id y,
                           tern__row_id z)
{
    const tern__row_id from[3] = {x, y, z};
    int extent = TERN__ROW_SCALAR, phase = 0;
    for (int k = 0; k < operand_count[op]; k++) {
        extent = b->values[from[k]].extent > extent ? b->values[from[k]].extent : extent;
        phase = b->value_phase[from[k]] > phase ? b->value_phase[from[k]] : phase;
    }
    bool is_i32 = op == TERN__ROWOP_where ? b->values[y].is_i32 : gives_i32(op);
    tern__row_id v = next_value(b, extent, is_i32, phase);
    tern__row_instr *i = next_instr(b, TERN__ROW_MAP, (int)op, phase);
    i->dst = v;
    i->a = x;
    i->b = operand_count[op] > 1 ? y : x;
    i->c = operand_count[op] > 2 ? z : x;
    return v;
}

tern__row_id tern__row_map_imm(tern__row_builder *b, tern__rowop op, tern__row_id x, double imm0, double imm1)
{
    tern__row_id v = tern__row_map(b, op, x, x, x);
    b->instrs[b->n_instrs - 1].imm[0] = (float)imm0;
    b->instrs[b->n_instrs - 1].imm[1] = (float)imm1;
    return v;
}

tern__row_id tern__row_reduce(tern__row_builder *b, tern__rowop op, tern__row_id x)
{
    int phase = b->value_phase[x];
    tern__row_instr *i = next_instr(b, TERN__ROW_REDUCE, (int)op, phase);
    i->a = x;
    return i->dst = next_register(b, phase + 1);
}

tern__row_id tern__row_compute(tern__row_builder *b, tern__rowscalar op, tern__row_id x, tern__row_id y,
                               double number)
{
    int phase = b->register_phase[x] > b->register_phase[y] ? b->register_phase[x] : b->register_phase[y];
    tern__row_instr *i = next_instr(b, TERN__ROW_COMPUTE, (int)op, phase);
    i->a = x;
    i->b = y;
    i->number = number;
    return i->dst = next_register(b, phase);
}

tern__row_id tern__row_value_of(tern__row_builder *b, tern__row_id x)
{
    int phase = b->register_phase[x];
    tern__row_id v = next_value(b, TERN__ROW_EACH, false, phase);
    tern__row_instr *i = next_instr(b, TERN__ROW_VALUE, 0, phase);
    i->dst = v;
    i->a = x;
    return v;
}

void tern__row_store(tern__row_builder *b, tern__row_id x, int result, bool squeezed)
{
    tern__row_instr *i = next_instr(b, TERN__ROW_STORE, 0, b->value_phase[x]);
    i->dst = (uint8_t)result;
    i->a = x;
    if (squeezed)
        b->squeezed |= 1u << result;
    /* Only the first result of a value can be where the value is computed; the others are copies. */
    if (b->values[x].operand < 0 && b->values[x].result < 0)
        b->values[x].result = (int16_t)result;
}

/* ---- finishing ---- */

int tern__row_reads(const tern__row_instr *i, uint8_t out[3])
{
    if (i->kind == TERN__ROW_MAP) {
        out[0] = i->a;
        out[1] = i->b;
        out[2] = i->c;
        return operand_count[i->op];
    }
    out[0] = i->a;
    return i->kind == TERN__ROW_REDUCE || i->kind == TERN__ROW_STORE;
}

static bool defines_value(const tern__row_instr *i)
{
    return i->kind == TERN__ROW_LOAD || i->kind == TERN__ROW_CONSTANT || i->kind == TERN__ROW_MAP ||
           i->kind == TERN__ROW_VALUE;
}

/* Instructions in order of their phases, else as they were. */
static void sort_by_phase(const tern__row_builder *b, tern__row_program *p, tern__row_instr *instrs,
                          uint8_t *ends)
{
    int n = 0;
    for (int phase = 0; phase < p->n_phases; phase++) {
        for (int k = 0; k < b->n_instrs; k++)
            if (b->instrs[k].phase == phase)
                instrs[n++] = b->instrs[k];
        ends[phase] = (uint8_t)n;
    }
}

/* A value with one element is computed once and kept; in programs without reductions that holds for scalars only, since
 * rows may be run together there. */
static bool is_single(const tern__row_program *p, const tern__row_value *v)
{
    return v->extent == TERN__ROW_SCALAR || (p->reduces && v->extent == TERN__ROW_EACH);
}

static void find_lives(const tern__row_program *p, const tern__row_builder *b, int *last,
                       tern__row_value *values)
{
    for (int k = 0; k < p->n_instrs; k++) {
        uint8_t from[3] = {0};
        int n = tern__row_reads(&p->instrs[k], from);
        for (int j = 0; j < n; j++) {
            last[from[j]] = k;
            if (p->instrs[k].phase > b->value_phase[from[j]] && !is_single(p, &values[from[j]]))
                values[from[j]].stays = true;
        }
    }
}

/* Gives back the slots of what instruction k read last, before its own result takes one: the result may lie where an operand
 * was. Those of single elements are not given back: strip after strip reads them, also when later instructions have run. */
static void free_read(const tern__row_program *p, const int *last, const tern__row_value *values,
                      bool long_rows, int k, int *free_slots, int *n_free)
{
    uint8_t from[3] = {0};
    int n = tern__row_reads(&p->instrs[k], from);
    for (int j = 0; j < n; j++) {
        const tern__row_value *v = &values[from[j]];
        bool again = (j > 0 && from[j] == from[0]) || (j > 1 && from[j] == from[1]);
        if (last[from[j]] == k && !again && !(long_rows && v->stays) && v->extent == TERN__ROW_FULL)
            free_slots[(*n_free)++] = v->slot;
    }
}

/* Slots are taken when a value is made and given back after its last reader. */
static void give_slots(tern__row_program *p, const int *last, tern__row_value *values, bool long_rows)
{
    int free_slots[TERN__ROW_MAX_INSTRS], n_free = 0;
    for (int k = 0; k < p->n_instrs; k++) {
        const tern__row_instr *i = &p->instrs[k];
        free_read(p, last, values, long_rows, k, free_slots, &n_free);
        if (defines_value(i)) {
            tern__row_value *v = &values[i->dst];
            bool shared = !is_single(p, v) && !(long_rows && v->stays);
            /* Nor is a slot used again for a single element: what lay there before is made anew in every strip. */
            const bool again = n_free > 0 && v->extent == TERN__ROW_FULL;
            v->slot = (int16_t)(is_single(p, v) ? p->n_single++
                                : !shared       ? p->n_long++
                                : again         ? free_slots[--n_free]
                                                : p->n_slots++);
            if (shared && last[i->dst] < 0 && v->extent == TERN__ROW_FULL)
                free_slots[n_free++] = v->slot; /* nobody reads it */
        }
    }
}

static int64_t round_32(int64_t n)
{
    return (n + 31) / 32 * 32;
}

/* Half of a usual L1 for slots; the rest is for what streams through. */
enum { SLOT_BYTES = 24 << 10 };

static int64_t tile_for(int n_slots, int64_t wanted, int64_t least, int64_t most)
{
    int64_t tile = wanted ? round_32(wanted) : SLOT_BYTES / 4 / (n_slots ? n_slots : 1) / 32 * 32;
    tile = tile < least && !wanted ? least : tile;
    return tile > most ? most : tile;
}

/* Which instructions run once per row; and stages: a phase that has others, and those behind it that have none. */
static void mark_once(tern__row_program *p, tern__row_instr *instrs)
{
    bool walks[TERN__ROW_MAX_REGISTERS + 1] = {false};
    for (int k = 0; k < p->n_instrs; k++) {
        tern__row_instr *i = &instrs[k];
        switch ((tern__row_kind)i->kind) {
        case TERN__ROW_COMPUTE:
        case TERN__ROW_VALUE:
        case TERN__ROW_CONSTANT:
            i->once = true;
            break;
        case TERN__ROW_REDUCE:
            i->once = false;
            break;
        case TERN__ROW_STORE:
            i->once = is_single(p, &p->values[i->a]);
            break;
        default:
            i->once = is_single(p, &p->values[i->dst]);
        }
        walks[i->phase] = walks[i->phase] || !i->once;
    }
    int stages = 1;
    for (int phase = 1; phase < p->n_phases; phase++)
        if (walks[phase] && stages++ < TERN__ROW_MAX_STAGES)
            p->stage_end[stages - 2] = (uint8_t)phase;
    p->n_stages = (uint8_t)stages;
    if (stages <= TERN__ROW_MAX_STAGES)
        p->stage_end[stages - 1] = p->n_phases;
}

static int64_t rows_of(const tern__type *domain)
{
    int64_t rows = 1;
    for (int d = 0; d < domain->rank - 1; d++)
        rows *= domain->shape[d];
    return rows;
}

/* Rows are the items of work where something is reduced, or a result has one element per row: no two threads may write
 * it. */
static bool needs_rows(const tern__row_builder *b)
{
    for (int k = 0; k < b->n_instrs; k++)
        if (b->instrs[k].kind == TERN__ROW_STORE && b->values[b->instrs[k].a].extent != TERN__ROW_FULL)
            return true;
    return b->n_registers > 0;
}

/* ---- rows in a pipeline ---- */

/* For the slots of all rows in a pipeline. Its loops walk them in ascending order, so that the second cache is near enough; what one
 * stage has in common with the next is worth more than the first. */
static int64_t pipeline_bytes(void)
{
    const int64_t l2 = tern__cpu()->l2_bytes, half = (l2 > 0 ? l2 : 512 << 10) / 2;
    return half < TERN__ROW_LENT / 2 ? half : TERN__ROW_LENT / 2;
}

static int pipeline_frames(const tern__row_program *p, int64_t slots)
{
    const int frames = (p->n_stages - 1) * TERN__ROW_STAGE_STEPS + 1;
    return p->n_stages <= TERN__ROW_MAX_STAGES && p->work > 1 && row_size(&p->domain) <= p->tile &&
                   slots * frames <= pipeline_bytes()
               ? frames
               : 1;
}

static int64_t slot_bytes(const tern__row_program *p)
{
    return (p->n_slots * p->tile + p->n_long * p->row) * 4;
}

/* A tile for rows that are reduced: a whole row where a pipeline takes it, else as much of one as fits the first cache. */
static void choose_tile(tern__row_program *p, const tern__row_builder *b, int64_t row)
{
    const int64_t most = row ? row : 32;
    p->tile = b->tile ? 0 : most;
    if (p->n_stages > 1 && pipeline_frames(p, slot_bytes(p)) > 1)
        return;
    p->tile = tile_for(p->n_slots, b->tile, TERN__ROW_TILE, most);
}

static tern_status lay_out(tern__row_program *p, const tern__row_builder *b, tern__row_value *values)
{
    int last[TERN__ROW_MAX_INSTRS];
    int64_t row = round_32(row_size(&p->domain));
    memset(last, 0xff, sizeof last);
    find_lives(p, b, last, values);
    for (int v = 0; v < p->n_values; v++)
        values[v].last = (int16_t)last[v];
    give_slots(p, last, values, false);
    if (!p->reduces) {
        p->tile = tile_for(p->n_slots, b->tile, 256, TERN__ROW_CHUNK);
        if (p->tile > p->table->strip) /* strips do not end with the tile else */
            p->tile -= p->tile % p->table->strip;
        return TERN_OK;
    }
    choose_tile(p, b, row);
    if (p->tile >= row)
        return TERN_OK;
    p->n_slots = p->n_long = p->n_single = 0;
    give_slots(p, last, values, true);
    p->row = p->n_long ? row : 0;
    return p->n_long && row > TERN__ROW_LONGEST ? TERN_UNSUPPORTED : TERN_OK;
}

bool tern__row_is_short(const tern__row_program *p)
{
    return p->reduces && row_size(&p->domain) < p->table->strip && row_size(&p->domain) <= p->tile;
}

/* ---- how memory is walked ---- */

static bool reads_one_stream(void)
{
    return tern__cpu_has(tern__cpu(), TERN__FEATURE_ONE_STREAM);
}

static int full_operands(const tern__row_program *p)
{
    int n = 0;
    for (int v = 0; v < p->n_values; v++)
        n += p->values[v].operand >= 0 && p->values[v].extent == TERN__ROW_FULL;
    return n;
}

/* Places of a domain that are walked in turns: so many that memory is read at `most`, whatever the operands. */
static int places(const tern__row_program *p, int most)
{
    const int operands = full_operands(p);
    const bool large = tern__type_numel(&p->domain) >= TERN__ROW_PLACES_LEAST;
    return large && operands > 0 && operands <= most ? most / operands : 1;
}

/* What is on its way while memory answers: of a run that is read beside what a pipeline computes; of each of several; and of one
 * that the processor itself fetches ahead, which only has to begin. */
enum { AHEAD_BYTES = 4096, AHEAD_BYTES_EACH = 1024, AHEAD_BYTES_ALONE = 256 };

static int ahead_bytes(const tern__row_program *p)
{
    if (p->n_places > 1)
        return AHEAD_BYTES_EACH;
    return !p->reduces && reads_one_stream() ? AHEAD_BYTES_ALONE : AHEAD_BYTES;
}

/* Rows that are read once, and whole: then nothing is gained by a pipeline, and rows at several places take turns. */
static bool takes_turns(const tern__row_program *p)
{
    return p->n_stages == 1 && row_size(&p->domain) <= p->tile && p->work > TERN__ROW_MAX_PLACES;
}

tern_status tern__row_finish(const tern__row_builder *b, const tern__rowop_table *table, bool streams,
                             tern__arena *arena, tern__row_program **out)
{
    if (b->full)
        return TERN_UNSUPPORTED;
    int n_phases = 1;
    for (int k = 0; k < b->n_instrs; k++)
        n_phases = b->instrs[k].phase >= n_phases ? b->instrs[k].phase + 1 : n_phases;
    size_t n = (size_t)b->n_instrs, m = (size_t)b->n_values, bytes = 0;
    size_t instrs_at = sizeof(tern__row_program), values_at = instrs_at + n * sizeof(tern__row_instr);
    size_t ends_at = values_at + m * sizeof(tern__row_value);
    bytes = ends_at + (size_t)n_phases;
    char *memory = tern__arena_alloc(arena, bytes);
    if (!memory)
        return tern__out_of_memory(bytes);
    tern__row_program *p = (tern__row_program *)(void *)memory;
    tern__row_instr *instrs = (tern__row_instr *)(void *)(memory + instrs_at);
    tern__row_value *values = (tern__row_value *)(void *)(memory + values_at);
    uint8_t *ends = (uint8_t *)memory + ends_at;
    *p = (tern__row_program){.table = table,
                             .domain = b->domain,
                             .streams = streams,
                             .squeezed = b->squeezed,
                             .n_in = b->n_in,
                             .n_out = b->n_out,
                             .n_instrs = (uint8_t)n,
                             .n_values = (uint8_t)m,
                             .n_registers = (uint8_t)b->n_registers,
                             .n_phases = (uint8_t)n_phases,
                             .instrs = instrs,
                             .values = values,
                             .phase_end = ends,
                             .reduces = needs_rows(b)};
    memcpy(values, b->values, m * sizeof *values);
    sort_by_phase(b, p, instrs, ends);
    int64_t numel = tern__type_numel(&p->domain);
    p->work = p->reduces ? rows_of(&p->domain) : (numel + TERN__ROW_CHUNK - 1) / TERN__ROW_CHUNK;
    mark_once(p, instrs);
    TERN_TRY(lay_out(p, b, values));
    const int64_t slots = slot_bytes(p);
    p->frame_bytes = tern__row_frame_bytes(p) + ((size_t)slots + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
    const int most = b->places ? b->places : reads_one_stream() ? 1 : TERN__ROW_MAX_PLACES;
    p->n_places = !p->reduces || takes_turns(p) ? places(p, most) : 1;
    p->n_frames = p->n_places > 1 || !p->reduces ? p->n_places : pipeline_frames(p, slots);
    if (tern__row_is_short(
            p)) /* what several rows at a time gain is less than what going from one to the next takes */
        p->n_places = p->n_frames = 1;
    p->ahead = ahead_bytes(p);
    /* Places share their slots, but for rows that are reduced. */
    p->scratch_bytes = p->reduces ? p->frame_bytes * (size_t)p->n_frames
                                  : tern__row_frame_bytes(p) * (size_t)(p->n_frames - 1) + p->frame_bytes;
    p->scratch_bytes += TERN__ALIGN;
    p->across_bytes = b->upright ? 0 : tern__row_across_bytes(&p->domain, full_operands(p), p->scratch_bytes);
    p->scratch_bytes += p->across_bytes;
    tern__move_plan(tern__kernel_select(TERN__FAMILY_move, (2u << table->isa) - 1)->kernel, tern__cpu(), 0,
                    &p->turning); /* small blocks, for the caches */
    *out = p;
    return TERN_OK;
}
