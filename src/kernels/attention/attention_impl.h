/* attention_impl.h - the inner kernels of attention.h, for one instruction set. A file of its own defines TERN__LANES and what
 * row/vector.h lets it define, then
 *
 *     SCORE_QUERIES, SCORE_KEYS    queries and keys of a tile of dots whose sums stay in registers
 *     MIX_VECTORS                  vectors of a tile of SHARE mixes that stay in registers
 *     reduce_tile(sums, to, row)   sums of a whole tile, each of DOT vectors, to to[j * row + t]
 *
 * and includes this. */
#ifndef TERN_KERNELS_ATTENTION_IMPL_H
#define TERN_KERNELS_ATTENTION_IMPL_H

#include "kernels/attention/attention.h"
#include "kernels/row/vector_math.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

enum { DOT = TERN__ATTENTION_LANES / LANES }; /* vectors that hold the lanes of one sum */

/* lane[i] becomes what `of` gives for it and the lane n further. Written out step by step: as a loop over n it is compiled to one
 * with branches. */
#define HALVE(n, of)            \
    UNROLL                      \
    for (int i = 0; i < n; i++) \
        lane[i] = of(lane[i], lane[i + n]);
#define PLUS(a, b) ((a) + (b))
#define LARGER(a, b) ((b) > (a) ? (b) : (a))

/* Lanes 8, 4, 2, 1 apart. */
INLINE float reduce_one(const vf sums[DOT])
{
    float lane[TERN__ATTENTION_LANES];
    memcpy(lane, sums, sizeof lane);
    HALVE(8, PLUS)
    HALVE(4, PLUS)
    HALVE(2, PLUS)
    return lane[0] + lane[1];
}

/* ---- rows of k and v ---- */

/* LANES elements as f32. */
INLINE vf widened(tern_dtype dtype, const char *from)
{
    switch (dtype) {
    case TERN_F16:
        return v_load_f16((const uint16_t *)(const void *)from);
    case TERN_BF16:
        return v_float(v_load_u16((const uint16_t *)(const void *)from) << 16);
    case TERN_I8:
        return v_from_i32(v_load_i8((const int8_t *)(const void *)from));
    default:
        return v_load((const float *)(const void *)from);
    }
}

INLINE int64_t bytes_of(tern_dtype dtype, int64_t n)
{
    return dtype == TERN_F32 ? 4 * n : dtype == TERN_I8 ? n : 2 * n;
}

/* Bytes [begin, end) of what is to be fetched while row r is read. The second cache has more places for what is on its way than the
 * first (24 lines on Zen 4, at some 100 ns 15 GB/s), which then gets it from there in time. */
INLINE void fetch(const tern__attention_rows *o, int64_t r, int64_t begin, int64_t end)
{
    if (!o->next)
        return;
    const char *row = o->next + r * o->next_step;
    if (o->to_first)
        for (int64_t at = begin; at < end; at += 64)
            __builtin_prefetch(row + at, 0, 3);
    else
        for (int64_t at = begin; at < end; at += 64)
            __builtin_prefetch(row + at, 0, 2);
}

/* body(..., dtype) with the type of the rows as a constant. */
#define BY_DTYPE(rows, body, ...)     \
    switch ((rows)->dtype) {          \
    case TERN_F16:                    \
        body(__VA_ARGS__, TERN_F16);  \
        break;                        \
    case TERN_BF16:                   \
        body(__VA_ARGS__, TERN_BF16); \
        break;                        \
    case TERN_I8:                     \
        body(__VA_ARGS__, TERN_I8);   \
        break;                        \
    default:                          \
        body(__VA_ARGS__, TERN_F32);  \
        break;                        \
    }

INLINE void widen_body(const tern__attention_rows *o, int64_t d, int64_t padded, float *to, tern_dtype dtype)
{
    const int64_t whole = d / LANES * LANES;
    for (int64_t r = 0; r < o->rows; r++, to += padded) {
        const char *from = o->from + r * o->step;
        fetch(o, r, 0, bytes_of(dtype, d));
        for (int64_t i = 0; i < whole; i += LANES)
            v_store(to + i, widened(dtype, from + bytes_of(dtype, i)));
        if (whole < padded) {
            char rest[LANES * 4] = {0};
            memcpy(rest, from + bytes_of(dtype, whole), (size_t)bytes_of(dtype, d - whole));
            v_store(to + whole, widened(dtype, rest));
            for (int64_t i = whole + LANES; i < padded; i += LANES)
                v_store(to + i, v_splat(0));
        }
    }
}

static void widen(const tern__attention_rows *o, int64_t d, int64_t padded, float *to)
{
    BY_DTYPE(o, widen_body, o, d, padded, to)
    v_leave();
}

/* ---- scores ---- */

