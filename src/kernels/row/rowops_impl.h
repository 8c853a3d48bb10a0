/* rowops_impl.h - the instructions of rowops.def, written once. A file for one instruction set includes it
 * after lanes.h and its own versions of the operations of vector.h, and so has the table TERN__ROWOPS_TABLE,
 * whose isa is TERN__ROWOPS_ISA. */
#ifndef TERN_KERNELS_ROW_ROWOPS_IMPL_H
#define TERN_KERNELS_ROW_ROWOPS_IMPL_H

#include "kernels/row/cells.h"
#include "kernels/row/rowops.h"
#include "kernels/row/vector.h"
#include "kernels/row/vector_math.h"
#include "kernels/row/vector_more.h"

/* clang-format off */

#define ARGUMENTS void *dst_, const void *a_, const void *b_, const void *c_, const float *imm, int64_t n

/* ---- MAP ---- */

/* Operands x, y, z of a step at element i + at: vectors, or parts of them at the end of the run. Those that
 * the instruction has not are never read. */
#define STEP(form, has_b, has_c, at, LOAD, STORE, ...)                                                  \
    do {                                                                                                \
        const vf x = (form) & 1 ? x1 : LOAD(a + i + (at));                                              \
        const vf y = !(has_b) ? x : (form) & 2 ? y1 : LOAD(b + i + (at));                               \
        const vf z = !(has_c) ? x : (form) & 4 ? z1 : LOAD(c + i + (at));                               \
        (void)y, (void)z;                                                                               \
        STORE(dst + i + (at), __VA_ARGS__);                                                             \
    } while (0)
#define LOAD_PART(from) v_load_part(from, n - i)
#define STORE_PART(to, value) v_store_part(to, value, n - i)

#define FORM(name, form, has_b, has_c, setup, ...)                                                      \
    static void name##_##form(ARGUMENTS)                                                                \
    {                                                                                                   \
        float *dst = dst_;                                                                              \
        const float *a = a_, *b = b_, *c = c_;                                                          \
        const vf x1 = (form) & 1 ? v_splat(*a) : v_splat(0), y1 = (form) & 2 ? v_splat(*b) : x1,        \
                 z1 = (form) & 4 ? v_splat(*c) : x1;                                                    \
        (void)b, (void)c, (void)imm, (void)x1, (void)y1, (void)z1;                                      \
        setup                                                                                           \
        int64_t i = 0;                                                                                  \
        for (; i + 2 * LANES <= n; i += 2 * LANES) {                                                    \
            STEP(form, has_b, has_c, 0, v_load, v_store, __VA_ARGS__);                                  \
            STEP(form, has_b, has_c, LANES, v_load, v_store, __VA_ARGS__);                              \
        }                                                                                               \
        for (; i + LANES <= n; i += LANES)                                                              \
            STEP(form, has_b, has_c, 0, v_load, v_store, __VA_ARGS__);                                  \
        if (i < n)                                                                                      \
            STEP(form, has_b, has_c, 0, LOAD_PART, STORE_PART, __VA_ARGS__);                            \
    }
#define UNARY_WITH(name, setup, ...) \
    FORM(name, 0, 0, 0, setup, __VA_ARGS__) CELL_UNARY(name, setup, __VA_ARGS__)
#define UNARY(name, ...) UNARY_WITH(name, , __VA_ARGS__)
#define BINARY(name, ...)   \
    FORM(name, 0, 1, 0, , __VA_ARGS__) FORM(name, 1, 1, 0, , __VA_ARGS__) FORM(name, 2, 1, 0, , __VA_ARGS__) \
    CELLS_BINARY(name, __VA_ARGS__)
#define TERNARY(name, ...)                                                                                   \
    FORM(name, 0, 1, 1, , __VA_ARGS__) FORM(name, 1, 1, 1, , __VA_ARGS__) FORM(name, 2, 1, 1, , __VA_ARGS__) \
    FORM(name, 3, 1, 1, , __VA_ARGS__) FORM(name, 4, 1, 1, , __VA_ARGS__) FORM(name, 5, 1, 1, , __VA_ARGS__) \
    FORM(name, 6, 1, 1, , __VA_ARGS__) CELLS_TERNARY(name, __VA_ARGS__)

#define ZERO v_splat(0)
#define ONE v_splat(1)
#define INT(x) ((vu)(x))

/* -0 gives 0, NaN stays. */
static inline vf relu_of(vf x)
{
    return v_max(ZERO, x) + 0;
}

