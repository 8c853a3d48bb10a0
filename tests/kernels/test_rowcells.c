/* test_rowcells.c - every cell of row programs, in every form, on every instruction set this machine has, against the run of
 * the same instruction: the same bits, NaNs included but for their payload, at every strip of a tile, nothing written
 * elsewhere. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "kernels/row/rowops.h"

enum { MOST = 1024, GUARD = 0x5a };

typedef enum kind { MAP, REDUCE, LOAD, STORE, GATHER, COPY } kind;

static const struct instruction {
    const char *name;
    int operands;
    kind kind;
} instructions[] = {
#define TERN_ROWOP(name, operands, kind) {#name, operands, kind},
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
};

static _Alignas(64) float a[MOST], b[MOST], c[MOST], want[MOST + 16], got[MOST + 16];
static _Alignas(64) uint8_t bytes[4 * MOST], bytes_want[4 * MOST + 64], bytes_got[4 * MOST + 64];
static char *const at_a = (char *)a, *const at_b = (char *)b, *const at_c = (char *)c,
                   *const at_got = (char *)got;
static char *const at_bytes = (char *)bytes, *const at_bytes_got = (char *)bytes_got;
static uint64_t state;

static uint32_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static float random_number(bool whole)
{
    static const float special[] = {0,  -0.0f,  INFINITY, -INFINITY, NAN, 1,
                                    -1, 127.5f, 0x1p31f,  0x1p-149f, 88,  -104};
    if (whole)
        return (float)(random_bits() & 127);
    if (random_bits() % 8 == 0)
        return special[random_bits() % (sizeof special / sizeof *special)];
    return (float)(int32_t)random_bits() * 0x1p-28f;
}

static void fill(int op)
{
    bool whole = instructions[op].kind == STORE;
    for (int i = 0; i < MOST; i++) {
        a[i] = random_number(whole);
        b[i] = random_number(whole);
        c[i] = random_number(whole);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_bits();
    memset(got, GUARD, sizeof got);
    memset(want, GUARD, sizeof want);
    memset(bytes_got, GUARD, sizeof bytes_got);
    memset(bytes_want, GUARD, sizeof bytes_want);
}

static const tern__rowop_table *table_of(int isa)
{
    const tern__rowop_table *table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
    return (int)table->isa == isa ? table : NULL;
}

static bool same(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

static void compare(const tern__rowop_table *table, int op, int form)
{
    for (int i = 0; i < MOST + 16; i++)
        if (!same(got[i], want[i])) {
            harness_fail(__FILE__, __LINE__, "%s %s, form %d: element %d is %a, not %a",
                         tern__isa_name(table->isa), instructions[op].name, form, i, (double)got[i],
                         (double)want[i]);
            return;
        }
}

static tern__rowop_cell plain_cell(const tern__rowop_table *table, int form, char *const *at)
{
    return (tern__rowop_cell){.run = table->cell[TERN__ROWOP_copy][form], .at = at};
}

/* get, the cell, put; `imm` counts where nothing else is in its place. */
static void run_cell(const tern__rowop_table *table, char *const *from, tern__rowop_cell cell)
{
    const tern__rowop_ahead none = {.n = 0};
    const tern__rowop_cell code[] = {plain_cell(table, TERN__CELL_GET, from),
                                     cell,
                                     plain_cell(table, TERN__CELL_PUT, &at_got),
                                     {.run = table->end}};
    table->run_strips(&(const tern__rowop_cell *){code}, 1, MOST, &none);
}

static void check_map(const tern__rowop_table *table, int op)
{
    static const struct {
        int operands, cell, map;
        char *const *from, *const *at, *const *at_c;
        const float *x, *y, *z;
    } forms[] = {
        {1, 0, 0, &at_a, NULL, NULL, a, a, a},
        {2, TERN__CELL_SR, 0, &at_a, &at_b, NULL, a, b, a},
        {2, TERN__CELL_RS, 0, &at_b, &at_a, NULL, a, b, a},
        {2, TERN__CELL_S1, 2, &at_a, &at_b, NULL, a, b, a},
        {2, TERN__CELL_1S, 1, &at_b, &at_a, NULL, a, b, a},
        {2, TERN__CELL_SS, 0, &at_a, NULL, NULL, a, a, a},
        {3, 0, 0, &at_a, &at_b, &at_c, a, b, c},
        {3, 1, 2, &at_a, &at_b, &at_c, a, b, c},
        {3, 2, 4, &at_a, &at_b, &at_c, a, b, c},
        {3, 3, 6, &at_a, &at_b, &at_c, a, b, c},
    };
    const float imm[2] = {-0.5f, 1.25f};
    for (size_t k = 0; k < sizeof forms / sizeof *forms && !harness_failed(); k++) {
        if (forms[k].operands != instructions[op].operands)
            continue;
        tern__rowop_cell cell = {.run = table->cell[op][forms[k].cell], .at = forms[k].at};
        if (forms[k].at_c)
            cell.at_c = forms[k].at_c;
        else
            memcpy(cell.imm, imm, sizeof imm);
        CHECK(cell.run);
        fill(op);
        table->map[op][forms[k].map](want, forms[k].x, forms[k].y, forms[k].z, imm, MOST);
        run_cell(table, forms[k].from, cell);
        compare(table, op, forms[k].cell);
    }
}

