/* weave.h - loops that do what the cells of a pipeline's stages do, 32 elements of each stage in turn.
 *
 * Cells run one instruction on eight vectors, then the next: a processor that has places for some 64 vector instructions that wait
 * (Zen 4) holds half a strip of e^x and cannot begin the next stage beside it. A loop over all stages at once gives it work of
 * each: additions beside multiplications, loads beside both. Softmax of rows in the second cache takes 0.8 (AVX-512) and 0.6 (AVX2)
 * of the time of its cells there. What is summed is read from memory DELAY elements behind where it is stored, so that no load waits for a store.
 *
 * A *strand* is one stage: which cells it stands for, and the same expressions on the same elements in the same order, so that the
 * bits are those of the cells (tests/kernels/test_rowcells.c). Included by rowops_impl.h. */
#ifndef TERN_KERNELS_ROW_WEAVE_H
#define TERN_KERNELS_ROW_WEAVE_H

#include "kernels/row/cells.h"

enum {
    WOVEN = 32, /* elements of a step */
    WOVEN_VECTORS = WOVEN / LANES,
    DELAY = STRIP < 64 ? STRIP : 64,
};

typedef struct strand {
    const float *from, *factor, *term; /* what is read */
    float *to;
    uint8_t *bytes;
    vf one, other;                                /* what is known once per row */
    vf whole[WOVEN_VECTORS], rest[WOVEN_VECTORS]; /* of what is computed in halves */
    vd sums[SUM_VECTORS];
    vf best[LANE_VECTORS];
    vm odd;
    tern__rowop_state *state;
} strand;

#define WOVEN_INLINE static inline __attribute__((always_inline))
#define EACH_VECTOR _Pragma("GCC unroll 8") for (int k = 0; k < WOVEN_VECTORS; k++)

WOVEN_INLINE const float *run_at(const tern__rowop_cell *cell)
{
    return (const float *)(const void *)*cell->at;
}

/* clang-format off */

/* ---- reductions of what lies in memory ---- */

#define STRAND_SUMS(name, pair)                                             \
    WOVEN_INLINE void name##_begin(strand *s, tern__rowop_state *state)     \
    {                                                                       \
        s->state = state;                                                   \
        memcpy(s->sums, state->lanes, sizeof s->sums);                      \
    }                                                                       \
    WOVEN_INLINE void name##_32(strand *s, const float *from)               \
    {                                                                       \
        _Pragma("GCC unroll 4") for (int k = 0; k < SUM_VECTORS; k += 2) {  \
            const float *at = from + k * (LANES / 2);                       \
            const vd2 x = v_widen_load(at), y = v_widen_load(at + 16);      \
            s->sums[k] += pair(x.lo, y.lo);                                 \
            s->sums[k + 1] += pair(x.hi, y.hi);                             \
        }                                                                   \
    }                                                                       \
    WOVEN_INLINE void name##_end(strand *s)                                 \
    {                                                                       \
        memcpy(s->state->lanes, s->sums, sizeof s->sums);                   \
    }
STRAND_SUMS(sum, d_pair) STRAND_SUMS(sum_squares, d_square_pair)

#define STRAND_REDUCE(name)                                                 \
    static const cell_fn name##_all_cells[] = {name##_cell_from, end_cell}; \
    WOVEN_INLINE void name##_all_open(strand *s, const tern__rowop_cell *c) \
    {                                                                       \
        s->from = run_at(c);                                                \
        name##_begin(s, c->state);                                          \
    }                                                                       \
    WOVEN_INLINE void name##_all_step(strand *s, int64_t i)                 \
    {                                                                       \
        name##_32(s, s->from + i);                                          \
    }                                                                       \
    WOVEN_INLINE void name##_all_close(strand *s, int64_t n)                \
    {                                                                       \
        (void)n;                                                            \
        name##_end(s);                                                      \
    }
STRAND_REDUCE(sum) STRAND_REDUCE(sum_squares)

