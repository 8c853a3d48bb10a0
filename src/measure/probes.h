/* probes.h - loops that do nothing but use one part of the machine as hard as it can be used.
 *
 * They are kernels of their own: pure functions, one table for each instruction set, in files that are compiled for it
 * (x86/, arm/). Nothing here looks at the library's kernels, so that a mistake in those cannot hide in their limit. */
#ifndef TERN_MEASURE_PROBES_H
#define TERN_MEASURE_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

enum { TERN__LINE = 64 }; /* bytes; memory is given in lines */

/* Ways to read: X(streams, lines, ahead, block): streams side by side, so many lines of each in turn, bytes fetched ahead (0: the
 * hardware guesses), lines of a block that is finished before the next one (0: all is one block). Blocks are how packed
 * matrices are read, tile by tile. Many streams reach more than few (here 16 reach 1.2 times what one or two do): they keep
 * more pages of the memory open, and more of the prefetcher's trackers busy. */
/* clang-format off */
#define TERN__READ_LIST(X) \
    X(1, 4, 0, 0)          \
    X(1, 4, 4096, 0)       \
    X(4, 4, 2048, 0)       \
    X(8, 1, 1024, 0)       \
    X(16, 1, 512, 0)       \
    X(16, 1, 1024, 0)      \
    X(32, 1, 512, 0)       \
    X(8, 1, 1024, 640)     \
    X(16, 1, 512, 640)     \
    X(16, 1, 1024, 2560)

/* Ways to copy: X(places, streams, past, ahead): places that are copied in turns, streams of each that are read side by side for
 * one that is written; stores past the caches or not, bytes fetched ahead. Several streams are how operations with two operands
 * read, several places how programs of rows walk. */
#define TERN__COPY_LIST(X) \
    X(1, 1, 0, 0)          \
    X(1, 1, 0, 1024)       \
    X(1, 1, 1, 0)          \
    X(1, 1, 1, 512)        \
    X(1, 1, 1, 1024)       \
    X(1, 1, 1, 2048)       \
    X(1, 2, 1, 0)          \
    X(1, 2, 1, 1024)       \
    X(1, 2, 1, 4096)       \
    X(1, 4, 1, 1024)       \
    X(4, 1, 1, 1024)       \
    X(2, 2, 1, 1024)

enum {
#define TERN__COUNT_WAY(...) +1
    TERN__READ_WAYS = 0 TERN__READ_LIST(TERN__COUNT_WAY),
    TERN__COPY_WAYS = 0 TERN__COPY_LIST(TERN__COUNT_WAY),
#undef TERN__COUNT_WAY
};
/* clang-format on */

typedef struct tern__read_way {
    int streams, lines, ahead, block;
} tern__read_way;
typedef struct tern__copy_way {
    int places, streams, past, ahead;
} tern__copy_way;
extern const tern__read_way tern__read_ways[TERN__READ_WAYS];
extern const tern__copy_way tern__copy_ways[TERN__COPY_WAYS];

/* A piece of a copy: so many lines are read, so many written. */
typedef struct tern__copy_piece {
    int read, write;
} tern__copy_piece;

typedef struct tern__probes {
    /* `from` has `lines` lines at a multiple of 64 bytes; something that depends on all of them goes to *sink. */
    void (*read)(int way, const void *from, int64_t lines, uint64_t *sink);
    void (*copy)(int way, const void *from, void *to, tern__copy_piece piece, int64_t pieces, uint64_t *sink);
    /* Independent chains on registers; NULL where this set has no such instruction. */
    void (*fma)(int64_t repetitions);
    void (*dot)(int64_t repetitions);
    double fma_operations, dot_operations; /* of one repetition, two for each product */
} tern__probes;

/* The best that may be used, and runs here. */
const tern__probes *tern__probes_select(uint32_t isa_mask);

extern const tern__probes tern__probes__baseline;
#if defined(__x86_64__)
extern const tern__probes tern__probes__sse42, tern__probes__avx2, tern__probes__avxvnni,
    tern__probes__avx512, tern__probes__avx512vnni, tern__probes__amx;
#elif defined(__aarch64__)
extern const tern__probes tern__probes__neon, tern__probes__neondot;
#endif

#endif
