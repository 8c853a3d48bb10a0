/* vector_math.h - exp, log, sin, tanh, erf and their like on the vectors of vector.h, within 2 ULP of the
 * correctly rounded f32 for every argument (tests/kernels/test_rowops_*.c state and test the bounds).
 *
 * Instruction sets with fused multiply-adds have the same bits, whatever their width. Without (V_FUSED is 0)
 * results may differ in the last place, but stay within the bounds: no step relies on a product being kept
 * whole, save those that say so. Coefficients are minimax, found by Remez' exchange in 90 digits and rounded
 * to f32. */
#ifndef TERN_KERNELS_ROW_VECTOR_MATH_H
#define TERN_KERNELS_ROW_VECTOR_MATH_H

#include "kernels/row/rowops.h"
#include "kernels/row/vector.h"
#include "kernels/row/vector_tables.h"

/* A float of this size has its last digit at 1: adding it rounds to whole numbers, which then are its low
 * bits. */
#define MAGIC 0x1.8p23f

/* (((c0 * x + c1) * x + c2) ...) */
static inline vf horner(vf x, const float *c, int n)
{
    vf y = v_splat(c[0]);
    for (int k = 1; k < n; k++)
        y = v_fma(y, x, v_splat(c[k]));
    return y;
}
#define HORNER(x, ...) \
    horner(x, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

/* ---- powers of two ---- */

/* 2^n for whole n from -126 to 127. */
static inline vf pow2(vf n)
{
    return v_float(v_bits(n + (MAGIC + 127)) << 23);
}

/* x * 2^n, rounded once, for whole n from -252 to 254 and 2^-125 < |x| < 2^126; v_scale_far from n = -508 on,
 * where the result is 0 if it is below 2^-160. The bits of n + 254 halve into two exponents, those of n + 508
 * quarter into four. */
#if !defined(v_scale)
static inline vf v_scale(vf x, vf n)
{
    vu both = v_bits(n + (MAGIC + 254)), half = both >> 1;
    return x * v_float(half << 23) * v_float((both - half) << 23);
}

static inline vf v_scale_far(vf x, vf n)
{
    vu all = v_bits(n + (MAGIC + 508)), quarter = all >> 2;
    vf factor = v_float(quarter << 23);
    return x * factor * factor * factor * v_float((all - quarter - quarter - quarter) << 23);
}
#endif

/* ---- exponentials: x = n ln 2 + r, and e^x = 2^n (1 + t) ---- */

/* n and r for |x| < 300. Products of n and the upper part of ln 2 are exact. */
static inline void exp_reduce(vf x, vf *n, vf *r)
{
    *n = v_fma(x, v_splat(0x1.715476p+0f), v_splat(MAGIC)) - MAGIC;
    *r = v_fma(*n, v_splat(0x1.bd0106p-13f), v_fma(*n, v_splat(-0x1.63p-1f), x));
}

/* t = e^r - 1 for |r| <= ln 2 / 2; relative error below 2^-26. */
static inline vf exp_minus_1(vf r)
{
    vf q = HORNER(r, 0x1.6bea1cp-10f, 0x1.122d02p-7f, 0x1.555682p-5f, 0x1.5554aap-3f, 0x1.fffffep-2f);
    return v_fma(r * r, q, r);
}

/* The same to base 2, |r| <= 1/2. */
static inline vf exp2_minus_1(vf r)
{
    vf q = HORNER(r, 0x1.41462cp-13f, 0x1.5f0b76p-10f, 0x1.3b2e2ep-7f, 0x1.c6af7ep-5f, 0x1.ebfbdcp-3f);
    return v_fma_once(r, v_splat(0x1.62e43p-1f), r * r * q);
}

/* e^x in halves of about as many steps: what the second waits for, and the second. */
static inline void exp_begin(vf x, vf *n, vf *r)
{
    exp_reduce(v_min(v_splat(89), v_max(v_splat(-104), x)), n, r);
}

static inline vf exp_end(vf n, vf r)
{
    return v_scale(exp_minus_1(r) + 1, n);
}

static inline vf exp_of(vf x)
{
    vf n, r;
    exp_begin(x, &n, &r);
    return exp_end(n, r);
}

static inline vf exp2_of(vf x)
{
    x = v_min(v_splat(129), v_max(v_splat(-151), x));
    vf n = (x + MAGIC) - MAGIC;
    return v_scale(exp2_minus_1(x - n) + 1, n);
}

/* With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x; both as y - y e / (1 + e), since the errors of
 * the quotient weigh least there. */
static inline vf sigmoid_far(vf x)
{
    vf n, r;
    exp_reduce(v_max(v_splat(-104), v_neg(v_abs(x))), &n, &r);
    vf e = v_scale(exp_minus_1(r) + 1, n), y = v_select(v_lt(x, v_splat(0)), e, v_splat(1));
    return v_fma_once(v_neg(y), e / (e + 1), y);
}

/* x / (1 + e) with e = 2^n (1 + t) = e^-|u|, times e for negative x: x times the sigmoid of u, which has the
 * sign of x; as y - y e / (1 + e), like the sigmoid. e may be subnormal, where its digits are few; so the
 * product with 2^n comes last. At -inf the result is -inf * 0, NaN: whoever calls this bounds u so that n is
 * below -280 and t negative there, which makes the sum x t + x NaN, and 0 of any other x. */
static inline vf times_sigmoid(vf x, vf t, vf n)
{
    vm negative = v_lt(x, v_splat(0));
    vf power = pow2(v_max(n, v_splat(-100))), e = v_fma(power, t, power);
    vf product = v_select(negative, v_fma_once(x, t, x), x);
    vf finite = v_min(v_splat(0x1.fffffep127f), product); /* inf stays inf */
    vf y = v_scale_far(v_fma_once(v_neg(finite), e / (e + 1), product), v_where(negative, n));
    return v_copysign(y, x); /* the difference of zeros is 0, of -0 as well */
}

static inline vf silu_far(vf x)
{
    vf n, r;
    exp_reduce(v_max(v_splat(-200.5f), v_neg(v_abs(x))), &n, &r);
    return times_sigmoid(x, exp_minus_1(r), n);
}

/* x * sigmoid(u), u = 2 sqrt(2 / pi) (x + 0.044715 x^3). Its exponential magnifies an error of u by |u|, up
 * to 110: u is an f64, and divided by ln 2, so that whole and broken part come apart without loss. */
static inline void gelu_tanh_reduce(vd a, vd *n, vd *r)
{
    const double scale = 2.3022081981443249; /* 2 sqrt(2 / pi) / ln 2 */
    const vd factor = d_fma(a * a, d_splat(0.044715 * scale), d_splat(scale));
    *n = 0x1.8p52 - d_fma(a, factor, d_splat(0x1.8p52));
    *r = d_fma(a, factor, *n);
}

static inline vf gelu_tanh_far(vf x)
{
    vd2 a = v_widen(v_min(v_splat(14.5f), v_abs(x))), n, r;
    gelu_tanh_reduce(a.lo, &n.lo, &r.lo);
    gelu_tanh_reduce(a.hi, &n.hi, &r.hi);
    return times_sigmoid(x, exp2_minus_1(v_neg(v_narrow(r))), v_narrow(n));
}

/* ---- logarithms: x = 2^e (1 + s), 1 + s from sqrt(1/2) to sqrt(2) ---- */

static inline void log_reduce(vf x, vf *e, vf *s)
{
    vu above = v_bits(x) - 0x3f3504f3u; /* sqrt(1/2) */
    *e = v_from_i32((vi)above >> 23);
    *s = v_float((above & 0x007fffffu) + 0x3f3504f3u) - 1;
}

/* Everything but positive normal numbers: subnormals are made normal before, the rest is put right after. */
static inline bool log_is_usual(vf x)
{
    return m_all(m_and(v_ge(x, v_splat(0x1p-126f)), v_lt(x, v_splat(INFINITY))));
}

static inline void log_reduce_any(vf x, vf *e, vf *s)
{
    vm small = v_lt(x, v_splat(0x1p-126f));
    log_reduce(v_select(small, x * 0x1p25f, x), e, s);
    *e = *e - v_where(small, v_splat(25));
}

static inline vf log_put_right(vf x, vf y)
{
    y = v_select(v_lt(x, v_splat(INFINITY)), y, x);
    y = v_select(v_eq(x, v_splat(0)), v_splat(-INFINITY), y);
    return v_select(v_lt(x, v_splat(0)), v_splat(NAN), y);
}

/* log(1 + s) = s + s^2 q(s); e times the upper part of ln 2 is exact. */
static inline vf log_sum(vf e, vf s)
{
    vf q = HORNER(s, -0x1.38b608p-4f, 0x1.055ba6p-3f, -0x1.0d8544p-3f, 0x1.22da14p-3f, -0x1.547244p-3f,
                  0x1.99a008p-3f, -0x1.000228p-2f, 0x1.555554p-2f, -0.5f);
    vf rest = v_fma(s * s, q, e * -0x1.bd0106p-13f);
    return v_fma(e, v_splat(0x1.63p-1f), s + rest);
}

static inline vf log_of(vf x)
{
    vf e, s;
    if (log_is_usual(x)) {
        log_reduce(x, &e, &s);
        return log_sum(e, s);
    }
    log_reduce_any(x, &e, &s);
    return log_put_right(x, log_sum(e, s));
}

/* log2(1 + s) = s log2(e) + s^2 q(s), log2(e) in two parts. */
static inline vf log2_sum(vf e, vf s)
{
    vf q = HORNER(s, -0x1.c2813cp-4f, 0x1.7d5106p-3f, -0x1.87470ep-3f, 0x1.a30406p-3f, -0x1.eabd0cp-3f,
                  0x1.277e46p-2f, -0x1.715a72p-2f, 0x1.ec7096p-2f, -0x1.71547p-1f);
    vf rest = v_fma(s * s, q, s * 0x1.4ae0cp-26f);
    return e + v_fma_once(s, v_splat(0x1.715476p+0f), rest);
}

static inline vf log2_of(vf x)
{
    vf e, s;
    if (log_is_usual(x)) {
        log_reduce(x, &e, &s);
        return log2_sum(e, s);
    }
    log_reduce_any(x, &e, &s);
    return log_put_right(x, log2_sum(e, s));
}

/* ---- sine and cosine: |x| = n pi / 2 + r ---- */

/* Above it the parts of pi / 2 below do not suffice. */
#define ANGLE_MAX 0x1p17f

#if V_FUSED
static inline vf angle_rest(vf x, vf n)
{
    vf r = v_fma(n, v_splat(-0x1.921fb6p+0f), x);
    return v_fma(n, v_splat(0x1.ee59dap-50f), v_fma(n, v_splat(0x1.777a5cp-25f), r));
}
#else
/* Products of n, below 2^17, and the upper parts of pi / 2 are exact. */
static inline vf angle_rest(vf x, vf n)
{
    const double upper = 0x1.921fb544p+0, middle = 0x1.0b4611a6p-34;
    vd2 wide = v_widen(x), k = v_widen(n);
    return v_narrow(
        (vd2){(wide.lo - k.lo * upper) - k.lo * middle, (wide.hi - k.hi * upper) - k.hi * middle});
}
#endif

/* Apart, so that the usual way keeps its registers. */
static __attribute__((noinline)) void angle_reduce_large(const float *x, uint32_t *n, float *r)
{
    for (int j = 0; j < LANES; j++)
        if (!(x[j] <= ANGLE_MAX))
            n[j] = tern__rowop_reduce_angle(x[j], &r[j]);
}

/* cos(|x| + quarters * pi / 2) */
static inline vf cos_shifted(vf x, uint32_t quarters)
{
    vf a = v_abs(x), magic = v_fma(a, v_splat(0x1.45f306p-1f), v_splat(MAGIC));
    vu n = v_bits(magic);
    vf r = angle_rest(a, magic - MAGIC);
    if (__builtin_expect(!m_all(v_le(a, v_splat(ANGLE_MAX))), 0)) {
        vf angles = a, rests = r;
        vu turns = n;
        angle_reduce_large((const float *)&angles, (uint32_t *)&turns, (float *)&rests);
        n = turns;
        r = rests;
    }
    n = n + quarters;
    vf z = r * r;
    vf sine = v_fma(r * z, HORNER(z, -0x1.99406ep-13f, 0x1.110732p-7f, -0x1.555546p-3f), r);
    vf cosine = v_fma(z, HORNER(z, 0x1.99e862p-16f, -0x1.6c0c28p-10f, 0x1.55554ap-5f, -0.5f), v_splat(1));
    /* Quarter by quarter: cos, -sin, -cos, sin. */
    vf result = v_select(v_odd(n), sine, cosine);
    return v_float(v_bits(result) ^ (((n + 1u) << 30) & 0x80000000u));
}

static inline vf cos_of(vf x)
{
    return cos_shifted(x, 0);
}

static inline vf sin_of(vf x)
{
    return v_float(v_bits(cos_shifted(x, 3)) ^ (v_bits(x) & 0x80000000u));
}

/* ---- piecewise: tanh, the normal distribution ---- */

static inline vf piece(const float table[][16], int degree, vf a, vu index)
{
    vf d = a - v_lookup(table[0], index), y = v_lookup(table[degree + 1], index);
    for (int k = degree; k > 1; k--)
        y = v_fma(y, d, v_lookup(table[k], index));
    return v_fma_once(y, d, v_lookup(table[1], index));
}

static inline vf erf_of(vf x)
{
    vf a = v_min(v_splat(4.1f), v_abs(x));
    vu index = v_bits(v_fma(a, v_splat(64.0f / 17), v_splat(MAGIC)));
    return v_copysign(piece(erf_table, 5, a, index), x);
}

/* From 9.08 on it is 1. */
static inline vf tanh_of(vf x)
{
    vf a = v_min(v_splat(9.08f), v_abs(x));
    vu index = v_bits(v_fma(a, v_splat(1.65f), v_splat(1))) >> 21;
    return v_copysign(piece(tanh_table, 5, a, index), x);
}

/* x; for negative x -0, and NaN at -inf. */
#if !defined(v_positive)
static inline vf v_positive(vf x)
{
    return v_select(v_eq(x, v_splat(-INFINITY)), v_splat(NAN), v_max(v_splat(-0.0f), x));
}
#endif

/* x Phi(x) = max(x, 0) - a (1 - Phi(a)) with a = |x|, and a (1 - Phi(a)) is e^(-a^2 / 2) times a smooth
 * function. The square is not rounded before the whole multiples of ln 2 are gone. At -inf it is -inf * 0. */
static inline vf gelu_far(vf x)
{
    vf a = v_min(v_splat(14.9f), v_abs(x));
    vf n = v_fma(a * a, v_splat(-0x1.715476p-1f), v_splat(MAGIC)) - MAGIC;
    vf r = v_fma(n, v_splat(0x1.bd0106p-13f), v_fma_once(a, a * -0.5f, n * -0x1.63p-1f));
    vf t = exp_minus_1(r);
    vf factor = piece(normal_tail_table, 6, a, v_bits(a + 1) >> 21);
    return v_positive(x) - v_scale(v_fma_once(factor, t, factor), n);
}

/* ---- activations: the usual arguments by tables, others as above ---- */

/* With z = -|x|: sigmoid(x) is sigmoid(z), or 1 - sigmoid(z) for positive x; x g(x) for functions with g(-x) = 1 - g(x) (silu and
 * both gelus) is max(x, 0) + z g(z). So g is needed below 0 only, and pieces give it there in about half of the instructions, as
 * far as tables go: behind them it is a power of e, which no table holds. An element has the same bits whatever its neighbours
 * are: where one of them lies behind, both ways are gone and each lane takes its own. NaN lies behind. */
static inline vf minus_abs(vf x)
{
    return v_float(v_bits(x) | 0x80000000u);
}

#define ACTIVATION(name, end, near)                                                       \
    static __attribute__((noinline)) vf name##_both(vf x, vf y)                           \
    {                                                                                     \
        return v_select(v_ge(minus_abs(x), v_splat(end)), y, name##_far(x));              \
    }                                                                                     \
    static inline vf name##_of(vf x)                                                      \
    {                                                                                     \
        const vf z = minus_abs(x), y = near;                                              \
        return __builtin_expect(m_all(v_ge(z, v_splat(end))), 1) ? y : name##_both(x, y); \
    }

static inline vf sigmoid_below(vf z)
{
    return piece(sigmoid_table, 5, z, v_bits(v_fma(z, v_splat(-5.0f / 3), v_splat(MAGIC))));
}

static inline vf sigmoid_near(vf x, vf z)
{
    const vf y = sigmoid_below(z);
    return v_select(v_lt(x, v_splat(0)), y, v_splat(1) - y);
}

static inline vf silu_near(vf x, vf z)
{
    return v_fma(z, sigmoid_below(z), v_max(v_splat(0), x));
}

static inline vf gelu_near(vf x, vf z)
{
    const vu index = v_bits(v_fma(z, v_fma(z, v_splat(0.34375f), v_splat(-1.125f)), v_splat(MAGIC)));
    return v_fma(z, piece(normal_table, 6, z, index), v_max(v_splat(0), x));
}

static inline vf gelu_tanh_near(vf x, vf z)
{
    const vu index = v_bits(v_fma(z, v_fma(z, v_splat(0.4375f), v_splat(-1.125f)), v_splat(MAGIC)));
    return v_fma(z, piece(gelu_tanh_table, 6, z, index), v_max(v_splat(0), x));
}

/* clang-format off */
ACTIVATION(sigmoid, -9.3f, sigmoid_near(x, z))
ACTIVATION(silu, -9.3f, silu_near(x, z))
ACTIVATION(gelu, -5.275f, gelu_near(x, z))
ACTIVATION(gelu_tanh, -4.8f, gelu_tanh_near(x, z))
/* clang-format on */

#endif
