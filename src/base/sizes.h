/* sizes.h - what cutting work into pieces is made of. For sizes of the program's own; those from outside go through checked.h. */
#ifndef TERN_BASE_SIZES_H
#define TERN_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t tern__smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tern__larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Parts of at most `most` that n is cut into. */
static inline int64_t tern__parts_of(int64_t n, int64_t most)
{
    return (n + most - 1) / most;
}

/* Bytes of as many whole lines of the cache as hold so many. */
static inline size_t tern__whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

#endif
