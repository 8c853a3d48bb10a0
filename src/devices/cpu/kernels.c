/* kernels.c - the kernel column of ops.def, expanded here and nowhere else. */
#include "devices/cpu/kernels.h"

#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, kernel, text) \
    TERN__KERNEL(kernel##__ref);
#include "graph/ops.def"
#undef TERN_OP

/* Ops that need no kernel say `none`. */
#define tern_none__ref NULL

/* Three kernels work on more than their operands and say how much more they need. */
tern__scratch_rule tern_sort__ref_scratch, tern_topk__ref_scratch, tern_attention__ref_scratch;
#define SCRATCH(op)                                             \
    ((op) == TERN__OP_sort        ? tern_sort__ref_scratch      \
     : (op) == TERN__OP_topk      ? tern_topk__ref_scratch      \
     : (op) == TERN__OP_attention ? tern_attention__ref_scratch \
                                  : NULL)

static const tern__kernel reference[TERN__OP_COUNT] = {
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, kernel, text) \
    [TERN__OP_##id] = {#kernel "__ref", TERN__ISA_BASELINE, tern_##kernel##__ref, SCRATCH(TERN__OP_##id)},
#include "graph/ops.def"
#undef TERN_OP
};

const tern__kernel *tern__cpu_reference(tern__opcode op)
{
    return reference[op].run ? &reference[op] : NULL;
}

const tern__kernel *tern__cpu_kernel(const tern__call *call, uint32_t isa_mask)
{
    (void)isa_mask; /* every kernel so far is a reference kernel, which runs everywhere */
    return tern__cpu_reference(tern__op_code(call->op));
}
