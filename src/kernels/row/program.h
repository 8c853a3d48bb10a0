/* program.h - a row program: what a fused region is when it runs. For each row of its domain (or each tile of elements,
 * where nothing is reduced) a sequence of instructions (rowops.def) runs over data that stay in L1. Reductions cut a
 * program into phases: each walks the row once.
 *
 * A program is made with the builder below (assemble.c), is immutable afterwards, and runs as a kernel (program.c). */
#ifndef TERN_KERNELS_ROW_PROGRAM_H
#define TERN_KERNELS_ROW_PROGRAM_H

#include "base/arena.h"
#include "kernels/kernel.h"
#include "kernels/move/move.h"
#include "kernels/row/rowops.h"

enum {
    TERN__ROW_TILE = 1024,  /* elements of a tile, at least, where rows are reduced */
    TERN__ROW_CHUNK = 4096, /* elements in an item of work, and at most in a tile, where nothing is reduced */
    TERN__ROW_LONGEST = 1 << 22, /* of a row with values that live from phase to phase: they are kept whole */
    TERN__ROW_MAX_INSTRS = 240,
    TERN__ROW_MAX_OPERANDS = 24, /* operands and results together */
    TERN__ROW_MAX_REGISTERS = 48,
    TERN__ROW_MAX_STAGES = 6,
    TERN__ROW_STAGE_STEPS = 1, /* of the pipeline, from one stage of a row to its next */
    TERN__ROW_MAX_FRAMES = (TERN__ROW_MAX_STAGES - 1) * TERN__ROW_STAGE_STEPS + 1,
    TERN__ROW_MAX_PLACES = 4,         /* that are walked in turns */
    TERN__ROW_PLACES_LEAST = 1 << 18, /* elements of a domain of which that is worth while */
    TERN__ROW_LENT = 3 << 19, /* bytes of scratch that those who run programs have at hand; few need more */
};

/* How many elements of a value there are. */
typedef enum tern__row_extent {
    TERN__ROW_SCALAR, /* one for the whole program */
    TERN__ROW_EACH,   /* one for each row */
    TERN__ROW_FULL,   /* as many as the row has */
} tern__row_extent;

/* Arithmetic on what reductions gave: f64, once per row. X(name): what it computes from a, b and the number n. */
#define TERN__ROWSCALAR_LIST(X)                                 \
    X(divide)   /* a / n                                   */   \
    X(add)      /* a + n                                   */   \
    X(at_least) /* the larger of a and n; NaN stays        */   \
    X(over)     /* n / a                                   */   \
    X(sqrt)                                                     \
    X(log)                                                      \
    X(narrow)     /* a as f32                                */ \
    X(rest)       /* what `narrow` of a loses                */ \
    X(sum_finite) /* a + b, or a where that is not finite    */ \
    X(unless_inf) /* a, or 0 where b is infinite             */

typedef enum tern__rowscalar {
#define TERN__ROWSCALAR_ENUM(name) TERN__ROWSCALAR_##name,
    TERN__ROWSCALAR_LIST(TERN__ROWSCALAR_ENUM)
#undef TERN__ROWSCALAR_ENUM
} tern__rowscalar;

typedef enum tern__row_kind {
    TERN__ROW_LOAD,     /* value dst = operand a                                 */
    TERN__ROW_CONSTANT, /* value dst = number                                    */
    TERN__ROW_MAP,      /* value dst = op(values a, b, c)                        */
    TERN__ROW_REDUCE,   /* register dst = op(value a), known in the next phase   */
    TERN__ROW_COMPUTE,  /* register dst = op(registers a, b; number)             */
    TERN__ROW_VALUE,    /* value dst = register a, narrowed                      */
    TERN__ROW_STORE,    /* result dst = value a                                  */
} tern__row_kind;

typedef struct tern__row_instr {
    uint8_t kind, op, phase;
    bool once;            /* of a row in several tiles only the first runs it */
    uint8_t dst, a, b, c; /* values or registers, by kind */
    union {
        float imm[2];
        double number;
    };
} tern__row_instr;

typedef struct tern__row_value {
    uint8_t extent; /* tern__row_extent */
    bool is_i32;    /* its 4 bytes are an i32, else an f32 */
    bool stays;     /* from phase to phase: where rows are cut into tiles it has room for a whole row */
    int16_t operand, result; /* loaded from; stored to, straight if the result's memory allows; or -1 */
    int16_t last;            /* instruction that reads it last, or -1 */
    int16_t slot; /* where it lies: a tile (`stays`: or row), or one element; -1: in an operand only */
} tern__row_value;

