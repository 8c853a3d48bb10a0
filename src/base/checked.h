/* checked.h - the one layer of size arithmetic. Every size that comes from a caller or a file passes here.
 *
 * Each function stores its result and returns true, or returns false and leaves the result untouched. */
#ifndef TERN_BASE_CHECKED_H
#define TERN_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool tern__size_add(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool tern__size_mul(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool tern__i64_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline bool tern__i64_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* Rounds up to a multiple of `unit`, a power of two. */
static inline bool tern__size_round_up(size_t size, size_t unit, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(size, unit - 1, &r))
        return false;
    *out = r & ~(unit - 1);
    return true;
}

/* i64 -> size_t, refusing negatives. */
static inline bool tern__size_from_i64(int64_t value, size_t *out)
{
    if (value < 0 || (uint64_t)value > SIZE_MAX)
        return false;
    *out = (size_t)value;
    return true;
}

/* Is [offset, offset + length) inside [0, total)? */
static inline bool tern__range_fits(uint64_t offset, uint64_t length, uint64_t total)
{
    return offset <= total && length <= total - offset;
}

#endif
