/* product.h - what the forms of a matrix product share. Private to products.c and product_*.c.
 *
 * Every form computes rectangles of the result, `rows` by `columns` elements in `sums`, and hands them to the rows of the epilogue
 * or to memory (tern__ocl_write_tile). On a processor a work item has a rectangle to itself, wide enough for its vectors. Elsewhere
 * the items of a work group share what they read through local memory, and how much is up to what the device has. */
#ifndef TERN_DEVICES_OPENCL_PRODUCT_H
#define TERN_DEVICES_OPENCL_PRODUCT_H

#include "devices/opencl/opencl.h"

/* Results in registers. */
enum { TERN__OCL_TILE_ROWS = 4, TERN__OCL_TILE_COLUMNS = 16 };

/* A product as y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]. */
typedef struct tern__ocl_product {
    tern__ocl_draft *d;
    tern__ocl_tile tile; /* what becomes of the results */
    const tern__ocl_operand *a, *b, *scales;
    int pa, pb, ps; /* their pointers */
    int64_t batches, m, n, k;
    int batch_axes;
    int64_t batch_shape[TERN__MAX_RANK], of_a[TERN__MAX_RANK], of_b[TERN__MAX_RANK];
    int64_t a_row, a_k, b_k, b_column; /* strides */
    bool whole;                        /* sums are i32 */
    int nm, nn, nk, na_row, na_k, nb_k,
        nb_column; /* places of these numbers: the kernel has them as n<place> */
} tern__ocl_product;

/* ---- the forms ---- */

/* product_ternary.c: int8 by t2 or t5. */
void tern__ocl_write_ternary(tern__ocl_product *p);
/* product_dots.c: few rows, and all products of integers. Both operands lie along k; or, on a processor, any other floats. */
void tern__ocl_write_dot(tern__ocl_product *p);
void tern__ocl_write_strips(tern__ocl_product *p);
/* product_panels.c: many rows of floats. A square for each work group; or, on a processor, a panel for each work item. */
void tern__ocl_write_squares(tern__ocl_product *p);
void tern__ocl_write_panels(tern__ocl_product *p);

/* ---- product_tiles.c: what they are written of ---- */

/* Loops over rectangles of `high` by `wide` results, those of a strip of rows after each other. Declares m0 and c0, where one
 * begins, row0 (among the result's rows), and how many `rows` and `columns` it has. */
void tern__ocl_begin_tiles(tern__ocl_product *p, int64_t high, int64_t wide, size_t least);
void tern__ocl_end_tiles(tern__ocl_product *p);
/* Rectangles `high` rows high that are worth a work item's while. */
size_t tern__ocl_enough_tiles(const tern__ocl_product *p, int high);
/* Sixteen elements of type t from `at` of pointer p on, as floats (or ints). */
void tern__ocl_add_vector(tern__ocl_draft *d, tern_dtype t, int p, const char *at);
/* How many items add up one result: neighbours, which then read neighbouring bytes. */
int tern__ocl_lanes_of(const tern__ocl_product *p);
/* Columns of a rectangle: on a processor an item has all of them, elsewhere one. */
int64_t tern__ocl_width_of(const tern__ocl_product *p);
/* Declares what the items need to add up results together; before the loop over rectangles. */
void tern__ocl_add_parts(tern__ocl_product *p);
/* Declares `sums`, and loops over the columns `output` of a rectangle; the caller computes t0, t1, ..., what this item has of the
 * sum of each row, and closes the loop by end_outputs, which puts them into `sums`. */
void tern__ocl_begin_outputs(tern__ocl_product *p, int high);
void tern__ocl_end_outputs(tern__ocl_product *p, int high);

/* An element of a or b, `at` units behind its matrix' first. */
static inline void tern__ocl_add_element(tern__ocl_product *p, bool of_a, const char *at)
{
    tern__ocl_load(p->d, of_a ? p->a->type->dtype : p->b->type->dtype, of_a ? p->pa : p->pb, at);
}

static inline int64_t tern__ocl_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

#endif
