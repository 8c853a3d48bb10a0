/* rowops_plain.c - the instructions of row programs, one element at a time, in plain C: what they mean. */
#include "rowops_plain.h"

#include <math.h>
#include <string.h>

#include "tensor/half.h"

#define LOOP(form, T, expression)                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                      \
        const T x = a[(form)&1 ? 0 : i], y = b ? b[(form)&2 ? 0 : i] : 0, z = c ? c[(form)&4 ? 0 : i] : 0; \
        (void)y, (void)z;                                                                                  \
        dst[i] = expression;                                                                               \
    }
#define ONE(name, form, D, T, expression)                                                                   \
    static void name##_##form(void *dst_, const void *a_, const void *b_, const void *c_, const float *imm, \
                              int64_t n)                                                                    \
    {                                                                                                       \
        D *dst = dst_;                                                                                      \
        const T *a = a_, *b = b_, *c = c_;                                                                  \
        (void)imm;                                                                                          \
        LOOP(form, T, expression)                                                                           \
    }
#define UNARY(name, expression) ONE(name, 0, float, float, expression)
#define BINARY_OF(name, D, T, expression) \
    ONE(name, 0, D, T, expression) ONE(name, 1, D, T, expression) ONE(name, 2, D, T, expression)
#define BINARY(name, expression) BINARY_OF(name, float, float, expression)

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static double gelu_tanh(double x)
{
    return x * sigmoid(1.59576912160573071176 * (x + 0.044715 * x * x * x));
}

static float quantised(float x)
{
    float r = rintf(x);
    return isnan(r) ? 0 : r > 127 ? 127 : r < -128 ? -128 : r + 0.0f; /* -0 + 0 is 0 */
}

static int32_t truncated(float x)
{
    return isnan(x) ? 0 : x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : (int32_t)x;
}

/* clang-format off */
UNARY(neg, -x) UNARY(abs, fabsf(x)) UNARY(sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x) UNARY(square, x * x)
UNARY(relu, x <= 0 ? 0 : x) UNARY(relu2, x <= 0 ? 0 : x * x)
UNARY(clamp, (x < imm[0] ? imm[0] : x) > imm[1] ? imm[1] : x < imm[0] ? imm[0] : x)
UNARY(floor, floorf(x)) UNARY(ceil, ceilf(x)) UNARY(trunc, truncf(x)) UNARY(round, rintf(x))
UNARY(reciprocal, 1 / x)
UNARY(sqrt, sqrtf(x)) UNARY(rsqrt, (float)(1 / sqrt((double)x)))
UNARY(exp, (float)exp((double)x)) UNARY(exp2, (float)exp2((double)x)) UNARY(log, (float)log((double)x))
UNARY(log2, (float)log2((double)x)) UNARY(sin, (float)sin((double)x)) UNARY(cos, (float)cos((double)x))
UNARY(tanh, (float)tanh((double)x)) UNARY(erf, (float)erf((double)x))
UNARY(leaky_relu, x < 0 ? imm[0] * x : x)
UNARY(gelu, (float)((double)x * 0.5 * erfc((double)x * -0.70710678118654752440)))
UNARY(gelu_tanh, (float)gelu_tanh((double)x))
UNARY(silu, (float)((double)x * sigmoid((double)x))) UNARY(sigmoid, (float)sigmoid((double)x))
UNARY(expm1, (float)expm1((double)x)) UNARY(log1p, (float)log1p((double)x))
UNARY(softplus, (float)(fmax((double)x, 0) + log1p(exp(-fabs((double)x)))))
UNARY(elu, x < 0 ? (float)((double)imm[0] * expm1((double)x)) : x)
UNARY(sinh, (float)sinh((double)x)) UNARY(cosh, (float)cosh((double)x)) UNARY(tan, (float)tan((double)x))
UNARY(asin, (float)asin((double)x)) UNARY(acos, (float)acos((double)x)) UNARY(atan, (float)atan((double)x))
UNARY(cbrt, (float)cbrt((double)x)) BINARY(pow, (float)pow((double)x, (double)y))
BINARY(atan2, (float)atan2((double)x, (double)y))
BINARY(add, x + y) BINARY(sub, x - y) BINARY(mul, x * y) BINARY(div, x / y)
BINARY(maximum, x >= y || isnan(x) ? x : y) BINARY(minimum, x <= y || isnan(x) ? x : y)
BINARY(eq, x == y) BINARY(ne, x != y) BINARY(lt, x < y) BINARY(le, x <= y) BINARY(gt, x > y)
BINARY(ge, x >= y)
BINARY(where, x != 0 ? y : z) ONE(where, 3, float, float, x != 0 ? y : z)
ONE(where, 4, float, float, x != 0 ? y : z)
ONE(where, 5, float, float, x != 0 ? y : z) ONE(where, 6, float, float, x != 0 ? y : z)
BINARY_OF(add_i32, int32_t, uint32_t, (int32_t)(x + y))
BINARY_OF(sub_i32, int32_t, uint32_t, (int32_t)(x - y))
BINARY_OF(mul_i32, int32_t, uint32_t, (int32_t)(x * y))
ONE(f32_from_i32, 0, float, int32_t, (float)x) ONE(i32_from_f32, 0, int32_t, float, truncated(x))
UNARY(round_f16, tern__f16_to_f32(tern__f32_to_f16(x)))
UNARY(round_bf16, tern__bf16_to_f32(tern__f32_to_bf16(x)))
UNARY(quantise_i8, quantised(x))
ONE(load_f16, 0, float, uint16_t, tern__f16_to_f32(x))
ONE(load_bf16, 0, float, uint16_t, tern__bf16_to_f32(x))
ONE(load_i8, 0, float, int8_t, (float)x) ONE(load_u8, 0, float, uint8_t, (float)x)
ONE(store_f16, 0, uint16_t, float, tern__f32_to_f16(x))
ONE(store_bf16, 0, uint16_t, float, tern__f32_to_bf16(x))
ONE(store_i8, 0, int8_t, float, (int8_t)x) ONE(store_u8, 0, uint8_t, float, (uint8_t)x)

