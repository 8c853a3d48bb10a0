/* reductions.h - reductions over any axes, and running sums. Private to devices/opencl. */
#ifndef TERN_DEVICES_OPENCL_REDUCTIONS_H
#define TERN_DEVICES_OPENCL_REDUCTIONS_H

#include "devices/opencl/opencl.h"

/* For rows of the table in ops.c: see tern__ocl_kind. */
const char *tern__ocl_refuse_reduction(const tern__call *call);
void tern__ocl_write_reduction(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands);
const char *tern__ocl_refuse_running(const tern__call *call);
void tern__ocl_write_running(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands);

#endif
