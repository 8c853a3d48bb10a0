/* kernels.c - the kernel column of ops.def, expanded here and nowhere else. */
#include "devices/cpu/kernels.h"

#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, kernel, text) TERN__KERNEL(kernel##__ref);
#include "graph/ops.def"
#undef TERN_OP

/* Ops that need no kernel say `none`. */
#define tern_none__ref NULL

/* Scratch rules of the kernels that work on more than their operands. */
size_t tern_sort__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);
size_t tern_topk__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

static const tern__kernel reference[TERN__OP_COUNT] = {
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, kernel, text) \
    [TERN__OP_##id] = {#kernel "__ref", TERN__ISA_BASELINE, tern_##kernel##__ref, NULL},
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