UNARY(neg, v_neg(x)) UNARY(abs, v_abs(x)) UNARY(square, x * x) UNARY(relu, relu_of(x))
UNARY(relu2, relu_of(x) * relu_of(x))
UNARY(sign, v_where(v_ne(x, ZERO), v_select(v_isnan(x), x, v_copysign(ONE, x))))
#define BOUNDS const vf low = v_splat(imm[0]); const vf high = v_splat(imm[1]);
UNARY_WITH(clamp, BOUNDS, v_min(high, v_max(low, x)))
UNARY_WITH(leaky_relu, const vf slope = v_splat(imm[0]);, v_select(v_lt(x, ZERO), slope * x, x))
UNARY(floor, v_floor(x)) UNARY(ceil, v_ceil(x)) UNARY(trunc, v_trunc(x)) UNARY(round, v_round(x))
UNARY(reciprocal, ONE / x) UNARY(sqrt, v_sqrt(x)) UNARY(rsqrt, ONE / v_sqrt(x))
UNARY(exp, exp_of(x)) UNARY(exp2, exp2_of(x)) UNARY(log, log_of(x)) UNARY(log2, log2_of(x))
UNARY(sin, sin_of(x))
UNARY(cos, cos_of(x)) UNARY(tanh, tanh_of(x)) UNARY(erf, erf_of(x)) UNARY(gelu, gelu_of(x))
UNARY(silu, silu_of(x))
UNARY(gelu_tanh, gelu_tanh_of(x)) UNARY(sigmoid, sigmoid_of(x))
UNARY(expm1, expm1_of(x)) UNARY(log1p, log1p_of(x)) UNARY(softplus, softplus_of(x))
UNARY_WITH(elu, const vf alpha = v_splat(imm[0]);, v_select(v_lt(x, ZERO), alpha * expm1_of(x), x))
UNARY(sinh, sinh_of(x)) UNARY(cosh, cosh_of(x)) BINARY(pow, pow_of(x, y))
/* The C library's, lane by lane: too rare for more. */
UNARY(tan, tan_each(x)) UNARY(asin, asin_each(x)) UNARY(acos, acos_each(x)) UNARY(atan, atan_each(x))
UNARY(cbrt, cbrt_each(x)) BINARY(atan2, atan2_each(x, y))
BINARY(add, x + y) BINARY(sub, x - y) BINARY(mul, x * y) BINARY(div, x / y)
BINARY(maximum, v_select(m_or(v_ge(x, y), v_isnan(x)), x, y))
BINARY(minimum, v_select(m_or(v_le(x, y), v_isnan(x)), x, y))
BINARY(eq, v_where(v_eq(x, y), ONE)) BINARY(ne, v_where(v_ne(x, y), ONE)) BINARY(lt, v_where(v_lt(x, y), ONE))
BINARY(le, v_where(v_le(x, y), ONE)) BINARY(gt, v_where(v_gt(x, y), ONE)) BINARY(ge, v_where(v_ge(x, y), ONE))
TERNARY(where, v_select(v_ne(x, ZERO), y, z))
BINARY(add_i32, v_float(INT(x) + INT(y))) BINARY(sub_i32, v_float(INT(x) - INT(y)))
BINARY(mul_i32, v_float(INT(x) * INT(y)))
UNARY(f32_from_i32, v_from_i32((vi)x)) UNARY(i32_from_f32, (vf)v_to_i32(x))
UNARY(round_f16, v_round_f16(x)) UNARY(round_bf16, v_float(v_bf16_bits(x) << 16))
#define BYTE(x) v_max(v_splat(-128), v_min(v_splat(127), v_round(x)))
#define QUANTISED(x) v_where(v_eq(x, x), BYTE(x)) + 0               /* no -0 */
UNARY(quantise_i8, QUANTISED(x))
FORM(copy, 0, 0, 0, , x) FORM(copy, 1, 0, 0, , x)

/* ---- LOAD, STORE ---- */

#define LOAD_OP(name, T, ...)                                   \
    static void name##_0(ARGUMENTS)                             \
    {                                                           \
        float *dst = dst_;                                      \
        const T *a = a_;                                        \
        (void)b_, (void)c_, (void)imm;                          \
        int64_t i = 0;                                          \
        for (; i + LANES <= n; i += LANES) {                    \
            const T *from = a + i;                              \
            v_store(dst + i, __VA_ARGS__);                      \
        }                                                       \
        if (i < n) {                                            \
            T from[LANES] = {0};                                \
            memcpy(from, a + i, (size_t)(n - i) * sizeof(T));   \
            v_store_part(dst + i, __VA_ARGS__, n - i);          \
        }                                                       \
    }                                                           \
    CELL_LOAD(name, T, __VA_ARGS__)

