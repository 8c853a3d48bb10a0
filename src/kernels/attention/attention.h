/* attention.h - causal grouped attention by online softmax, and the arithmetic that all of its kernels share.
 *
 * The keys that a row sees are cut into chunks of TERN__ATTENTION_CHUNK at absolute positions. For each query head and chunk:
 *
 *     score[t]  = dot(q, k[t]) * scale          (int8 keys: * (scale / k_scale[t]))
 *     max       = the largest score, NaN left out
 *     p[t]      = e^(score[t] - max)            (max = -inf counts as 0)
 *     sum       = sum of p
 *     mix[i]    = chain over ascending t of fma(p[t], v[t][i], .) from 0   (int8 values: p[t] * (1 / v_scale[t]))
 *
 * Dots and sums add element i to lane i % 16, in ascending order, and then lanes 8, 4, 2 and 1 apart. Chunks are merged in
 * ascending order, each into what the ones before it gave:
 *
 *     top = the larger max;  a = e^(max - top), b = e^(chunk max - top)  (top = -inf counts as 0)
 *     sum = fma(sum, a, chunk sum * b);  mix[i] = fma(mix[i], a, chunk mix[i] * b)
 *
 * and the result is mix / sum, and one and the same NaN if that is none: which of several NaN an operation hands on is not
 * promised by any processor. Nothing of it depends on other rows, on how rows are batched, on how a prompt was cut or on who
 * computes which chunk: the bits are always the same, on all kernels with fused multiply-adds, and those of ref/attention.c. Kernels
 * without them round each product before they add it, and have the same bits among themselves. e^x is vector_math.h's, within
 * 2 ULP. */
#ifndef TERN_KERNELS_ATTENTION_H
#define TERN_KERNELS_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/dtype.h>

enum {
    TERN__ATTENTION_CHUNK = 128, /* keys; part of the arithmetic */
    TERN__ATTENTION_LANES =
        16, /* likewise; rows of q, k, v and mixes in scratch are padded to a multiple with zeros */
    TERN__ATTENTION_TILE = 32, /* keys that are widened to f32 at a time */
    TERN__ATTENTION_SHARE = 4, /* queries that `mix` takes at once */
};

/* Rows of k or v of one head, as they lie. */
typedef struct tern__attention_rows {
    const char *from; /* first element of row 0 */
    int64_t step;     /* bytes from one row to the next; the elements of a row lie side by side */
    int64_t rows;
    /* What is read soon is fetched meanwhile: with row r as many bytes as a row has, from next + r * next_step. NULL: nothing. Into
     * the first-level cache, or into the second. */
    const char *next;
    int64_t next_step;
    bool to_first;
    bool near;        /* it is what is read next: a pass over a part of the rows fetches that part of it */
    tern_dtype dtype; /* f32, f16, bf16, i8 */
} tern__attention_rows;

typedef struct tern__attention_kernel {
    /* multiply-adds are; else products are rounded, too, as they are by ref/ where it has no other way */
    bool fused;
    /* to[r * padded + i] = row r, element i, in f32; zeros from d to the multiple of 16 that is `padded`. */
    void (*widen)(const tern__attention_rows *rows, int64_t d, int64_t padded, float *to);
    /* scores[j * scores_row + t] = dot of q + j * d and row t of k, for j < queries; d % 16 = 0. */
    void (*score)(const float *q, int64_t queries, const tern__attention_rows *k, int64_t d, float *scores,
                  int64_t scores_row);
    /* scores[t] * factors[t * factors_step] become p, t < n <= TERN__ATTENTION_CHUNK; gives max and sum. Room for whole
     * vectors is written. */
    void (*soften)(float *scores, const float *factors, int64_t factors_step, int64_t n, float *max,
                   float *sum);
    /* mixes[j * d + i] = its chain continued over the rows t of v with p[j * p_row + t], j < queries <= SHARE; d % 16 = 0. */
    void (*mix)(const float *p, int64_t p_row, int64_t queries, const tern__attention_rows *v, int64_t d,
                float *mixes);
    /* Merges a later chunk (its max, sum, mix) into an earlier state. */
    void (*merge)(float *max, float *sum, float *mix, float chunk_max, float chunk_sum,
                  const float *chunk_mix, int64_t d);
} tern__attention_kernel;

#endif
