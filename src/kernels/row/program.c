/* program.c - runs row programs.
 *
 * A call first looks at where operands and results lie (survey.c) and writes cells (strips.c). Then
 *
 *   - a program that reduces takes short rows in a pipeline of phases, long ones one by one, phase by phase, tile by tile;
 *   - another takes runs of elements along the innermost axis, or, where that is short, tiles of elements in row-major
 *     order whatever rows they belong to; operands that are not dense are gathered.
 *
 * Operands that lie across the rows, transposed ones, are turned block by block before either (across.c).
 *
 * Whole strips of a tile are run by cells, in registers; what is left of it instruction by instruction, through slots. Either
 * way an element is computed by the same instructions from the same numbers: its bits do not depend on the way. */
#include "kernels/row/across.h"
#include "kernels/row/frame.h"

typedef tern__row_frame frame;
typedef tern__row_operand operand;

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

/* What comes before a tile's elements; `started`: what is known once was computed. */
static void open_tile(frame *f, const tern__row_phase *phase, int64_t t, int64_t n, bool started)
{
    enter_tile(f, t);
    const int begin = started ? phase->once : phase->begin;
    tern__row_steps_one(f, f->list + begin, phase->one - begin);
    for (int k = phase->one; k < phase->first; k++)
        tern__row_step_tile(f, f->list[k], t, n);
}

/* Behind the tile's first `whole` elements, which cells did. */
static void close_tile(frame *f, const tern__row_phase *phase, int64_t t, int64_t n, int64_t whole)
{
    for (int k = phase->first; k < phase->walk && whole < n; k++)
        tern__row_step_run(f, f->list[k], whole, n - whole);
    for (int k = phase->walk; k < phase->final; k++)
        tern__row_step_tile(f, f->list[k], t, n);
}

/* Cells that run together, strip by strip, and what is fetched meanwhile. */
typedef struct strips {
    int n;
    const tern__rowop_cell *code[TERN__ROW_MAX_STAGES];
    tern__rowop_ahead ahead;
} strips;

/* How many of the tile's n elements they will do. */
static int64_t add_strips(strips *to, const frame *f, const tern__row_phase *phase, int64_t n)
{
    const int64_t strip = f->p->table->strip;
    if (phase->code < 0 || n < strip)
        return 0;
    to->code[to->n++] = &f->cells[phase->code];
    for (int k = 0; k < f->n_ahead && to->ahead.n < TERN__ROW_MAX_AHEAD; k++) {
        const int from = f->ahead[k].operand;
        if (&f->phases[f->ahead[k].phase] != phase)
            continue;
        to->ahead.before[to->ahead.n] = to->n - 1;
        to->ahead.at[to->ahead.n] = f->tile[from] + f->ahead[k].bytes;
        to->ahead.bytes[to->ahead.n++] = (int)(strip * f->operands[from].bytes);
    }
    return n / strip * strip;
}

static void run_tile(frame *f, const tern__row_phase *phase, int64_t t, int64_t n, bool started)
{
    strips s = {.n = 0};
    open_tile(f, phase, t, n, started);
    int64_t whole = add_strips(&s, f, phase, n);
    if (whole)
        f->p->table->run_strips(s.code, s.n, whole, &s.ahead);
    close_tile(f, phase, t, n, whole);
}

/* ---- programs that reduce: rows ---- */

static const tern__row_phase *begin_phase(frame *f, int phase)
{
    for (int k = phase ? f->phases[phase - 1].reduces : 0; k < f->phases[phase].reduces; k++) {
        const tern__row_instr *i = &f->p->instrs[f->reductions[k]];
        f->p->table->start((tern__rowop)i->op, &f->states[i->dst]);
    }
    return &f->phases[phase];
}

static void end_phase(frame *f, int phase)
{
    for (int k = phase ? f->phases[phase - 1].reduces : 0; k < f->phases[phase].reduces; k++) {
        const tern__row_instr *i = &f->p->instrs[f->reductions[k]];
        f->registers[i->dst] = tern__rowop_finish((tern__rowop)i->op, &f->states[i->dst]);
    }
}

static int stage_begin(const tern__row_program *p, int stage)
{
    return stage ? p->stage_end[stage - 1] : 0;
}

