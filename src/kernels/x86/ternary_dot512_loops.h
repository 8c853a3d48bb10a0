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
_Static_assert((int)GROUP <= (int)TERN__TERNARY_MAX_BATCH && (int)PAIRED <= (int)TERN__TERNARY_MAX_BATCH,
               "callers have room for so many");

#define TIMES_1(M) M(0)
#define TIMES_2(M) TIMES_1(M) M(1)
#define TIMES_3(M) TIMES_2(M) M(2)
#define TIMES_4(M) TIMES_3(M) M(3)
#define TIMES_5(M) TIMES_4(M) M(4)
#define TIMES_6(M) TIMES_5(M) M(5)
#define TIMES_7(M) TIMES_6(M) M(6)
#define TIMES_8(M) TIMES_7(M) M(7)
#define SUMS(i) planes sums##i = {0};
#define DOT(i) sums##i = dot(sums##i, w, row + i * call->x_stride);
#define PUT(i) put(call, i, settle(sums##i));

/* ---- multiply: quads of a panel, one after the other ---- */

/* Sums go from panel to panel as they are: settle() is not cheap, for t5 in particular. */
INLINE planes take(const tern__ternary_call *call, int i)
{
    return call->resume ? planes_load(call->y + i * call->y_stride) : (planes){0};
}

INLINE void leave(const tern__ternary_call *call, int i, planes sums)
{
    if (call->pause)
        planes_store(call->y + i * call->y_stride, sums);
    else
        put(call, i, settle(sums));
}

#define TAKE(i) planes sums##i = take(call, i);
#define LEAVE(i) leave(call, i, sums##i);
#define MULTIPLY(N)                                                         \
    static void multiply_##N(const tern__ternary_call *call)                \
    {                                                                       \
        const int8_t *row = call->x;                                        \
        const uint8_t *at = call->weights, *ahead = call->ahead;            \
        TIMES_##N(TAKE) for (int64_t q = 0; q < call->quads; q++, row += 4) \
        {                                                                   \
            _mm_prefetch((const char *)ahead, _MM_HINT_T1);                 \
            ahead += call->ahead_step;                                      \
            const planes w = planes_load(at);                               \
            at += PLANES * 64;                                              \
            TIMES_##N(DOT)                                                  \
        }                                                                   \
        TIMES_##N(LEAVE)                                                    \
    }

/* ---- direct: packed weights, which are fetched while those before them are multiplied ----
 *
 * Where memory gives most to many streams the quads are read as STREAMS runs side by side: of each run one pair, then of each run
 * the next. Elsewhere they are one run. What follows in a run is fetched some pairs earlier, at its end what the same run of the
 * next tile begins with: early enough, and late enough to find it in the first-level cache (a whole tile earlier is too early
 * for 3 rows and more). */

enum {
    STREAMS = 8,
    PAIR = 2 * TERN__TERNARY_QUAD_BYTES,
    AHEAD = 8, /* pairs of each run */
    AHEAD_IN_ORDER = 32,
    SOON = 8, /* quads of each run that a single row fetches from the second-level cache */
    STAY = 8, /* likewise: those that stay in the first-level cache for the second of two passes */
};

/* What the loops need to know about the runs of a call. */
typedef struct runs {
    int64_t pairs, ahead; /* of each run; the last one may lack some */
} runs;

INLINE runs runs_of(const tern__ternary_call *call, bool in_order)
{
    const int64_t pairs = call->quads / 2;
    return in_order ? (runs){pairs, AHEAD_IN_ORDER} : (runs){(pairs + STREAMS - 1) / STREAMS, AHEAD};
}

#define DECODED(at) decode(_mm512_loadu_si512(at))
#define FETCH(at) _mm_prefetch((const char *)(at), _MM_HINT_T0);
#define FETCH_FAR(at) _mm_prefetch((const char *)(at), _MM_HINT_T1);
#define QUAD(N, DOTS, K)                                             \
    {                                                                \
        const int8_t *row = x + 4 * K;                               \
        const planes w = DECODED(at + K * TERN__TERNARY_QUAD_BYTES); \
        TIMES_##N(DOTS)                                              \
    }

