/* test_edit.c - looking inside graphs and making others of them, through the public interface alone. */
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"

static tern_ctx *ctx;
static tern_graph *graph;
static tern_edit *edit;

static void open_text(const char *text)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
    CHECK_OK(tern_edit_begin(graph, &edit));
}

static void close_all(void)
{
    tern_edit_free(edit);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    edit = NULL;
    graph = NULL;
    ctx = NULL;
}

static const tern_graph *present(void)
{
    return edit ? tern_edit_graph(edit) : graph;
}

/* The number of the value with that name; past the last if there is none. */
static tern_value value(const char *name)
{
    tern_graph_info info;
    tern_value_info at;
    tern_graph_get_info(present(), &info);
    for (tern_value v = 0; v < (tern_value)info.values; v++)
        if (tern_graph_value(present(), v, &at) == TERN_OK && at.name && strcmp(at.name, name) == 0)
            return v;
    return (tern_value)info.values;
}

static tern_node maker(tern_value v)
{
    tern_value_info info;
    return tern_graph_value(present(), v, &info) == TERN_OK ? info.node : UINT32_MAX;
}

static void check_becomes(const char *want)
{
    tern_graph *made = NULL;
    char *text = NULL;
    CHECK_OK(tern_edit_finish(edit, &made));
    edit = NULL;
    CHECK_OK(tern_graph_print(made, &text));
    CHECK_STR(text, want);
    tern_string_free(text);
    tern_graph_free(made);
}

static const char mlp[] = "graph mlp {\n"
                          "  %x = input \"x\" f32[2,3]\n"
                          "  %w = constant \"w\" f32[3,2] {1, 2, 3, 4, 5, 6}\n"
                          "  %m = matmul(%x, %w) : f32[2,2] from \"layer\"\n"
                          "  %h = relu(%m) : f32[2,2]\n"
                          "  %t, %i = topk(%h) {k=2, axis=1} : f32[2,2], i64[2,2]\n"
                          "  return %t as \"top\", %i as \"at\"\n"
                          "}\n";

TEST(reads_nodes_values_and_attributes)
{
    open_text(mlp);
    tern_graph_info info;
    tern_node_info node;
    tern_value_info at;
    tern_attr_info attr;
    tern_graph_get_info(graph, &info);
    CHECK_EQ(info.nodes, 5);
    CHECK_EQ(info.values, 6);
    CHECK_OK(tern_graph_node(graph, 1, &node));
    CHECK_STR(node.op, "constant");
    CHECK_STR(node.name, "w");
    CHECK(node.is_leaf && node.has_data && !node.removed);
    CHECK_OK(tern_graph_node(graph, 2, &node));
    CHECK_STR(node.origin, "layer");
    CHECK_EQ(node.n_operands, 2);
    CHECK_EQ(node.operands[1], 1);
    CHECK_OK(tern_graph_node(graph, 4, &node));
    CHECK_EQ(node.n_results, 2);
    CHECK_EQ(node.result, 4);
    CHECK_OK(tern_graph_value(graph, 5, &at));
    CHECK_EQ(at.dtype, TERN_I64);
    CHECK_EQ(at.node, 4);
    CHECK_EQ(at.result, 1);
    CHECK_EQ(at.shape[0], 2);
    CHECK_OK(tern_graph_attr_named(graph, 4, "axis", &attr));
    CHECK_EQ(attr.kind, TERN_ATTR_INT);
    CHECK_EQ(attr.i, 1);
    CHECK(attr.is_set);
    CHECK_STATUS(tern_graph_attr_named(graph, 4, "axes", &attr), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "topk has no attribute 'axes'");
    CHECK_STATUS(tern_graph_attr(graph, 4, 99, &attr), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_graph_node(graph, 5, &node), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_graph_value(graph, 6, &at), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_graph_node(NULL, 0, &node), TERN_INVALID_ARGUMENT);
    tern_value out;
    CHECK_OK(tern_graph_output_value(graph, 1, &out));
    CHECK_EQ(out, 5);
    CHECK_STATUS(tern_graph_output_value(graph, 2, &out), TERN_OUT_OF_RANGE);
    close_all();
}

