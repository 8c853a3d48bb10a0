/* cells.h - the instructions of row programs once more, as cells: a cell works on a strip of elements that is held in
 * registers, hands them to the next cell, and only touches memory for its other operand. A chain of instructions so
 * costs its arithmetic, and neither a load nor a store for each.
 *
 * Included by rowops_impl.h, whose macros write a run and a cell from one expression: both have the same bits. The
 * strip's vectors are arguments, which calling conventions put in registers, and the next cell is called last, which
 * compilers turn into a jump; where they do not (no optimisation), it is only a deep call. */
#ifndef TERN_KERNELS_ROW_CELLS_H
#define TERN_KERNELS_ROW_CELLS_H

#include "kernels/row/rowops.h"
#include "kernels/row/vector.h"

enum { STRIP = TERN__ROW_STRIP_VECTORS * LANES };

/* clang-format off */

/* i: the first element of the strip in its tile. */
#define CELL_ARGUMENTS const tern__rowop_cell *pc, int64_t i, vf r0, vf r1, vf r2, vf r3, vf r4, vf r5, vf r6, vf r7
#define CELL_PASSED r0, r1, r2, r3, r4, r5, r6, r7
typedef void (*cell_fn)(CELL_ARGUMENTS);
#define CELL_NEXT ((cell_fn)pc[1].run)(pc + 1, i, CELL_PASSED)

#define CELL_ALL(STEP, ...)                                                                             \
    STEP(r0, 0, __VA_ARGS__) STEP(r1, 1, __VA_ARGS__) STEP(r2, 2, __VA_ARGS__) STEP(r3, 3, __VA_ARGS__) \
    STEP(r4, 4, __VA_ARGS__) STEP(r5, 5, __VA_ARGS__) STEP(r6, 6, __VA_ARGS__) STEP(r7, 7, __VA_ARGS__)

/* ---- where operands come from ---- */

#define FROM_STRIP(r, k) r
#define FROM_B(r, k) v_load(b + (k) * LANES)
#define FROM_ONE_B(r, k) b1
#define FROM_C(r, k) v_load(c + (k) * LANES)
#define FROM_ONE_C(r, k) c1

#define CELL_BLOCK(name, pointer) const float *name = (const float *)(const void *)*(pointer) + i;
#define CELL_ONE(name, pointer) const vf name = v_splat(*(const float *)(const void *)*(pointer));

/* ---- MAP ---- */

#define CELL_STEP(r, k, X, Y, Z, ...)                               \
    {                                                               \
        const vf x = X(r, k), y = Y(r, k), z = Z(r, k);             \
        (void)y, (void)z;                                           \
        r = __VA_ARGS__;                                            \
    }
#define CELL(name, setup, X, Y, Z, ...)                             \
    static void name(CELL_ARGUMENTS)                                \
    {                                                               \
        const float *imm = pc->imm;                                 \
        (void)imm;                                                  \
        setup                                                       \
        CELL_ALL(CELL_STEP, X, Y, Z, __VA_ARGS__)                   \
        CELL_NEXT;                                                  \
    }