/* Pairs [BEGIN, STOP) of each run, and behind the last ones the quad that is left. */
#define WALK(N, BEGIN, STOP, FETCHES, DOTS)                                                                 \
    {                                                                                                       \
        const int64_t pairs = call->quads / 2, run = r.pairs;                                               \
        const uint8_t *const end = call->weights + pairs * PAIR;                                            \
        for (int64_t q = (BEGIN); q < (STOP); q++) {                                                        \
            const int64_t far = q + r.ahead < run                                                           \
                                    ? r.ahead * PAIR                                                        \
                                    : call->quads * TERN__TERNARY_QUAD_BYTES + (r.ahead - run) * PAIR;      \
            const int8_t *x = call->x + 8 * q;                                                              \
            for (const uint8_t *at = call->weights + q * PAIR; at < end; at += run * PAIR, x += 8 * run) {  \
                FETCHES                                                                                     \
                QUAD(N, DOTS, 0)                                                                            \
                QUAD(N, DOTS, 1)                                                                            \
            }                                                                                               \
        }                                                                                                   \
        const uint8_t *at = end;                                                                            \
        for (const int8_t *x = call->x + 8 * pairs; (STOP) == run && x < call->x + 4 * call->quads; x += 4) \
            QUAD(N, DOTS, 0)                                                                                \
    }

#define DIRECT(N)                                                                                           \
    static void direct_##N(const tern__ternary_call *call)                                                  \
    {                                                                                                       \
        const runs r = runs_of(call, call->ahead_in_order > 0);                                             \
        TIMES_##N(SUMS) WALK(N, 0, r.pairs, FETCH(at + far) FETCH(at + far + PAIR / 2), DOT) TIMES_##N(PUT) \
    }

/* More rows than there are registers for: two passes over weights that stay in cache, some planes in each, which fetch one quad
 * of each pair. Bound by arithmetic, they read runs everywhere. Sums are variables: gcc copies, in the loop, members of structs that a loop uses a part of. */