TEST(says_what_nodes_do)
{
    open_text("graph {\n  %0 = input \"a b\" f32[2]\n  %s = constant f32[2] {1, 2}\n  %2 = add(%0, %s)\n"
              "  %y = sum(%2) {axes=[0]}\n  return %y\n}\n");
    static const char *const labels[] = {"%0", "%s", "%1", "%y"}; /* numbers count those without a name */
    const char *label = NULL;
    char *text = NULL;
    for (tern_value v = 0; v < 4; v++) {
        CHECK_OK(tern_graph_label(graph, v, &label));
        CHECK_STR(label, labels[v]);
    }
    CHECK_STATUS(tern_graph_label(graph, 4, &label), TERN_OUT_OF_RANGE);
    CHECK_STR(label, "%y");
    const char *const want[] = {"input \"a b\"", "constant {1, 2}", "add(%0, %s)", "sum(%1) {axes=[0]}"};
    for (tern_node n = 0; n < 4; n++) {
        CHECK_OK(tern_graph_call_text(graph, n, &text));
        CHECK_STR(text, want[n]);
        tern_string_free(text);
    }
    close_all();
}

TEST(an_edit_without_changes_gives_the_same_graph)
{
    open_text(mlp);
    check_becomes(mlp);
    close_all();
}

TEST(inserts_after_a_value)
{
    open_text(mlp);
    tern_value m = value("m"), n = 0;
    CHECK_EQ(tern_edit_uses(edit, m), 1);
    CHECK_OK(tern_edit_insert(edit, "neg", NULL, 1, &m, &n));
    CHECK_EQ(tern_edit_uses(edit, m), 2);
    CHECK_OK(tern_edit_replace(edit, m, n)); /* but the new node goes on reading %m */
    CHECK_EQ(tern_edit_uses(edit, m), 1);
    CHECK_EQ(tern_edit_uses(edit, n), 1);
    check_becomes("graph mlp {\n"
                  "  %x = input \"x\" f32[2,3]\n"
                  "  %w = constant \"w\" f32[3,2] {1, 2, 3, 4, 5, 6}\n"
                  "  %0 = matmul(%x, %w) : f32[2,2] from \"layer\"\n"
                  "  %m = neg(%0) : f32[2,2]\n"
                  "  %h = relu(%m) : f32[2,2]\n"
                  "  %t, %i = topk(%h) {k=2, axis=1} : f32[2,2], i64[2,2]\n"
                  "  return %t as \"top\", %i as \"at\"\n"
                  "}\n");
    close_all();
}

TEST(replaces_and_removes)
{
    open_text(mlp);
    tern_value m = value("m"), h = value("h"), c = 0, sum = 0;
    const float one[4] = {1, 1, 1, 1};
    const int64_t shape[2] = {2, 2};
    CHECK_OK(tern_edit_insert_constant(edit, "ones", TERN_F32, 2, shape, one, &c));
    CHECK_OK(tern_edit_insert(edit, "add", NULL, 2, (tern_value[]){m, c}, &sum));
    CHECK_OK(tern_edit_replace(edit, h, sum));
    CHECK_OK(tern_edit_remove(edit, maker(h)));
    tern_node_info info;
    CHECK_OK(tern_graph_node(tern_edit_graph(edit), maker(m), &info));
    CHECK(!info.removed);
    check_becomes("graph mlp {\n"
                  "  %x = input \"x\" f32[2,3]\n"
                  "  %w = constant \"w\" f32[3,2] {1, 2, 3, 4, 5, 6}\n"
                  "  %m = matmul(%x, %w) : f32[2,2] from \"layer\"\n"
                  "  %ones = constant \"ones\" f32[2,2] {1, 1, 1, 1}\n"
                  "  %h = add(%m, %ones) : f32[2,2]\n"
                  "  %t, %i = topk(%h) {k=2, axis=1} : f32[2,2], i64[2,2]\n"
                  "  return %t as \"top\", %i as \"at\"\n"
                  "}\n");
    close_all();
}