/* Sums of the dots of `queries` and of the `keys` rows of k from row t on. */
INLINE void score_tile(const float *q, const tern__attention_rows *k, int64_t t, int64_t d, int queries,
                       int keys, vf sums[SCORE_QUERIES * SCORE_KEYS][DOT], tern_dtype dtype)
{
    const char *from = k->from + t * k->step;
    UNROLL
    for (int j = 0; j < queries * keys; j++) {
        UNROLL
        for (int s = 0; s < DOT; s++)
            sums[j][s] = v_splat(0);
    }
    for (int64_t i = 0; i < d; i += TERN__ATTENTION_LANES) {
        UNROLL
        for (int s = 0; s < DOT; s++) {
            const int64_t at = i + s * LANES;
            vf key[SCORE_KEYS];
            UNROLL
            for (int n = 0; n < keys; n++)
                key[n] = widened(dtype, from + n * k->step + bytes_of(dtype, at));
            UNROLL
            for (int j = 0; j < queries; j++) {
                const vf query = v_load(q + j * d + at);
                UNROLL
                for (int n = 0; n < keys; n++)
                    sums[j * keys + n][s] = v_fma(query, key[n], sums[j * keys + n][s]);
            }
        }
    }
}

INLINE void score_odd(const float *q, const tern__attention_rows *k, int64_t t, int64_t d, int queries,
                      int keys, float *scores, int64_t scores_row, tern_dtype dtype)
{
    vf sums[SCORE_QUERIES * SCORE_KEYS][DOT];
    score_tile(q, k, t, d, queries, keys, sums, dtype);
    UNROLL
    for (int j = 0; j < queries; j++) {
        UNROLL
        for (int n = 0; n < keys; n++)
            scores[j * scores_row + t + n] = reduce_one(sums[j * keys + n]);
    }
}

INLINE void score_body(const float *q, int64_t queries, const tern__attention_rows *k, int64_t d,
                       float *scores, int64_t scores_row, tern_dtype dtype)
{
    const int64_t whole = k->rows / SCORE_KEYS * SCORE_KEYS;
    int64_t j = 0;
    for (; j + SCORE_QUERIES <= queries; j += SCORE_QUERIES) {
        for (int64_t t = 0; t < whole; t += SCORE_KEYS) {
            vf sums[SCORE_QUERIES * SCORE_KEYS][DOT];
            for (int64_t n = 0; j == 0 && n < SCORE_KEYS; n++)
                fetch(k, t + n, 0, bytes_of(dtype, d));
            score_tile(q + j * d, k, t, d, SCORE_QUERIES, SCORE_KEYS, sums, dtype);
            reduce_tile(sums, scores + j * scores_row + t, scores_row);
        }
        for (int64_t t = whole; t < k->rows; t++)
            score_odd(q + j * d, k, t, d, SCORE_QUERIES, 1, scores + j * scores_row, scores_row, dtype);
    }
    for (; j < queries; j++) {
        for (int64_t t = 0; t < whole; t += SCORE_KEYS) {
            for (int64_t n = 0; j == 0 && n < SCORE_KEYS; n++)
                fetch(k, t + n, 0, bytes_of(dtype, d));
            score_odd(q + j * d, k, t, d, 1, SCORE_KEYS, scores + j * scores_row, 0, dtype);
        }
        for (int64_t t = whole; t < k->rows; t++)
            score_odd(q + j * d, k, t, d, 1, 1, scores + j * scores_row, 0, dtype);
    }
}

static void score(const float *q, int64_t queries, const tern__attention_rows *k, int64_t d, float *scores,
                  int64_t scores_row)
{
    BY_DTYPE(k, score_body, q, queries, k, d, scores, scores_row)
    v_leave();
}

/* ---- softmax of a chunk ---- */

/* No lane is NaN. */
INLINE float largest(vf x)
{
    float lane[TERN__ATTENTION_LANES];
    UNROLL
    for (int i = 0; i < TERN__ATTENTION_LANES; i++)
        lane[i] = x[i % LANES];
    HALVE(8, LARGER)
    HALVE(4, LARGER)
    HALVE(2, LARGER)
    return LARGER(lane[0], lane[1]);
}

static void soften(float *scores, const float *factors, int64_t factors_step, int64_t n, float *max_out,
                   float *sum_out)
{
    vf max = v_splat(-INFINITY);
    /* Lanes past the last key: a score of -inf is the largest of none, and adds nothing. */
    const int64_t padded = (n + TERN__ATTENTION_LANES - 1) / TERN__ATTENTION_LANES * TERN__ATTENTION_LANES;
    for (int64_t t = 0; t < n; t += LANES) {
        const vf factor = factors_step ? v_load(factors + t) : v_splat(*factors);
        v_store(scores + t, v_load(scores + t) * factor);
    }
    for (int64_t t = n; t < padded; t++)
        scores[t] = -INFINITY;
    for (int64_t t = 0; t < padded; t += LANES)
        max = v_max(v_load(scores + t), max);
    const float top = largest(max);
    const vf base = v_splat(top == -INFINITY ? 0 : top);
    vf sums[DOT];
    for (int s = 0; s < DOT; s++)
        sums[s] = v_splat(0);
    for (int64_t t = 0; t < padded; t += TERN__ATTENTION_LANES) {
        UNROLL
        for (int s = 0; s < DOT; s++) {
            const vf p = exp_of(v_load(scores + t + s * LANES) - base);
            v_store(scores + t + s * LANES, p);
            sums[s] += p;
        }
    }
    *max_out = top;
    *sum_out = reduce_one(sums);
    v_leave();
}

