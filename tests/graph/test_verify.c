/* test_verify.c - the verifier: a sound graph is broken in one place at a time, and each time it says where. */
#include "base/alloc.h"
#include "graph/text.h"
#include "harness.h"
#include "text_util.h"

/* Values: x 0, w 1, s 2, at 3, product 4, values 5, indices 6, written 7, half 8. */
static const char SOUND[] =
    "graph {\n"
    "  %x = input \"x\" f32[4,8]\n"
    "  %w = constant \"w\" f32[8,2] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\n"
    "  %s = state \"s\" f32[8,2]\n"
    "  %at = input \"at\" i64[2]\n"
    "  %0 = matmul(%x, %w)\n"
    "  %v, %i = topk(%0) {k=2}\n"
    "  %s1 = write_slice(%s, %0, %at)\n"
    "  %h = cast(%v) {dtype=f16}\n"
    "  return %s1 as \"s\", %i as \"i\", %h as \"h\"\n"
    "}\n";

enum { X, W, S, AT, PRODUCT, TOPK, WRITE, CAST }; /* nodes */

static tern__id *operands(tern_graph *g, int node)
{
    return (tern__id *)(uintptr_t)g->nodes[node].in; /* in the graph's arena, which is ours */
}

typedef struct breakage {
    const char *name;
    void (*apply)(tern_graph *g);
    tern_status status;
    const char *message;
} breakage;

/* clang-format off */
static void use_later(tern_graph *g) { operands(g, PRODUCT)[1] = 7; }
static void use_itself(tern_graph *g) { operands(g, PRODUCT)[0] = 4; }
static void use_nothing(tern_graph *g) { operands(g, PRODUCT)[0] = 1000; }
static void no_operand_array(tern_graph *g) { g->nodes[PRODUCT].in = NULL; }
static void one_operand(tern_graph *g) { g->nodes[PRODUCT].n_in = 1; }
static void wrong_shapes(tern_graph *g) { operands(g, PRODUCT)[1] = 0; }
static void no_such_op(tern_graph *g) { g->nodes[PRODUCT].op = (tern__opcode)9999; }
static void no_attributes(tern_graph *g) { g->nodes[PRODUCT].attrs = NULL; }
static void bad_bool(tern_graph *g) { g->nodes[PRODUCT].attrs[0].i = 2; }
static void bad_dtype(tern_graph *g) { g->nodes[CAST].attrs[0].i = 77; }
static void bad_k(tern_graph *g) { g->nodes[TOPK].attrs[0].i = 3; }
static void wrong_result_shape(tern_graph *g) { g->values[4].type.shape[0] = 5; }
static void wrong_result_dtype(tern_graph *g) { g->values[8].type.dtype = TERN_BF16; }
static void missing_cast(tern_graph *g) { g->values[1].type.dtype = TERN_F64; g->nodes[W].attrs[1].i = TERN_F64;
                                          g->leaves[1].storage = NULL; }
static void too_many_results(tern_graph *g) { g->nodes[PRODUCT].n_out = 2; }
static void too_few_results(tern_graph *g) { g->nodes[TOPK].n_out = 1; }
static void results_elsewhere(tern_graph *g) { g->nodes[PRODUCT].out = 5; }
static void result_of_another(tern_graph *g) { g->values[4].node = 1; }
static void more_values(tern_graph *g) { g->n_nodes--; }
static void leaf_of_an_op(tern_graph *g) { g->nodes[PRODUCT].leaf = 0; }
static void no_leaf(tern_graph *g) { g->nodes[X].leaf = 99; }
static void leaf_of_another(tern_graph *g) { g->nodes[X].leaf = 1; }
static void leaf_type(tern_graph *g) { g->values[0].type.shape[1] = 9; }
static void layout_outside(tern_graph *g) { g->leaves[1].layout.offset = 1; }
static void layout_far_outside(tern_graph *g) { g->leaves[1].layout.strides[0] = INT64_MAX / 2; }
static void layout_before(tern_graph *g) { g->leaves[1].layout.strides[0] = -2; }
static void stray_leaf(tern_graph *g)
{
    tern__id value;
    tern__graph_add_leaf(g, TERN__OP_input, NULL, &g->values[0].type, NULL, NULL, &value);
    g->leaves[g->n_leaves - 1].node = 99;
    g->n_nodes--;
    g->n_values--;
}
static void write_again(tern_graph *g)
{
    tern__id ignored;
    tern__graph_add(g, TERN__OP_write_slice, 3, operands(g, WRITE), NULL, 1, &g->values[2].type, &ignored);
}
static void write_a_constant(tern_graph *g) { operands(g, WRITE)[0] = 1; }
static void same_value_names(tern_graph *g) { g->values[4].name = "x"; }
static void bad_value_name(tern_graph *g) { g->values[4].name = "7 up"; }
static void digit_first(tern_graph *g) { g->values[4].name = "7a"; }
static void same_leaf_names(tern_graph *g) { g->nodes[W].attrs[0] = g->nodes[X].attrs[0]; }
static void short_leaf_name(tern_graph *g) { g->nodes[W].attrs[0].count = 9; }
static void no_such_output(tern_graph *g) { g->outputs[1].value = 9; }
static void same_output_names(tern_graph *g) { g->outputs[1].name = "h"; }
static void empty_output_name(tern_graph *g) { g->outputs[0].name = ""; }
static void nameless_output(tern_graph *g) { g->outputs[0].name = NULL; }
/* clang-format on */

