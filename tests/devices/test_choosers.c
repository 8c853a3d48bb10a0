/* test_choosers.c - what is listed is what plans use: an op has a row TERN_CHOOSER in kernels.def if, and only if, rows TERN_USE or
 * TERN_FAST say that a kernel besides its reference computes it. One without the other would be told by `tern list kernels` and never
 * run, or run and never be told. */
#include <string.h>

#include "devices/cpu/cost.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/kernels.h"
#include "graph/op.h"
#include "harness.h"

static const bool has_chooser[TERN__OP_COUNT] = {
#define TERN_CHOOSER(op, chooser, ways) [TERN__OP_##op] = true,
#include "kernels/kernels.def"
};

/* By name: a chooser has no other sign in the table. A region may begin with a product. */
static const char *const chooser_of[TERN__OP_COUNT] = {
#define TERN_CHOOSER(op, chooser, ways) [TERN__OP_##op] = #chooser,
#include "kernels/kernels.def"
};

/* Rows of one op are many. */
static bool is_listed(int op)
{
    bool listed = false;
#define TERN_USE(id, family, when) listed = listed || op == TERN__OP_##id;
#define TERN_FAST(id, kernel, family, when) listed = listed || op == TERN__OP_##id;
#include "kernels/kernels.def"
    return listed;
}

TEST(ops_with_kernels_have_a_chooser)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        if (has_chooser[op] != is_listed(op))
            harness_fail(__FILE__, __LINE__, "%s: has %s chooser, and %s kernel of kernels.def",
                         tern__ops[op].name, has_chooser[op] ? "a" : "no", is_listed(op) ? "a" : "no");
    }
}

TEST(products_are_chosen_as_products)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        const bool chosen = chooser_of[op] && strcmp(chooser_of[op], "product") == 0;
        if (chosen != (tern__op_is_product((tern__opcode)op) || op == TERN__OP_fused))
            harness_fail(__FILE__, __LINE__, "%s: %s a product in ops.def, %s chosen as one in kernels.def",
                         tern__ops[op].name, chosen ? "is not" : "is", chosen ? "but" : "but not");
    }
}

/* The layout pass compares what an op costs in either layout: without a rate both would seem to cost the same. */
TEST(ops_with_two_layouts_have_rates)
{
    int found = 0;
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        bool two = false;
        for (int i = 0; i < tern__ops[op].n_attrs; i++)
            two = two || strcmp(tern__ops[op].attrs[i].name, "nhwc") == 0;
        for (int form = 0; form < 4; form++)
            if ((tern__cpu_layout_ns((tern__opcode)op, form / 2, form % 2) > 0) != two)
                harness_fail(__FILE__, __LINE__, "%s: %s, %s: %s rate in devices/cpu/cost.c",
                             tern__ops[op].name, form / 2 ? "reference" : "chosen",
                             form % 2 ? "channels last" : "channels first", two ? "no" : "a useless");
        found += two;
    }
    CHECK(found >= 3);
}

/* Of a small convolution, in ns; it needs no data. */
static double conv_ns(const tern__target *target, tern_dtype dtype, bool nhwc)
{
    const tern__op *op = &tern__ops[TERN__OP_conv2d];
    const tern__type x = {dtype, 4, {1, 8, 8, 8}}, w = {dtype, 4, {8, 8, 3, 3}};
    const tern__type *in[] = {&x, &w};
    tern__type y;
    tern_dtype operands[2] = {dtype, dtype};
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__op_default_attrs(op, attrs);
    attrs[TERN__ATTR_conv2d_nhwc].i = nhwc;
    const tern__call call = {.op = op, .n_in = 2, .n_out = 1, .in = in, .attrs = attrs, .out = &y};
    harness_check_ok(tern__op_infer(&call, operands), __FILE__, __LINE__, "inference");
    return tern__cpu_cost(target, &call) / op->cost(&call, op->cost_factor);
}

/* What a call costs is what the kernel costs that is chosen for it: no convolution of f64 has another than the reference. */
TEST(rates_are_of_what_is_chosen)
{
    const tern__device_ops *ops;
    const tern__device_options options = {.threads = 1, .isa_cap = {.level = tern__cpu()->best}};
    tern__device *device;
    const tern__opcode conv = TERN__OP_conv2d;
    CHECK_OK(tern__device_find("cpu", &ops));
    CHECK_OK(ops->create(&options, &device));
    const tern__target *target = ops->target(device);
    const bool plain = !tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    for (int nhwc = 0; nhwc < 2; nhwc++) {
        CHECK_NEAR(conv_ns(target, TERN_F32, nhwc), tern__cpu_layout_ns(conv, plain, nhwc), 1e-12);
        CHECK_NEAR(conv_ns(target, TERN_F64, nhwc), tern__cpu_layout_ns(conv, true, nhwc), 1e-12);
    }
    ops->destroy(device);
}
