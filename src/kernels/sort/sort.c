/* sort.c - lanes of up to 32-bit elements: a word is 64 bits, the key above the index, so that words compare as numbers. */
#include "kernels/sort/sort.h"

#include "kernels/sort/words.h"
#include "tensor/half.h"

typedef uint64_t word;
enum { DIGITS = TERN__SORT_DIGITS };

static inline uint32_t digit_of(word w, int digit)
{
    return (uint32_t)(w >> (32 + TERN__SORT_DIGIT * digit)) & (TERN__SORT_BUCKETS - 1u);
}

static inline bool comes_after(word a, word b)
{
    return a > b; /* indices ascend where keys are equal */
}

static inline int64_t index_of(word w)
{
    return (int64_t)(uint32_t)w;
}

#define WORDS(type, key)                                         \
    for (int64_t i = 0; i < n; i++) {                            \
        const type v = ((const type *)x->data)[from + i * step]; \
        words[i] = tern__word(key, i);                           \
    }                                                            \
    break

static void make_words(const tern__buffer *x, int64_t from, int64_t step, int64_t n, bool descending,
                       word *words)
{
    switch (x->type->dtype) {
    case TERN_F32:
        WORDS(float, tern__key_of_f32(v, descending, UINT32_MAX));
    case TERN_F16:
        WORDS(uint16_t, tern__key_of_f32(tern__f16_to_f32(v), descending, UINT32_MAX));
    case TERN_BF16:
        WORDS(uint16_t, tern__key_of_f32(tern__bf16_to_f32(v), descending, UINT32_MAX));
    case TERN_I32:
        WORDS(int32_t, tern__key_of_i32(v, descending));
    case TERN_I8:
        WORDS(int8_t, tern__key_of_i32(v, descending));
    case TERN_BOOL:
        WORDS(uint8_t, tern__key_of_i32(v != 0, descending));
    default:
        WORDS(uint8_t, tern__key_of_i32(v, descending));
    }
}

#include "kernels/sort/radix_impl.h"

TERN__KERNEL(sort__radix)
{
    return sort_lanes(args, begin, end);
}
