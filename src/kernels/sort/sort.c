/* sort.c - lanes of up to 32-bit elements, by radix or by merging. */
#include "kernels/sort/sort.h"

#include "base/checked.h"
#include "kernels/sort/words.h"
#include "tensor/half.h"

enum {
    DIGIT = 11, /* bits; three digits make a key */
    DIGITS = 3,
    BUCKETS = 1 << DIGIT,
    RUN = 16,     /* words that are sorted by insertion */
    FEWEST = 1024 /* words that counting pays for */
};

bool tern__sort_scratch(const tern__type *x, int axis, size_t *bytes)
{
    size_t n;
    switch (x->dtype) {
    case TERN_BOOL:
    case TERN_U8:
    case TERN_I8:
    case TERN_I32:
    case TERN_F16:
    case TERN_BF16:
    case TERN_F32:
        break;
    default:
        return false;
    }
    return x->rank > 0 && x->shape[axis] < INT32_MAX && tern__size_from_i64(x->shape[axis], &n) &&
           tern__size_mul(n, 2 * sizeof(uint64_t), &n) &&
           tern__size_add(n, DIGITS * BUCKETS * sizeof(uint32_t), bytes);
}

/* ---- words ---- */

#define WORDS(type, key)                                         \
    for (int64_t i = 0; i < n; i++) {                            \
        const type v = ((const type *)x->data)[from + i * step]; \
        words[i] = tern__word(key, i);                           \
    }                                                            \
    break

static void make_words(const tern__buffer *x, int64_t from, int64_t step, int64_t n, bool descending,
                       uint64_t *words)
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

/* ---- radix: from the lowest digit on, each pass keeps the order of those before ---- */

static uint32_t digit_of(uint64_t word, int digit)
{
    return (uint32_t)(word >> (32 + DIGIT * digit)) & (BUCKETS - 1u);
}

/* counts[digit][bucket]; words has n > 0. */
static void count_digits(const uint64_t *words, int64_t n, uint32_t *counts)
{
    memset(counts, 0, DIGITS * BUCKETS * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        for (int digit = 0; digit < DIGITS; digit++)
            counts[(uint32_t)(digit * BUCKETS) + digit_of(words[i], digit)]++;
}

/* Returns where the sorted words are: `words` or `other`. */
static uint64_t *sort_by_radix(uint64_t *words, uint64_t *other, int64_t n, uint32_t *counts)
{
    count_digits(words, n, counts);
    for (int digit = 0; digit < DIGITS; digit++) {
        uint32_t *at = counts + digit * BUCKETS, sum = 0;
        if (at[digit_of(words[0], digit)] == n) /* all have this digit */
            continue;
        for (int b = 0; b < BUCKETS; b++) {
            const uint32_t count = at[b];
            at[b] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            other[at[digit_of(words[i], digit)]++] = words[i];
        uint64_t *swap = words;
        words = other;
        other = swap;
    }
    return words;
}

/* ---- merging ---- */

static void sort_by_insertion(uint64_t *words, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const uint64_t word = words[i];
        int64_t j = i;
        for (; j > 0 && words[j - 1] > word; j--)
            words[j] = words[j - 1];
        words[j] = word;
    }
}

static void merge_runs(const uint64_t *a, const uint64_t *a_end, const uint64_t *b, const uint64_t *b_end,
                       uint64_t *to)
{
    while (a < a_end && b < b_end)
        *to++ = *a < *b ? *a++ : *b++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *to);
}

static uint64_t *sort_by_merging(uint64_t *words, uint64_t *other, int64_t n)
{
    for (int64_t i = 0; i < n; i += RUN)
        sort_by_insertion(words + i, n - i < RUN ? n - i : RUN);
    for (int64_t run = RUN; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            const int64_t middle = i + run < n ? i + run : n, end = middle + run < n ? middle + run : n;
            merge_runs(words + i, words + middle, words + middle, words + end, other + i);
        }
        uint64_t *swap = words;
        words = other;
        other = swap;
    }
    return words;
}

/* ---- lanes ---- */

/* values[i] = the element at the index in words[i]; indices[i] = that index. */
static void put_lane(const tern__buffer *x, int64_t from, int64_t step, const uint64_t *words, int64_t n,
                     char *values, int64_t values_step, int64_t *indices, int64_t indices_step)
{
    const size_t size = tern__dtype_unit_bytes(x->type->dtype);
    for (int64_t i = 0; i < n; i++) {
        const int64_t index = (int64_t)(uint32_t)words[i];
        const char *element = (const char *)x->data + (from + index * step) * (int64_t)size;
        memcpy(values + i * values_step * (int64_t)size, element, size);
        indices[i * indices_step] = index;
    }
}

TERN__KERNEL(sort__radix)
{
    const tern__buffer *x = &args->in[0], *values = &args->out[0], *indices = &args->out[1];
    const int axis = tern__sort_axis(args->attrs[0].i, x->type->rank);
    const bool descending = args->attrs[1].i != 0;
    const int64_t n = x->type->shape[axis], unit = (int64_t)tern__dtype_unit_bytes(x->type->dtype);
    uint64_t *words = args->scratch, *other = words + n;
    uint32_t *counts = (uint32_t *)(void *)(other + n);
    for (int64_t lane = begin; lane < end && n > 0; lane++) {
        const int64_t from = tern__sort_lane(x, axis, lane);
        make_words(x, from, x->strides[axis], n, descending, words);
        const uint64_t *sorted =
            n < FEWEST ? sort_by_merging(words, other, n) : sort_by_radix(words, other, n, counts);
        put_lane(x, from, x->strides[axis], sorted, n,
                 (char *)values->data + tern__sort_lane(values, axis, lane) * unit, values->strides[axis],
                 (int64_t *)indices->data + tern__sort_lane(indices, axis, lane), indices->strides[axis]);
    }
    return TERN_OK;
}
