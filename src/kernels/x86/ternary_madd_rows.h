/* ternary_madd_rows.h - several rows of x at a time, behind the vectors of ternary_madd.h: multiply_rows() for a panel of codes,
 * direct_rows() for packed weights of form 4.
 *
 * A pass multiplies two vectors of each quad with up to 6 rows of x: 12 registers of sums, two of weights, one for a quad of x
 * and one for its products, which are the 16 that there are. The products of a row are instructions, not intrinsics: gcc 12 copies
 * sums between registers (one move for two products) and spills them from 4 rows on. */
#ifndef TERN_KERNELS_X86_TERNARY_MADD_ROWS_H
#define TERN_KERNELS_X86_TERNARY_MADD_ROWS_H

/* %0, %1: sums; %2, %3: free; %4, %5: vectors of codes; %6: a quad of x. */
#if DOTS
#define ROW_OF_TWO                    \
    "vpbroadcastd %6, %2\n\t"         \
    "%{vex%} vpdpbusd %2, %4, %0\n\t" \
    "%{vex%} vpdpbusd %2, %5, %1"
#elif WIDTH == 16
#define ROW_OF_TWO          \
    "movd %6, %2\n\t"       \
    "pshufd $0, %2, %2\n\t" \
    "movdqa %4, %3\n\t"     \
    "pmaddubsw %2, %3\n\t"  \
    "paddw %3, %0\n\t"      \
    "movdqa %5, %3\n\t"     \
    "pmaddubsw %2, %3\n\t"  \
    "paddw %3, %1"
#else
#define ROW_OF_TWO              \
    "vpbroadcastd %6, %2\n\t"   \
    "vpmaddubsw %2, %4, %3\n\t" \
    "vpmaddubsw %2, %5, %2\n\t" \
    "vpaddw %3, %0, %0\n\t"     \
    "vpaddw %2, %1, %1"
#endif

