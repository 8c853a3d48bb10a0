/* ternary_dot512_loops.h - direct(), unpack() and multiply() of one file, after ternary_dot512.h,
 * decode() and settle().
 *
 * Each batch size is a function of its own, so that all sums live in registers: batch * PLANES of them,
 * at most 25, beside the planes and one broadcast quad of x. */
#ifndef TERN_KERNELS_X86_TERNARY_DOT512_LOOPS_H
#define TERN_KERNELS_X86_TERNARY_DOT512_LOOPS_H

enum {
    GROUP = PLANES == 4 ? 6 : 5, /* rows of x in one call, at most */
    DIRECT_QUADS = 16384,        /* 65,536 columns: how long sums that settle() divides may be */
};

#define TIMES_1(M) M(0)
#define TIMES_2(M) TIMES_1(M) M(1)
#define TIMES_3(M) TIMES_2(M) M(2)
#define TIMES_4(M) TIMES_3(M) M(3)
#define TIMES_5(M) TIMES_4(M) M(4)
#define TIMES_6(M) TIMES_5(M) M(5)
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
#define DIRECT(N) LOOP(direct, N, TERN__TERNARY_QUAD_BYTES, _MM_HINT_T0, DECODED)
#define MULTIPLY(N) LOOP(multiply, N, PLANES * 64, _MM_HINT_T1, planes_load)

/* clang-format off */
DIRECT(2) DIRECT(3) DIRECT(4) DIRECT(5)
MULTIPLY(1) MULTIPLY(2) MULTIPLY(3) MULTIPLY(4) MULTIPLY(5)
#if PLANES == 4
DIRECT(6) MULTIPLY(6)
#endif

/* A single row has too few sums to hide the latency of vpdpbusd, and one stream of weights does not reach
 * the bandwidth that two do: the halves of the tile are read side by side, each with sums of its own. The
 * last lines of the first half prefetch for the second half of the next tile; what lies between is fetched
 * already. */
static void direct_1(const tern__ternary_call *call)
/* clang-format on */
{
    const int64_t half = call->quads / 2, bytes = half * TERN__TERNARY_QUAD_BYTES;
    const int64_t distance = call->ahead - call->weights, turn = half - distance / TERN__TERNARY_QUAD_BYTES;
    const int8_t *x = call->x, *x2 = x + 4 * half;
    const uint8_t *at = call->weights, *ahead = call->ahead;
    planes first = {0}, second = {0};
    for (int64_t q = 0; q < half; q++, x += 4, x2 += 4, at += 64, ahead += 64) {
        _mm_prefetch((const char *)ahead + (q < turn ? 0 : 2 * bytes), _MM_HINT_T0);
        _mm_prefetch((const char *)ahead + bytes, _MM_HINT_T0);
        first = dot(first, DECODED(at), x);
        second = dot(second, DECODED(at + bytes), x2);
    }
    if (call->quads % 2 != 0)
        first = dot(first, DECODED(at + bytes), x2);
    put(call, 0, settle(plus(first, second)));
}

static void direct(const tern__ternary_call *call)
{
    static void (*const by_batch[])(const tern__ternary_call *) = {
        direct_1,
        direct_2,
        direct_3,
        direct_4,
        direct_5,
#if PLANES == 4
        direct_6,
#endif
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
