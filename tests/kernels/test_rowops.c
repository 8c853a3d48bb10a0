/* Every instruction of row programs, in every form, on every instruction set this machine has, against plain
 * C (rowops_plain.c): runs of all lengths, addresses aligned to the element only, results in place of an
 * operand, guard values on both sides. Exact instructions agree bit for bit (a NaN with any NaN, except where
 * elements are only moved or converted); the others, whose error rowops_ulp.h measures, are the same
 * wherever in a run an element stands. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "rowops_plain.h"

enum { LONGEST = 300, ROOM = LONGEST + 64, GUARD = 0x5a };

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

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* Within some ULP of plain C only. */
static bool is_inexact(int op)
{
    static const char *const list[] = {"rsqrt", "exp",      "exp2", "log",       "log2", "sin",     "cos",
                                       "tanh",  "erf",      "gelu", "gelu_tanh", "silu", "sigmoid", "expm1",
                                       "log1p", "softplus", "elu",  "sinh",      "cosh", "pow",     NULL};
    return is_one_of(instructions[op].name, list);
}

/* Whose NaNs keep their bits. (neg and abs are said to only change the sign.) */
static bool keeps_nan_bits(int op)
{
    static const char *const list[] = {"neg",       "abs",        "maximum", "minimum", "where",
                                       "round_f16", "round_bf16", "relu",    NULL};
    return instructions[op].kind != MAP || is_one_of(instructions[op].name, list);
}

static uint64_t state;

static uint32_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Numbers that instructions stumble over, any bits at all, and ordinary numbers; quiet NaNs only, since
 * moving a float about may make others quiet. */
static float random_number(void)
{
    static const float special[] = {
        0,          -0.0f,      INFINITY, -INFINITY,    NAN,       1,         -1,         0.5f,
        -0.5f,      1.5f,       2.5f,     -2.5f,        0x1p23f,   -0x1p23f,  0x1p31f,    -0x1p31f,
        8388607.5f, 127.5f,     -128.5f,  126.5f,       65504,     65520,     65519.996f, 0x1p-24f,
        0x1p-25f,   0x1.8p-25f, 0x1p-14f, 0x1.ffcp-15f, 0x1p-126f, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f};
    uint32_t choice = random_bits() % 4;
    if (choice == 0)
        return special[random_bits() % (sizeof special / sizeof *special)];
    if (choice == 1) {
        float any = from_bits(random_bits());
        return isnan(any) ? from_bits(random_bits() | 0x7fc00000u) : any;
    }
    return (float)(int32_t)random_bits() * (choice == 2 ? 0x1p-28f : 0x1p-24f);
}

static void fill(unsigned char *to, int op, int operand)
{
    const char *name = instructions[op].name;
    for (int i = 0; i < ROOM; i++) {
        float x = random_number();
        if (strcmp(name, "store_u8") == 0)
            x = (float)(random_bits() & 255);
        if (strcmp(name, "store_i8") == 0)
            x = (float)(int)(random_bits() & 255) - 128;
        if (strcmp(name, "where") == 0 && operand == 0 && i % 3)
            x = (float)(random_bits() & 1);
        memcpy(to + 4 * i, &x, sizeof x);
        /* Any bits but signalling NaNs are a 16-bit float or a byte. */
        uint32_t bits = random_bits();
        if (instructions[op].kind == LOAD || instructions[op].kind == GATHER)
            memcpy(to + 4 * i, &bits, sizeof bits);
    }
}

static int size_of(int op, bool result)
{
    const char *name = instructions[op].name;
    if ((instructions[op].kind == LOAD && !result) || (instructions[op].kind == STORE && result))
        return strstr(name, "16") ? 2 : 1;
    return 4;
}

static bool same(const unsigned char *a, const unsigned char *b, int size, bool nan_bits)
{
    if (memcmp(a, b, (size_t)size) == 0)
        return true;
    float x, y;
    if (nan_bits || size != 4)
        return false;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return isnan(x) && isnan(y);
}

static const tern__rowop_table *table_of(int isa)
{
    const tern__rowop_table *table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
    return (int)table->isa == isa ? table : NULL;
}

/* What each result must be: plain C's, or for inexact instructions the table's own of the element alone. */
static void expect(const tern__rowop_table *table, int op, int form, unsigned char *want,
                   const void *const *from, const float *imm, int n)
{
    if (!is_inexact(op)) {
        rowops_plain.map[op][form](want, from[0], from[1], from[2], imm, n);
        return;
    }
    for (int i = 0; i < n; i++)
        table->map[op][form](want + 4 * i, (const float *)from[0] + (form & 1 ? 0 : i),
                             (const float *)from[1] + (form & 2 ? 0 : i), NULL, imm, 1);
}