typedef struct tern__row_program {
    const tern__rowop_table *table;
    tern__type domain; /* shape only; its last axis is the row */
    bool reduces;      /* items of work are rows (something is reduced, or known once per row), else chunks */
    bool narrow;       /* one column of a wider domain: what has one element per row still has */
    bool streams;      /* results go past the caches */
    uint32_t squeezed; /* bit i: result i has no last axis */
    uint8_t n_in, n_out;
    uint8_t n_instrs, n_values, n_registers, n_phases;
    const tern__row_instr *instrs; /* by phase */
    const tern__row_value *values;
    const uint8_t *phase_end; /* (n_phases) index of the instruction after the phase's last */
    uint8_t n_stages;         /* phases that walk the row, each with those behind it that do not */
    uint8_t stage_end[TERN__ROW_MAX_STAGES]; /* index of the phase after the stage's last */
    int64_t tile;                            /* elements of a slot, a multiple of 32 */
    int64_t row;                             /* elements of a long slot; 0: rows fit in a tile */
    int n_slots, n_long, n_single;
    int n_frames;       /* rows that are in the pipeline, or places that are walked, at a time */
    int n_places;       /* that are walked in turns */
    int ahead;          /* bytes between what is read and what is fetched meanwhile, of rows in one piece */
    size_t frame_bytes; /* of a frame with its slots */
    size_t scratch_bytes;
    tern__move_program turning; /* of operands that lie across the rows */
    size_t across_bytes;        /* of scratch, at its end, for blocks of them (across.h) */
    int64_t work;
} tern__row_program;

/* The kernel; args->program is the program, args->scratch has its scratch_bytes. */
tern_status tern__row_run(tern__kernel_args *args, int64_t begin, int64_t end);

/* Of a program that does not reduce: rows [begin, end) of its domain, of which each has `columns` elements only. Operands
 * and results point at the first of them, strides stay. */
void tern__row_run_part(const tern__kernel_args *args, int64_t columns, int64_t begin, int64_t end);

/* Are rows reduced that have no whole strip? */
bool tern__row_is_short(const tern__row_program *p);

/* Bytes that a run needs besides the slots. */
size_t tern__row_frame_bytes(const tern__row_program *p);

/* Is it a quotient or root (TERN_ROWOP_ROUNDED)? */
bool tern__row_rounds(tern__rowop op);
/* How many values an instruction reads; which. */
int tern__row_operand_count(tern__rowop op);
int tern__row_reads(const tern__row_instr *i, uint8_t out[3]);

/* ---- making one ---- */

typedef struct tern__row_builder {
    tern__type domain;
    uint8_t n_in, n_out;
    uint32_t squeezed;
    bool full;    /* a limit was met; what was added since is lost */
    int64_t tile; /* elements of a slot, if they are not to be as many as suit L1 (0); rounded and limited */
    bool upright; /* no operand lies across the rows, or they are read as they lie */
    int places;   /* TERN__ROW_MAX_PLACES or 1, if it is not to be what suits this processor (0) */
    int n_instrs, n_values, n_registers;
    tern__row_instr instrs[TERN__ROW_MAX_INSTRS];
    tern__row_value values[TERN__ROW_MAX_INSTRS];
    uint8_t value_phase[TERN__ROW_MAX_INSTRS], register_phase[TERN__ROW_MAX_REGISTERS];
} tern__row_builder;

typedef uint8_t tern__row_id; /* a value or a register */

void tern__row_begin(tern__row_builder *b, const tern__type *domain, int n_in, int n_out);

/* The extent of something of this shape in the domain. */
tern__row_extent tern__row_extent_of(const tern__type *domain, const tern__type *type);

tern__row_id tern__row_load(tern__row_builder *b, int operand, tern__row_extent extent, bool is_i32);
tern__row_id tern__row_constant(tern__row_builder *b, double number);
/* Operands beyond the op's count are ignored. */
tern__row_id tern__row_map(tern__row_builder *b, tern__rowop op, tern__row_id x, tern__row_id y,
                           tern__row_id z);
tern__row_id tern__row_map_imm(tern__row_builder *b, tern__rowop op, tern__row_id x, double imm0,
                               double imm1);
tern__row_id tern__row_reduce(tern__row_builder *b, tern__rowop op, tern__row_id x);
tern__row_id tern__row_compute(tern__row_builder *b, tern__rowscalar op, tern__row_id x, tern__row_id y,
                               double number);
tern__row_id tern__row_value_of(tern__row_builder *b, tern__row_id x);
/* `squeezed`: the result lacks the last axis, along which it was reduced. */
void tern__row_store(tern__row_builder *b, tern__row_id x, int result, bool squeezed);

/* Finishes the program, in `arena`. TERN_UNSUPPORTED (without a sentence) if it is too large, or its rows are too long. */
tern_status tern__row_finish(const tern__row_builder *b, const tern__rowop_table *table, bool streams,
                             tern__arena *arena, tern__row_program **out);

#endif
