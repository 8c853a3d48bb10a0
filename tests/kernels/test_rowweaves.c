/* test_rowweaves.c - loops that do what the cells of several stages do (row/weave.h), each against these cells, on every instruction
 * set this machine has: the same results and the same bits of what is reduced, with NaN, zeros of both signs and infinities
 * among the elements, nothing written elsewhere. */
#include <math.h>
#include <string.h>

#include "harness.h"
#include "kernels/row/rowops.h"

enum { MOST = 1024, STAGES = 3, GUARD = 0x5a };

/* What a stage reads and writes: its own, since stages are of different rows. */
typedef struct row {
    _Alignas(64) float from[MOST], to[MOST + 16];
    float one, other;
    tern__rowop_state state;
} row;

static row rows[STAGES], wanted[STAGES];
static _Alignas(64) float factor[MOST], term[MOST];
static char *from_at[STAGES], *to_at[STAGES], *one_at[STAGES], *other_at[STAGES], *factor_at = (char *)factor,
                                                                                  *term_at = (char *)term;
static uint64_t state;

static uint32_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* sort 0: plain numbers; 1: zeros of both signs and what is below; 2: with anything among them. */
static float element(int sort)
{
    static const float odd[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1p127f, -104};
    if (sort == 1)
        return random_bits() % 3 ? -1 : random_bits() % 2 ? 0.0f : -0.0f;
    if (sort == 2 && random_bits() % 64 == 0)
        return odd[random_bits() % (sizeof odd / sizeof *odd)];
    return (float)(int32_t)random_bits() * 0x1p-29f;
}

static void fill(int sort)
{
    for (int k = 0; k < STAGES; k++) {
        row *r = &rows[k];
        memset(r, GUARD, sizeof *r);
        for (int i = 0; i < MOST; i++)
            r->from[i] = element(sort);
        r->one = k ? element(0) : 4;
        r->other = element(0) * 0x1p-24f;
        from_at[k] = (char *)r->from, to_at[k] = (char *)r->to;
        one_at[k] = (char *)&r->one, other_at[k] = (char *)&r->other;
    }
    for (int i = 0; i < MOST; i++) {
        factor[i] = element(sort);
        term[i] = element(sort);
    }
}

/* ---- stages, as cells: a letter for each, in upper case where it reads or writes the stage's own row from memory ---- */

static const tern__rowop_table *table;

static tern__rowop_cell cell_of(char letter, int k)
{
    tern__rowop_state *const s = &rows[k].state;
#define CELL(op, form, ...) ((tern__rowop_cell){.run = table->cell[TERN__ROWOP_##op][form], __VA_ARGS__})
    switch (letter) {
    case 'G':
        return CELL(copy, TERN__CELL_GET, .at = &from_at[k]);
    case 'P':
        return CELL(copy, TERN__CELL_PUT, .at = &to_at[k]);
    case 'S':
        return CELL(copy, TERN__CELL_PUT_PAST, .at = &to_at[k]);
    case 'B':
        return CELL(store_i8, TERN__CELL_STORE, .at = &to_at[k]);
    case 'C':
        return CELL(store_i8, TERN__CELL_STREAM, .at = &to_at[k]);
    case 'm':
        return CELL(max, TERN__CELL_REDUCE, .state = s);
    case 'a':
        return CELL(max_abs, TERN__CELL_REDUCE, .state = s);
    case 'U': /* of what was read */
        return CELL(sum, TERN__CELL_REDUCE_RUN, .at = &from_at[k], .state = s);
    case 'Q':
        return CELL(sum_squares, TERN__CELL_REDUCE_RUN, .at = &from_at[k], .state = s);
    case 'u': /* of what was written */
        return CELL(sum, TERN__CELL_REDUCE_RUN, .at = &to_at[k], .state = s);
    case 'q':
        return CELL(sum_squares, TERN__CELL_REDUCE_RUN, .at = &to_at[k], .state = s);
    case '-':
        return CELL(sub, TERN__CELL_S1, .at = &one_at[k]);
    case '_':
        return CELL(sub, TERN__CELL_S1, .at = &other_at[k]);
    case '*':
        return CELL(mul, TERN__CELL_S1, .at = &one_at[k]);
    case 'f':
        return CELL(mul, TERN__CELL_SR, .at = &factor_at);
    case 't':
        return CELL(add, TERN__CELL_SR, .at = &term_at);
    case 'e':
        return CELL(exp, 0, .at = NULL);
    case 'i':
        return CELL(quantise_i8, 0, .at = NULL);
    default:
        return (tern__rowop_cell){.run = table->end};
    }
#undef CELL
}

