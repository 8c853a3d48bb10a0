/* catalog.c - the tables, for tools. */
#include <tern/catalog.h>

#include "base/status.h"
#include "devices/cpu/kernels.h"
#include "devices/device.h"
#include "graph/op.h"
#include "passes/pass.h"
#include "runtime/context.h"

extern const char *const tern__op_signatures[];

tern_status tern_catalog_op(int i, tern_op_info *out)
{
    /* What passes make stands last, and is nothing that anybody can use. */
    const int count = TERN__OP_fused;
    TERN__FAIL_IF(i < 0 || i >= count, TERN_OUT_OF_RANGE, "catalog: op %d: there are %d", i, count);
    const tern__op *op = &tern__ops[i];
    *out = (tern_op_info){.name = op->name,
                          .signature = tern__op_signatures[i],
                          .description = op->description,
                          .shape_rule = op->shape_name,
                          .dtype_rule = op->dtype_name,
                          .cost_rule = op->cost_name,
                          .kernel = op->kernel_name,
                          .min_inputs = op->min_in,
                          .max_inputs = op->max_in,
                          .results = op->n_out,
                          .elementwise = (op->flags & TERN__ELEMENTWISE) != 0,
                          .view = (op->flags & TERN__VIEW) != 0,
                          .commutative = (op->flags & TERN__COMMUTATIVE) != 0};
    return TERN_OK;
}

tern_status tern_catalog_kernel(int i, tern_kernel_info *out)
{
    int seen = 0;
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        const tern__kernel *kernel = tern__cpu_reference((tern__opcode)op);
        if (!kernel || seen++ != i)
            continue;
        *out = (tern_kernel_info){.name = kernel->name,
                                  .op = tern__ops[op].name,
                                  .isa = tern__isa_name(kernel->isa),
                                  .usable = (tern__cpu()->isa_mask & (1u << kernel->isa)) != 0};
        return TERN_OK;
    }
    return tern__fail(TERN_OUT_OF_RANGE, "catalog: kernel %d: there are %d", i, seen);
}

tern_status tern_catalog_pass(int i, tern_pass_info *out)
{
    TERN__FAIL_IF(i < 0 || i >= tern__n_passes, TERN_OUT_OF_RANGE, "catalog: pass %d: there are %d", i,
                  tern__n_passes);
    *out = (tern_pass_info){.name = tern__passes[i].name,
                            .level = tern_level_name(tern__passes[i].level),
                            .description = tern__passes[i].description,
                            .optional = tern__passes[i].kind != TERN__PASS_PLAN};
    return TERN_OK;
}

/* The best level that contexts use under $TERN_CPU; a value that they would refuse is theirs to report. */
static void apply_cap(tern_device_info *device)
{
    const char *name = tern__env_cpu();
    tern__isa cap;
    if (!name || !name[0] || tern__isa_parse(name, &cap) != TERN_OK)
        return;
    uint32_t mask = tern__isa_mask_capped(tern__cpu(), cap);
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        if (mask & (1u << level))
            device->isa = tern__isa_name((tern__isa)level);
}

tern_status tern_catalog_device(int i, tern_device_info *out)
{
    TERN__FAIL_IF(i < 0 || i >= tern__n_devices, TERN_OUT_OF_RANGE, "catalog: device %d: there are %d", i,
                  tern__n_devices);
    tern__devices[i]->describe(out);
    apply_cap(out);
    return TERN_OK;
}
