/* radix_impl.h - lanes of words, sorted by radix or by merging. A file says what a word is and includes this: type `word`; DIGITS, the
 * digits of its key; digit_of(word, digit), 0 the lowest; comes_after(a, b), whether a's key is larger; index_of(word); and
 * make_words(), a lane's words in its order. Private to kernels/sort.
 *
 * Words of equal keys stay in the order they came in. */
#ifndef TERN_KERNELS_SORT_RADIX_IMPL_H
#define TERN_KERNELS_SORT_RADIX_IMPL_H

#include "kernels/kernel.h"
#include "kernels/sort/words.h"

enum {
    RUN = 16,     /* words that are sorted by insertion */
    FEWEST = 1024 /* words that counting pays for */
};

/* ---- radix: from the lowest digit on, each pass keeps the order of those before ---- */

/* counts[digit][bucket]; words has n > 0. */
static void count_digits(const word *words, int64_t n, uint32_t *counts)
{
    memset(counts, 0, DIGITS * TERN__SORT_BUCKETS * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        for (int digit = 0; digit < DIGITS; digit++)
            counts[(uint32_t)(digit * TERN__SORT_BUCKETS) + digit_of(words[i], digit)]++;
}

/* Returns where the sorted words are: `words` or `other`. */
static word *sort_by_radix(word *words, word *other, int64_t n, uint32_t *counts)
{
    count_digits(words, n, counts);
    for (int digit = 0; digit < DIGITS; digit++) {
        uint32_t *at = counts + digit * TERN__SORT_BUCKETS, sum = 0;
        if (at[digit_of(words[0], digit)] == n) /* all have this digit */
            continue;
        for (int b = 0; b < TERN__SORT_BUCKETS; b++) {
            const uint32_t count = at[b];
            at[b] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            other[at[digit_of(words[i], digit)]++] = words[i];
        word *swap = words;
        words = other;
        other = swap;
    }
    return words;
}

/* ---- merging ---- */

static void sort_by_insertion(word *words, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const word w = words[i];
        int64_t j = i;
        for (; j > 0 && comes_after(words[j - 1], w); j--)
            words[j] = words[j - 1];
        words[j] = w;
    }
}

static void merge_runs(const word *a, const word *a_end, const word *b, const word *b_end, word *to)
{
    while (a < a_end && b < b_end)
        *to++ = comes_after(*a, *b) ? *b++ : *a++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *to);
}

static word *sort_by_merging(word *words, word *other, int64_t n)
{
    for (int64_t i = 0; i < n; i += RUN)
        sort_by_insertion(words + i, n - i < RUN ? n - i : RUN);
    for (int64_t run = RUN; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            const int64_t middle = i + run < n ? i + run : n, end = middle + run < n ? middle + run : n;
            merge_runs(words + i, words + middle, words + middle, words + end, other + i);
        }
        word *swap = words;
        words = other;
        other = swap;
    }
    return words;
}

/* ---- lanes ---- */

/* values[i] = the element at the index in words[i]; indices[i] = that index. */
static void put_lane(const tern__buffer *x, int64_t from, int64_t step, const word *words, int64_t n,
                     char *values, int64_t values_step, int64_t *indices, int64_t indices_step)
{
    const size_t size = tern__dtype_unit_bytes(x->type->dtype);
    for (int64_t i = 0; i < n; i++) {
        const int64_t index = index_of(words[i]);
        const char *element = (const char *)x->data + (from + index * step) * (int64_t)size;
        memcpy(values + i * values_step * (int64_t)size, element, size);
        indices[i * indices_step] = index;
    }
}

static tern_status sort_lanes(const tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *values = &args->out[0], *indices = &args->out[1];
    const int axis = tern__sort_axis(args->attrs[0].i, x->type->rank);
    const bool descending = args->attrs[1].i != 0;
    const int64_t n = x->type->shape[axis], unit = (int64_t)tern__dtype_unit_bytes(x->type->dtype);
    word *words = args->scratch, *other = words + n;
    uint32_t *counts = (uint32_t *)(void *)(other + n);
    for (int64_t lane = begin; lane < end && n > 0; lane++) {
        const int64_t from = tern__sort_lane(x, axis, lane);
        make_words(x, from, x->strides[axis], n, descending, words);
        const word *sorted =
            n < FEWEST ? sort_by_merging(words, other, n) : sort_by_radix(words, other, n, counts);
        put_lane(x, from, x->strides[axis], sorted, n,
                 (char *)values->data + tern__sort_lane(values, axis, lane) * unit, values->strides[axis],
                 (int64_t *)indices->data + tern__sort_lane(indices, axis, lane), indices->strides[axis]);
    }
    return TERN_OK;
}

#endif
