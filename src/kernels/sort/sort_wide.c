/* sort_wide.c - lanes of 64-bit elements: a word is the key and, beside it, the index. */
#include "kernels/sort/sort.h"

#include "base/checked.h"
#include "kernels/sort/words.h"

typedef tern__wide_word word;
enum { DIGITS = TERN__SORT_DIGITS_WIDE };

static inline uint32_t digit_of(word w, int digit)
{
    return (uint32_t)(w.key >> (TERN__SORT_DIGIT * digit)) & (TERN__SORT_BUCKETS - 1u);
}

static inline bool comes_after(word a, word b)
{
    return a.key > b.key;
}

static inline int64_t index_of(word w)
{
    return w.index;
}

static void make_words(const tern__buffer *x, int64_t from, int64_t step, int64_t n, bool descending,
                       word *words)
{
    if (x->type->dtype == TERN_F64) {
        for (int64_t i = 0; i < n; i++)
            words[i] = (word){tern__key_of_f64(((const double *)x->data)[from + i * step], descending), i};
    } else {
        for (int64_t i = 0; i < n; i++)
            words[i] = (word){tern__key_of_i64(((const int64_t *)x->data)[from + i * step], descending), i};
    }
}

#include "kernels/sort/radix_impl.h"

TERN__KERNEL(sort__radix_wide)
{
    return sort_lanes(args, begin, end);
}

bool tern__sort_is_wide(tern_dtype dtype)
{
    return dtype == TERN_F64 || dtype == TERN_I64;
}

bool tern__sort_scratch(const tern__type *x, int axis, size_t *bytes)
{
    const bool wide = tern__sort_is_wide(x->dtype);
    const size_t digits = wide ? TERN__SORT_DIGITS_WIDE : TERN__SORT_DIGITS;
    size_t n;
    return !tern__dtype_is_packed(x->dtype) && x->rank > 0 && x->shape[axis] < INT32_MAX &&
           tern__size_from_i64(x->shape[axis], &n) &&
           tern__size_mul(n, 2 * (wide ? sizeof(word) : sizeof(uint64_t)), &n) &&
           tern__size_add(n, digits * TERN__SORT_BUCKETS * sizeof(uint32_t), bytes);
}