static void run_phase(frame *f, int number)
{
    const tern__row_phase *phase = begin_phase(f, number);
    const int64_t tile = f->p->tile, row = phase->walks ? f->inner : 0;
    for (int64_t t = 0; t == 0 || t < row; t += tile)
        run_tile(f, phase, t, row - t < tile ? row - t : tile, t > 0);
    end_phase(f, number);
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

static void skip_rows(frame *f, int64_t count)
{
    if (f->rank != 1) {
        for (int64_t k = 0; k < count; k++)
            next_row(f);
        return;
    }
    for (int k = 0; k < f->p->n_in + f->p->n_out; k++)
        f->operands[k].at += count * f->operands[k].strides[0];
}

_Static_assert((int)TERN__ROW_MAX_PLACES <= (int)TERN__ROW_MAX_STAGES &&
                   (int)TERN__ROW_MAX_PLACES <= (int)TERN__ROW_MAX_FRAMES &&
                   (int)TERN__ROW_MAX_PLACES <= (int)TERN__ROW_MAX_AHEAD,
               "places take turns like stages, have frames and are fetched ahead");

/* A stage of the row that a frame is at. */
typedef struct turn {
    frame *f;
    int stage;
} turn;

/* Stages of several rows. Their first phases, which walk the row, are run together, strip by strip; by `run`. */
static void run_turns(const tern__row_program *p, const turn *turns, int count, tern__rowop_strips *run)
{
    int64_t whole[TERN__ROW_MAX_STAGES] = {0}, n = 0;
    strips s;
    s.n = s.ahead.n = 0;
    for (int k = 0; k < count; k++) {
        frame *f = turns[k].f;
        const tern__row_phase *first = begin_phase(f, stage_begin(p, turns[k].stage));
        open_tile(f, first, 0, f->inner, false);
        whole[k] = add_strips(&s, f, first, f->inner);
        n = whole[k] ? whole[k] : n;
    }
    if (n)
        run(s.code, s.n, n, &s.ahead);
    for (int k = 0; k < count; k++) {
        frame *f = turns[k].f;
        int phase = stage_begin(p, turns[k].stage);
        close_tile(f, &f->phases[phase], 0, f->inner, whole[k]);
        end_phase(f, phase);
        while (++phase < p->stage_end[turns[k].stage])
            run_phase(f, phase);
    }
}

/* What runs a strip of all stages: cells, or a loop that does the same. */
static tern__rowop_strips *runner_of(const frame *f)
{
    const tern__row_program *p = f->p;
    const tern__rowop_cell *code[TERN__ROW_MAX_STAGES];
    tern__rowop_strips *woven = NULL;
    int n = 0;
    for (int k = 0; k < p->n_stages; k++) {
        const tern__row_phase *phase = &f->phases[stage_begin(p, k)];
        if (phase->code >= 0)
            code[n++] = &f->cells[phase->code];
    }
    if (n == p->n_stages)
        woven = p->table->find_weave(code, n);
    return woven ? woven : p->table->run_strips;
}

/* Rows are in different stages at a time, and a strip of each is run in turn: so memory is read and written at an even pace
 * while others compute, and what a reduction gave is known by the time that it is read, TERN__ROW_STAGE_STEPS later. */
static void run_pipeline(frame *const *frames, int64_t rows)
{
    const tern__row_program *p = frames[0]->p;
    const int64_t last = (p->n_stages - 1) * TERN__ROW_STAGE_STEPS;
    tern__rowop_strips *const all = runner_of(frames[0]);
    int newest = 0; /* frame of the row that begins */
    for (int64_t step = 0; step < rows + last; step++) {
        turn turns[TERN__ROW_MAX_STAGES];
        int n = 0;
        for (int k = 0; k < p->n_stages; k++) {
            int64_t row = step - k * TERN__ROW_STAGE_STEPS;
            int at = newest - k * TERN__ROW_STAGE_STEPS;
            if (row >= 0 && row < rows)
                turns[n++] = (turn){frames[at < 0 ? at + p->n_frames : at], k};
        }
        run_turns(p, turns, n, n == p->n_stages ? all : p->table->run_strips);
        if (n > 0 && turns[n - 1].stage == p->n_stages - 1)
            skip_rows(turns[n - 1].f, p->n_frames);
        newest = newest + 1 == p->n_frames ? 0 : newest + 1;
    }
}

/* A program of one stage: a row at each place in turns, `each` of them. */
static void run_row_places(frame *const *frames, int64_t each)
{
    const tern__row_program *p = frames[0]->p;
    turn turns[TERN__ROW_MAX_PLACES];
    for (int k = 0; k < p->n_places; k++)
        turns[k] = (turn){frames[k], 0};
    for (int64_t row = 0; row < each; row++) {
        run_turns(p, turns, p->n_places, p->table->run_strips);
        for (int k = 0; k < p->n_places; k++)
            next_row(frames[k]);
    }
}

/* Rows without a whole strip: there are no cells to run in turns, and a row's operands are found once for all phases. */
static void run_short_rows(frame *f, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++, next_row(f)) {
        enter_tile(f, 0);
        for (int number = 0; number < f->p->n_phases; number++) {
            const tern__row_phase *phase = begin_phase(f, number);
            int k = phase->one;
            tern__row_steps_one(f, f->list + phase->begin, phase->one - phase->begin);
            for (; k < phase->first; k++)
                tern__row_step_tile(f, f->list[k], 0, f->inner);
            for (; k < phase->walk; k++)
                tern__row_step_run(f, f->list[k], 0, f->inner);
            for (; k < phase->final; k++)
                tern__row_step_tile(f, f->list[k], 0, f->inner);
            end_phase(f, number);
        }
    }
}