TEST(refuses_what_would_break_the_graph)
{
    open_text(mlp);
    tern_value m = value("m"), h = value("h"), x = value("x"), w = value("w"), n = 99;
    CHECK_STATUS(tern_edit_insert(edit, "no_such_op", NULL, 1, &m, &n), TERN_NOT_FOUND);
    CHECK_STATUS(tern_edit_insert(edit, "input", NULL, 0, NULL, &n), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_insert(edit, "fused", NULL, 1, &m, &n), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_insert(edit, "add", NULL, 2, (tern_value[]){m, x}, &n), TERN_SHAPE);
    CHECK_STATUS(tern_edit_insert(edit, "add", NULL, 2, (tern_value[]){m, value("i")}, &n), TERN_DTYPE);
    CHECK_STATUS(tern_edit_insert(edit, "add", NULL, 2, (tern_value[]){m, 1000}, &n), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_edit_insert(edit, "sum", "axis=1", 1, &m, &n), TERN_FORMAT);
    CHECK_EQ(n, 99);
    CHECK_STATUS(tern_edit_replace(edit, m, x), TERN_SHAPE);
    CHECK_STATUS(tern_edit_replace(edit, m, 1000), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_edit_remove(edit, maker(m)), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "edit_remove: result 0 of node 2 (matmul) is still read: replace it first");
    CHECK_STATUS(tern_edit_remove(edit, maker(x)), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_set_operand(edit, maker(h), 1, m), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_edit_set_operand(edit, maker(h), 0, w), TERN_SHAPE);
    CHECK_STATUS(tern_edit_fuse(edit, 1, (tern_node[]){maker(m)}, &(tern_node){0}), TERN_UNSUPPORTED);
    CHECK_STATUS(tern_edit_finish(edit, NULL), TERN_INVALID_ARGUMENT);
    check_becomes(mlp); /* nothing happened */
    close_all();
}

TEST(names_a_cycle_and_goes_on)
{
    open_text(mlp);
    tern_value m = value("m"), h = value("h"), a = 0, b = 0;
    CHECK_OK(tern_edit_insert(edit, "neg", NULL, 1, &h, &a));
    CHECK_OK(tern_edit_insert(edit, "neg", NULL, 1, &a, &b));
    CHECK_OK(tern_edit_set_operand(edit, maker(h), 0, b));
    tern_graph *made = NULL;
    CHECK_STATUS(tern_edit_finish(edit, &made), TERN_INVALID_ARGUMENT);
    CHECK(made == NULL);
    CHECK_STR(tern_last_error(), "edit: values need each other in a circle: %h -> %0 -> %1 -> %h");
    CHECK_OK(tern_edit_set_operand(edit, maker(h), 0, m));
    CHECK_OK(tern_edit_remove(edit, maker(b)));
    CHECK_OK(tern_edit_remove(edit, maker(a)));
    CHECK_STATUS(tern_edit_remove(edit, maker(a)), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_replace(edit, h, a), TERN_INVALID_ARGUMENT);
    check_becomes(mlp);
    close_all();
}

static const char chain[] = "graph {\n"
                            "  %x = input \"x\" f32[4,8]\n"
                            "  %c = full() {value=2} : f32[]\n"
                            "  %a = mul(%x, %c) : f32[4,8]\n"
                            "  %b = relu(%a) : f32[4,8]\n"
                            "  %s = softmax(%b) : f32[4,8]\n"
                            "  return %s, %a\n"
                            "}\n";

TEST(fuses_chosen_nodes)
{
    open_text(chain);
    tern_node nodes[3] = {maker(value("s")), maker(value("a")), maker(value("b"))}, made = 0;
    CHECK_OK(tern_edit_fuse(edit, 3, nodes, &made));
    tern_graph *fused = NULL;
    CHECK_OK(tern_edit_finish(edit, &fused));
    edit = NULL;
    tern_graph_info info;
    tern_graph_get_info(fused, &info);
    CHECK_EQ(info.nodes, 2); /* the number went into the region */
    tern_attr_info body;
    CHECK_OK(tern_graph_attr_named(fused, 1, "body", &body));
    CHECK_EQ(body.count, 4);
    char *text = NULL;
    CHECK_OK(tern_graph_call_text(fused, 1, &text));
    CHECK_STR(text, "fused(%x) {full + mul + relu + softmax}");
    tern_string_free(text);
    tern_graph_free(fused);
    close_all();
}

