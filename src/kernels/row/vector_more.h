/* vector_more.h - functions of ops that models seldom use: expm1, log1p, softplus, sinh, cosh and pow on vectors, within 2
 * ULP like those of vector_math.h, and a few that the C library computes, one lane after the other. */
#ifndef TERN_KERNELS_ROW_VECTOR_MORE_H
#define TERN_KERNELS_ROW_VECTOR_MORE_H

#include "kernels/row/vector_math.h"

/* ---- around the exponential ---- */

/* (e^x - 1) / 4 = 2^(n - 2) t + 2^(n - 2) - 1/4, t = e^r - 1: small x keep their digits. x <= 89.5. */
static inline vf expm1_quarter(vf x)
{
    vf n, r;
    exp_reduce(x, &n, &r);
    vf quarter = pow2(n - 2);
    return v_fma_once(quarter, exp_minus_1(r), quarter - 0.25f);
}

static inline vf expm1_of(vf x)
{
    vf bounded = v_min(v_splat(89), v_max(v_splat(-60), x));
    return v_copysign(expm1_quarter(bounded) * 4, x); /* of -0 too */
}

/* (E + E / (E + 1)) / 2 with E = e^|x| - 1 = 4 q. */
static inline vf sinh_of(vf x)
{
    vf q = expm1_quarter(v_min(v_splat(89.5f), v_abs(x)));
    return v_copysign((q + q) + q / v_fma(q, v_splat(2), v_splat(0.5f)), x);
}

static inline vf cosh_of(vf x)
{
    vf n, r;
    exp_reduce(v_min(v_splat(91), v_abs(x)), &n, &r);
    vf half = v_scale(exp_minus_1(r) + 1, n - 1); /* e^|x| / 2 */
    return half + 0.25f / half;
}

/* ---- around the logarithm ---- */

/* log(1 + x) = log(u) + c / u, where u + c is exactly 1 + x; for x > -1, finite. */
static inline vf log1p_finite(vf x)
{
    vf e, s, u = x + 1, b = u - 1, c = (1 - (u - b)) + (x - b);
    log_reduce(u, &e, &s);
    vf q = HORNER(s, -0x1.38b608p-4f, 0x1.055ba6p-3f, -0x1.0d8544p-3f, 0x1.22da14p-3f, -0x1.547244p-3f,
                  0x1.99a008p-3f, -0x1.000228p-2f, 0x1.555554p-2f, -0.5f);
    vf rest = v_fma(s * s, q, v_fma(e, v_splat(-0x1.bd0106p-13f), c / u));
    return v_fma(e, v_splat(0x1.63p-1f), s + rest);
}

static inline vf log1p_of(vf x)
{
    vf y = v_copysign(log1p_finite(x), x); /* of -0 too */
    y = v_select(v_lt(x, v_splat(INFINITY)), y, x);
    y = v_select(v_eq(x, v_splat(-1)), v_splat(-INFINITY), y);
    return v_select(v_lt(x, v_splat(-1)), v_splat(NAN), y);
}

/* max(x, 0) + log(1 + e^-|x|) */
static inline vf softplus_of(vf x)
{
    vf n, r;
    exp_reduce(v_max(v_splat(-104), v_neg(v_abs(x))), &n, &r);
    vf y = log1p_finite(v_scale(exp_minus_1(r) + 1, n));
    return v_select(v_gt(x, v_splat(0)), x + y, y);
}

/* ---- powers: 2^(y log2 x), in f64 ---- */

typedef int64_t v_i64 __attribute__((vector_size(LANES * 4)));
typedef uint64_t v_bits64 __attribute__((vector_size(LANES * 4)));

static inline vd d_horner(vd x, const double *c, int n)
{
    vd y = d_splat(c[0]);
    for (int k = 1; k < n; k++)
        y = d_fma(y, x, d_splat(c[k]));
    return y;
}

static inline vd d_select(v_i64 m, vd a, vd b)
{
    return (vd)(((v_i64)a & m) | ((v_i64)b & ~m));
}

/* For 0 < x < inf and finite y. log2(m) is a series in s = (m - 1) / (m + 1), m from sqrt(1/2) to sqrt(2). */
static inline vd pow_usual(vd x, vd y)
{
    static const double log_c[] = {0.16972882833987804, 0.19235933878519512, 0.22195308321368667,
                                   0.2623081892525388,  0.3205988979753252,  0.4121985831111324,
                                   0.5770780163555853,  0.9617966939259756,  2.8853900817779268};
    static const double exp_c[] = {1.01780860092397e-07,   1.321548679014431e-06,
                                   1.5252733804059841e-05, 0.0001540353039338161,
                                   0.0013333558146428443,  0.009618129107628477,
                                   0.05550410866482158,    0.24022650695910072,
                                   0.6931471805599453,     1.0};
    const uint64_t root = 0x3fe6a09e667f3bcdu, fraction = 0xfffffffffffffu;
    v_bits64 above = (v_bits64)x - root;
    vd e = (vd)((above + ((uint64_t)1024 << 52)) >> 52 | 0x4330000000000000u) - (0x1p52 + 1024);
    vd m = (vd)((above & fraction) + root), s = (m - 1) / (m + 1);
    vd t = y * d_fma(s, d_horner(s * s, log_c, sizeof log_c / sizeof *log_c), e);
    t = d_select((v_i64)(t < -160), d_splat(-160), t);
    t = d_select((v_i64)(t > 130), d_splat(130), t);
    vd magic = t + 0x1.8p52, n = magic - 0x1.8p52;
    vd power = (vd)((v_bits64)(n + (0x1.8p52 + 1023)) << 52);
    return d_horner(t - n, exp_c, sizeof exp_c / sizeof *exp_c) * power;
}

/* Lanes whose operands are not usual; apart, so that the usual way keeps its registers. */
static __attribute__((noinline)) void pow_others(const float *x, const float *y, float *z)
{
    for (int j = 0; j < LANES; j++)
        if (!(x[j] > 0 && x[j] < INFINITY && fabsf(y[j]) < INFINITY))
            z[j] = (float)pow((double)x[j], (double)y[j]);
}

static inline vf pow_of(vf x, vf y)
{
    vd2 a = v_widen(x), b = v_widen(y);
    vf z = v_narrow((vd2){pow_usual(a.lo, b.lo), pow_usual(a.hi, b.hi)});
    vm usual =
        m_and(m_and(v_gt(x, v_splat(0)), v_lt(x, v_splat(INFINITY))), v_lt(v_abs(y), v_splat(INFINITY)));
    if (__builtin_expect(!m_all(usual), 0)) {
        vf xs = x, ys = y, zs = z;
        pow_others((const float *)&xs, (const float *)&ys, (float *)&zs);
        z = zs;
    }
    return z;
}

/* ---- the C library's ---- */

#define EACH(name)                                        \
    static __attribute__((noinline)) vf name##_each(vf x) \
    {                                                     \
        for (int j = 0; j < LANES; j++)                   \
            x[j] = (float)name((double)x[j]);             \
        return x;                                         \
    }
/* clang-format off */
EACH(tan) EACH(asin) EACH(acos) EACH(atan) EACH(cbrt)
    /* clang-format on */

    static __attribute__((noinline)) vf atan2_each(vf x, vf y)
{
    for (int j = 0; j < LANES; j++)
        x[j] = (float)atan2((double)x[j], (double)y[j]);
    return x;
}

#endif
