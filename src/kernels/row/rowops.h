/* rowops.h - the instructions of row programs (rowops.def) as function tables, one per instruction set.
 *
 * Every table computes the same bits for the exact instructions (arithmetic, comparisons, rounding,
 * conversions, quantisation, reductions: their order is fixed below) on every instruction set. The
 * transcendental ones (exp, log, sin, tanh, erf, gelu, ...) stay within 2 ULP of the correctly rounded
 * result; on one machine all levels of the compiler use one table, so fusing never changes a bit. */
#ifndef TERN_KERNELS_ROW_ROWOPS_H
#define TERN_KERNELS_ROW_ROWOPS_H

#include <stdint.h>

#include "base/cpu.h"

typedef enum tern__rowop {
#define TERN_ROWOP(name, operands, kind) TERN__ROWOP_##name,
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
    TERN__ROWOP_COUNT
} tern__rowop;

/* MAP, LOAD, STORE. Runs of n elements; dst may be exactly a, b or c, and overlaps them in no other way.
 * Addresses are aligned to the element only. Which operands are one value for the whole run (broadcast) is
 * part of the function's form: bit 0 of the form = a is a single value, bit 1 = b, bit 2 = c. imm: attributes
 * (clamp: low, high; leaky_relu: slope). */
typedef void (*tern__rowop_map)(void *dst, const void *a, const void *b, const void *c, const float imm[2],
                                int64_t n);

/* REDUCE. Adds a run to the state; its first element has an index in the row that is a multiple of 32, so
 * all runs but a row's last have lengths that are. Element i goes to lane i % 16, ascending; sums are kept in f64, and
 * take two elements of a lane at a time: those of every 32 are added to each other, then to the lane. tern__rowop_finish folds the lanes: lane j with j + 8, then j + 4, j + 2, j + 1. */
typedef union tern__rowop_state {
    _Alignas(64) double lanes[16]; /* of sums; no vector of them lies in two lines of the cache */
    float singles[16];             /* of max, min, max_abs */
} tern__rowop_state;
typedef void (*tern__rowop_reduce)(tern__rowop_state *state, const float *a, int64_t n);

/* A cell: an instruction on a strip of elements in registers, followed in memory by the cell that has the strip next
 * (cells.h). Addresses are those of pointers, so that one piece of code serves every tile: the pointers are set to
 * the tile's first elements. */
typedef void (*tern__rowop_cell_fn)(void); /* its real type is the instruction set's */
typedef struct tern__rowop_cell {
    tern__rowop_cell_fn run;
    char *const *at; /* the other operand (b of `where`), what is loaded, or where it is stored */
    union {
        char *const *at_c;        /* c of `where` */
        tern__rowop_state *state; /* REDUCE */
        float imm[2];
    };
} tern__rowop_cell;

/* Cells of an instruction, by form. MAP of one operand, LOAD: the first. */
enum {
    /* MAP of two: the strip s with a run (r) or one value (1), in this order */
    TERN__CELL_SR = 0,
    TERN__CELL_RS,
    TERN__CELL_S1,
    TERN__CELL_1S,
    TERN__CELL_SS,
    /* MAP of three, the strip being a: + 1 where b is one value, + 2 where c is */
    TERN__CELL_WHERE = 0,
    /* REDUCE: the strip, or a run in memory, which leaves the strip alone; not all have it */
    TERN__CELL_REDUCE = 0,
    TERN__CELL_REDUCE_RUN,
    /* STORE */
    TERN__CELL_STORE = 0,
    TERN__CELL_STREAM, /* past the caches; the address is a multiple of 64 bytes */
    /* copy */
    TERN__CELL_GET = 0,
    TERN__CELL_GET_ONE,
    TERN__CELL_PUT,
    TERN__CELL_PUT_PAST, /* like STREAM */
    TERN__CELL_FORMS = 5,
};

enum { TERN__ROW_STRIP_VECTORS = 8 };

/* What is fetched while cells run: for each strip `bytes` more of each run of memory, before code[before] has it. Ascending by
 * `before`: memory is asked a few lines at a time, there being places for ten or so requests. */
enum { TERN__ROW_MAX_AHEAD = 4 };
typedef struct tern__rowop_ahead {
    int n;
    int before[TERN__ROW_MAX_AHEAD];
    const char *at[TERN__ROW_MAX_AHEAD];
    int bytes[TERN__ROW_MAX_AHEAD];
} tern__rowop_ahead;

/* Runs cells over n elements, a multiple of `strip`: over each strip code[0], then code[1], ... */
typedef void tern__rowop_strips(const tern__rowop_cell *const *code, int n_codes, int64_t n,
                                const tern__rowop_ahead *ahead);

typedef struct tern__rowop_table {
    tern__isa isa;
    tern__rowop_map map[TERN__ROWOP_COUNT][8];    /* by form; NULL for REDUCE and for forms the op has not */
    tern__rowop_reduce reduce[TERN__ROWOP_COUNT]; /* NULL for the others */
    /* The same as cells; NULL for GATHER and forms that an instruction has not. */
    tern__rowop_cell_fn cell[TERN__ROWOP_COUNT][TERN__CELL_FORMS];
    tern__rowop_cell_fn end; /* behind the last cell */
    /* Start value of a reduction: 0; -inf for max, inf for min. */
    void (*start)(tern__rowop op, tern__rowop_state *state);
    int64_t strip; /* elements of a strip, a multiple of 32 */
    tern__rowop_strips *run_strips;
    /* What does the same as run_strips for codes of these very cells, faster (weave.h); NULL: nothing. Of what is fetched ahead
     * it takes the elements to have 4 bytes. No code may read or write what another writes. */
    tern__rowop_strips *(*find_weave)(const tern__rowop_cell *const *code, int n_codes);
} tern__rowop_table;

/* The number at the end of a reduction. NaN propagates in all. */
double tern__rowop_finish(tern__rowop op, const tern__rowop_state *state);

/* After `stream`: makes what was stored past the caches visible to whoever sees this thread's later
 * stores. */
void tern__rowop_settle(void);

/* For a finite x >= 1: the number n (modulo 4) of quarter turns nearest to the angle x, and the rest; exact
 * to more than 24 digits. The rest of infinities and NaN is NaN. What tables do not do in vectors. */
uint32_t tern__rowop_reduce_angle(float x, float *rest);

/* The best table among the levels in `isa_mask`. */
const tern__rowop_table *tern__rowop_tables(uint32_t isa_mask);

#endif