#define CELL_UNARY(name, setup, ...) \
    CELL(name##_cell, setup, FROM_STRIP, FROM_STRIP, FROM_STRIP, __VA_ARGS__)
#define CELLS_BINARY(name, ...)                                                                             \
    CELL(name##_cell_sb, CELL_BLOCK(b, pc->at), FROM_STRIP, FROM_B, FROM_STRIP, __VA_ARGS__)                \
    CELL(name##_cell_bs, CELL_BLOCK(b, pc->at), FROM_B, FROM_STRIP, FROM_STRIP, __VA_ARGS__)                \
    CELL(name##_cell_s1, CELL_ONE(b1, pc->at), FROM_STRIP, FROM_ONE_B, FROM_STRIP, __VA_ARGS__)             \
    CELL(name##_cell_1s, CELL_ONE(b1, pc->at), FROM_ONE_B, FROM_STRIP, FROM_STRIP, __VA_ARGS__)             \
    CELL(name##_cell_ss, , FROM_STRIP, FROM_STRIP, FROM_STRIP, __VA_ARGS__)
#define CELLS_TERNARY(name, ...)                                                                            \
    CELL(name##_cell_bb, CELL_BLOCK(b, pc->at) CELL_BLOCK(c, pc->at_c), FROM_STRIP, FROM_B, FROM_C, __VA_ARGS__) \
    CELL(name##_cell_1b, CELL_ONE(b1, pc->at) CELL_BLOCK(c, pc->at_c), FROM_STRIP, FROM_ONE_B, FROM_C, __VA_ARGS__) \
    CELL(name##_cell_b1, CELL_BLOCK(b, pc->at) CELL_ONE(c1, pc->at_c), FROM_STRIP, FROM_B, FROM_ONE_C, __VA_ARGS__) \
    CELL(name##_cell_11, CELL_ONE(b1, pc->at) CELL_ONE(c1, pc->at_c), FROM_STRIP, FROM_ONE_B, FROM_ONE_C, __VA_ARGS__)

/* ---- COPY: memory to strip and back ---- */

CELL(copy_cell_get, CELL_BLOCK(b, pc->at), FROM_B, FROM_STRIP, FROM_STRIP, x)
CELL(copy_cell_one, CELL_ONE(b1, pc->at), FROM_ONE_B, FROM_STRIP, FROM_STRIP, x)

#define CELL_PUT(r, k, STORE) STORE(to + (k) * LANES, r);
#define CELL_STORE(name, STORE)                                     \
    static void name(CELL_ARGUMENTS)                                \
    {                                                               \
        float *to = (float *)(void *)*pc->at + i;                   \
        CELL_ALL(CELL_PUT, STORE)                                   \
        CELL_NEXT;                                                  \
    }
CELL_STORE(copy_cell_put, v_store)
CELL_STORE(stream_cell_put, v_stream)

/* ---- LOAD, STORE ---- */

#define CELL_CONVERT(r, k, T, ...)                                          \
    {                                                                       \
        const T *from = (const T *)(const void *)*pc->at + i + (k) * LANES; \
        r = __VA_ARGS__;                                                    \
    }
#define CELL_LOAD(name, T, ...)                                     \
    static void name##_cell(CELL_ARGUMENTS)                         \
    {                                                               \
        CELL_ALL(CELL_CONVERT, T, __VA_ARGS__)                      \
        CELL_NEXT;                                                  \
    }

#define CELL_CONVERT_BACK(r, k, T, ...)                             \
    {                                                               \
        T *to = (T *)(void *)*pc->at + i + (k) * LANES;             \
        const vf x = r;                                             \
        __VA_ARGS__;                                                \
    }
#define CELL_STORE_AS(name, T, ...)                                 \
    static void name(CELL_ARGUMENTS)                                \
    {                                                               \
        CELL_ALL(CELL_CONVERT_BACK, T, __VA_ARGS__)                 \
        CELL_NEXT;                                                  \
    }

/* ---- REDUCE ---- */

/* From the strip, or (_from) from memory, where the conversion to f64 needs fewer instructions. */
#define WIDE_STRIP(k) v_widen(all[k])
#define WIDE_RUN(k) v_widen_load(run + (k) * LANES)
#define CELL_SUMS(name, setup, WIDE, pair)                                              \
    static void name(CELL_ARGUMENTS)                                                    \
    {                                                                                   \
        enum { EACH = 16 / LANES };                                                     \
        setup                                                                           \
        double *const lanes = pc->state->lanes;                                         \
        for (int j = 0; j < EACH; j++) {                                                \
            vd low = d_load(lanes + j * LANES), high = d_load(lanes + j * LANES + LANES / 2); \
            for (int k = j; k < 8; k += 2 * EACH) {                                     \
                const vd2 x = WIDE(k), y = WIDE(k + EACH);                              \
                low += pair(x.lo, y.lo);                                                \
                high += pair(x.hi, y.hi);                                               \
            }                                                                           \
            d_store(lanes + j * LANES, low);                                            \
            d_store(lanes + j * LANES + LANES / 2, high);                               \
        }                                                                               \
        CELL_NEXT;                                                                      \
    }
#define CELL_SUM(name, pair)                                                            \
    CELL_SUMS(name##_cell, const vf all[8] = {CELL_PASSED};, WIDE_STRIP, pair)          \
    CELL_SUMS(name##_cell_from, CELL_BLOCK(run, pc->at), WIDE_RUN, pair)

/* Vectors in any order: that only shows where a NaN, or a zero among zeros of either sign, is the result; then the
 * run's exact loop does the strip. */
#define CELL_STRIP_ARGUMENTS vf r0, vf r1, vf r2, vf r3, vf r4, vf r5, vf r6, vf r7
#define CELL_EXTREME(name, of, better, pick)                                                            \
    static __attribute__((noinline)) void name##_strip(tern__rowop_state *state, CELL_STRIP_ARGUMENTS)  \
    {                                                                                                   \
        float strip[STRIP];                                                                             \
        float *const to = strip;                                                                        \
        CELL_ALL(CELL_PUT, v_store)                                                                     \
        name##_exact(state, strip, STRIP);                                                              \
    }                                                                                                   \
    static void name##_cell(CELL_ARGUMENTS)                                                             \
    {                                                                                                   \
        enum { EACH = 16 / LANES };                                                                     \
        const vf all[8] = {of(r0), of(r1), of(r2), of(r3), of(r4), of(r5), of(r6), of(r7)};             \
        vf best[8], old[EACH];                                                                          \
        vm odd = m_or(m_or(v_unordered(r0, r1), v_unordered(r2, r3)),                                   \
                      m_or(v_unordered(r4, r5), v_unordered(r6, r7)));                                  \
        memcpy(best, all, sizeof best);                                                                 \
        for (int half = 4; half >= EACH; half /= 2)                                                     \
            for (int k = 0; k < half; k++)                                                              \
                best[k] = pick(best[k + half], best[k]);                                                \
        memcpy(old, pc->state->singles, sizeof old);                                                    \
        for (int k = 0; k < EACH; k++) {                                                                \
            odd = m_or(odd, m_and(v_eq(best[k], v_splat(0)), better(best[k], old[k])));                 \
            old[k] = pick(best[k], old[k]);                                                             \
        }                                                                                               \
        if (__builtin_expect(m_any(odd), 0))                                                            \
            name##_strip(pc->state, CELL_PASSED);                                                       \
        else                                                                                            \
            memcpy(pc->state->singles, old, sizeof old);                                                \
        CELL_NEXT;                                                                                      \
    }

/* clang-format on */

static void end_cell(CELL_ARGUMENTS)
{
    (void)pc, (void)i, (void)r0, (void)r1, (void)r2, (void)r3, (void)r4, (void)r5, (void)r6, (void)r7;
}

#endif
