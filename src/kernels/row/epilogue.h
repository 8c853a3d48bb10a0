/* epilogue.h - a row program behind a matrix product: a step that computes both, whose product never leaves the cache.
 *
 * The step's kernel (tern__epilogue_run) calls the product's with `epilogue` set. That one computes rectangles of its result
 * into the epilogue's room, and hands each on while it is hot. No bit of a result depends on the rectangles. */
#ifndef TERN_KERNELS_ROW_EPILOGUE_H
#define TERN_KERNELS_ROW_EPILOGUE_H

#include "kernels/row/program.h"

enum {
    TERN__EPILOGUE_ROOM = 96 << 10, /* elements of 4 bytes, at most: a part of a second-level cache */
    TERN__EPILOGUE_ROWS = 192,      /* of a rectangle, at most: then it is wide enough for a row program */
};

/* What the step's kernel interprets. */
typedef struct tern__epilogue_program {
    const tern__row_program *rows; /* does not reduce; its last operand is the product's result */
    const tern__kernel *product;
    const void *product_program;
    const tern__attr *product_attrs;
    /* of the product's result: the domain; f16 and bf16 are rounded from f32 as they are handed on */
    const tern__type *y;
    int64_t elements;                                                            /* of a rectangle */
    int n_product;                                                               /* operands of the product */
    uint8_t product_in[TERN__ROW_MAX_OPERANDS], rows_in[TERN__ROW_MAX_OPERANDS]; /* operands of the step */
    size_t rows_at, room_at, scratch_bytes; /* in the scratch, behind the product's */
} tern__epilogue_program;

/* One call of the step, as the product's kernel sees it. */
typedef struct tern__epilogue {
    const tern__epilogue_program *program;
    const tern__kernel_args *args; /* of the step */
    void *room;                    /* TERN__EPILOGUE_ROOM elements */
} tern__epilogue;

/* Elements of a rectangle, at most TERN__EPILOGUE_ROOM, as this processor likes it: for plans. */
int64_t tern__epilogue_elements(const tern__cpu_info *cpu);

/* How large rectangles of `elements` of a product are that is made of tiles of `width` columns (at most TERN__EPILOGUE_ROOM /
 * TERN__EPILOGUE_ROWS), if there are so many rows: at most *rows by *tiles tiles. */
void tern__epilogue_shape(int64_t elements, int64_t n_rows, int64_t width, int64_t *rows, int64_t *tiles);

/* Hands on rows [row_begin, row_end), counted over all leading axes, and columns [column_begin, column_end) of the product:
 * the first is at the beginning of the room, rows lie `stride` elements apart. */
void tern__epilogue_apply(const tern__epilogue *e, int64_t row_begin, int64_t row_end, int64_t column_begin,
                          int64_t column_end, int64_t stride);

/* The kernel; args->program is a tern__epilogue_program. Items of work are the product's. */
tern_status tern__epilogue_run(tern__kernel_args *args, int64_t begin, int64_t end);

#endif