#define TIMES_1(M) M(0)
#define TIMES_2(M) TIMES_1(M) M(1)
#define TIMES_3(M) TIMES_2(M) M(2)
#define TIMES_4(M) TIMES_3(M) M(3)
#define TIMES_5(M) TIMES_4(M) M(4)
#define TIMES_6(M) TIMES_5(M) M(5)
#define SUMS(i) vec a##i = VB(setzero)(), b##i = a##i;
#define ROW(i)                                                                              \
    {                                                                                       \
        vec quad, products;                                                                 \
        __asm__(ROW_OF_TWO                                                                  \
                : "+v"(a##i), "+v"(b##i), "=&v"(quad), "=&v"(products)                      \
                : "v"(first), "v"(second), "m"(*(const int8_t(*)[4])(row + i * x_stride))); \
    }
#define PUT(i)                  \
    put(call, i, vector, a##i); \
    put(call, i, vector + 1, b##i);

/* One pass over the quads, `step` bytes apart; FIRST and SECOND are the codes of vectors `vector` and `vector` + 1 of the quad
 * `at`. FETCH is done for every two quads. */
#define PASS(N, FIRST, SECOND, FETCH)                                                    \
    {                                                                                    \
        const int64_t x_stride = call->x_stride;                                         \
        const uint8_t *at = call->weights, *const end = at + call->quads / 2 * 2 * step; \
        const int8_t *row = call->x;                                                     \
        TIMES_##N(SUMS) while (at < end)                                                 \
        {                                                                                \
            FETCH;                                                                       \
            QUAD(N, FIRST, SECOND)                                                       \
            QUAD(N, FIRST, SECOND)                                                       \
        }                                                                                \
        if (call->quads % 2 != 0)                                                        \
            QUAD(N, FIRST, SECOND)                                                       \
        TIMES_##N(PUT)                                                                   \
    }
#define QUAD(N, FIRST, SECOND)                    \
    {                                             \
        const vec first = FIRST, second = SECOND; \
        TIMES_##N(ROW) at += step, row += 4;      \
    }

/* ---- panels ---- */

typedef void panel_pass(const tern__ternary_call *call, int vector, int step);

#define FROM_PANEL(N)                                                                                     \
    static __attribute__((noinline)) void panel_##N(const tern__ternary_call *call, int vector, int step) \
        PASS(N, load(at + vector * WIDTH), load(at + vector * WIDTH + WIDTH), (void)0)

/* clang-format off */
FROM_PANEL(1) FROM_PANEL(2) FROM_PANEL(3) FROM_PANEL(4) FROM_PANEL(5) FROM_PANEL(6)
static panel_pass *const panel_pairs[] = {panel_1, panel_2, panel_3, panel_4, panel_5, panel_6};
/* clang-format on */

#if WIDTH == 64
/* The fifth plane of form 5 is a vector without a neighbour here. */
#define SUM(i) vec a##i = VB(setzero)();
#define ROW_OF_ONE(i) a##i = add_products(a##i, w, broadcast_quad(row + i * call->x_stride));
#define PUT_ONE(i) put(call, i, vector, a##i);
#define LAST(N)                                                                                          \
    static __attribute__((noinline)) void last_##N(const tern__ternary_call *call, int vector, int step) \
    {                                                                                                    \
        const int8_t *row = call->x, *const end = row + 4 * call->quads;                                 \
        const uint8_t *at = call->weights + vector * WIDTH;                                              \
        TIMES_##N(SUM) for (; row < end; row += 4, at += step)                                           \
        {                                                                                                \
            const vec w = load(at);                                                                      \
            TIMES_##N(ROW_OF_ONE)                                                                        \
        }                                                                                                \
        TIMES_##N(PUT_ONE)                                                                               \
    }
/* clang-format off */
LAST(1) LAST(2) LAST(3) LAST(4) LAST(5) LAST(6)
static panel_pass *const panel_last[] = {last_1, last_2, last_3, last_4, last_5, last_6};
/* clang-format on */
#endif

INLINE void multiply_rows(const tern__ternary_call *call, int planes_count)
{
    const int vectors = planes_count * PER_QUAD, step = planes_count * 64;
    /* Only the first groups of rows have something to fetch. */
    for (int64_t q = 0; q < call->quads && call->ahead_step > 0; q++)
        _mm_prefetch((const char *)call->ahead + q * call->ahead_step, _MM_HINT_T1);
    for (int v = 0; v + 2 <= vectors; v += 2)
        panel_pairs[call->batch - 1](call, v, step);
#if WIDTH == 64
    if (vectors % 2 != 0)
        panel_last[call->batch - 1](call, vectors - 1, step);
#endif
}

/* ---- packed weights of form 4 ----
 *
 * The quads of a call stay in the first-level cache for all passes, each of which fetches its part of what comes next. */

enum { PASSES_4 = 4 * PER_QUAD / 2 };

typedef void direct_pass(const tern__ternary_call *call);

/* Vectors are counted plane by plane, as in a panel. */
#define CODES_4(V) plane_4(load(at + (V) % PER_QUAD * WIDTH), (V) / PER_QUAD)
#define DIRECT_PASS(N, P)                                                                  \
    static __attribute__((noinline)) void direct_##N##_##P(const tern__ternary_call *call) \
    {                                                                                      \
        enum { step = TERN__TERNARY_QUAD_BYTES, vector = 2 * P };                          \
        const int64_t part = 2 * call->ahead_step / PASSES_4;                              \
        const uint8_t *ahead = call->ahead + P * (call->quads / 2) * part;                 \
        PASS(N, CODES_4(vector), CODES_4(vector + 1),                                      \
             (_mm_prefetch((const char *)ahead, _MM_HINT_T0), ahead += part))              \
    }
/* clang-format off */
#define DIRECT_2(N) DIRECT_PASS(N, 0) DIRECT_PASS(N, 1)
#define DIRECT_4(N) DIRECT_2(N) DIRECT_PASS(N, 2) DIRECT_PASS(N, 3)
#define DIRECT_8(N) DIRECT_4(N) DIRECT_PASS(N, 4) DIRECT_PASS(N, 5) DIRECT_PASS(N, 6) DIRECT_PASS(N, 7)
#define PASSES_OF_2(N) direct_##N##_0, direct_##N##_1
#define PASSES_OF_4(N) PASSES_OF_2(N), direct_##N##_2, direct_##N##_3
#define PASSES_OF_8(N) PASSES_OF_4(N), direct_##N##_4, direct_##N##_5, direct_##N##_6, direct_##N##_7
#if WIDTH == 16
#define DIRECT DIRECT_8
#define PASSES_OF PASSES_OF_8
#elif WIDTH == 32
#define DIRECT DIRECT_4
#define PASSES_OF PASSES_OF_4
#else
#define DIRECT DIRECT_2
#define PASSES_OF PASSES_OF_2
#endif
DIRECT(2) DIRECT(3) DIRECT(4) DIRECT(5) DIRECT(6)
static direct_pass *const direct_passes[GROUP - 1][PASSES_4] = {
    {PASSES_OF(2)}, {PASSES_OF(3)}, {PASSES_OF(4)}, {PASSES_OF(5)}, {PASSES_OF(6)}};
/* clang-format on */

/* 2 to GROUP rows of x, at most QUADS quads. */
INLINE void direct_run(const tern__ternary_call *call)
{
    for (int p = 0; p < PASSES_4; p++)
        direct_passes[call->batch - 2][p](call);
}

/* Dot products could go on beyond QUADS, but not in the first-level cache. */
static void direct_rows(const tern__ternary_call *call)
{
    if (call->quads <= QUADS) {
        direct_run(call);
        return;
    }
    tern__ternary_call part = *call;
    for (int64_t q = 0; q < call->quads; q += QUADS) {
        part.quads = call->quads - q < QUADS ? call->quads - q : QUADS;
        direct_run(&part);
        part.weights += TERN__TERNARY_QUAD_BYTES * QUADS;
        part.ahead += call->ahead_step * QUADS;
        part.x += 4 * QUADS;
        part.add = true;
    }
}

#endif