#define REDUCTION(name, T, lanes, expression)                               \
    static void name(tern__rowop_state *state, const float *a, int64_t n)   \
    {                                                                       \
        for (int64_t i = 0; i < n; i++) {                                   \
            const T x = (T)a[i], s = state->lanes[i % 16];                  \
            state->lanes[i % 16] = expression;                              \
        }                                                                   \
    }
#define SUM(name, expression)                                               \
    static void name(tern__rowop_state *state, const float *a, int64_t n)   \
    {                                                                       \
        for (int64_t i = 0; i < n; i++) {                                   \
            double t = 0;                                                   \
            if (i / 16 % 2)                                                 \
                continue; /* was added with the one before */               \
            for (int64_t j = i; j <= i + 16 && j < n; j += 16) {            \
                const double x = (double)a[j];                              \
                t = j == i ? (expression) : t + (expression);               \
            }                                                               \
            state->lanes[i % 16] += t;                                      \
        }                                                                   \
    }
SUM(sum, x) SUM(sum_squares, x * x) SUM(sum_abs, fabs(x))
REDUCTION(max, float, singles, x > s || isnan(x) ? x : s)
REDUCTION(min, float, singles, x < s || isnan(x) ? x : s)
REDUCTION(max_abs, float, singles, fabsf(x) > s || isnan(x) ? fabsf(x) : s)

ONE(load_bool, 0, float, uint8_t, x != 0) ONE(copy, 0, uint32_t, uint32_t, x)
ONE(copy, 1, uint32_t, uint32_t, x)

#define GATHER(name, T, expression)                                                                         \
    static void name##_0(void *to, const void *a, const void *b, const void *c, const float *x1, int64_t n) \
    {                                                                                                       \
        (void)c, (void)x1;                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            T x;                                                                                            \
            memcpy(&x, (const char *)a + i * *(const int64_t *)b, sizeof x);                                \
            ((float *)to)[i] = expression;                                                                  \
        }                                                                                                   \
    }
GATHER(gather_f32, float, x) GATHER(gather_f16, uint16_t, tern__f16_to_f32(x))
GATHER(gather_i8, int8_t, (float)x)
GATHER(gather_bf16, uint16_t, tern__bf16_to_f32(x)) GATHER(gather_u8, uint8_t, (float)x)
GATHER(gather_bool, uint8_t, x != 0)

#define U(name) [TERN__ROWOP_##name] = {name##_0}
#define B(name) [TERN__ROWOP_##name] = {name##_0, name##_1, name##_2}
#define R(name) [TERN__ROWOP_##name] = name
const tern__rowop_table rowops_plain = {
    .isa = TERN__ISA_BASELINE,
    .map = {U(neg), U(abs), U(sign), U(square), U(relu), U(relu2), U(clamp), U(floor), U(ceil), U(trunc),
            U(round),
            U(reciprocal), U(sqrt), U(rsqrt), U(exp), U(exp2), U(log), U(log2), U(sin), U(cos), U(tanh),
            U(erf),
            U(leaky_relu), U(gelu), U(gelu_tanh), U(silu), U(sigmoid),
            U(expm1), U(log1p), U(softplus), U(elu), U(sinh), U(cosh), U(tan), U(asin), U(acos), U(atan),
            U(cbrt), B(pow), B(atan2), B(add), B(sub), B(mul), B(div),
            B(maximum),
            B(minimum), B(eq), B(ne), B(lt), B(le), B(gt), B(ge), B(add_i32), B(sub_i32), B(mul_i32),
            [TERN__ROWOP_where] = {where_0, where_1, where_2, where_3, where_4, where_5, where_6},
            U(f32_from_i32), U(i32_from_f32), U(round_f16), U(round_bf16), U(quantise_i8), U(load_f16),
            U(load_bf16),
            U(load_i8), U(load_u8), U(store_f16), U(store_bf16), U(store_i8), U(store_u8), U(load_bool),
            [TERN__ROWOP_copy] = {copy_0, copy_1}, [TERN__ROWOP_stream] = {copy_0, copy_1}, U(gather_f32),
            U(gather_f16), U(gather_bf16), U(gather_i8), U(gather_u8), U(gather_bool)},
    .reduce = {R(sum), R(sum_squares), R(sum_abs), R(max), R(min), R(max_abs)},
};
/* clang-format on */
