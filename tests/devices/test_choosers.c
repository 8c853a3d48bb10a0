/* test_choosers.c - what is listed is what plans use: an op has a row TERN_CHOOSER in kernels.def if, and only if, rows TERN_USE say that
 * a family computes it. One without the other would be told by `tern list kernels` and never run, or run and never be told. Rows
 * TERN_FAST say themselves which calls they take. */
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

/* A row TERN_USE of an op that has rows TERN_FAST says whose loops they are. */
static bool is_listed(int op)
{
    return tern__cpu_use_of((tern__opcode)op, 0) && !tern__cpu_fast_of((tern__opcode)op, 0);
}

TEST(ops_with_kernels_have_a_chooser)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        if (has_chooser[op] != is_listed(op))
            harness_fail(__FILE__, __LINE__, "%s: has %s chooser, and %s row TERN_USE of its own",
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

/* ---- rows TERN_FAST ---- */

static tern__device *make_device(const tern__device_ops **ops)
{
    const tern__device_options options = {.threads = 2, .isa_cap = {.level = tern__cpu()->best}};
    tern__device *device = NULL;
    harness_check_ok(tern__device_find("cpu", ops), __FILE__, __LINE__, "find");
    harness_check_ok((*ops)->create(&options, &device), __FILE__, __LINE__, "create");
    return device;
}

/* A call of one operand. */
typedef struct one_call {
    tern__type x, y[TERN__MAX_RESULTS_FIXED];
    const tern__type *in[1];
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__call call;
} one_call;

/* Along *axis, which lives as long. */
static void make_call(one_call *c, tern__opcode code, tern__type x, int64_t *axis)
{
    const tern__op *op = &tern__ops[code];
    tern_dtype operand = x.dtype;
    *c = (one_call){.x = x};
    c->in[0] = &c->x;
    tern__op_default_attrs(op, c->attrs);
    if (op->n_attrs > 0 && op->attrs[0].kind == TERN__ATTR_INTS)
        c->attrs[0] = (tern__attr){.count = 1, .ints = axis};
    else if (op->n_attrs > 0 && op->attrs[0].kind == TERN__ATTR_INT)
        c->attrs[0].i = *axis;
    c->call =
        (tern__call){.op = op, .n_in = 1, .n_out = op->n_out, .in = c->in, .attrs = c->attrs, .out = c->y};
    harness_check_ok(tern__op_infer(&c->call, &operand), __FILE__, __LINE__, op->name);
}

/* The rows of its op that take a call, each asked by itself; *first: the name of the first that runs here. */
static int takers(const tern__target *target, const one_call *c, const char **first)
{
    const tern__cpu_fast *fast;
    int n = 0;
    for (int i = 0; (fast = tern__cpu_fast_of(tern__op_code(c->call.op), i)); i++) {
        const tern__kernel_row *row;
        tern__arena arena;
        tern__choice choice = {0};
        bool takes = false;
        if (!tern__cpu_fast_runs(fast, target->isa_mask, &row))
            continue;
        tern__arena_init(&arena, 0);
        harness_check_ok(fast->takes(target, row ? row->kernel : NULL, &c->call, &arena, &choice, &takes),
                         __FILE__, __LINE__, fast->name);
        tern__arena_free(&arena);
        if (takes && n++ == 0)
            *first = fast->name;
    }
    return n;
}

static void check_taken(const tern__target *target, tern__opcode op, tern_dtype dtype, int64_t axis, int n,
                        const char *name)
{
    one_call c;
    tern__arena arena;
    tern__choice choice;
    const char *first = tern__cpu_reference_name(op);
    make_call(&c, op, (tern__type){dtype, 2, {300, 200}}, &axis);
    CHECK_EQ(takers(target, &c, &first), n);
    if (strcmp(first, name) != 0)
        harness_fail(__FILE__, __LINE__, "%s of %s along %d goes to %s, not to %s", c.call.op->name,
                     tern_dtype_name(dtype), (int)axis, first, name);
    tern__arena_init(&arena, 0);
    CHECK_OK(target->choose(target, &c.call, NULL, &arena, &choice));
    if (strcmp(choice.name, name) != 0 && !choice.rows)
        harness_fail(__FILE__, __LINE__, "%s of %s along %d runs on %s, not on %s", c.call.op->name,
                     tern_dtype_name(dtype), (int)axis, choice.name, name);
    tern__arena_free(&arena);
}

/* Whichever order they stand in: a row takes what it is for, and nothing else. */
TEST(rows_say_what_they_take)
{
    const tern__device_ops *ops;
    tern__device *device = make_device(&ops);
    const tern__target *target = ops->target(device);
    check_taken(target, TERN__OP_sort, TERN_F32, 1, 1, "sort__radix");
    check_taken(target, TERN__OP_sort, TERN_I8, 0, 1, "sort__radix");
    check_taken(target, TERN__OP_sort, TERN_F64, 1, 1, "sort__radix_wide");
    check_taken(target, TERN__OP_sort, TERN_I64, 0, 1, "sort__radix_wide");
    check_taken(target, TERN__OP_sum, TERN_F32, 0, 1, "sum__columns");
    check_taken(target, TERN__OP_sum, TERN_F64, 0, 0, "sum__ref");
    check_taken(target, TERN__OP_sum, TERN_I32, 1, 1, "blocks__reduce");
    check_taken(target, TERN__OP_mean, TERN_F16, 0, 1, "mean__columns");
    check_taken(target, TERN__OP_cumsum, TERN_F32, 1, 1, "cumsum__lanes");
    check_taken(target, TERN__OP_cumsum, TERN_F64, 1, 0, "cumsum__ref");
    check_taken(target, TERN__OP_softmax, TERN_F32, 0, 1, "softmax__columns");
    check_taken(target, TERN__OP_argmax, TERN_F64, 0, 0, "argmax__ref");
    ops->destroy(device);
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
