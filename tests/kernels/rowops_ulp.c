/* rowops_ulp.c - errors of transcendental instructions, in ULP. */
#include "rowops_ulp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 1 << 12 };

double rowops_sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
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

/* The floats to test: bits [first, end), every `step`. */
typedef struct range {
    uint64_t first, end, step;
    bool every;
} range;

static range range_wanted(void)
{
    const char *text = getenv("TERN_TEST_LONG");
    const uint64_t all = (uint64_t)1 << 32;
    int part = 1, parts = 1;
    if (text &&
        (strcmp(text, "1") == 0 || (sscanf(text, "%d/%d", &part, &parts) == 2 && part >= 1 && part <= parts)))
        return (range){all / (uint64_t)parts * (uint64_t)(part - 1),
                       part == parts ? all : all / (uint64_t)parts * (uint64_t)part, 1, true};
    /* Sanitizers and emulators are slow. The step is odd, so the sample has all low bits. */
    return (range){0, all, HARNESS_ASAN || HARNESS_TSAN || getenv("TERN_EMULATOR") ? 65521 : 251, false};
}

/* Floats that a sample may miss: -0, inf, -inf, NaN, the largest of both signs. */
static const uint32_t special[] = {0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0xff7fffff};

void rowops_check_ulp(tern__rowop op, const char *name, double (*reference)(double), int64_t bound)
{
    const tern__rowop_table *tables[TERN__ISA_COUNT];
    const range r = range_wanted();
    const int n = tables_here(tables), first = r.every ? n - 1 : 0;
    worst w[TERN__ISA_COUNT] = {0};
    static float x[RUN], got[RUN];
    static double want[RUN];
    for (uint64_t bits = r.first; bits < r.end;) {
        int m = 0;
        for (; bits == r.first && m < (int)(sizeof special / sizeof *special); m++) {
            memcpy(&x[m], &special[m], sizeof *special);
            want[m] = reference((double)x[m]);
        }
        for (; m < RUN && bits < r.end; m++, bits += r.step) {
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
    printf("  (1 in %llu of the floats %08llx to %08llx)\n", (unsigned long long)r.step,
           (unsigned long long)r.first, (unsigned long long)r.end - 1);
    for (int k = first; k < n; k++)
        if (w[k].ulp > bound)
            harness_fail(__FILE__, __LINE__, "%s %s(%.9g) = %.9g, not %.9g: %lld ULP, bound %lld",
                         tern__isa_name(tables[k]->isa), name, (double)w[k].x, (double)w[k].got,
                         (double)w[k].want, (long long)w[k].ulp, (long long)bound);
}
