/* ternary_amx.h - ternary products on the tiles of AMX, whatever the weights' decoding. A file defines PLANES (4 or 5),
 *
 *     decode(packed, plane)   64 packed bytes -> 64 weights of a plane from 1 on: -1, 0 or +1
 *     places[PLANES]          what the code of a plane counts in a packed byte: 1 for plane 0
 *
 * and includes this header, which defines whole().
 *
 * A tile register has 16 rows of 64 bytes. tdpbssd multiplies 16 rows of x, 64 columns of them (a), with the same columns of 16 rows
 * of weights, quad by quad (b), and adds to 16 x 16 sums (c) modulo 2^32. Packed weights are in that order: 16 quads of a plane, decoded,
 * are one b, and sums come out as y wants them.
 *
 * What decoded planes cost is to be stored and loaded again. So plane 0 is not decoded: packed bytes, as they lie in memory, are a b
 * too, of u8 (tdpbsud), and their sums are those of all planes together, from which plane 0 is what the others leave:
 *
 *     sum(byte * x) = sum over planes of place * (sum(weight * x) + sum(x))
 *
 * 16 rows of x take a tile of weights in one go, so that sums stay in registers. Weights are decoded again for the next 16 rows:
 * one core decodes while it multiplies, and what is decoded once for all rows has to be stored and loaded through caches that are
 * slower than that. Rows of x that are no 16 any more are the last 16 of all, of which the first ones have been multiplied already: their
 * sums are dropped. */
#ifndef TERN_KERNELS_X86_TERNARY_AMX_H
#define TERN_KERNELS_X86_TERNARY_AMX_H

#include <immintrin.h>
#include <string.h>

#include "kernels/ternary/ternary.h"
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
#define TILE_MULTIPLY_BYTES(c, a, b) __asm__ volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

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
    HALF = SIDE / 2,   /* quads that are decoded between two tiles that are multiplied */
    TILE_BYTES = 1024, /* of a tile register */
    STEP_BYTES = SIDE * TERN__TERNARY_QUAD_BYTES,
    RING = 3,              /* steps that are decoded; so many less one ahead of the one that is multiplied */
    SLOT = 4 * TILE_BYTES, /* of one of them: a page */
    RUNS = 8,              /* of steps, read side by side: memory gives most to several streams */
};

INLINE int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A bit for each of the n next rows of weights, of 16. */
INLINE __mmask16 lanes(int64_t n)
{
    return (__mmask16)(n >= SIDE ? 0xffff : n <= 0 ? 0 : (1 << n) - 1);
}

/* Decodes quad q of planes p and p + 1, if there is one, to where tiles are loaded from. */
INLINE void decode_quad(const uint8_t *packed, const int p, int64_t q, uint8_t *slot)
{
    const __m512i line = _mm512_loadu_si512(packed + 64 * q);
    uint8_t *to = slot + (p - 1) * TILE_BYTES + 64 * q;
    _mm512_store_si512(to, decode(line, p));
    if (p + 1 < PLANES)
        _mm512_store_si512(to + TILE_BYTES, decode(line, p + 1));
}

/* A whole step, of which only some quads may exist: the others are zeros. */
static void decode_step(const uint8_t *packed, int64_t quads, uint8_t *slot)
{
    if (quads < SIDE)
        memset(slot, 0, SLOT);
    for (int64_t q = 0; q < smaller(quads, SIDE); q++) {
        decode_quad(packed, 1, q, slot);
        decode_quad(packed, 3, q, slot);
    }
}

/* What is done for later steps while one is multiplied; each may be NULL. */
typedef struct later {
    const uint8_t *packed; /* of a step that is decoded into `slot` */
    uint8_t *slot;
    const uint8_t *soon; /* of the step behind it: to be fetched into the first-level cache */
    const uint8_t *far;  /* of the next tile: likewise, into the second-level cache */
} later;

/* A quarter of it: half of the quads of two planes. Fetched in one go, lines that are on their way from memory would take all places
 * of those that wait in the second-level cache, tiles of x and packed quads. */
INLINE void do_later(const later *o, const int p, const int from)
{
    const int fetched = (p == 1 ? HALF : 0) + from / 2;
    if (o->far) {
#pragma GCC unroll 4
        for (int q = fetched; q < fetched + HALF / 2; q++)
            _mm_prefetch((const char *)o->far + 64 * q, _MM_HINT_T1);
    }
    if (o->soon) {
#pragma GCC unroll 4
        for (int q = fetched; q < fetched + HALF / 2; q++)
            _mm_prefetch((const char *)o->soon + 64 * q, _MM_HINT_T0);
    }
    if (o->packed) {
#pragma GCC unroll 8
        for (int q = from; q < from + HALF; q++)
            decode_quad(o->packed, p, q, o->slot);
    }
}

/* A tile of weights times up to 16 rows of x. */
typedef struct tile_job {
    const tern__ternary_whole *all;
    const uint8_t *packed;
    const int8_t *x;
    const int8_t *sums; /* of the rows of x */
    int32_t *y;
    int64_t rows;       /* of weights that exist */
    int skip;           /* rows of x whose sums are not wanted */
    const uint8_t *far; /* the packed tile that is read next and is to be fetched, or NULL */
} tile_job;

#define TIMES_PLANE(p, b)                                 \
    {                                                     \
        TILE_LOAD(b, w + ((p)-1) * TILE_BYTES, w_stride); \
        TILE_MULTIPLY(p, 7, b);                           \
    }