/* `in_place`: the operand where the result goes, or -1. */
static void check_run(const tern__rowop_table *table, int op, int form, int n, int in_place)
{
    static _Alignas(64) unsigned char operands[3][ROOM * 4], want[ROOM * 4], got[ROOM * 4];
    static const float bounds[][2] = {{-1, 1},    {NAN, 2}, {-2, NAN},
                                      {0, -0.0f}, {3, -3},  {-INFINITY, INFINITY}};
    const float *imm = bounds[random_bits() % 6];
    const int64_t stride = (int64_t)(random_bits() % 4) + 1;
    const int out = size_of(op, true), in = size_of(op, false), shift = (int)(random_bits() % 16) + 8;
    const void *from[3];
    for (int k = 0; k < 3; k++) {
        fill(operands[k], op, k);
        from[k] = operands[k] + (random_bits() % 16) * (unsigned)in;
    }
    if (instructions[op].kind == GATHER)
        from[1] = &stride;
    memset(want, GUARD, sizeof want);
    expect(table, op, form, want + shift * out, from, imm, n);
    unsigned char *to = got + shift * out;
    memset(got, GUARD, sizeof got);
    if (in_place >= 0) {
        memcpy(to, from[in_place], (size_t)n * 4);
        from[in_place] = to;
    }
    table->map[op][form](to, from[0], from[1], from[2], imm, n);
    tern__rowop_settle();
    for (int i = 0; i < ROOM * 4 / out; i++)
        if (!same(got + i * out, want + i * out, out, keeps_nan_bits(op))) {
            uint32_t g = 0, w = 0;
            memcpy(&g, got + i * out, (size_t)out);
            memcpy(&w, want + i * out, (size_t)out);
            harness_fail(
                __FILE__, __LINE__, "%s %s, form %d, %d elements, in place of %d: element %d is %#x, not %#x",
                tern__isa_name(table->isa), instructions[op].name, form, n, in_place, i - shift, g, w);
            return;
        }
}

static void check_map(const tern__rowop_table *table, int op)
{
    for (int form = 0; form < 8; form++) {
        bool has = table->map[op][form], plain = rowops_plain.map[op][form];
        CHECK_EQ(has, plain);
        for (int n = 0; has && n < LONGEST && !harness_failed(); n += n < 70 ? 1 : 37) {
            check_run(table, op, form, n, -1);
            for (int k = 0; k < instructions[op].operands && instructions[op].kind == MAP; k++)
                if (!(form >> k & 1))
                    check_run(table, op, form, n, k);
        }
    }
}

TEST(maps_agree_with_plain_c)
{
    state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        for (int op = 0; table && op < TERN__ROWOP_COUNT && !harness_failed(); op++)
            check_map(table, op);
    }
}

/* ---- reductions ---- */

static double lane_of(int op, const tern__rowop_state *s, int j)
{
    bool sums = op == TERN__ROWOP_sum || op == TERN__ROWOP_sum_squares || op == TERN__ROWOP_sum_abs;
    return sums ? s->lanes[j] : (double)s->singles[j];
}

static void check_reduction(const tern__rowop_table *table, int op, const float *a, int n, int cut)
{
    tern__rowop_state want, got;
    table->start((tern__rowop)op, &want);
    table->start((tern__rowop)op, &got);
    rowops_plain.reduce[op](&want, a, n);
    table->reduce[op](&got, a, cut);
    table->reduce[op](&got, a + cut, n - cut);
    for (int j = 0; j < 16; j++) {
        double w = lane_of(op, &want, j), g = lane_of(op, &got, j);
        if (!(isnan(w) && isnan(g)) && memcmp(&w, &g, sizeof(double)) != 0) {
            harness_fail(__FILE__, __LINE__, "%s %s of %d elements, cut at %d: lane %d is %a, not %a",
                         tern__isa_name(table->isa), instructions[op].name, n, cut, j, g, w);
            return;
        }
    }
}

/* Rows with and without NaN and infinities, and of zeros of both signs. */
static void fill_row(float *a, int n, uint32_t sort)
{
    for (int i = 0; i < n; i++) {
        float x = random_number();
        bool tame = sort == 0 && !(fabsf(x) < 1e30f);
        a[i] = sort == 2 ? (random_bits() & 1 ? -0.0f : 0.0f) : tame ? (float)(i % 7) - 3.3f : x;
    }
}

TEST(reductions_agree_with_plain_c)
{
    static float row[LONGEST + 1];
    state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = table_of(isa);
        for (int op = 0; table && op < TERN__ROWOP_COUNT; op++) {
            if (instructions[op].kind != REDUCE) {
                CHECK(!table->reduce[op]);
                continue;
            }
            for (int n = 0; n < LONGEST && !harness_failed(); n += n < 70 ? 1 : 13) {
                fill_row(row, LONGEST + 1, random_bits() % 3);
                check_reduction(table, op, row + (random_bits() & 1), n, n / 64 * 32);
            }
        }
    }
}