/* Any order, which only shows where a NaN, or a zero among zeros of either sign, is the result: then the exact loop does it again. */
#define STRAND_EXTREME(name, of, pick)                                      \
    static const cell_fn name##_all_cells[] = {copy_cell_get, name##_cell, end_cell}; \
    WOVEN_INLINE void name##_begin(strand *s, tern__rowop_state *state)     \
    {                                                                       \
        s->state = state;                                                   \
        s->odd = v_lt(ZERO, ZERO);                                          \
        memcpy(s->best, state->singles, sizeof s->best);                    \
    }                                                                       \
    WOVEN_INLINE void name##_32(strand *s, const vf *x)                     \
    {                                                                       \
        EACH_VECTOR {                                                       \
            s->best[k % LANE_VECTORS] = pick(of(x[k]), s->best[k % LANE_VECTORS]); \
            if (k % 2)                                                      \
                s->odd = m_or(s->odd, v_unordered(x[k - 1], x[k]));         \
        }                                                                   \
    }                                                                       \
    WOVEN_INLINE void name##_end(strand *s, const float *from, int64_t n)   \
    {                                                                       \
        for (int k = 0; k < LANE_VECTORS; k++)                              \
            s->odd = m_or(s->odd, v_eq(s->best[k], ZERO));                  \
        if (__builtin_expect(m_any(s->odd), 0))                             \
            name##_exact(s->state, from, n);                                \
        else                                                                \
            memcpy(s->state->singles, s->best, sizeof s->best);             \
    }                                                                       \
    WOVEN_INLINE void name##_all_open(strand *s, const tern__rowop_cell *c) \
    {                                                                       \
        s->from = run_at(c);                                                \
        name##_begin(s, c[1].state);                                        \
    }                                                                       \
    WOVEN_INLINE void name##_all_step(strand *s, int64_t i)                 \
    {                                                                       \
        vf x[WOVEN_VECTORS];                                                \
        EACH_VECTOR x[k] = v_load(s->from + i + k * LANES);                 \
        name##_32(s, x);                                                    \
    }                                                                       \
    WOVEN_INLINE void name##_all_close(strand *s, int64_t n)                \
    {                                                                       \
        name##_end(s, s->from, n);                                          \
    }
STRAND_EXTREME(max, SAME, v_max) STRAND_EXTREME(max_abs, v_abs, v_max)

/* ---- a result that stays, and its sum ---- */

/* one, other: values of the row that cells CELL_1 and CELL_2 have. */
#define STRAND_KEEP(name, cells, CELL_1, CELL_2, LAST, reduce, ...)         \
    static const cell_fn name##_cells[] = cells;                            \
    WOVEN_INLINE void name##_open(strand *s, const tern__rowop_cell *c)     \
    {                                                                       \
        s->from = run_at(c);                                                \
        s->one = v_splat(*run_at(c + (CELL_1)));                            \
        s->other = v_splat(*run_at(c + (CELL_2)));                          \
        s->to = (float *)(void *)*c[LAST].at;                               \
        reduce##_begin(s, c[LAST].state);                                   \
    }                                                                       \
    WOVEN_INLINE void name##_step(strand *s, int64_t i)                     \
    {                                                                       \
        EACH_VECTOR {                                                       \
            const vf x = v_load(s->from + i + k * LANES);                   \
            v_store(s->to + i + k * LANES, __VA_ARGS__);                    \
        }                                                                   \
        if (i >= DELAY)                                                     \
            reduce##_32(s, s->to + i - DELAY);                              \
    }                                                                       \
    WOVEN_INLINE void name##_close(strand *s, int64_t n)                    \
    {                                                                       \
        for (int64_t i = n - DELAY; i < n; i += WOVEN)                      \
            reduce##_32(s, s->to + i);                                      \
        reduce##_end(s);                                                    \
    }
#define LIST(...) {__VA_ARGS__}
STRAND_KEEP(centre, LIST(copy_cell_get, sub_cell_s1, sub_cell_s1, copy_cell_put, sum_squares_cell_from, end_cell), 1, 2, 4,
            sum_squares, x - s->one - s->other)

/* e^x takes the longest chain of all: its second half is of the 32 elements before, and waits for nothing of this step. */
static const cell_fn exp_sum_cells[] = {copy_cell_get, sub_cell_s1, exp_cell, copy_cell_put, sum_cell_from, end_cell};
WOVEN_INLINE void exp_sum_open(strand *s, const tern__rowop_cell *c)
{
    s->from = run_at(c);
    s->one = v_splat(*run_at(c + 1));
    s->to = (float *)(void *)*c[4].at;
    EACH_VECTOR s->whole[k] = s->rest[k] = ZERO;
    sum_begin(s, c[4].state);
}
WOVEN_INLINE void exp_sum_end_of(strand *s, int64_t i)
{
    EACH_VECTOR v_store(s->to + i + k * LANES, exp_end(s->whole[k], s->rest[k]));
}
WOVEN_INLINE void exp_sum_step(strand *s, int64_t i)
{
    if (i >= WOVEN)
        exp_sum_end_of(s, i - WOVEN);
    EACH_VECTOR exp_begin(v_load(s->from + i + k * LANES) - s->one, &s->whole[k], &s->rest[k]);
    if (i >= DELAY + WOVEN)
        sum_32(s, s->to + i - WOVEN - DELAY);
}
WOVEN_INLINE void exp_sum_close(strand *s, int64_t n)
{
    exp_sum_end_of(s, n - WOVEN);
    for (int64_t i = n > DELAY + WOVEN ? n - WOVEN - DELAY : 0; i < n; i += WOVEN)
        sum_32(s, s->to + i);
    sum_end(s);
}

