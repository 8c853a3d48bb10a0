/* moves.h - steps whose elements only move, for the table of ops.c: what each refuses, and what writes its kernel. */
#ifndef TERN_DEVICES_OPENCL_MOVES_H
#define TERN_DEVICES_OPENCL_MOVES_H

#include "devices/opencl/opencl.h"

/* An unsigned type as wide as a unit: what elements are that only move. */
const char *tern__ocl_carrier(tern_dtype dtype);

/* "it reads no packed types", if one of them is; else NULL. */
const char *tern__ocl_refuse_packed(const tern__call *call);

const char *tern__ocl_refuse_join(const tern__call *call);  /* concat, stack */
const char *tern__ocl_refuse_split(const tern__call *call); /* split */
void tern__ocl_write_join(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);
void tern__ocl_write_split(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);
void tern__ocl_write_flip(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);
void tern__ocl_write_pad(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);
void tern__ocl_write_triangle(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);
void tern__ocl_write_take_along(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);
void tern__ocl_write_one_hot(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);

const char *tern__ocl_refuse_scatter(const tern__call *call); /* scatter_add */
void tern__ocl_write_scatter(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);

const char *tern__ocl_refuse_sort(const tern__call *call); /* sort, topk */
void tern__ocl_write_sort(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o);

#endif
