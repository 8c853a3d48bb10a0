/* ternary_amx.h - ternary products on the tiles of AMX, whatever the weights' decoding. A file defines PLANES (4 or 5) and
 *
 *     decode(packed, plane)   64 packed bytes -> 64 weights of a plane: -1, 0 or +1
 *
 * and includes this header, which defines whole().
 *
 * A tile register has 16 rows of 64 bytes. tdpbssd multiplies 16 rows of x, 64 columns of them (a), with the same columns of 16 rows
 * of weights, quad by quad (b), and adds to 16 x 16 sums (c) modulo 2^32. Packed weights are in that order: 16 quads of a plane, decoded,
 * are one b, and sums come out as y wants them. Weights are signed, so nothing has to be taken off the sums.
 *
 * 16 rows of x take a tile of weights in one go, so that sums stay in registers. Weights are decoded again for the next 16 rows:
 * one core decodes while it multiplies, and what is decoded once for all rows has to be stored and loaded through caches that are
 * slower than that. Rows of x that are no 16 any more are the last 16 of all, of which the first ones have been multiplied already: their
 * sums are dropped. */
#ifndef TERN_KERNELS_X86_TERNARY_AMX_H
#define TERN_KERNELS_X86_TERNARY_AMX_H

#include <immintrin.h>
#include <string.h>

#include "kernels/select.h"
#include "kernels/ternary/scaled.h"

#define INLINE static inline __attribute__((always_inline))

/* As instructions, not intrinsics: gcc's say nothing about the memory that they read and write, and it moves stores past them. */
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::)
#define TILE_LOAD(t, at, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(at), "r"(stride) : "memory")
#define TILE_STORE(t, at, stride) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(at), "r"(stride) : "memory")
#define TILE_MULTIPLY(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

/* What ldtilecfg reads. */
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes;
_Static_assert(sizeof(tile_shapes) == 64, "the processor says so");

/* Tiles 5 and 6 are b; the others, a and c, have `rows` rows. */
INLINE void shape_tiles(int rows)
{
    tile_shapes s = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        s.row_bytes[t] = 64;
        s.rows[t] = (uint8_t)(t == 5 || t == 6 ? 16 : rows);
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(s));
}

/* Back to where a switch of threads need not save them. */
INLINE void release_tiles(void)
{
    __asm__ volatile("tilerelease" ::);
}

enum {
    SIDE = 16,         /* rows of a tile register, and quads of a step */
    TILE_BYTES = 1024, /* of a tile register */
    STEP_BYTES = SIDE * TERN__TERNARY_QUAD_BYTES,
    RING = 4,  /* steps that are decoded; so many less one ahead of the one that is multiplied */
    RUNS = 8,  /* of steps, read side by side: memory gives most to several streams */
    APART = 2, /* planes between the one that is decoded and the one that is loaded, see TIMES_PLANE */
};

INLINE int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Decodes plane p of up to 16 quads into a tile; quads that are missing are zeros. */
INLINE void unpack_plane(const uint8_t *packed, int64_t quads, const int p, uint8_t *to)
{
    if (quads >= SIDE) {
#pragma GCC unroll 16
        for (int q = 0; q < SIDE; q++)
            _mm512_store_si512(to + 64 * q, decode(_mm512_loadu_si512(packed + 64 * q), p));
        return;
    }
    for (int64_t q = 0; q < SIDE; q++)
        _mm512_store_si512(to + 64 * q, q < quads ? decode(_mm512_loadu_si512(packed + 64 * q), p)
                                                  : _mm512_setzero_si512());
}

/* A tile of weights times up to 16 rows of x. */
typedef struct tile_job {
    const tern__ternary_whole *all;
    const uint8_t *packed;
    const int8_t *x;
    int32_t *y;
    int64_t rows; /* of weights that exist */
    int skip;     /* rows of x whose sums are not wanted */
    bool first;   /* for this tile: what follows is to be fetched */
} tile_job;

/* A load waits for stores on their way to the same place of any page. So what is decoded for a later step, a page or so ahead, is another
 * plane than the one that is loaded. */