/* Sums as they are become sums of weights, row by row, those of y that are wanted. */
static void put(const tile_job *job, int32_t room[PLANES][SIDE * SIDE])
{
    const int64_t end = smaller(job->all->batch, SIDE);
    int bias = 0;
    for (int p = 0; p < PLANES; p++)
        bias += places[p];
    for (int64_t i = job->skip; i < end; i++) {
        int32_t sum, *y = job->y + i * job->all->y_stride;
        memcpy(&sum, job->sums + i * job->all->sums_stride, sizeof sum);
        __m512i first = _mm512_sub_epi32(_mm512_load_si512(room[0] + SIDE * i),
                                         _mm512_mullo_epi32(_mm512_set1_epi32(sum), _mm512_set1_epi32(bias)));
#pragma GCC unroll 4
        for (int p = 1; p < PLANES; p++) {
            const __m512i sums = _mm512_load_si512(room[p] + SIDE * i);
            const int64_t n = job->rows - SIDE * p;
            first = _mm512_sub_epi32(first, _mm512_mullo_epi32(sums, _mm512_set1_epi32(places[p])));
            _mm512_mask_storeu_epi32(y + SIDE * p, lanes(n), sums);
        }
        _mm512_mask_storeu_epi32(y, lanes(job->rows), first);
    }
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
    _Alignas(64) int32_t room[PLANES][SIDE * SIDE];
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    if (PLANES == 5)
        TILE_ZERO(4);
    for (int64_t i = 0; i < smaller(steps, RING - 1); i++) {
        const int64_t s = step_of(i, run);
        decode_step(job->packed + s * STEP_BYTES, quads - s * SIDE, ring + i * SLOT);
    }
    for (int64_t i = 0; i < steps; i++) {
        const int64_t now = step_of(i, run), next = step_of(i + RING - 1, run);
        const uint8_t *w = ring + i % RING * SLOT, *bytes = job->packed + now * STEP_BYTES;
        later o = {.packed = i + RING - 1 < steps ? job->packed + next * STEP_BYTES : NULL,
                   .slot = ring + (i + RING - 1) % RING * SLOT,
                   .far = job->far ? job->far + now * STEP_BYTES : NULL};
        if (o.far && i + RING < steps)
            o.soon = job->packed + step_of(i + RING, run) * STEP_BYTES;
        if (o.packed && quads - next * SIDE < SIDE) {
            decode_step(o.packed, quads - next * SIDE, o.slot);
            o.packed = NULL;
        }
        if (quads - now * SIDE < SIDE) {
            memset(room, 0, TILE_BYTES);
            memcpy(room, bytes, (size_t)(quads - now * SIDE) * TERN__TERNARY_QUAD_BYTES);
            bytes = (const uint8_t *)room;
        }
        /* A load waits for stores on their way to the same place of any page. So what is decoded are other planes than those that
         * are loaded meanwhile. */
        TILE_LOAD(7, job->x + now * 64, x_stride);
        do_later(&o, 3, 0);
        TILE_LOAD(5, bytes, w_stride);
        TILE_MULTIPLY_BYTES(0, 7, 5);
        do_later(&o, 3, HALF);
        TIMES_PLANE(1, 6)
        TIMES_PLANE(2, 5)
        do_later(&o, 1, 0);
        TIMES_PLANE(3, 6)
        do_later(&o, 1, HALF);
        if (PLANES == 5)
            TIMES_PLANE(4, 5)
    }
    TILE_STORE(0, room[0], w_stride);
    TILE_STORE(1, room[1], w_stride);
    TILE_STORE(2, room[2], w_stride);
    TILE_STORE(3, room[3], w_stride);
    if (PLANES == 5)
        TILE_STORE(4, room[PLANES - 1], w_stride);
    put(job, room);
}

static void whole(const tern__ternary_whole *all)
{
    const int64_t tile_rows = SIDE * PLANES, tile_bytes = TERN__TERNARY_QUAD_BYTES * all->quads;
    shape_tiles((int)smaller(all->batch, SIDE));
    for (int64_t tile = 0; tile < all->tiles; tile++) {
        const uint8_t *packed = all->weights + tile * tile_bytes;
        for (int64_t row = 0; row < all->batch; row += SIDE) {
            const int64_t start = smaller(row, all->batch > SIDE ? all->batch - SIDE : 0);
            const tile_job job = {.all = all,
                                  .packed = packed,
                                  .far = row > 0                               ? NULL
                                         : tile + 1 < all->tiles || !all->next ? packed + tile_bytes
                                                                               : all->next,
                                  .x = all->x + start * all->x_stride,
                                  .sums = all->sums + start * all->sums_stride,
                                  .y = all->y + start * all->y_stride + tile * tile_rows,
                                  .skip = (int)(row - start),
                                  .rows = smaller(all->rows - tile * tile_rows, tile_rows)};
            multiply_at_once(&job, all->scratch);
        }
    }
    release_tiles();
}

/* Sums of rows of x that are not prepared, whose columns are whole lines. */
static void sum_rows(const int8_t *x, int64_t x_stride, int64_t batch, int64_t columns, int32_t *sums)
{
    for (int64_t i = 0; i < batch; i++) {
        __m512i sum = _mm512_setzero_si512();
        for (int64_t c = 0; c < columns; c += 64)
            sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_loadu_si512(x + i * x_stride + c));
        sums[i] = _mm512_reduce_add_epi32(sum);
    }
}

#endif