TEST(reductions_end_as_stated)
{
    static const struct {
        tern__rowop op;
        double empty, of_three; /* of 2, -3, 1 */
    } cases[] = {{TERN__ROWOP_sum, 0, 0},         {TERN__ROWOP_sum_squares, 0, 14},
                 {TERN__ROWOP_sum_abs, 0, 6},     {TERN__ROWOP_max, -INFINITY, 2},
                 {TERN__ROWOP_min, INFINITY, -3}, {TERN__ROWOP_max_abs, 0, 3}};
    const float three[] = {2, -3, 1}, bad[] = {2, NAN, 1};
    for (int at = 0, n = (int)(sizeof cases / sizeof *cases); at < n * TERN__ISA_COUNT; at++) {
        const tern__rowop_table *table = table_of(at / n);
        const int k = at % n;
        if (!table)
            continue;
        tern__rowop_state s;
        table->start(cases[k].op, &s);
        CHECK(tern__rowop_finish(cases[k].op, &s) == cases[k].empty);
        table->reduce[cases[k].op](&s, three, 3);
        CHECK(tern__rowop_finish(cases[k].op, &s) == cases[k].of_three);
        table->reduce[cases[k].op](&s, bad, 3);
        CHECK(isnan(tern__rowop_finish(cases[k].op, &s)));
    }
}

/* ---- choice ---- */

TEST(caps_choose_weaker_tables)
{
    const tern__cpu_info *cpu = tern__cpu();
    CHECK_EQ(tern__rowop_tables(0)->isa, TERN__ISA_BASELINE);
    CHECK_EQ(tern__rowop_tables(1u << TERN__ISA_BASELINE)->isa, TERN__ISA_BASELINE);
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        if (!(cpu->isa_mask >> isa & 1))
            continue;
        tern__isa chosen = tern__rowop_tables(tern__isa_mask_capped(cpu, (tern__isa)isa))->isa;
        CHECK((int)chosen <= isa);
        CHECK(cpu->isa_mask >> chosen & 1);
    }
}

/* ---- transcendental instructions ---- */

/* Instruction sets with fused multiply-adds differ in width only. */
TEST(fused_tables_have_the_same_bits)
{
    static const tern__rowop ops[] = {TERN__ROWOP_exp,       TERN__ROWOP_exp2,  TERN__ROWOP_log,
                                      TERN__ROWOP_log2,      TERN__ROWOP_sin,   TERN__ROWOP_cos,
                                      TERN__ROWOP_tanh,      TERN__ROWOP_erf,   TERN__ROWOP_gelu,
                                      TERN__ROWOP_gelu_tanh, TERN__ROWOP_silu,  TERN__ROWOP_sigmoid,
                                      TERN__ROWOP_rsqrt,     TERN__ROWOP_expm1, TERN__ROWOP_log1p,
                                      TERN__ROWOP_softplus,  TERN__ROWOP_sinh,  TERN__ROWOP_cosh};
    uint32_t mask = tern__cpu()->isa_mask;
    const tern__rowop_table *a = tern__rowop_tables(1u << TERN__ISA_AVX2 & mask);
    const tern__rowop_table *b = tern__rowop_tables(1u << TERN__ISA_AVX512 & mask);
    if (a->isa != TERN__ISA_AVX2 || b->isa != TERN__ISA_AVX512)
        SKIP("needs AVX2 and AVX-512");
    enum { BATCH = 1 << 12 };
    static float x[BATCH], from_a[BATCH], from_b[BATCH];
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        for (uint64_t bits = k; bits <= UINT32_MAX;) {
            int m = 0;
            for (; m < BATCH && bits <= UINT32_MAX; m++, bits += 4099) {
                uint32_t low = (uint32_t)bits;
                memcpy(&x[m], &low, sizeof low);
            }
            a->map[ops[k]][0](from_a, x, NULL, NULL, NULL, m);
            b->map[ops[k]][0](from_b, x, NULL, NULL, NULL, m);
            for (int i = 0; i < m; i++)
                if (memcmp(&from_a[i], &from_b[i], sizeof(float)) != 0 &&
                    !(isnan(from_a[i]) && isnan(from_b[i]))) {
                    harness_fail(__FILE__, __LINE__, "instruction %d of %.9g: %a and %a", (int)ops[k],
                                 (double)x[i], (double)from_a[i], (double)from_b[i]);
                    return;
                }
        }
    }
}