/* ---- a result that stays, and its largest magnitude ---- */

#define STRAND_PEAK(name, cells, FACTOR, LAST, ...)                         \
    static const cell_fn name##_cells[] = cells;                            \
    WOVEN_INLINE void name##_open(strand *s, const tern__rowop_cell *c)     \
    {                                                                       \
        s->from = run_at(c);                                                \
        s->one = v_splat(*run_at(c + 1));                                   \
        s->factor = run_at(c + (FACTOR));                                   \
        s->to = (float *)(void *)*c[LAST].at;                               \
        max_abs_begin(s, c[(LAST) - 1].state);                              \
    }                                                                       \
    WOVEN_INLINE void name##_step(strand *s, int64_t i)                     \
    {                                                                       \
        vf y[WOVEN_VECTORS];                                                \
        EACH_VECTOR {                                                       \
            const int64_t at = i + k * LANES;                               \
            const vf x = v_load(s->from + at) * s->one;                     \
            y[k] = __VA_ARGS__;                                             \
            v_store(s->to + at, y[k]);                                      \
        }                                                                   \
        max_abs_32(s, y);                                                   \
    }                                                                       \
    WOVEN_INLINE void name##_close(strand *s, int64_t n)                    \
    {                                                                       \
        max_abs_end(s, s->to, n);                                           \
    }
STRAND_PEAK(scale_peak, LIST(copy_cell_get, mul_cell_s1, max_abs_cell, copy_cell_put, end_cell), 1, 3, x)
STRAND_PEAK(scale_by_peak, LIST(copy_cell_get, mul_cell_s1, mul_cell_sb, max_abs_cell, copy_cell_put, end_cell), 2, 4,
            x * v_load(s->factor + at))

/* ---- results ---- */

#define STRAND_SCALE(name, put, STORE, FACTOR, TERM, cells, ...)            \
    static const cell_fn name##_cells[] = cells;                            \
    WOVEN_INLINE void name##_open(strand *s, const tern__rowop_cell *c)     \
    {                                                                       \
        s->from = run_at(c);                                                \
        s->one = v_splat(*run_at(c + 1));                                   \
        s->factor = run_at(c + (FACTOR));                                   \
        s->term = run_at(c + (TERM));                                       \
        s->to = (float *)(void *)*c[(TERM) > (FACTOR) ? (TERM) + 1 : (FACTOR) + 1].at; \
    }                                                                       \
    WOVEN_INLINE void name##_step(strand *s, int64_t i)                     \
    {                                                                       \
        EACH_VECTOR {                                                       \
            const int64_t at = i + k * LANES;                               \
            const vf x = v_load(s->from + at) * s->one;                     \
            STORE(s->to + at, __VA_ARGS__);                                 \
        }                                                                   \
    }                                                                       \
    WOVEN_INLINE void name##_close(strand *s, int64_t n)                    \
    {                                                                       \
        (void)s, (void)n;                                                   \
    }