TEST(maps)
{
    state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        for (int op = 0; table && op < TERN__ROWOP_COUNT && !harness_failed(); op++)
            if (instructions[op].kind == MAP)
                check_map(table, op);
    }
}

TEST(loads_and_stores)
{
    const tern__rowop_ahead none = {.n = 0};
    state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        for (int op = 0; table && op < TERN__ROWOP_COUNT && !harness_failed(); op++) {
            fill(op);
            if (instructions[op].kind == LOAD) {
                table->map[op][0](want, bytes, NULL, NULL, NULL, MOST);
                run_cell(table, &at_a, (tern__rowop_cell){.run = table->cell[op][0], .at = &at_bytes});
                compare(table, op, 0);
            }
            for (int form = 0; instructions[op].kind == STORE && form < 2; form++) {
                const tern__rowop_cell code[] = {plain_cell(table, TERN__CELL_GET, &at_a),
                                                 {.run = table->cell[op][form], .at = &at_bytes_got},
                                                 {.run = table->end}};
                table->map[op][0](bytes_want, a, NULL, NULL, NULL, MOST);
                table->run_strips(&(const tern__rowop_cell *){code}, 1, MOST, &none);
                tern__rowop_settle();
                CHECK(memcmp(bytes_want, bytes_got, sizeof bytes_got) == 0);
            }
        }
    }
}

TEST(copies)
{
    const tern__rowop_ahead ahead = {.n = 1, .before = {0}, .at = {(const char *)a}, .bytes = {100}};
    state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        for (int past = 0; table && past < 2; past++) {
            const tern__rowop_cell code[] = {
                plain_cell(table, past ? TERN__CELL_GET : TERN__CELL_GET_ONE, &at_a),
                plain_cell(table, past ? TERN__CELL_PUT_PAST : TERN__CELL_PUT, &at_got),
                {.run = table->end}};
            fill(0);
            for (int i = 0; i < MOST; i++)
                want[i] = past ? a[i] : a[0];
            table->run_strips(&(const tern__rowop_cell *){code}, 1, MOST, &ahead);
            tern__rowop_settle();
            compare(table, TERN__ROWOP_copy, past);
        }
    }
}

/* Of rows with and without NaN, of zeros of both signs, and with infinities. */
TEST(reductions)
{
    const tern__rowop_ahead none = {.n = 0};
    state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        for (int op = 0; table && op < TERN__ROWOP_COUNT; op++) {
            for (int sort = 0; instructions[op].kind == REDUCE && sort < 12 && !harness_failed(); sort++) {
                tern__rowop_state run, cells;
                fill(op);
                for (int i = 0; i < MOST; i++)
                    a[i] = sort % 3 == 0 ? (float)((i * 37 + sort) % 101) * 0.25f - 12
                           : sort % 3 == 1 && (sort < 6 || i > 700) ? (random_bits() & 1 ? 0.0f : -0.0f)
                           : sort % 3 == 1                          ? -1
                                                                    : a[i];
                table->start((tern__rowop)op, &run);
                table->start((tern__rowop)op, &cells);
                tern__rowop_cell code[] = {plain_cell(table, TERN__CELL_GET, &at_a),
                                           {.run = table->cell[op][TERN__CELL_REDUCE], .state = &cells},
                                           {.run = table->end}};
                if (sort % 2 && table->cell[op][TERN__CELL_REDUCE_RUN]) {
                    code[0].at = &at_b; /* what the strip holds does not matter */
                    code[1].run = table->cell[op][TERN__CELL_REDUCE_RUN];
                    code[1].at = &at_a;
                }
                table->reduce[op](&run, a, MOST);
                table->run_strips(&(const tern__rowop_cell *){code}, 1, MOST, &none);
                double x = tern__rowop_finish((tern__rowop)op, &run),
                       y = tern__rowop_finish((tern__rowop)op, &cells);
                if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)))
                    harness_fail(__FILE__, __LINE__, "%s %s, row of sort %d: %a, not %a",
                                 tern__isa_name(table->isa), instructions[op].name, sort, y, x);
            }
        }
    }
}

TEST(strips_are_whole_lines)
{
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        if (table)
            CHECK(table->strip % 32 == 0 && MOST % table->strip == 0);
    }
}
