/* across.h - operands of row programs that lie across the rows: transposed ones, whose neighbours in memory are in neighbouring
 * rows. To read one row of them takes a line of the cache for each element. So a block of rows is turned into scratch, where it
 * stays in the second cache, by squares in registers (kernels/move), and the program runs on those rows as if they lay there.
 * Nothing else changes: neither instructions nor bits. Private to kernels/row. */
#ifndef TERN_KERNELS_ROW_ACROSS_H
#define TERN_KERNELS_ROW_ACROSS_H

#include "kernels/row/frame.h"

/* Bytes of scratch for blocks of `operands` operands of the domain, beside the `taken` bytes of the program; 0: small ones are read
 * as they lie. */
size_t tern__row_across_bytes(const tern__type *domain, int operands, size_t taken);

/* Whether operands lie across, as survey.c has found axes and strides (bytes; of each operand and result); fills f->n_across, f->across
 * and the size of a block, which lies in the p->across_bytes at `block`. Outer axes may change places in all of them, so that the last one is that along which the neighbours lie:
 * rows are independent. A frame that goes by_tile keeps its order. */
void tern__row_find_across(tern__row_frame *f, char *block, int rank, int64_t strides[][TERN__MAX_RANK],
                           int64_t *shape);

/* Turns what the program reads of `columns` elements, from `column` on, of rows [row, row + return value) where no more than `rows` are
 * wanted, and leads all `n` frames to it. Frames of one call share the block. */
int64_t tern__row_turn(tern__row_frame *const *frames, int n, int64_t row, int64_t rows, int64_t column,
                       int64_t columns);

#endif