static void run_rows(frame *f, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++, next_row(f))
        for (int phase = 0; phase < f->p->n_phases; phase++)
            run_phase(f, phase);
}

/* ---- programs that do not: runs of elements ---- */

/* Whether cells do everything that the phase does between tiles. */
static bool is_strips_only(const tern__row_phase *phase)
{
    return phase->code >= 0 && phase->first == phase->one && phase->final == phase->walk;
}

/* To the next tile of the run; what is known before its elements stays. */
static void advance(frame *const *f, int places, strips *s, int64_t n)
{
    const tern__row_program *p = f[0]->p;
    for (int k = 0; k < places; k++)
        for (int o = 0; o < p->n_in + p->n_out; o++)
            f[k]->tile[o] += n * f[k]->operands[o].bytes;
    for (int k = 0; k < s->ahead.n; k++)
        s->ahead.at[k] += n / p->table->strip * s->ahead.bytes[k];
}

/* A run of n elements at each place, tile by tile, strip by strip in turns. */
static void run_runs(frame *const *f, int places, const int64_t *t, int64_t n, bool started)
{
    const tern__row_phase *phase = &f[0]->phases[0];
    const int64_t tile = f[0]->p->tile;
    strips s;
    for (int64_t done = 0, size, whole = 0; done < n; done += size) {
        size = n - done < tile ? n - done : tile;
        if (whole > 0 && is_strips_only(phase)) {
            advance(f, places, &s, tile);
            whole = size - size % f[0]->p->table->strip;
        } else {
            s.n = s.ahead.n = 0;
            for (int k = 0; k < places; k++) {
                open_tile(f[k], &f[k]->phases[0], t[k] + done, size, started || done);
                whole = add_strips(&s, f[k], &f[k]->phases[0], size);
            }
        }
        if (whole)
            f[0]->p->table->run_strips(s.code, s.n, whole, &s.ahead);
        for (int k = 0; k < places; k++)
            close_tile(f[k], &f[k]->phases[0], t[k] + done, size, whole);
    }
}

/* `each` elements of every place, which follow each other from `begin` on. */
static void run_places(frame *const *f, int places, int64_t begin, int64_t each)
{
    const frame *one = f[0];
    int64_t t[TERN__ROW_MAX_PLACES], n = 0;
    for (int k = 0; k < places; k++) {
        const int64_t first = begin + k * each;
        t[k] = one->by_tile ? first : first % one->inner;
        seek(f[k], first / one->inner);
    }
    for (int64_t done = 0; done < each; done += n) {
        n = each - done;
        for (int k = 0; k < places && !one->by_tile; k++)
            n = one->inner - t[k] < n ? one->inner - t[k] : n;
        run_runs(f, places, t, n, done > 0);
        for (int k = 0; k < places; k++) {
            t[k] += n;
            if (!one->by_tile && t[k] == one->inner) {
                next_row(f[k]);
                t[k] = 0;
            }
        }
    }
}

/* The same, block by block: so many rows, or what there is of one. */
static void run_blocks(frame *f, int64_t begin, int64_t end)
{
    const int64_t inner = f->inner;
    bool started = false;
    for (int64_t t = begin, next; t < end; t = next) {
        int64_t row = t / inner, rows = end / inner - row, column = t % inner, to = inner;
        if (f->by_tile) {
            rows = tern__row_turn(&f, 1, row, (end + inner - 1) / inner - row, 0, inner);
            next = (row + rows) * inner < end ? (row + rows) * inner : end;
            run_places(&f, 1, t, next - t);
            continue;
        }
        if (column > 0 || rows == 0) {
            rows = 1;
            to = end - row * inner < inner ? end - row * inner : inner;
        }
        next = row * inner + to;
        for (int64_t n; column < to; column += n) {
            n = to - column < f->block_columns ? to - column : f->block_columns;
            rows = tern__row_turn(&f, 1, row, rows, column, n);
            for (int64_t k = 0; k < rows; k++, started = true) {
                seek(f, row + k);
                run_runs(&f, 1, &column, n, started);
            }
        }
        next += (rows - 1) * inner;
    }
}