#define TIMES_PLANE(p, b)                                                                                 \
    {                                                                                                     \
        if (more)                                                                                         \
            unpack_plane(packed, left, ((p) + APART) % PLANES, to + ((p) + APART) % PLANES * TILE_BYTES); \
        TILE_LOAD(b, w + (p)*TILE_BYTES, w_stride);                                                       \
        TILE_MULTIPLY(p, 7, b);                                                                           \
    }
#define STORE_PLANE(p)                                                         \
    if (SIDE * (p) < job->rows) {                                              \
        const bool straight = job->skip == 0 && job->rows >= SIDE * ((p) + 1); \
        int32_t *at = straight ? job->y + SIDE * (p) : room;                   \
        TILE_STORE(p, at, straight ? y_stride : (int64_t)sizeof *room *SIDE);  \
        if (!straight)                                                         \
            put(job, p, room);                                                 \
    }

/* Sums of which some are no part of y. */
static void put(const tile_job *job, int p, const int32_t *room)
{
    const int64_t end = smaller(job->all->batch, SIDE);
    for (int64_t i = job->skip; i < end; i++)
        memcpy(job->y + i * job->all->y_stride + SIDE * p, room + SIDE * i,
               (size_t)smaller(job->rows - SIDE * p, SIDE) * sizeof *room);
}

/* The order of steps: one of each run, then of each run the next; those that are left at the end. */
INLINE int64_t step_of(int64_t i, int64_t run)
{
    return i < run * RUNS ? i % RUNS * run + i / RUNS : i;
}

static void multiply_at_once(const tile_job *job, uint8_t *ring)
{
    const int64_t quads = job->all->quads, steps = (quads + SIDE - 1) / SIDE, run = steps / RUNS;
    const int64_t x_stride = job->all->x_stride, w_stride = 64;
    const int64_t y_stride = job->all->y_stride * (int64_t)sizeof *job->y;
    _Alignas(64) int32_t room[SIDE * SIDE];
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    if (PLANES == 5)
        TILE_ZERO(4);
    for (int64_t i = 0; i < smaller(steps, RING - 1); i++)
        for (int p = 0; p < PLANES; p++)
            unpack_plane(job->packed + step_of(i, run) * STEP_BYTES, quads - step_of(i, run) * SIDE, p,
                         ring + (i * PLANES + p) * TILE_BYTES);
    for (int64_t i = 0; i < steps; i++) {
        const bool more = i + RING - 1 < steps;
        const int64_t s = step_of(i + RING - 1, run), left = quads - s * SIDE;
        const uint8_t *packed = job->packed + s * STEP_BYTES;
        uint8_t *to = ring + (i + RING - 1) % RING * PLANES * TILE_BYTES;
        const uint8_t *w = ring + i % RING * PLANES * TILE_BYTES;
        if (job->first)
            for (int q = 0; q < SIDE; q++)
                _mm_prefetch((const char *)packed + (quads + q) * 64, _MM_HINT_T1);
        TILE_LOAD(7, job->x + step_of(i, run) * 64, x_stride);
        TIMES_PLANE(0, 5)
        TIMES_PLANE(1, 6)
        TIMES_PLANE(2, 5)
        TIMES_PLANE(3, 6)
        if (PLANES == 5)
            TIMES_PLANE(4, 5)
    }
    STORE_PLANE(0)
    STORE_PLANE(1)
    STORE_PLANE(2)
    STORE_PLANE(3)
    if (PLANES == 5)
        STORE_PLANE(4)
}

static void whole(const tern__ternary_whole *all)
{
    const int64_t tile_rows = SIDE * PLANES;
    shape_tiles((int)smaller(all->batch, SIDE));
    for (int64_t tile = 0; tile < all->tiles; tile++)
        for (int64_t row = 0; row < all->batch; row += SIDE) {
            const int64_t start = smaller(row, all->batch > SIDE ? all->batch - SIDE : 0);
            const tile_job job = {.all = all,
                                  .packed = all->weights + tile * TERN__TERNARY_QUAD_BYTES * all->quads,
                                  .x = all->x + start * all->x_stride,
                                  .y = all->y + start * all->y_stride + tile * tile_rows,
                                  .skip = (int)(row - start),
                                  .first = row == 0,
                                  .rows = smaller(all->rows - tile * tile_rows, tile_rows)};
            multiply_at_once(&job, all->scratch);
        }
    release_tiles();
}

#endif
