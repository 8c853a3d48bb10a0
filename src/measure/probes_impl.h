/* probes_impl.h - reading and copying, written once with vectors of a line, which the compiler makes into those that the file
 * is compiled for. A file may define STORE_PAST(to, line), a store past the caches.
 *
 * Every row of the lists becomes a loop of its own, with its numbers as constants. */
#ifndef TERN_MEASURE_PROBES_IMPL_H
#define TERN_MEASURE_PROBES_IMPL_H

#include "measure/probes.h"

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t line __attribute__((vector_size(TERN__LINE), aligned(TERN__LINE)));

#ifndef STORE_PAST
#define STORE_PAST(to, value) (*(to) = (value))
#define FENCE() ((void)0)
#endif

INLINE uint64_t fold(const line *l)
{
    return (*l)[0] | (*l)[1] | (*l)[2] | (*l)[3] | (*l)[4] | (*l)[5] | (*l)[6] | (*l)[7];
}

/* Near the end of its part a stream prefetches for its part of the next block. */
INLINE void read_lines(const line *from, int64_t lines, int streams, int step, int ahead, int64_t block,
                       uint64_t *sink)
{
    const int64_t size = block ? block : lines, each = size / streams, turn = each - ahead / TERN__LINE;
    line sum[4] = {{0}};
    int64_t done = 0;
    for (; done + size <= lines && each > 0; done += size) {
        for (int64_t i = 0; i + step <= each; i += step) {
            const int64_t skip = block == 0 || i < turn ? 0 : size - each;
            const line *at = from + done + i;
#pragma GCC unroll 32
            for (int s = 0; s < streams; s++, at += each) {
#pragma GCC unroll 4
                for (int l = 0; l < step; l++) {
                    if (ahead > 0)
                        __builtin_prefetch((const char *)(at + l + skip) + ahead, 0, 3);
                    sum[(s + l) % 4] |= at[l];
                }
            }
        }
        /* What a stream has beyond whole steps, and lines that no stream has. */
        for (int64_t s = 0; s < streams; s++)
            for (int64_t i = each - each % step; i < each; i++)
                sum[0] |= from[done + s * each + i];
        for (int64_t i = each * streams; i < size; i++)
            sum[0] |= from[done + i];
    }
    for (; done < lines; done++)
        sum[0] |= from[done];
    sum[0] |= sum[1] | sum[2] | sum[3];
    *sink |= fold(&sum[0]);
}

static void read_by(int way, const void *from, int64_t lines, uint64_t *sink)
{
    int at = 0;
#define WAY(streams, step, ahead, block)                            \
    if (way == at++) {                                              \
        read_lines(from, lines, streams, step, ahead, block, sink); \
        return;                                                     \
    }
    TERN__READ_LIST(WAY)
#undef WAY
}

INLINE void put_line(line *to, const line *value, int past)
{
    if (past)
        STORE_PAST(to, *value);
    else
        *to = *value;
}

/* What a piece has to read and write, or an eighth of it where several places have their turns: lines of all streams, which begin
 * `apart` from each other, for a line that is written; what is to be written beyond that is written alone. */
INLINE void copy_turn(const line *from, int64_t apart, line *to, tern__copy_piece turn, int streams, int past,
                      int ahead, line *sum)
{
    const int both = turn.read < turn.write ? turn.read : turn.write;
    int i = 0;
#pragma GCC unroll 4
    for (; i < both; i++) {
        line x = from[i];
#pragma GCC unroll 4
        for (int s = 0; s < streams; s++) {
            if (ahead > 0)
                __builtin_prefetch((const char *)(from + s * apart + i) + ahead, 0, 3);
            x |= from[s * apart + i];
        }
        put_line(to + i, &x, past);
    }
    for (int r = i; r < turn.read; r++) {
#pragma GCC unroll 4
        for (int s = 0; s < streams; s++) {
            if (ahead > 0)
                __builtin_prefetch((const char *)(from + s * apart + r) + ahead, 0, 3);
            *sum |= from[s * apart + r];
        }
    }
    for (int w = i; w < turn.write; w++)
        put_line(to + w, sum, past);
}

/* Streams are the halves, or quarters, of what is read; lines that are in none come last. */
INLINE void copy_lines(const line *from, line *to, tern__copy_piece piece, int64_t pieces, int places,
                       int streams, int past, int ahead, uint64_t *sink)
{
    const int turns = places > 1 && piece.read % (8 * streams) == 0 && piece.write % 8 == 0 ? 8 : 1;
    const tern__copy_piece turn = {piece.read / streams / turns, piece.write / turns};
    const int64_t all = pieces * turns, each = all / places, apart = turn.read * all;
    line sum = {0};
    for (int64_t p = 0; p < each; p++)
        for (int64_t at = p; at < each * places; at += each)
            copy_turn(from + at * turn.read, apart, to + at * turn.write, turn, streams, past, ahead, &sum);
    for (int64_t at = each * places; at < all; at++)
        copy_turn(from + at * turn.read, apart, to + at * turn.write, turn, streams, past, ahead, &sum);
    for (int64_t l = 0; l < piece.read % streams * pieces; l++)
        sum |= from[streams * apart + l];
    if (past)
        FENCE();
    *sink |= fold(&sum);
}

static void copy_by(int way, const void *from, void *to, tern__copy_piece piece, int64_t pieces,
                    uint64_t *sink)
{
    int at = 0;
#define WAY(places, streams, past, ahead)                                        \
    if (way == at++) {                                                           \
        copy_lines(from, to, piece, pieces, places, streams, past, ahead, sink); \
        return;                                                                  \
    }
    TERN__COPY_LIST(WAY)
#undef WAY
}

/* `clear` and `step` are instructions for chain \n; they use registers 14 and 15 as factors, 13 as they like. Registers are
 * zeroed first: what they hold might be slow numbers. */
#define CHAINS_12 "0,1,2,3,4,5,6,7,8,9,10,11"
#define CHAINS_24 CHAINS_12 ",16,17,18,19,20,21,22,23,24,25,26,27"
#define PEAK(name, chains, clear, step, count, branch, ...)                               \
    static void name(int64_t repetitions)                                                 \
    {                                                                                     \
        __asm__ volatile(".irp n," chains ",13,14,15\n\t" clear "\n\t.endr\n1:\n\t"       \
                         ".irp n," chains "\n\t" step "\n\t.endr\n\t" count "\n\t" branch \
                         : "+r"(repetitions)                                              \
                         :                                                                \
                         : "cc", __VA_ARGS__);                                            \
    }

#endif
