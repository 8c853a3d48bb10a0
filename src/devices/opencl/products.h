/* products.h - matrix products, alone or with what reads them element by element. Private to devices/opencl. */
#ifndef TERN_DEVICES_OPENCL_PRODUCTS_H
#define TERN_DEVICES_OPENCL_PRODUCTS_H

#include "devices/opencl/opencl.h"
#include "graph/region.h"

/* tern__ocl_kind.write: of ternary_matmul, linear and matmul; and of a region that begins with one, whose program is a
 * tern__ocl_rows: the rows of the epilogue, the product's result being their last operand. */
void tern__ocl_write_product(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands);
void tern__ocl_write_epilogue(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands);

/* tern__ocl_kind.refuses */
const char *tern__ocl_refuse_ternary(const tern__call *call);
const char *tern__ocl_refuse_linear(const tern__call *call);
const char *tern__ocl_refuse_matmul(const tern__call *call);

#endif
