/* The transcendental instructions of row programs against f64 functions, rounded: a bound in ULP for each, on
 * every instruction set this machine has. A sample of all floats, evenly spread over their bits; with
 * TERN_TEST_LONG=1 every float, on the best instruction set (a few minutes each: name one as the argument).
 * The largest error is printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/row/rowops.h"

enum { RUN = 1 << 12 };

static double sigmoid_ref(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static double silu_ref(double x)
{
    return x * sigmoid_ref(x);
}

static double gelu_ref(double x)
{
    return x * 0.5 * erfc(x * -0.70710678118654752440);
}

static double gelu_tanh_ref(double x)
{
    return x * sigmoid_ref(1.59576912160573071176 * (x + 0.044715 * x * x * x));
}

static double rsqrt_ref(double x)
{
    return 1 / sqrt(x);
}

/* Floats in their order, both zeros at 0. */
static int64_t order_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

/* Where the largest error was. */
typedef struct worst {
    int64_t ulp;
    float x, got, want;
} worst;

static void compare(const float *x, const float *got, const double *want, int n, worst *w)
{
    for (int i = 0; i < n; i++) {
        float rounded = (float)want[i];
        int64_t ulp = order_of(got[i]) - order_of(rounded);
        ulp = ulp < 0 ? -ulp : ulp;
        if (isnan(rounded) || isnan(got[i]))
            ulp = isnan(rounded) && isnan(got[i]) ? 0 : INT32_MAX;
        /* A zero has the sign of the reference's. */
        if (rounded == 0 && got[i] == 0 && signbit(rounded) != signbit(got[i]))
            ulp = INT32_MAX;
        if (ulp > w->ulp)
            *w = (worst){ulp, x[i], got[i], rounded};
    }
}

/* The tables that run here; `n` of them. */
static int tables_here(const tern__rowop_table **tables)
{
    int n = 0;
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
        if ((int)table->isa == isa)
            tables[n++] = table;
    }
    return n;
}

static void check_function(tern__rowop op, const char *name, double (*reference)(double), int64_t bound)
{
    const tern__rowop_table *tables[TERN__ISA_COUNT];
    const char *text = getenv("TERN_TEST_LONG");
    const bool all = text && strcmp(text, "1") == 0;
    const int n = tables_here(tables), first = all ? n - 1 : 0;
    /* Sanitizers and emulators are slow. The step is odd, so the sample has all low bits. */
    const uint64_t step = all ? 1 : HARNESS_ASAN || HARNESS_TSAN || getenv("TERN_EMULATOR") ? 65521 : 251;
    worst w[TERN__ISA_COUNT] = {0};
    static float x[RUN], got[RUN];
    static double want[RUN];
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        int m = 0;
        for (; m < RUN && bits <= UINT32_MAX; m++, bits += step) {
            uint32_t low = (uint32_t)bits;
            memcpy(&x[m], &low, sizeof low);
            want[m] = reference((double)x[m]);
        }
        for (int k = first; k < n; k++) {
            tables[k]->map[op][0](got, x, NULL, NULL, NULL, m);
            compare(x, got, want, m, &w[k]);
        }
    }
    printf("%-10s", name);
    for (int k = first; k < n; k++)
        printf("  %s %lld ULP at %.9g", tern__isa_name(tables[k]->isa), (long long)w[k].ulp, (double)w[k].x);
    printf(all ? "  (every float)\n" : "  (1 in %llu floats)\n", (unsigned long long)step);
    for (int k = first; k < n; k++)
        if (w[k].ulp > bound)
            harness_fail(__FILE__, __LINE__, "%s %s(%.9g) = %.9g, not %.9g: %lld ULP, bound %lld",
                         tern__isa_name(tables[k]->isa), name, (double)w[k].x, (double)w[k].got,
                         (double)w[k].want, (long long)w[k].ulp, (long long)bound);
}

#define FUNCTION(op, reference, bound)                           \
    TEST(op)                                                     \
    {                                                            \
        check_function(TERN__ROWOP_##op, #op, reference, bound); \
    }
/* clang-format off */
FUNCTION(exp, exp, 2) FUNCTION(exp2, exp2, 2) FUNCTION(log, log, 2) FUNCTION(log2, log2, 2)
FUNCTION(sin, sin, 2) FUNCTION(cos, cos, 2) FUNCTION(tanh, tanh, 2) FUNCTION(erf, erf, 2)
FUNCTION(gelu, gelu_ref, 2) FUNCTION(gelu_tanh, gelu_tanh_ref, 2) FUNCTION(silu, silu_ref, 2)
FUNCTION(sigmoid, sigmoid_ref, 2) FUNCTION(rsqrt, rsqrt_ref, 2)
    /* clang-format on */

    /* Instruction sets with fused multiply-adds differ in width only. */
    TEST(fused_tables_have_the_same_bits)
{
    static const tern__rowop ops[] = {
        TERN__ROWOP_exp,  TERN__ROWOP_exp2,    TERN__ROWOP_log,  TERN__ROWOP_log2, TERN__ROWOP_sin,
        TERN__ROWOP_cos,  TERN__ROWOP_tanh,    TERN__ROWOP_erf,  TERN__ROWOP_gelu, TERN__ROWOP_gelu_tanh,
        TERN__ROWOP_silu, TERN__ROWOP_sigmoid, TERN__ROWOP_rsqrt};
    uint32_t mask = tern__cpu()->isa_mask;
    const tern__rowop_table *a = tern__rowop_tables(1u << TERN__ISA_AVX2 & mask);
    const tern__rowop_table *b = tern__rowop_tables(1u << TERN__ISA_AVX512 & mask);
    if (a->isa != TERN__ISA_AVX2 || b->isa != TERN__ISA_AVX512)
        SKIP("needs AVX2 and AVX-512");
    static float x[RUN], from_a[RUN], from_b[RUN];
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        for (uint64_t bits = k; bits <= UINT32_MAX;) {
            int m = 0;
            for (; m < RUN && bits <= UINT32_MAX; m++, bits += 4099) {
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
