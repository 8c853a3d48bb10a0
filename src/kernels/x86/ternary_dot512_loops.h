/* ternary_dot512_loops.h - direct(), unpack() and multiply() of one file, after ternary_dot512.h,
 * decode() and settle().
 *
 * Each batch size is a function of its own, so that all sums live in registers: batch * PLANES of them,
 * at most 25, beside the planes and one broadcast quad of x. */
#ifndef TERN_KERNELS_X86_TERNARY_DOT512_LOOPS_H
#define TERN_KERNELS_X86_TERNARY_DOT512_LOOPS_H

enum {
    GROUP = PLANES == 4 ? 6 : 5, /* rows of x in one pass, at most */
    PAIRED = 8,                  /* and in two passes, some planes in each */
    DIRECT_QUADS = 16384,        /* 65,536 columns: how long sums that settle() divides may be */
};

#define TIMES_1(M) M(0)
#define TIMES_2(M) TIMES_1(M) M(1)
#define TIMES_3(M) TIMES_2(M) M(2)
#define TIMES_4(M) TIMES_3(M) M(3)
#define TIMES_5(M) TIMES_4(M) M(4)
#define TIMES_6(M) TIMES_5(M) M(5)
#define TIMES_7(M) TIMES_6(M) M(6)
#define TIMES_8(M) TIMES_7(M) M(7)
#define SUMS(i) planes sums##i = {0};
#define DOT(i) sums##i = dot(sums##i, w, x + i * call->x_stride);
#define PUT(i) put(call, i, settle(sums##i));

/* A loop over quads of `STEP` bytes, which WEIGHTS makes into planes, while later ones are prefetched. */
#define LOOP(NAME, N, STEP, HINT, WEIGHTS)                                \
    static void NAME##_##N(const tern__ternary_call *call)                \
    {                                                                     \
        const int8_t *x = call->x;                                        \
        const uint8_t *at = call->weights, *ahead = call->ahead;          \
        TIMES_##N(SUMS) for (int64_t q = 0; q < call->quads; q++, x += 4) \
        {                                                                 \
            _mm_prefetch((const char *)ahead, HINT);                      \
            ahead += call->ahead_step;                                    \
            const planes w = WEIGHTS(at);                                 \
            at += STEP;                                                   \
            TIMES_##N(DOT)                                                \
        }                                                                 \
        TIMES_##N(PUT)                                                    \
    }
#define DECODED(at) decode(_mm512_loadu_si512(at))

/* Two passes over the same weights, each of which prefetches half of what there is to prefetch. The first one is a function
 * of its own, and sums are variables: gcc copies, in the loop, what lives on after it, and members of structs that a loop
 * uses a part of. */
#define PASS(N, DOTS, AHEAD)                                                            \
    const int8_t *x = call->x;                                                          \
    const uint8_t *at = call->weights, *ahead = (AHEAD);                                \
    for (int64_t q = 0; q < call->quads; q++, x += 4, at += TERN__TERNARY_QUAD_BYTES) { \
        _mm_prefetch((const char *)ahead, _MM_HINT_T0);                                 \
        ahead += call->ahead_step / 2;                                                  \
        const planes w = DECODED(at);                                                   \
        TIMES_##N(DOTS)                                                                 \
    }