/* By a number of the row; and by a weight of the column; and with another added. */
#define STRAND_SCALES(suffix, put, STORE)                                                                   \
    STRAND_SCALE(scale##suffix, put, STORE, 1, 1, LIST(copy_cell_get, mul_cell_s1, put, end_cell), x)       \
    STRAND_SCALE(scale_by##suffix, put, STORE, 2, 2,                                                        \
                 LIST(copy_cell_get, mul_cell_s1, mul_cell_sb, put, end_cell), x * v_load(s->factor + at))  \
    STRAND_SCALE(scale_add##suffix, put, STORE, 2, 3,                                                       \
                 LIST(copy_cell_get, mul_cell_s1, mul_cell_sb, add_cell_sb, put, end_cell),                 \
                 x * v_load(s->factor + at) + v_load(s->term + at))
STRAND_SCALES(, copy_cell_put, v_store) STRAND_SCALES(_past, stream_cell_put, v_stream)

#define STRAND_QUANTISE(name, put, STORE)                                   \
    static const cell_fn name##_cells[] = {copy_cell_get, mul_cell_s1, quantise_i8_cell, put, end_cell}; \
    WOVEN_INLINE void name##_open(strand *s, const tern__rowop_cell *c)     \
    {                                                                       \
        s->from = run_at(c);                                                \
        s->one = v_splat(*run_at(c + 1));                                   \
        s->bytes = (uint8_t *)*c[3].at;                                     \
    }                                                                       \
    WOVEN_INLINE void name##_step(strand *s, int64_t i)                     \
    {                                                                       \
        EACH_VECTOR {                                                       \
            const vf x = v_load(s->from + i + k * LANES) * s->one;          \
            STORE(s->bytes + i + k * LANES, v_whole(QUANTISED(x)));         \
        }                                                                   \
    }                                                                       \
    WOVEN_INLINE void name##_close(strand *s, int64_t n)                    \
    {                                                                       \
        (void)s, (void)n;                                                   \
    }
STRAND_QUANTISE(quantise, store_i8_cell, v_store_u8) STRAND_QUANTISE(quantise_past, store_i8_cell_past, v_stream_u8)

/* ---- loops ---- */

#define WOVEN_ARGUMENTS \
    const tern__rowop_cell *const *code, int n_codes, int64_t n, const tern__rowop_ahead *ahead
/* Into the second cache: the first is full of rows, and what waits for it keeps its line buffers from what is read and stored now. */
#define WOVEN_LOOP(...)                                                     \
    (void)n_codes;                                                          \
    for (int64_t i = 0; i < n; i += WOVEN) {                                \
        for (int k = 0; k < ahead->n; k++) {                                \
            __builtin_prefetch(ahead->at[k] + i * 4, 0, 2);                 \
            __builtin_prefetch(ahead->at[k] + i * 4 + 64, 0, 2);            \
        }                                                                   \
        __VA_ARGS__                                                         \
    }
#define WEAVE_2(name, A, B)                                                 \
    static void name(WOVEN_ARGUMENTS)                                       \
    {                                                                       \
        strand a, b;                                                        \
        A##_open(&a, code[0]), B##_open(&b, code[1]);                       \
        WOVEN_LOOP(A##_step(&a, i); B##_step(&b, i);)                       \
        A##_close(&a, n), B##_close(&b, n);                                 \
        v_leave();                                                          \
    }
#define WEAVE_3(name, A, B, C)                                              \
    static void name(WOVEN_ARGUMENTS)                                       \
    {                                                                       \
        strand a, b, c;                                                     \
        A##_open(&a, code[0]), B##_open(&b, code[1]), C##_open(&c, code[2]); \
        WOVEN_LOOP(A##_step(&a, i); B##_step(&b, i); C##_step(&c, i);)      \
        A##_close(&a, n), B##_close(&b, n), C##_close(&c, n);               \
        v_leave();                                                          \
    }

/* X2, X3(name, strands): softmax, layernorm and rmsnorm of f32, with what scales their results, past the caches or not; rows
 * quantised, by themselves and of rmsnorm. */
#define WEAVES(X2, X3)                                                      \
    X3(softmax_woven, max_all, exp_sum, scale)                              \
    X3(softmax_woven_past, max_all, exp_sum, scale_past)                    \
    X3(layernorm_woven, sum_all, centre, scale)                             \
    X3(layernorm_woven_past, sum_all, centre, scale_past)                   \
    X3(layernorm_woven_add, sum_all, centre, scale_add)                     \
    X3(layernorm_woven_add_past, sum_all, centre, scale_add_past)           \
    X2(rmsnorm_woven, sum_squares_all, scale)                               \
    X2(rmsnorm_woven_past, sum_squares_all, scale_past)                     \
    X2(rmsnorm_woven_by, sum_squares_all, scale_by)                         \
    X2(rmsnorm_woven_by_past, sum_squares_all, scale_by_past)               \
    X3(quantise_woven, sum_squares_all, scale_peak, quantise)               \
    X3(quantise_woven_past, sum_squares_all, scale_peak, quantise_past)     \
    X3(quantise_woven_by, sum_squares_all, scale_by_peak, quantise)         \
    X3(quantise_woven_by_past, sum_squares_all, scale_by_peak, quantise_past) \
    X2(quantise_alone_woven, max_abs_all, quantise)                         \
    X2(quantise_alone_woven_past, max_abs_all, quantise_past)
WEAVES(WEAVE_2, WEAVE_3)

static const struct {
    tern__rowop_strips *run;
    int stages;
    const cell_fn *cells[3]; /* of each stage, to its end */
} weaves[] = {
#define WEAVE_ROW_2(name, A, B) {name, 2, {A##_cells, B##_cells, NULL}},
#define WEAVE_ROW_3(name, A, B, C) {name, 3, {A##_cells, B##_cells, C##_cells}},
    WEAVES(WEAVE_ROW_2, WEAVE_ROW_3)
};
/* clang-format on */

static bool are_cells(const cell_fn *cells, const tern__rowop_cell *code)
{
    while (code->run == (tern__rowop_cell_fn)*cells && *cells != end_cell)
        code++, cells++;
    return code->run == (tern__rowop_cell_fn)*cells;
}

static tern__rowop_strips *find_weave(const tern__rowop_cell *const *code, int n_codes)
{
    for (size_t w = 0; w < sizeof weaves / sizeof *weaves; w++) {
        int k = 0;
        while (weaves[w].stages == n_codes && k < n_codes && are_cells(weaves[w].cells[k], code[k]))
            k++;
        if (k == n_codes)
            return weaves[w].run;
    }
    return NULL;
}

#endif