#define STORE_OP(name, T, STORE, STREAM) \
    CELL_STORE_AS(name##_cell, T, STORE) CELL_STORE_AS(name##_cell_past, T, STREAM) \
    STORE_RUN(name, T, STORE)
#define STORE_RUN(name, T, STORE)                                \
    static void name##_0(ARGUMENTS)                             \
    {                                                           \
        T *dst = dst_;                                          \
        const float *a = a_;                                    \
        (void)b_, (void)c_, (void)imm;                          \
        int64_t i = 0;                                          \
        for (; i + LANES <= n; i += LANES) {                    \
            T *to = dst + i;                                    \
            const vf x = v_load(a + i);                         \
            STORE;                                              \
        }                                                       \
        if (i < n) {                                            \
            T to[LANES];                                        \
            const vf x = v_load_part(a + i, n - i);             \
            STORE;                                              \
            memcpy(dst + i, to, (size_t)(n - i) * sizeof(T));   \
        }                                                       \
    }

LOAD_OP(load_f16, uint16_t, v_load_f16(from)) LOAD_OP(load_bf16, uint16_t, v_float(v_load_u16(from) << 16))
LOAD_OP(load_i8, int8_t, v_from_i32(v_load_i8(from))) LOAD_OP(load_u8, uint8_t, v_from_i32(v_load_u8(from)))
LOAD_OP(load_bool, uint8_t, v_min(ONE, v_from_i32(v_load_u8(from))))
STORE_OP(store_f16, uint16_t, v_store_f16(to, x), v_stream_f16(to, x))
STORE_OP(store_bf16, uint16_t, v_store_u16(to, v_bf16_bits(x)), v_stream_u16(to, v_bf16_bits(x)))
STORE_OP(store_i8, int8_t, v_store_u8((uint8_t *)to, v_whole(x)), v_stream_u8((uint8_t *)to, v_whole(x)))
STORE_OP(store_u8, uint8_t, v_store_u8(to, v_whole(x)), v_stream_u8(to, v_whole(x)))

/* ---- GATHER: what lies apart is brought together, a piece at a time, and loaded ---- */

enum { PIECE = 256 };

#define GATHER_OP(name, T, load)                                \
    static void name##_0(ARGUMENTS)                             \
    {                                                           \
        const int64_t step = *(const int64_t *)b_;              \
        const char *from = a_;                                  \
        for (int64_t i = 0; i < n; i += PIECE) {                \
            T piece_[PIECE];                                    \
            int64_t m = n - i < PIECE ? n - i : PIECE;          \
            for (int64_t j = 0; j < m; j++, from += step)       \
                memcpy(&piece_[j], from, sizeof(T));            \
            load((float *)dst_ + i, piece_, NULL, c_, imm, m);  \
        }                                                       \
    }
GATHER_OP(gather_f16, uint16_t, load_f16_0) GATHER_OP(gather_bf16, uint16_t, load_bf16_0)
GATHER_OP(gather_i8, int8_t, load_i8_0) GATHER_OP(gather_u8, uint8_t, load_u8_0)
GATHER_OP(gather_bool, uint8_t, load_bool_0)
    /* clang-format on */

    static void gather_f32_0(ARGUMENTS)
{
    const int64_t step = *(const int64_t *)b_;
    const char *from = a_;
    float *dst = dst_;
    (void)c_, (void)imm;
    for (int64_t i = 0; i < n; i++, from += step)
        memcpy(dst + i, from, sizeof *dst);
}

/* ---- STREAM ---- */

/* Elements before the first whole vector of dst. */
static int64_t to_alignment(const float *dst, int64_t n)
{
    int64_t head = (int64_t)(-((uintptr_t)dst / 4) & (LANES - 1));
    return head < n ? head : n;
}

static void stream_0(ARGUMENTS)
{
    float *dst = dst_;
    const float *a = a_;
    (void)b_, (void)c_, (void)imm;
    int64_t i = to_alignment(dst, n);
    if (i > 0)
        v_store_part(dst, v_load_part(a, i), i);
    for (; i + LANES <= n; i += LANES)
        v_stream(dst + i, v_load(a + i));
    if (i < n)
        v_store_part(dst + i, v_load_part(a + i, n - i), n - i);
}

static void stream_1(ARGUMENTS)
{
    float *dst = dst_;
    const vf x = v_splat(*(const float *)a_);
    (void)b_, (void)c_, (void)imm;
    int64_t i = to_alignment(dst, n);
    if (i > 0)
        v_store_part(dst, x, i);
    for (; i + LANES <= n; i += LANES)
        v_stream(dst + i, x);
    if (i < n)
        v_store_part(dst + i, x, n - i);
}

/* ---- REDUCE: sums ---- */

enum { SUM_VECTORS = 32 / LANES }; /* that hold the 16 lanes in f64 */

/* The elements that there are of a vector, which may be none, and zeros. */
static inline vf some_of(const float *a, int64_t n)
{
    return n >= LANES ? v_load(a) : n > 0 ? v_load_part(a, n) : v_splat(0);
}

/* A row's last elements are followed by zeros, which change no sum: none is -0, since all begin with 0. */
/* clang-format off */
#define SUM_OP(name, pair)                                                              \
    static void name(tern__rowop_state *state, const float *a, int64_t n)               \
    {                                                                                   \
        vd s[SUM_VECTORS];                                                              \
        memcpy(s, state->lanes, sizeof s);                                              \
        int64_t i = 0;                                                                  \
        for (; i + 32 <= n; i += 32) {                                                  \
            for (int k = 0; k < SUM_VECTORS; k += 2) {                                  \
                const float *from = a + i + k * (LANES / 2);                            \
                const vd2 x = v_widen_load(from), y = v_widen_load(from + 16);    \
                s[k] += pair(x.lo, y.lo);                                               \
                s[k + 1] += pair(x.hi, y.hi);                                           \
            }                                                                           \
        }                                                                               \
        for (int k = 0; i < n && k < SUM_VECTORS; k += 2) {                             \
            const float *from = a + i + k * (LANES / 2);                                \
            const int64_t left = n - i - k * (LANES / 2);                               \
            const vd2 x = v_widen(some_of(from, left)), y = v_widen(some_of(from + 16, left - 16)); \
            s[k] += pair(x.lo, y.lo);                                                   \
            s[k + 1] += pair(x.hi, y.hi);                                               \
        }                                                                               \
        memcpy(state->lanes, s, sizeof s);                                              \
    }                                                                                   \
    CELL_SUM(name, pair)
/* clang-format on */

typedef uint64_t v_u64 __attribute__((vector_size(LANES * 4)));

static inline vd d_pair(vd x, vd y)
{
    return x + y;
}

/* Squares of f32 are exact in f64, so it is one whether the product is fused or not. */
static inline vd d_square_pair(vd x, vd y)
{
    return d_fma(x, x, y * y);
}

static inline vd d_abs_pair(vd x, vd y)
{
    return (vd)((v_u64)x & 0x7fffffffffffffffu) + (vd)((v_u64)y & 0x7fffffffffffffffu);
}

/* clang-format off */
SUM_OP(sum, d_pair) SUM_OP(sum_squares, d_square_pair) SUM_OP(sum_abs, d_abs_pair)

/* ---- REDUCE: extremes ---- */

enum { EXTREME_VECTORS = 4, EXTREME_BLOCK = EXTREME_VECTORS * LANES, LANE_VECTORS = 16 / LANES };

/* The first n of x, then what `other` has. */
static inline vf first_of(vf x, int64_t n, vf other)
{
    vf index;
    for (int j = 0; j < LANES; j++)
        index[j] = (float)j;
    return v_select(v_lt(index, v_splat(n < LANES ? (float)n : LANES)), x, other);
}

/* The first of equals stays, a NaN stays: in ascending order, lane by lane. Behind a row's last elements stands what the lanes
 * have, which changes nothing. */
#define EXTREME_EXACT(name, of, better)                                             \
    static void name##_exact(tern__rowop_state *state, const float *a, int64_t n) \
    {                                                                               \
        vf s[LANE_VECTORS];                                                         \
        float *lanes = state->singles;                                              \
        memcpy(s, lanes, sizeof s);                                                 \
        int64_t i = 0;                                                              \
        for (; i + 16 <= n; i += 16) {                                              \
            for (int k = 0; k < LANE_VECTORS; k++) {                                \
                const vf x = of(v_load(a + i + k * LANES));                         \
                s[k] = v_select(m_or(better(x, s[k]), v_isnan(x)), x, s[k]);        \
            }                                                                       \
        }                                                                           \
        for (int k = 0; k < LANE_VECTORS && i + k * LANES < n; k++) {               \
            const float *from = a + i + k * LANES;                                  \
            const vf x = first_of(of(some_of(from, n - i - k * LANES)), n - i - k * LANES, s[k]); \
            s[k] = v_select(m_or(better(x, s[k]), v_isnan(x)), x, s[k]);            \
        }                                                                           \
        memcpy(lanes, s, sizeof s);                                                 \
    }

/* Several vectors at a time, since one would wait for itself. That loses the order, which only shows where a
 * NaN, or a zero among zeros of either sign, is the result: then the exact loop does it again. */
#define EXTREME_OP(name, of, better, pick)                                  \
    EXTREME_EXACT(name, of, better)                                         \
    static void name(tern__rowop_state *state, const float *a, int64_t n)   \
    {                                                                       \
        const int64_t whole = n / EXTREME_BLOCK * EXTREME_BLOCK;            \
        vf s[EXTREME_VECTORS];                                              \
        vf sound = v_splat(1);                                              \
        if (whole == 0) {                                                   \
            name##_exact(state, a, n);                                      \
            return;                                                         \
        }                                                                   \
        for (int k = 0; k < EXTREME_VECTORS; k++) {                         \
            s[k] = of(v_load(a + k * LANES));                               \
            sound = v_where(v_eq(s[k], s[k]), sound);                       \
        }                                                                   \
        for (int64_t i = EXTREME_BLOCK; i < whole; i += EXTREME_BLOCK) {    \
            for (int k = 0; k < EXTREME_VECTORS; k++) {                     \
                const vf x = of(v_load(a + i + k * LANES));                 \
                s[k] = pick(x, s[k]);                                       \
                sound = v_where(v_eq(x, x), sound);                         \
            }                                                               \
        }                                                                   \
        for (int k = LANE_VECTORS; k < EXTREME_VECTORS; k++)                \
            s[k % LANE_VECTORS] = pick(s[k], s[k % LANE_VECTORS]);          \
        for (int k = 0; k < LANE_VECTORS; k++)                              \
            sound = v_where(v_ne(s[k], ZERO), sound);                       \
        if (!m_all(v_ne(sound, ZERO))) {                                    \
            name##_exact(state, a, n);                                      \
            return;                                                         \
        }                                                                   \
        float block[16];                                                    \
        for (int k = 0; k < LANE_VECTORS; k++)                              \
            v_store(block + k * LANES, s[k]);                               \
        name##_exact(state, block, 16);                                     \
        name##_exact(state, a + whole, n - whole);                          \
    }                                                                       \
    CELL_EXTREME(name, of, better, pick)
#define SAME(x) (x)
EXTREME_OP(max, SAME, v_gt, v_max) EXTREME_OP(min, SAME, v_lt, v_min) EXTREME_OP(max_abs, v_abs, v_gt, v_max)

/* Whole vectors, as cells load them: what is stored in smaller pieces has to reach the cache before a load of them all. */
static void start(tern__rowop op, tern__rowop_state *state)
{
    const vf none = v_splat(0),
             lanes = v_splat(op == TERN__ROWOP_max ? -INFINITY : op == TERN__ROWOP_min ? INFINITY : 0);
    for (int k = 0; k < 16; k += LANES)
        v_store(state->singles + k, lanes);
    for (int k = 8; k < 16; k += LANES / 2)
        d_store(state->lanes + k, (vd)none);
    v_leave();
}

/* ---- the table ---- */

#define ROWOPS_MAP_1(name) {name##_0}
#define ROWOPS_MAP_2(name) {name##_0, name##_1, name##_2}
#define ROWOPS_MAP_3(name) {name##_0, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6}
#define ROWOPS_COPY_1(name) {name##_0, name##_1}
#define ROWOPS_LOAD_1 ROWOPS_MAP_1
#define ROWOPS_STORE_1 ROWOPS_MAP_1
#define ROWOPS_GATHER_1 ROWOPS_MAP_1
#define ROWOPS_REDUCE_1(name) {NULL}
#define ROWOPS_ONLY_REDUCE(name) name
#define ROWOPS_ONLY_MAP(name) NULL
#define ROWOPS_ONLY_COPY ROWOPS_ONLY_MAP
#define ROWOPS_ONLY_LOAD ROWOPS_ONLY_MAP
#define ROWOPS_ONLY_STORE ROWOPS_ONLY_MAP
#define ROWOPS_ONLY_GATHER ROWOPS_ONLY_MAP

#define ROWOPS_CELL(name) (tern__rowop_cell_fn)name
#define ROWOPS_CELL_MAP_1(name) {ROWOPS_CELL(name##_cell)}
#define ROWOPS_CELL_MAP_2(name)                                                                             \
    {ROWOPS_CELL(name##_cell_sb), ROWOPS_CELL(name##_cell_bs), ROWOPS_CELL(name##_cell_s1),                 \
     ROWOPS_CELL(name##_cell_1s), ROWOPS_CELL(name##_cell_ss)}
#define ROWOPS_CELL_MAP_3(name)                                                                             \
    {ROWOPS_CELL(name##_cell_bb), ROWOPS_CELL(name##_cell_1b), ROWOPS_CELL(name##_cell_b1),                 \
     ROWOPS_CELL(name##_cell_11)}
#define ROWOPS_CELL_LOAD_1 ROWOPS_CELL_MAP_1
#define ROWOPS_CELL_REDUCE_1(name) {ROWOPS_CELL(name##_cell), ROWOPS_CELL_FROM_##name}
#define ROWOPS_CELL_FROM_sum ROWOPS_CELL(sum_cell_from)
#define ROWOPS_CELL_FROM_sum_squares ROWOPS_CELL(sum_squares_cell_from)
#define ROWOPS_CELL_FROM_sum_abs ROWOPS_CELL(sum_abs_cell_from)
#define ROWOPS_CELL_FROM_max NULL
#define ROWOPS_CELL_FROM_min NULL
#define ROWOPS_CELL_FROM_max_abs NULL
#define ROWOPS_CELL_STORE_1(name) {ROWOPS_CELL(name##_cell), ROWOPS_CELL(name##_cell_past)}
#define ROWOPS_CELL_GATHER_1(name) {NULL}
#define ROWOPS_CELL_COPY_1(name) ROWOPS_CELLS_##name
#define ROWOPS_CELLS_copy                                                                                   \
    {ROWOPS_CELL(copy_cell_get), ROWOPS_CELL(copy_cell_one), ROWOPS_CELL(copy_cell_put),                    \
     ROWOPS_CELL(stream_cell_put)}
#define ROWOPS_CELLS_stream {NULL}

/* The usual strip, of 4-byte elements in whole lines, without a loop: going through one takes as long as a cell. Inlined at once:
 * gcc takes what only fetches for a function without effect, and drops calls of it. */
static inline __attribute__((always_inline)) void fetch_strip(const char *at, int64_t strip, int64_t bytes)
{
    if (bytes == STRIP * 4) {
        at += strip * (STRIP * 4);
#pragma GCC unroll 8
        for (int k = 0; k < STRIP * 4; k += 64)
            __builtin_prefetch(at + k);
        return;
    }
    for (int64_t k = strip * bytes & -64, end = (strip + 1) * bytes & -64; k < end; k += 64)
        __builtin_prefetch(at + k);
}

static void run_strips(const tern__rowop_cell *const *code, int n_codes, int64_t n, const tern__rowop_ahead *ahead)
{
    const vf none = v_splat(0);
    for (int64_t i = 0, strip = 0; i < n; i += STRIP, strip++) {
        for (int k = 0, a = 0; k < n_codes; k++) {
            for (; a < ahead->n && ahead->before[a] == k; a++)
                fetch_strip(ahead->at[a], strip, ahead->bytes[a]);
            ((cell_fn)code[k]->run)(code[k], i, none, none, none, none, none, none, none, none);
        }
    }
    v_leave();
}

/* clang-format on */
#include "kernels/row/weave.h"
/* clang-format off */

const tern__rowop_table TERN__ROWOPS_TABLE = {
    .isa = TERN__ROWOPS_ISA,
    .map = {
#define TERN_ROWOP(name, operands, kind) ROWOPS_##kind##_##operands(name),
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
    },
    .reduce = {
#define TERN_ROWOP(name, operands, kind) ROWOPS_ONLY_##kind(name),
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
    },
    .cell = {
#define TERN_ROWOP(name, operands, kind) ROWOPS_CELL_##kind##_##operands(name),
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
    },
    .end = (tern__rowop_cell_fn)end_cell,
    .start = start,
    .strip = STRIP,
    .run_strips = run_strips,
    .find_weave = find_weave,
};
/* clang-format on */

#endif