#define BREAK(name) #name, name

static const breakage BREAKAGES[] = {
    {BREAK(use_later), TERN_INVALID_ARGUMENT,
     "%0 = matmul(%x, %s1): operand 1 is used before its definition"},
    {BREAK(use_itself), TERN_INVALID_ARGUMENT,
     "%0 = matmul(%0, %w): operand 0 is used before its definition"},
    {BREAK(use_nothing), TERN_INVALID_ARGUMENT,
     "%0 = matmul(%?, %w): operand 0 is used before its definition"},
    {BREAK(no_operand_array), TERN_INTERNAL, "%0 = matmul(): it has no operands"},
    {BREAK(one_operand), TERN_INVALID_ARGUMENT, "%0 = matmul(%x): takes 2 operands, got 1"},
    {BREAK(wrong_shapes), TERN_SHAPE, "%0 = matmul(%x, %x): inner sizes differ: [4,8] x [4,8]"},
    {BREAK(no_such_op), TERN_INTERNAL, "%0 = ?(%x, %w): op 9999 does not exist"},
    {BREAK(no_attributes), TERN_INTERNAL, "%0 = matmul(%x, %w): it has no attributes"},
    {BREAK(bad_bool), TERN_INVALID_ARGUMENT, "%0 = matmul(%x, %w): transpose_a is 2, not 0 or 1"},
    {BREAK(bad_dtype), TERN_INVALID_ARGUMENT, "%h = cast(%v): dtype 77 is not a dtype"},
    {BREAK(bad_k), TERN_OUT_OF_RANGE, "%v, %i = topk(%0): k 3 is outside 0..2, the size of axis 1 of [4,2]"},
    {BREAK(wrong_result_shape), TERN_SHAPE, "%0 = matmul(%x, %w): result 0 is f32[4,2], not f32[5,2]"},
    {BREAK(wrong_result_dtype), TERN_DTYPE, "%h = cast(%v): result 0 is f16[4,2], not bf16[4,2]"},
    {BREAK(missing_cast), TERN_DTYPE, "%0 = matmul(%x, %w): operand 0 is f32 but f64 is needed: insert cast"},
    {BREAK(too_many_results), TERN_INTERNAL,
     "%0, %v = matmul(%x, %w): result 1 says that it is result 0 of node 5"},
    {BREAK(too_few_results), TERN_INTERNAL, "%v = topk(%0): topk gives 2 results, but it has 1"},
    {BREAK(results_elsewhere), TERN_INTERNAL,
     "%v = matmul(%x, %w): its results are values 5 to 5, but 4 of 9 is next"},
    {BREAK(result_of_another), TERN_INTERNAL,
     "%0 = matmul(%x, %w): result 0 says that it is result 0 of node 1"},
    {BREAK(more_values), TERN_INTERNAL, "the graph has 9 values, but its nodes give 8"},
    {BREAK(leaf_of_an_op), TERN_INTERNAL, "%0 = matmul(%x, %w): it is no leaf, but has the data of one"},
    {BREAK(no_leaf), TERN_INTERNAL, "%x = input: leaf 99 does not exist"},
    {BREAK(leaf_of_another), TERN_INTERNAL, "%x = input: its data belong to node 1"},
    {BREAK(leaf_type), TERN_SHAPE, "%x = input: result 0 is f32[4,8], not f32[4,9]"},
    {BREAK(layout_outside), TERN_OUT_OF_RANGE,
     "%w = constant: f32[8,2] does not fit in its storage of 64 bytes"},
    {BREAK(layout_far_outside), TERN_OUT_OF_RANGE,
     "%w = constant: f32[8,2] does not fit in its storage of 64 bytes"},
    {BREAK(layout_before), TERN_OUT_OF_RANGE,
     "%w = constant: f32[8,2] does not fit in its storage of 64 bytes"},
    {BREAK(stray_leaf), TERN_INTERNAL, "leaf 4 belongs to no node"},
    {BREAK(write_again), TERN_INVALID_ARGUMENT,
     "%1 = write_slice(%s, %0, %at): %s is overwritten already by %s1 = write_slice(%s, %0, %at): use "
     "its result, or read before it"},
    {BREAK(write_a_constant), TERN_INVALID_ARGUMENT,
     "%s1 = write_slice(%w, %0, %at): operand 0 is a constant, which cannot be written"},
    {BREAK(same_value_names), TERN_INVALID_ARGUMENT, "%x = matmul(%x, %w): %x names another value already"},
    {BREAK(bad_value_name), TERN_INVALID_ARGUMENT,
     "%7 up = matmul(%x, %w): '7 up' cannot be a value's name: it is not an identifier of at most 256 "
     "characters"},
    {BREAK(digit_first), TERN_INVALID_ARGUMENT,
     "%7a = matmul(%x, %w): '7a' cannot be a value's name: it is not an identifier of at most 256 "
     "characters"},
    {BREAK(same_leaf_names), TERN_INVALID_ARGUMENT, "%w = constant: \"x\" is the name of another input"},
    {BREAK(short_leaf_name), TERN_INVALID_ARGUMENT, "%w = constant: name is shorter than it says"},
    {BREAK(no_such_output), TERN_INTERNAL, "output 1 is value 9 of 9"},
    {BREAK(same_output_names), TERN_INVALID_ARGUMENT, "outputs 1 and 2 are both named \"h\""},
    {BREAK(empty_output_name), TERN_INVALID_ARGUMENT, "the name of output 0 has no characters"},
    {BREAK(nameless_output), TERN_INTERNAL, "output 0 has no name"},
};

