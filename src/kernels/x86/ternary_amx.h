/* ternary_amx.h - ternary products on the tiles of AMX, whatever the weights' decoding.
 *
 * A tile register has 16 rows of 64 bytes. tdpbssd multiplies 16 rows of x and 64 columns (a) with 64 columns and 16 rows of the
 * weights, quad by quad (b), and adds to 16 x 16 sums (c) modulo 2^32. Packed weights are in that order already: 16 quads, decoded
 * into planes of -1, 0 and +1, are one b for each plane, and sums come out as y wants them. A file defines PLANES (4 or 5), includes
 * this header's first half, defines
 *
 *     decode(packed)   64 packed bytes -> PLANES vectors of i8, the weights themselves
 *
 * and includes ternary_amx_loops.h. */
#ifndef TERN_KERNELS_X86_TERNARY_AMX_H
#define TERN_KERNELS_X86_TERNARY_AMX_H

#include <immintrin.h>
#include <string.h>

#include "kernels/select.h"
#include "kernels/ternary/scaled.h"

#define INLINE static inline __attribute__((always_inline))

/* One vector per plane; e is unused if there are four. Structs, because gcc keeps their members in registers. */
typedef struct planes {
    __m512i a, b, c, d, e;
} planes;

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

#endif
