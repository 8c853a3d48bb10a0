/* frame.h - what one call of a row program knows: where operands lie, where values are, and the code of its phases.
 * Private to kernels/row: survey.c fills it, strips.c writes the cells, program.c and steps.c run it. */
#ifndef TERN_KERNELS_ROW_FRAME_H
#define TERN_KERNELS_ROW_FRAME_H

#include "kernels/row/program.h"

/* An operand or result, its axes those of the walk. */
typedef struct tern__row_operand {
    char *base, *at;                 /* element [0,0,...]; the first element of the current row or run */
    int64_t strides[TERN__MAX_RANK]; /* bytes, of the outer axes */
    int64_t inner;                   /* bytes, along the innermost */
    int64_t bytes;                   /* of an element */
    tern_dtype dtype;
    bool dense;   /* no gaps along the innermost axis */
    bool flat;    /* no gaps at all, in row-major order */
    bool solid;   /* a tile of it has no gaps: dense or flat, as the walk needs it */
    bool past;    /* a result that goes past the caches */
    bool aligned; /* its tiles begin at multiples of 16 elements from a cache line */
} tern__row_operand;

/* An operand that lies across the rows (across.h): where, and where blocks of it are turned to. */
typedef struct tern__row_across {
    uint8_t operand;
    char *data;                      /* element [0,0,...] */
    int64_t strides[TERN__MAX_RANK]; /* bytes, of the outer axes */
    int64_t inner;
    char *block;
    int64_t pitch; /* bytes from row to row of the block */
} tern__row_across;

enum { TERN__ROW_MAX_ACROSS = 4 };

/* What becomes of an instruction in this call. */
typedef enum tern__row_action {
    TERN__ROW_SKIP,  /* nothing: what it would load or store is used where it lies */
    TERN__ROW_ONE,   /* on one element, before the tile (`once`: before the row's first tile) */
    TERN__ROW_FIRST, /* loads what is not solid, for the whole tile, before the others */
    TERN__ROW_WALK,  /* on the tile's elements: a cell, or a run */
    TERN__ROW_FINAL, /* stores what no cell can, for the whole tile, after the others */
} tern__row_action;

/* The instructions of a phase, by action: indices into `list`, one behind the last of each. */
typedef struct tern__row_phase {
    uint8_t begin, once, one, first, walk, final;
    uint8_t reduces; /* of `reductions`, one behind the last */
    bool walks;
    int16_t code; /* first cell, or -1: none */
} tern__row_phase;

enum { TERN__ROW_MAX_CELLS = 2 * TERN__ROW_MAX_INSTRS };

typedef struct tern__row_frame {
    const tern__row_program *p;
    tern__row_operand operands[TERN__ROW_MAX_OPERANDS]; /* operands, then results */
    char *tile[TERN__ROW_MAX_OPERANDS];                 /* of solid ones: the tile's first element */
    int rank;                                           /* outer axes */
    int64_t shape[TERN__MAX_RANK], index[TERN__MAX_RANK];
    int64_t inner; /* elements along the innermost axis */
    bool by_tile;  /* tiles in row-major order, whatever rows they belong to */
    int place; /* which of the places that are walked in turns is this one's; they share their slots, where nothing is reduced */
    int n_across;
    tern__row_across across[TERN__ROW_MAX_ACROSS];
    int64_t block_rows, block_columns; /* that are turned at a time */
    char *slots, *longs, *singles;
    int n_ahead; /* operands that are fetched ahead, how far, and the phase that reads them first */
    struct {
        int64_t bytes;
        uint8_t operand, phase;
    } ahead[TERN__ROW_MAX_AHEAD];
    double registers[TERN__ROW_MAX_REGISTERS];
    tern__rowop_state states[TERN__ROW_MAX_REGISTERS];
    tern__rowop_map maps[TERN__ROW_MAX_INSTRS];
    uint8_t action[TERN__ROW_MAX_INSTRS];
    bool one[TERN__ROW_MAX_INSTRS]; /* of values: a single element in this walk */
    bool in_place
        [TERN__ROW_MAX_INSTRS];     /* of values: read where the operand, computed where the result lies */
    char *at[TERN__ROW_MAX_INSTRS]; /* of values: their slots */
    char **where[TERN__ROW_MAX_INSTRS]; /* of values: what points to the tile's first element */
    uint8_t list[TERN__ROW_MAX_INSTRS], reductions[TERN__ROW_MAX_REGISTERS];
    tern__row_phase phases[TERN__ROW_MAX_INSTRS];
    int n_cells;
    tern__rowop_cell cells[TERN__ROW_MAX_CELLS];
} tern__row_frame;

/* Looks at the operands and decides what becomes of values and instructions (survey.c). */
void tern__row_survey(tern__row_frame *f, const tern__kernel_args *args);

/* Writes the cells of every phase that walks (strips.c). */
void tern__row_encode(tern__row_frame *f);

/* Instruction k (steps.c): on one element, before a tile's others, and n such from a list; loads and stores that no cell does, of the whole tile, whose
 * first element is t (in its row or run, or, by_tile, in row-major order); on n of the tile's elements, from `first` on. */
void tern__row_step_one(tern__row_frame *f, int k);
void tern__row_steps_one(tern__row_frame *f, const uint8_t *list, int n);
void tern__row_step_tile(tern__row_frame *f, int k, int64_t t, int64_t n);
void tern__row_step_run(tern__row_frame *f, int k, int64_t first, int64_t n);

/* Instructions that move a run of elements of a type from memory to 4 bytes each, and back; 0: none. */
tern__rowop tern__row_load_op(tern_dtype dtype);
tern__rowop tern__row_store_op(tern_dtype dtype);

#endif