/* ---- mixing values ---- */

/* Elements [i, i + vectors * LANES) of the mixes. */
INLINE void mix_tile(const float *p, int64_t p_row, int queries, const tern__attention_rows *v, int64_t d,
                     int64_t i, float *mixes, int vectors, tern_dtype dtype)
{
    const int64_t begin = bytes_of(dtype, i), end = bytes_of(dtype, i + vectors * LANES);
    vf sums[TERN__ATTENTION_SHARE][MIX_VECTORS];
    UNROLL
    for (int j = 0; j < queries; j++) {
        UNROLL
        for (int s = 0; s < vectors; s++)
            sums[j][s] = v_load(mixes + j * d + i + s * LANES);
    }
    for (int64_t t = 0; t < v->rows; t++) {
        const char *from = v->from + t * v->step + begin;
        vf value[MIX_VECTORS];
        /* A tile of many rows is passed over several times, and each time fetches its part of the next. Tiles that are read in order
         * are short. */
        if (v->near)
            fetch(v, t, begin, end);
        else if (i == 0)
            fetch(v, t, 0, bytes_of(dtype, d));
        UNROLL
        for (int s = 0; s < vectors; s++)
            value[s] = widened(dtype, from + bytes_of(dtype, s * LANES));
        UNROLL
        for (int j = 0; j < queries; j++) {
            const vf weight = v_splat(p[j * p_row + t]);
            UNROLL
            for (int s = 0; s < vectors; s++)
                sums[j][s] = v_fma(weight, value[s], sums[j][s]);
        }
    }
    UNROLL
    for (int j = 0; j < queries; j++) {
        UNROLL
        for (int s = 0; s < vectors; s++)
            v_store(mixes + j * d + i + s * LANES, sums[j][s]);
    }
}

INLINE void mix_queries(const float *p, int64_t p_row, int queries, const tern__attention_rows *v, int64_t d,
                        float *mixes, tern_dtype dtype)
{
    int64_t i = 0;
    for (; i + MIX_VECTORS * LANES <= d; i += MIX_VECTORS * LANES)
        mix_tile(p, p_row, queries, v, d, i, mixes, MIX_VECTORS, dtype);
    for (; i < d; i += LANES)
        mix_tile(p, p_row, queries, v, d, i, mixes, 1, dtype);
}

INLINE void mix_body(const float *p, int64_t p_row, int64_t queries, const tern__attention_rows *v, int64_t d,
                     float *mixes, tern_dtype dtype)
{
    if (queries == TERN__ATTENTION_SHARE) {
        mix_queries(p, p_row, TERN__ATTENTION_SHARE, v, d, mixes, dtype);
        return;
    }
    for (int64_t j = 0; j < queries; j++)
        mix_queries(p + j * p_row, p_row, 1, v, d, mixes + j * d, dtype);
}

static void mix(const float *p, int64_t p_row, int64_t queries, const tern__attention_rows *v, int64_t d,
                float *mixes)
{
    BY_DTYPE(v, mix_body, p, p_row, queries, v, d, mixes)
    v_leave();
}

/* ---- merging chunks ---- */

static void merge(float *max, float *sum, float *mixed, float chunk_max, float chunk_sum,
                  const float *chunk_mix, int64_t d)
{
    const float top = *max > chunk_max ? *max : chunk_max, base = top == -INFINITY ? 0 : top;
    const vf a = exp_of(v_splat(*max - base)), b = exp_of(v_splat(chunk_max - base));
    const vf both = v_fma(v_splat(*sum), a, v_splat(chunk_sum) * b);
    *max = top;
    *sum = both[0];
    for (int64_t i = 0; i < d; i += LANES)
        v_store(mixed + i, v_fma(v_load(mixed + i), a, v_load(chunk_mix + i) * b));
    v_leave();
}

#define TERN__ATTENTION_KERNEL(suffix)                         \
    const tern__attention_kernel tern__attention__##suffix = { \
        .fused = V_FUSED,                                      \
        .widen = widen,                                        \
        .score = score,                                        \
        .soften = soften,                                      \
        .mix = mix,                                            \
        .merge = merge,                                        \
    };

#endif
