/* words.h - an element as a word that sorts: its key above, its index below. Private to kernels/sort. */
#ifndef TERN_KERNELS_SORT_WORDS_H
#define TERN_KERNELS_SORT_WORDS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The smallest key comes first. -0 and +0 have one key; NaN has `nan_key`, which no number has (0 or UINT32_MAX). */
static inline uint32_t tern__key_of_f32(float x, bool descending, uint32_t nan_key)
{
    uint32_t bits;
    if (isnan(x))
        return nan_key;
    x += 0.0f; /* -0 becomes +0 */
    memcpy(&bits, &x, sizeof bits);
    const uint32_t key = bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
    return descending ? ~key : key;
}

static inline uint32_t tern__key_of_i32(int32_t x, bool descending)
{
    const uint32_t key = (uint32_t)x ^ UINT32_C(1) << 31;
    return descending ? ~key : key;
}

/* Like those, of 64 bits; NaN last. */
static inline uint64_t tern__key_of_f64(double x, bool descending)
{
    uint64_t bits;
    if (isnan(x))
        return UINT64_MAX;
    x += 0.0; /* -0 becomes +0 */
    memcpy(&bits, &x, sizeof bits);
    const uint64_t key = bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
    return descending ? ~key : key;
}

static inline uint64_t tern__key_of_i64(int64_t x, bool descending)
{
    const uint64_t key = (uint64_t)x ^ UINT64_C(1) << 63;
    return descending ? ~key : key;
}

/* A key of 64 bits leaves no room for its index. */
typedef struct tern__wide_word {
    uint64_t key;
    int64_t index;
} tern__wide_word;

enum {
    TERN__SORT_DIGIT = 11, /* bits; as many digits as make a key */
    TERN__SORT_DIGITS = 3,
    TERN__SORT_DIGITS_WIDE = 6,
    TERN__SORT_BUCKETS = 1 << TERN__SORT_DIGIT,
};

static inline uint64_t tern__word(uint32_t key, int64_t index)
{
    return (uint64_t)key << 32 | (uint32_t)index;
}

/* Units from data to the first element of lane `lane` along `axis`, lanes in row-major order of the other axes. */
static inline int64_t tern__sort_lane(const tern__buffer *x, int axis, int64_t lane)
{
    int64_t offset = 0;
    for (int d = x->type->rank - 1; d >= 0; d--) {
        if (d == axis)
            continue;
        offset += lane % x->type->shape[d] * x->strides[d];
        lane /= x->type->shape[d];
    }
    return offset;
}

static inline int tern__sort_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

#endif
