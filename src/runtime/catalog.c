/* catalog.c - the tables, for tools. */
#include <tern/catalog.h>

#include "base/status.h"
#include "devices/device.h"
#include "graph/op.h"
#include "passes/pass.h"
#include "runtime/context.h"

tern_status tern_catalog_op(int i, tern_op_info *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "catalog: no place for the op");
    int count = 0; /* what passes make stands last, and is nothing that anybody can use */
    while (count < TERN__OP_COUNT && !(tern__ops[count].flags & TERN__INTERNAL))
        count++;
    TERN__FAIL_IF(i < 0 || i >= count, TERN_OUT_OF_RANGE, "catalog: op %d: there are %d", i, count);
    const tern__op *op = &tern__ops[i];
    *out = (tern_op_info){.name = op->name,
                          .section = tern__op_sections[i],
                          .signature = tern__op_signatures[i],
                          .description = op->description,
                          .shape_rule = op->shape_name,
                          .dtype_rule = op->dtype_name,
                          .cost_rule = op->cost_name,
                          .gradient = op->grad_name,
                          .kernel = op->kernel_name,
                          .min_inputs = op->min_in,
                          .max_inputs = op->max_in,
                          .results = op->n_out,
                          .elementwise = (op->flags & TERN__ELEMENTWISE) != 0,
                          .view = (op->flags & TERN__VIEW) != 0,
                          .commutative = (op->flags & TERN__COMMUTATIVE) != 0};
    return TERN_OK;
}

/* The level that contexts stop at under $TERN_CPU; a value that they would refuse is theirs to report. */
static tern__isa_cap cap_of_environment(void)
{
    const char *name = tern__env_cpu();
    tern__isa_cap cap;
    return name && name[0] && tern__isa_cap_parse(name, &cap) == TERN_OK
               ? cap
               : (tern__isa_cap){.level = tern__cpu()->best};
}

tern_status tern_catalog_kernel(int i, tern_kernel_info *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "catalog: no place for the kernel");
    tern_kernel_info info;
    int left = i;
    const tern__device_ops *device;
    for (int d = 0; (device = tern__device_at(d)); d++)
        for (int k = 0; device->list && device->list(k, cap_of_environment(), &info); k++)
            if (left-- == 0) {
                *out = info;
                out->device = device->name;
                return TERN_OK;
            }
    return tern__fail(TERN_OUT_OF_RANGE, "catalog: kernel %d: there are %d", i, i - left);
}

tern_status tern_catalog_pass(int i, tern_pass_info *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "catalog: no place for the pass");
    TERN__FAIL_IF(i < 0 || i >= tern__n_passes, TERN_OUT_OF_RANGE, "catalog: pass %d: there are %d", i,
                  tern__n_passes);
    *out = (tern_pass_info){.name = tern__passes[i].name,
                            .level = tern__passes[i].level,
                            .description = tern__passes[i].description,
                            .optional = tern__passes[i].kind != TERN__PASS_PLAN};
    return TERN_OK;
}

tern_status tern_catalog_device(int i, tern_device_info *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "catalog: no place for the device");
    const tern__device_ops *device = i < 0 ? NULL : tern__device_at(i);
    TERN__FAIL_IF(!device, TERN_OUT_OF_RANGE, "catalog: there is no device %d", i);
    device->describe(cap_of_environment(), out);
    return TERN_OK;
}