TEST(says_why_nodes_do_not_fuse)
{
    open_text("graph {\n  %x = input \"x\" f32[4,8]\n  %a = relu(%x)\n  %t = permute(%a) {axes=[1,0]}\n"
              "  %b = relu(%t)\n  return %b, %a\n}\n");
    tern_node made = 77, a = maker(value("a")), b = maker(value("b"));
    CHECK_STATUS(tern_edit_fuse(edit, 2, (tern_node[]){a, b}, &made), TERN_UNSUPPORTED);
    CHECK_STATUS(tern_edit_fuse(edit, 2, (tern_node[]){a, a}, &made), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_fuse(edit, 0, NULL, &made), TERN_INVALID_ARGUMENT);
    CHECK_EQ(made, 77);
    close_all();
}

TEST(labels_follow_edits)
{
    open_text(chain);
    const tern_graph *g = tern_edit_graph(edit);
    tern_value a = value("a"), b = value("b"), made = 0;
    const char *label;
    CHECK_OK(tern_graph_label(g, b, &label));
    CHECK_STR(label, "%b");
    CHECK_OK(tern_edit_insert(edit, "neg", NULL, 1, &a, &made));
    CHECK_OK(tern_graph_label(g, made, &label));
    CHECK_STR(label, "%0");
    CHECK_OK(tern_edit_replace(edit, b, made)); /* which takes over the name */
    CHECK_OK(tern_graph_label(g, made, &label));
    CHECK_STR(label, "%b");
    CHECK_OK(tern_graph_label(g, b, &label));
    CHECK_STR(label, "%0");
    close_all();
}

TEST(edited_graphs_run)
{
    open_text(chain);
    tern_value a = value("a"), b = value("b");
    CHECK_OK(tern_edit_replace(edit, b, a));
    CHECK_OK(tern_edit_remove(edit, maker(b)));
    tern_graph *made = NULL;
    CHECK_OK(tern_edit_finish(edit, &made));
    edit = NULL;
    tern_program *program = NULL;
    CHECK_OK(tern_graph_compile(ctx, made, NULL, &program));
    tern_program_info info;
    tern_program_get_info(program, &info);
    CHECK_EQ(info.n_inputs, 1);
    tern_program_free(program);
    tern_graph_free(made);
    close_all();
}

TEST(null_arguments_are_refused)
{
    tern_value v = 0;
    CHECK_STATUS(tern_edit_begin(NULL, &edit), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_insert(NULL, "add", NULL, 0, NULL, &v), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_insert_constant(NULL, NULL, TERN_F32, 0, NULL, &v, &v), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_replace(NULL, 0, 0), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_remove(NULL, 0), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_edit_finish(NULL, NULL), TERN_INVALID_ARGUMENT);
    CHECK_EQ(tern_edit_uses(NULL, 0), 0);
    CHECK(tern_edit_graph(NULL) == NULL);
    tern_edit_note(NULL, "nothing");
    tern_edit_free(NULL);
}

/* ---- without memory ---- */

/* A bit of everything; gives up at the first failure. */
static tern_status edit_chain(tern_graph **out)
{
    const float two = 2;
    tern_node fused;
    tern_value c, sum, x = value("x"), a = value("a");
    TERN_TRY(tern_edit_begin(graph, &edit));
    TERN_TRY(tern_edit_insert_constant(edit, "two", TERN_F32, 0, NULL, &two, &c));
    TERN_TRY(tern_edit_insert(edit, "add", NULL, 2, (tern_value[]){x, c}, &sum));
    TERN_TRY(tern_edit_replace(edit, a, sum));
    TERN_TRY(tern_edit_remove(edit, maker(a)));
    TERN_TRY(tern_edit_fuse(edit, 2, (tern_node[]){maker(sum), maker(value("b"))}, &fused));
    TERN_TRY(tern_edit_finish(edit, out));
    edit = NULL;
    return TERN_OK;
}

TEST(no_memory_is_an_error_and_nothing_else)
{
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    open_text(chain);
    tern_edit_free(edit);
    edit = NULL;
    gate g = {.fired = true};
    int failures = 0;
    for (long n = 1; g.fired; n++) {
        tern_graph *made = NULL;
        g = (gate){.countdown = n};
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = edit_chain(&made);
        tern_alloc_set_gate(NULL, NULL);
        failures += status != TERN_OK;
        CHECK_EQ(status, g.fired ? TERN_OUT_OF_MEMORY : TERN_OK);
        tern_edit_free(edit);
        edit = NULL;
        tern_graph_free(made);
    }
    CHECK(failures > 20);
    close_all();
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.allocations - after.frees, before.allocations - before.frees);
}