#define ADD_PRODUCTS(sum, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(quad));
#define SUMS_FIRST(i) __m512i a##i = sums[i].a, b##i = sums[i].b;
#define SUMS_REST(i) __m512i c##i = sums[i].c, d##i = sums[i].d, e##i = sums[i].e;
#define DOT_FIRST(i)                                                   \
    {                                                                  \
        const __m512i quad = broadcast_quad(row + i * call->x_stride); \
        ADD_PRODUCTS(a##i, w.a) ADD_PRODUCTS(b##i, w.b)                \
    }
#define DOT_REST(i)                                                                              \
    {                                                                                            \
        const __m512i quad = broadcast_quad(row + i * call->x_stride);                           \
        ADD_PRODUCTS(c##i, w.c) ADD_PRODUCTS(d##i, w.d) if (PLANES == 5) ADD_PRODUCTS(e##i, w.e) \
    }
#define KEEP_FIRST(i) sums[i].a = a##i, sums[i].b = b##i;
#define KEEP_REST(i) sums[i].c = c##i, sums[i].d = d##i, sums[i].e = e##i;
#define PUT_PAIRED(i) put(call, i, settle(sums[i]));
#define PASS(NAME, N, PART, FETCHES)                                                               \
    static __attribute__((noinline)) void NAME##_##N(const tern__ternary_call *call, const runs r, \
                                                     int64_t begin, int64_t stop, planes *sums)    \
    {                                                                                              \
        TIMES_##N(SUMS_##PART) WALK(N, begin, stop, FETCHES, DOT_##PART) TIMES_##N(KEEP_##PART)    \
    }
#define DIRECT_PAIRED(N)                                    \
    PASS(first, N, FIRST, FETCH(at + far))                  \
    PASS(rest, N, REST, FETCH(at + far + PAIR / 2))         \
    static void direct_##N(const tern__ternary_call *call)  \
    {                                                       \
        planes sums[N] = {0};                               \
        const runs r = runs_of(call, false);                \
        int64_t q = 0, stop;                                \
        do {                                                \
            stop = r.pairs - q < STAY ? r.pairs : q + STAY; \
            first_##N(call, r, q, stop, sums);              \
            rest_##N(call, r, q, stop, sums);               \
            q = stop;                                       \
        } while (q < r.pairs);                              \
        TIMES_##N(PUT_PAIRED)                               \
    }

/* clang-format off */
DIRECT(2) DIRECT(3) DIRECT(4) DIRECT(5)
MULTIPLY(1) MULTIPLY(2) MULTIPLY(3) MULTIPLY(4) MULTIPLY(5)
#if PLANES == 4
DIRECT(6) MULTIPLY(6)
#else
DIRECT_PAIRED(6)
#endif
DIRECT_PAIRED(7) DIRECT_PAIRED(8)
    /* clang-format on */

    /* A single row reads single quads. All add to the same sums, of which there are two sets, because one would wait for itself. */
    typedef struct two_sums {
    planes even, odd;
} two_sums;

/* Runs: as much of the next tile is fetched into the second-level cache as is read, and some quads of each run from there into the
 * first. Returns the quads that were read. */
INLINE int64_t add_runs(const tern__ternary_call *call, two_sums *sums)
{
    const int64_t run = call->quads / STREAMS, bytes = run * TERN__TERNARY_QUAD_BYTES;
    const int64_t ahead = (int64_t)((uintptr_t)call->next - (uintptr_t)call->weights);
    for (int64_t q = 0; q < run; q++) {
        const uint8_t *at = call->weights + q * TERN__TERNARY_QUAD_BYTES;
        const int8_t *x = call->x + 4 * q;
#pragma GCC unroll 4
        for (int s = 0; s < STREAMS; s += 2, at += 2 * bytes, x += 8 * run) {
            FETCH_FAR(at + ahead)
            FETCH_FAR(at + bytes + ahead)
            FETCH(at + SOON * TERN__TERNARY_QUAD_BYTES)
            FETCH(at + bytes + SOON * TERN__TERNARY_QUAD_BYTES)
            sums->even = dot(sums->even, DECODED(at), x);
            sums->odd = dot(sums->odd, DECODED(at + bytes), x + 4 * run);
        }
    }
    return run * STREAMS;
}

/* Pairs [begin, end) in order, with what lies `ahead` bytes behind each fetched. */
INLINE void add_pairs(const tern__ternary_call *call, int64_t begin, int64_t end, int64_t ahead,
                      two_sums *sums)
{
    const uint8_t *at = call->weights + begin * PAIR;
    const int8_t *x = call->x + 8 * begin;
    for (int64_t p = begin; p < end; p++, at += PAIR, x += 8) {
        FETCH(at + ahead)
        FETCH(at + ahead + PAIR / 2)
        sums->even = dot(sums->even, DECODED(at), x);
        sums->odd = dot(sums->odd, DECODED(at + PAIR / 2), x + 4);
    }
}

/* In order: the last pairs fetch what the next call reads first. */
INLINE int64_t add_in_order(const tern__ternary_call *call, two_sums *sums)
{
    const int64_t pairs = call->quads / 2, ahead = call->ahead_in_order / PAIR,
                  last = pairs > ahead ? pairs - ahead : 0;
    add_pairs(call, 0, last, ahead * PAIR, sums);
    add_pairs(call, last, pairs, (int64_t)((uintptr_t)call->next - (uintptr_t)call->weights) - last * PAIR,
              sums);
    return 2 * pairs;
}

static void direct_1(const tern__ternary_call *call)
{
    two_sums sums = {0};
    int64_t q = call->ahead_in_order > 0 ? add_in_order(call, &sums) : add_runs(call, &sums);
    for (; q < call->quads; q++)
        sums.even = dot(sums.even, DECODED(call->weights + q * TERN__TERNARY_QUAD_BYTES), call->x + 4 * q);
    put(call, 0, settle(plus(sums.even, sums.odd)));
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