static const struct pattern {
    const char *name, *stages[STAGES];
    tern__rowop starts[STAGES]; /* what the stage reduces */
} patterns[] = {
#define SUM TERN__ROWOP_sum
    {"softmax", {"Gm", "G-ePu", "G*P"}, {TERN__ROWOP_max, SUM, SUM}},
    {"softmax past", {"Gm", "G-ePu", "G*S"}, {TERN__ROWOP_max, SUM, SUM}},
    {"layernorm", {"U", "G-_Pq", "G*P"}, {SUM, SUM, SUM}},
    {"layernorm past", {"U", "G-_Pq", "G*S"}, {SUM, SUM, SUM}},
    {"layernorm with weight and bias", {"U", "G-_Pq", "G*ftP"}, {SUM, SUM, SUM}},
    {"layernorm with weight and bias past", {"U", "G-_Pq", "G*ftS"}, {SUM, SUM, SUM}},
    {"rmsnorm", {"Q", "G*P", NULL}, {SUM, SUM, SUM}},
    {"rmsnorm past", {"Q", "G*S", NULL}, {SUM, SUM, SUM}},
    {"rmsnorm with weight", {"Q", "G*fP", NULL}, {SUM, SUM, SUM}},
    {"rmsnorm with weight past", {"Q", "G*fS", NULL}, {SUM, SUM, SUM}},
    {"quantised rmsnorm", {"Q", "G*aP", "G*iB"}, {SUM, TERN__ROWOP_max_abs, SUM}},
    {"quantised rmsnorm past", {"Q", "G*aP", "G*iC"}, {SUM, TERN__ROWOP_max_abs, SUM}},
    {"quantised rmsnorm with weight", {"Q", "G*faP", "G*iB"}, {SUM, TERN__ROWOP_max_abs, SUM}},
    {"quantised rmsnorm with weight past", {"Q", "G*faP", "G*iC"}, {SUM, TERN__ROWOP_max_abs, SUM}},
    {"quantised rows", {"Ga", "G*iB", NULL}, {TERN__ROWOP_max_abs, SUM, SUM}},
    {"quantised rows past", {"Ga", "G*iC", NULL}, {TERN__ROWOP_max_abs, SUM, SUM}},
#undef SUM
};
enum { PATTERNS = sizeof patterns / sizeof *patterns, CELLS = 8 };

static int encode(const struct pattern *p, tern__rowop_cell cells[STAGES][CELLS])
{
    int n = 0;
    for (; n < STAGES && p->stages[n]; n++)
        for (size_t c = 0; c <= strlen(p->stages[n]); c++)
            cells[n][c] = cell_of(p->stages[n][c], n);
    return n;
}

static bool same(const void *x, const void *y, size_t bytes)
{
    float a, b;
    for (size_t at = 0; at < bytes; at += sizeof a) {
        memcpy(&a, (const char *)x + at, sizeof a);
        memcpy(&b, (const char *)y + at, sizeof b);
        if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)))
            return false;
    }
    return true;
}

static void check(const struct pattern *p, int sort, int64_t n)
{
    const tern__rowop_ahead ahead = {
        .n = 1, .at = {(const char *)rows[0].from}, .bytes = {(int)table->strip * 4}};
    tern__rowop_cell cells[STAGES][CELLS];
    const tern__rowop_cell *code[STAGES] = {cells[0], cells[1], cells[2]};
    const int stages = encode(p, cells);
    tern__rowop_strips *const woven = table->find_weave(code, stages);
    if (!woven) {
        harness_fail(__FILE__, __LINE__, "%s: no loop for %s", tern__isa_name(table->isa), p->name);
        return;
    }
    for (int round = 0; round < 2; round++) {
        state = harness_seed() + (uint64_t)sort;
        fill(sort);
        for (int k = 0; k < stages; k++)
            table->start(p->starts[k], &rows[k].state);
        (round ? woven : table->run_strips)(code, stages, n, &ahead);
        tern__rowop_settle();
        for (int k = 0; k < stages && round; k++) {
            const double x = tern__rowop_finish(p->starts[k], &wanted[k].state),
                         y = tern__rowop_finish(p->starts[k], &rows[k].state);
            if (!same(wanted[k].from, rows[k].from, sizeof rows[k].from) ||
                !same(wanted[k].to, rows[k].to, sizeof rows[k].to) ||
                (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y))))
                harness_fail(__FILE__, __LINE__, "%s %s, stage %d of %d elements of sort %d: %a, not %a",
                             tern__isa_name(table->isa), p->name, k, (int)n, sort, y, x);
        }
        memcpy(wanted, rows, sizeof rows);
    }
}

TEST(same_bits_as_cells)
{
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
        if ((int)table->isa != isa)
            continue;
        for (int p = 0; p < PATTERNS; p++)
            for (int sort = 0; sort < 3; sort++) {
                check(&patterns[p], sort, table->strip);
                check(&patterns[p], sort, MOST);
            }
    }
}

/* Other cells, or these in another order, are nobody's. */
TEST(others_have_none)
{
    static const struct pattern others[] = {
        {"maximum of a row", {"Gm", NULL, NULL}, {0}},
        {"softmax without its last stage", {"Gm", "G-ePu", NULL}, {0}},
        {"softmax of exp2", {"Gm", "G-Pu", "G*P"}, {0}},
        {"scaled twice", {"Q", "G*fP", "G*P"}, {0}},
    };
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            tern__rowop_cell cells[STAGES][CELLS];
            const tern__rowop_cell *code[STAGES] = {cells[0], cells[1], cells[2]};
            const int n = encode(&others[k], cells);
            if (table->find_weave(code, n))
                harness_fail(__FILE__, __LINE__, "%s has a loop", others[k].name);
        }
    }
}