TEST(a_sound_graph_passes)
{
    tern_graph *g;
    CHECK_OK(parse_text(SOUND, &g));
    CHECK_OK(tern_graph_verify(g));
    tern_graph_info info;
    tern_graph_get_info(g, &info);
    CHECK_EQ(info.nodes, 8);
    CHECK_EQ(info.inputs, 2);
    CHECK_EQ(info.constants, 1);
    CHECK_EQ(info.states, 1);
    CHECK_EQ(info.outputs, 3);
    tern_graph_free(g);
}

TEST(an_empty_graph_passes)
{
    tern_graph *g;
    CHECK_OK(tern__graph_new(&g));
    CHECK_OK(tern_graph_verify(g));
    tern_graph_free(g);
    CHECK_STATUS(tern_graph_verify(NULL), TERN_INVALID_ARGUMENT);
}

TEST(each_breakage_is_named)
{
    for (size_t i = 0; i < sizeof BREAKAGES / sizeof BREAKAGES[0]; i++) {
        const breakage *b = &BREAKAGES[i];
        tern_graph *g;
        CHECK_OK(parse_text(SOUND, &g));
        uint32_t nodes = g->n_nodes, values = g->n_values;
        tern__storage *storage = g->leaves[1].storage;
        b->apply(g);
        tern_status status = tern_graph_verify(g);
        if (status != b->status || strcmp(tern_last_error(), b->message) != 0)
            harness_fail(__FILE__, __LINE__, "%s\n  got  %s: %s\n  want %s: %s", b->name,
                         tern_status_name(status), tern_last_error(), tern_status_name(b->status),
                         b->message);
        g->leaves[1].storage = storage; /* what freeing needs */
        g->n_nodes = nodes;
        g->n_values = values;
        tern_graph_free(g);
    }
}

/* A chain of writes is fine: each state is overwritten once. */
TEST(chains_of_writes)
{
    tern_graph *g;
    CHECK_OK(parse_text("graph { %s = state \"s\" f32[4] %x = input f32[2] %i = input i64[1]\n"
                        "%s1 = write_slice(%s, %x, %i) %s2 = write_slice(%s1, %x, %i)\n"
                        "%s3 = write_slice(%s2, %x, %i) return %s3 }",
                        &g));
    CHECK_OK(tern_graph_verify(g));
    tern_graph_free(g);
}

TEST(long_lists_are_shortened_in_messages)
{
    tern_graph *g;
    CHECK_STATUS(parse_text("graph { %a = input f32[1] %b = input f32[1,1]\n"
                            "%c = concat(%a, %a, %a, %a, %a, %a, %a, %a, %b) return %c }",
                            &g),
                 TERN_SHAPE);
    CHECK_OK(
        parse_text("graph { %a = input f32[1] %c = concat(%a, %a, %a, %a, %a, %a, %a, %a) return %c }", &g));
    g->values[1].type.dtype = TERN_F16;
    CHECK_STATUS(tern_graph_verify(g), TERN_DTYPE);
    CHECK_STR(tern_last_error(), "%c = concat(%a, %a, %a, %a, %a, %a, ...): result 0 is f32[8], not f16[8]");
    tern_graph_free(g);
}