#define ADD_PRODUCTS(sum, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(quad));
#define SUMS_FIRST(i) __m512i a##i = _mm512_setzero_si512(), b##i = a##i;
#define SUMS_REST(i) __m512i c##i = _mm512_setzero_si512(), d##i = c##i, e##i = c##i;
#define DOT_FIRST(i)                                                 \
    {                                                                \
        const __m512i quad = broadcast_quad(x + i * call->x_stride); \
        ADD_PRODUCTS(a##i, w.a) ADD_PRODUCTS(b##i, w.b)              \
    }
#define DOT_REST(i)                                                                              \
    {                                                                                            \
        const __m512i quad = broadcast_quad(x + i * call->x_stride);                             \
        ADD_PRODUCTS(c##i, w.c) ADD_PRODUCTS(d##i, w.d) if (PLANES == 5) ADD_PRODUCTS(e##i, w.e) \
    }
#define KEEP_FIRST(i) first[i] = (planes){.a = a##i, .b = b##i};
#define PUT_PAIRED(i) put(call, i, settle((planes){first[i].a, first[i].b, c##i, d##i, e##i}));
#define DIRECT_PAIRED(N)                                                                           \
    static __attribute__((noinline)) void first_##N(const tern__ternary_call *call, planes *first) \
    {                                                                                              \
        TIMES_##N(SUMS_FIRST) PASS(N, DOT_FIRST, call->ahead) TIMES_##N(KEEP_FIRST)                \
    }                                                                                              \
    static void direct_##N(const tern__ternary_call *call)                                         \
    {                                                                                              \
        planes first[N];                                                                           \
        first_##N(call, first);                                                                    \
        TIMES_##N(SUMS_REST) PASS(N, DOT_REST, call->ahead + call->quads * (call->ahead_step / 2)) \
            TIMES_##N(PUT_PAIRED)                                                                  \
    }
#define DIRECT(N) LOOP(direct, N, TERN__TERNARY_QUAD_BYTES, _MM_HINT_T0, DECODED)
#define MULTIPLY(N) LOOP(multiply, N, PLANES * 64, _MM_HINT_T1, planes_load)

/* clang-format off */
DIRECT(2) DIRECT(3) DIRECT(4) DIRECT(5)
MULTIPLY(1) MULTIPLY(2) MULTIPLY(3) MULTIPLY(4) MULTIPLY(5)
#if PLANES == 4
DIRECT(6) MULTIPLY(6)
#else
DIRECT_PAIRED(6)
#endif
DIRECT_PAIRED(7) DIRECT_PAIRED(8)

/* A single row is bound by memory, which gives most to many streams: the tile is read as STREAMS runs of quads side by side,
 * and so is the next tile, which is fetched meanwhile. All add to the same sums, of which there are two sets, because one would
 * wait for itself. */
enum { STREAMS = 8 };

static void direct_1(const tern__ternary_call *call)
/* clang-format on */
{
    const int64_t run = call->quads / STREAMS, bytes = run * TERN__TERNARY_QUAD_BYTES;
    const int64_t ahead = call->quads * TERN__TERNARY_QUAD_BYTES;
    planes even = {0}, odd = {0};
    for (int64_t q = 0; q < run; q++) {
        const uint8_t *at = call->weights + q * TERN__TERNARY_QUAD_BYTES;
        const int8_t *x = call->x + 4 * q;
#pragma GCC unroll 4
        for (int s = 0; s < STREAMS; s += 2, at += 2 * bytes, x += 8 * run) {
            _mm_prefetch((const char *)at + ahead, _MM_HINT_T0);
            _mm_prefetch((const char *)at + bytes + ahead, _MM_HINT_T0);
            even = dot(even, DECODED(at), x);
            odd = dot(odd, DECODED(at + bytes), x + 4 * run);
        }
    }
    for (int64_t q = run * STREAMS; q < call->quads; q++)
        even = dot(even, DECODED(call->weights + q * TERN__TERNARY_QUAD_BYTES), call->x + 4 * q);
    put(call, 0, settle(plus(even, odd)));
}

static void direct(const tern__ternary_call *call)
{
    static void (*const by_batch[])(const tern__ternary_call *) = {
        direct_1, direct_2, direct_3, direct_4, direct_5, direct_6, direct_7, direct_8,
    };
    by_batch[call->batch - 1](call);
}

static void multiply(const tern__ternary_call *call)
{
    static void (*const by_batch[])(const tern__ternary_call *) = {
        multiply_1,
        multiply_2,
        multiply_3,
        multiply_4,
        multiply_5,
#if PLANES == 4
        multiply_6,
#endif
    };
    by_batch[call->batch - 1](call);
}

/* The panel: (quads, planes, 64) bytes. */
static void unpack(const uint8_t *packed, int64_t quads, uint8_t *panel)
{
    for (int64_t q = 0; q < quads; q++, packed += TERN__TERNARY_QUAD_BYTES, panel += PLANES * 64)
        planes_store(panel, DECODED(packed));
}

#endif
