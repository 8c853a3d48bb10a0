/* Errors of the other functions of row programs (rowops_ulp.h), and of powers. */
#include <stdio.h>
#include <string.h>

#include "rowops_ulp.h"

static double softplus_ref(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* clang-format off */
FUNCTION(expm1, expm1, 2) FUNCTION(log1p, log1p, 2) FUNCTION(softplus, softplus_ref, 2)
FUNCTION(sinh, sinh, 2) FUNCTION(cosh, cosh, 2)
    /* clang-format on */

    static int64_t order_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

/* Any two floats, and such whose power is an ordinary number; every special number with every other. */
static float operand_of(uint64_t *state, bool exponent)
{
    static const float special[] = {0,  -0.0f, 1,      -1,      2,        -2,        3,
                                    -3, 0.5f,  1e-40f, -1e-40f, INFINITY, -INFINITY, NAN};
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint32_t bits = (uint32_t)(*state >> 32);
    float any;
    memcpy(&any, &bits, sizeof any);
    if (bits % 16 == 0)
        return special[bits / 16 % (sizeof special / sizeof *special)];
    if (bits % 2)
        return any;
    return exponent ? (float)(int32_t)bits * 0x1p-26f : (float)(bits >> 8) * 0x1p-20f;
}

TEST(powers)
{
    enum { RUN = 1 << 12 };
    static float x[RUN], y[RUN], z[RUN];
    uint64_t state = harness_seed();
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        const tern__rowop_table *table = tern__rowop_tables(1u << isa & tern__cpu()->isa_mask);
        int64_t worst = 0;
        if ((int)table->isa != isa)
            continue;
        for (int run = 0; run < 100; run++) {
            for (int i = 0; i < RUN; i++) {
                x[i] = operand_of(&state, false);
                y[i] = operand_of(&state, true);
            }
            table->map[TERN__ROWOP_pow][0](z, x, y, NULL, NULL, RUN);
            for (int i = 0; i < RUN && !harness_failed(); i++) {
                float want = (float)pow((double)x[i], (double)y[i]);
                int64_t ulp = order_of(z[i]) - order_of(want);
                ulp = isnan(want) && isnan(z[i]) ? 0 : ulp < 0 ? -ulp : ulp;
                worst = ulp > worst ? ulp : worst;
                if (ulp > 1 || (want == 0 && signbit(want) != signbit(z[i])))
                    harness_fail(__FILE__, __LINE__, "%s: %a to the power %a is %a, not %a",
                                 tern__isa_name(table->isa), (double)x[i], (double)y[i], (double)z[i],
                                 (double)want);
            }
        }
        printf("pow  %s %lld ULP\n", tern__isa_name(table->isa), (long long)worst);
    }
}
