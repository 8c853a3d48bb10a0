/* kernels.c - the kernel column of ops.def, expanded here and nowhere else. */
#include "devices/cpu/kernels.h"

#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, grad, kernel, text) \
    TERN__KERNEL(kernel##__ref);
#include "graph/ops.def"
#undef TERN_OP

/* Ops that need no kernel say `none`. */
#define tern_none__ref NULL

#define TERN_SCRATCH(op) tern__scratch_rule tern_##op##__ref_scratch;
#include "kernels/kernels.def"

static const tern__scratch_fn scratch_rules[TERN__OP_COUNT] = {
#define TERN_SCRATCH(op) [TERN__OP_##op] = tern_##op##__ref_scratch,
#include "kernels/kernels.def"
};

static const tern__kernel reference[TERN__OP_COUNT] = {
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, grad, kernel, text) \
    [TERN__OP_##id] = {.name = #kernel "__ref", .isa = TERN__ISA_BASELINE, .run = tern_##kernel##__ref},
#include "graph/ops.def"
#undef TERN_OP
};

const tern__kernel *tern__cpu_reference(tern__opcode op)
{
    return reference[op].run ? &reference[op] : NULL;
}

size_t tern__cpu_reference_scratch(const tern__call *call)
{
    tern__scratch_fn rule = scratch_rules[tern__op_code(call->op)];
    return rule ? rule(call->n_in, call->in, call->attrs) : 0;
}