static frame *set_up(const tern__kernel_args *args, const tern__row_program *p, char *memory, char *slots,
                     int place)
{
    frame *f = (frame *)(void *)memory;
    f->p = p;
    f->slots = slots;
    f->place = place;
    tern__row_survey(f, args);
    tern__row_encode(f);
    return f;
}

enum { PLACE_LEAST = 4 * TERN__ROW_CHUNK }; /* elements; else finding them takes longer than they save */

/* Memory answers faster where it is read at several places: a program that reads few operands walks several places of its
 * domain in turns, strip by strip. What is moved by whole tiles lies in slots meanwhile, of which there is one set. */
static void run_elements(const tern__kernel_args *args, const tern__row_program *p, int64_t begin,
                         int64_t end)
{
    const size_t bytes = tern__row_frame_bytes(p);
    char *const memory = args->scratch, *const slots = memory + bytes * (size_t)p->n_frames;
    frame *f[TERN__ROW_MAX_PLACES] = {set_up(args, p, memory, slots, 0)};
    int64_t each = (end - begin) / p->n_places;
    if (f[0]->n_across > 0) {
        run_blocks(f[0], begin, end);
        return;
    }
    const int64_t unit = f[0]->by_tile || f[0]->inner > each ? TERN__ROW_CHUNK : f[0]->inner;
    each = each / unit * unit;
    if (p->n_places > 1 && is_strips_only(&f[0]->phases[0]) && each >= PLACE_LEAST) {
        for (int k = 1; k < p->n_places; k++)
            f[k] = set_up(args, p, memory + bytes * (size_t)k, slots, k);
        run_places(f, p->n_places, begin, each);
        begin += p->n_places * each;
    }
    run_places(f, 1, begin, end - begin);
}

/* Frames that begin at rows `apart` from each other. */
static void set_up_rows(const tern__kernel_args *args, const tern__row_program *p, int64_t begin,
                        int64_t apart, int n, frame **f)
{
    for (int k = 0; k < n; k++) {
        char *memory = (char *)args->scratch + (size_t)k * p->frame_bytes;
        f[k] = set_up(args, p, memory, memory + tern__row_frame_bytes(p), 0);
        seek(f[k], begin + k * apart);
    }
}

static void run_some_rows(frame *const *f, int n, int64_t rows)
{
    if (n > 1)
        run_pipeline(f, rows);
    else if (tern__row_is_short(f[0]->p))
        run_short_rows(f[0], rows);
    else
        run_rows(f[0], rows);
}

static void run_reducing(const tern__kernel_args *args, const tern__row_program *p, int64_t begin,
                         int64_t end)
{
    frame *f[TERN__ROW_MAX_FRAMES];
    const int64_t each = (end - begin) / p->n_places;
    /* a program with places has rows */
    if (p->n_places > 1 && each * p->domain.shape[p->domain.rank - 1] >= PLACE_LEAST) {
        set_up_rows(args, p, begin, each, p->n_places, f);
        if (f[0]->n_across == 0) {
            run_row_places(f, each);
            begin += p->n_places * each;
        }
    }
    if (begin == end)
        return;
    int64_t rows = end - begin;
    const int n = p->n_places > 1 ? 1 : p->n_frames < rows ? p->n_frames : (int)rows;
    set_up_rows(args, p, begin, 1, n, f);
    for (; begin < end; begin += rows) {
        if (f[0]->n_across > 0) {
            rows = tern__row_turn(f, n, begin, end - begin, 0, f[0]->inner);
            for (int k = 0; k < n; k++)
                seek(f[k], begin + k);
        }
        run_some_rows(f, n, rows);
    }
}

tern_status tern__row_run(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__row_program *p = args->program;
    if (begin >= end)
        return TERN_OK;
    if (p->reduces) {
        run_reducing(args, p, begin, end);
    } else {
        int64_t numel = tern__type_numel(&p->domain), last = end * TERN__ROW_CHUNK;
        run_elements(args, p, begin * TERN__ROW_CHUNK, last < numel ? last : numel);
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
    part.n_frames = part.n_places = 1;
    part.across_bytes = 0;
    run_elements(args, &part, begin * columns, end * columns);
}
