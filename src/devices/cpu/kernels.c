/* kernels.c - the kernel column of ops.def and the rows TERN_FAST and TERN_USE of kernels.def, expanded here and nowhere else. */
#include "devices/cpu/kernels.h"

#include "base/status.h"

#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, bound, kind, grad, kernel, text) \
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
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, bound, kind, grad, kernel, text) \
    [TERN__OP_##id] = {.run = tern_##kernel##__ref},
#include "graph/ops.def"
#undef TERN_OP
};

static const char *const reference_names[TERN__OP_COUNT] = {
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, bound, kind, grad, kernel, text) \
    [TERN__OP_##id] = #kernel "__ref",
#include "graph/ops.def"
#undef TERN_OP
};

const tern__kernel *tern__cpu_reference(tern__opcode op)
{
    return reference[op].run ? &reference[op] : NULL;
}

const char *tern__cpu_reference_name(tern__opcode op)
{
    return reference_names[op];
}

size_t tern__cpu_reference_scratch(const tern__call *call)
{
    tern__scratch_fn rule = scratch_rules[tern__op_code(call->op)];
    return rule ? rule(call->n_in, call->in, call->attrs) : 0;
}

#define TERN_FAST(op, name, family, takes, when) TERN__KERNEL(name);
#include "kernels/kernels.def"

#define TERN__FAMILY_none TERN__KERNEL_FAMILIES

static const tern__cpu_fast fast_ones[] = {
#define TERN_FAST(of, function, whose, which, calls) \
    {.op = TERN__OP_##of,                            \
     .name = #function,                              \
     .kernel = {.run = tern_##function},             \
     .takes = tern__cpu_takes_##which,               \
     .family = TERN__FAMILY_##whose,                 \
     .when = calls},
#include "kernels/kernels.def"
};

const tern__cpu_fast *tern__cpu_fast_of(tern__opcode op, int i)
{
    for (size_t k = 0; k < sizeof fast_ones / sizeof *fast_ones; k++)
        if (fast_ones[k].op == op && i-- == 0)
            return &fast_ones[k];
    return NULL;
}

bool tern__cpu_fast_runs(const tern__cpu_fast *fast, uint32_t isa_mask, const tern__kernel_row **row)
{
    *row = fast->family == TERN__KERNEL_FAMILIES ? NULL : tern__kernel_select(fast->family, isa_mask);
    return fast->family == TERN__KERNEL_FAMILIES || *row;
}

tern_status tern__cpu_chosen_fast(const tern__target *target, const tern__call *call, tern__arena *arena,
                                  tern__choice *out, bool *found)
{
    const tern__cpu_fast *fast;
    bool takes = false;
    for (int i = 0; !takes && (fast = tern__cpu_fast_of(tern__op_code(call->op), i)); i++) {
        const tern__kernel_row *row;
        if (!tern__cpu_fast_runs(fast, target->isa_mask, &row))
            continue;
        tern__choice choice = {.kernel = &fast->kernel,
                               .name = fast->name,
                               .isa = tern__isa_name(row ? row->isa : TERN__ISA_BASELINE),
                               .work = -1};
        TERN_TRY(fast->takes(target, row ? row->kernel : NULL, call, arena, &choice, &takes));
        if (takes)
            *out = choice;
    }
    *found = *found || takes;
    return TERN_OK;
}

static const tern__cpu_use uses[] = {
#define TERN_USE(of, whose, calls) {.op = TERN__OP_##of, .family = TERN__FAMILY_##whose, .when = calls},
#include "kernels/kernels.def"
};

const tern__cpu_use *tern__cpu_use_of(tern__opcode op, int i)
{
    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++)
        if (uses[k].op == op && i-- == 0)
            return &uses[k];
    return NULL;
}
