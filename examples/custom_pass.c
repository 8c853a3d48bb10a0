/* custom_pass.c - taking part in compilation: a pass and a fusion pattern of one's own, and what the report says of them. */
#include <stdio.h>
#include <string.h>
#include <tern/tern.h>

/* The pass: x * x is square(x), which reads its operand once. */
static tern_status use_square(void *user, tern_edit *edit)
{
    (void)user;
    const tern_graph *graph = tern_edit_graph(edit);
    tern_graph_info info;
    tern_graph_get_info(graph, &info); /* nodes that the loop inserts come after these */
    for (tern_node n = 0; n < (tern_node)info.nodes; n++) {
        tern_node_info node;
        tern_value squared;
        TERN_TRY(tern_graph_node(graph, n, &node));
        if (strcmp(node.op, "mul") != 0 || node.operands[0] != node.operands[1])
            continue;
        tern_value product = node.result;
        TERN_TRY(tern_edit_insert(edit, "square", NULL, 1, node.operands, &squared));
        TERN_TRY(tern_edit_replace(edit, product, squared));
        TERN_TRY(tern_edit_remove(edit, n));
        tern_edit_note(edit, "node %u multiplied a value by itself: it is a square now", n);
    }
    return TERN_OK;
}

/* The pattern, tried at every relu: the addition before it, if nobody else reads its sum, becomes part of one step with it. */
static tern_match fuse_add_relu(void *user, tern_edit *edit, tern_node relu)
{
    (void)user;
    const tern_graph *graph = tern_edit_graph(edit);
    tern_node_info node, before;
    tern_value_info sum;
    tern_node fused;
    if (tern_graph_node(graph, relu, &node) != TERN_OK ||
        tern_graph_value(graph, node.operands[0], &sum) != TERN_OK ||
        tern_graph_node(graph, sum.node, &before) != TERN_OK)
        return TERN_MATCH_FAILED;
    if (strcmp(before.op, "add") != 0 || tern_edit_uses(edit, node.operands[0]) != 1)
        return TERN_MATCH_NONE;
    tern_node both[] = {sum.node, relu};
    return tern_edit_fuse(edit, 2, both, &fused) == TERN_OK ? TERN_MATCH_FUSED : TERN_MATCH_FAILED;
}

static const char text[] = "graph {\n"
                           "  %x = input \"x\" f32[4,8]\n"
                           "  %b = input \"b\" f32[8]\n"
                           "  %xx = mul(%x, %x)\n"
                           "  %s = add(%xx, %b)\n"
                           "  %y = relu(%s)\n"
                           "  return %y as \"y\"\n"
                           "}\n";

static void print_report(const tern_program *program)
{
    tern_pass_report pass;
    tern_fusion_info fusion;
    for (int i = 0; tern_program_pass(program, i, &pass) == TERN_OK; i++) {
        if (pass.changes == 0)
            continue;
        printf("%s%s: %d edit%s, %d -> %d nodes\n", pass.name, pass.custom ? " (ours)" : "", pass.changes,
               pass.changes == 1 ? "" : "s", pass.nodes_before, pass.nodes_after);
        for (int k = 0; k < pass.n_notes; k++)
            printf("%s\n", pass.notes[k]);
    }
    for (int i = 0; tern_program_fusion(program, i, &fusion) == TERN_OK; i++)
        printf("fused by %s: %d nodes, estimated speed-up %.1fx\n", fusion.kind, fusion.n_nodes,
               fusion.estimated_speedup);
}

/* y = relu(x * x + b) with x = -3 and b = -4. */
static tern_status check(tern_ctx *ctx, const tern_program *program)
{
    tern_exec *exec;
    TERN_TRY(tern_exec_create(ctx, program, &exec));
    tern_status status = TERN_INTERNAL;
    TERN_SCOPE(ctx) {
        tern_tensor *in[] = {tern_full(ctx, TERN_F32, 2, (int64_t[]){4, 8}, -3),
                             tern_full(ctx, TERN_F32, 1, (int64_t[]){8}, -4)};
        tern_tensor *y;
        status = tern_exec_run(exec, 2, in, 1, &y);
        if (status == TERN_OK)
            printf("relu(-3 * -3 + -4) = %g\n", tern_data_f32(y)[0]);
        if (status == TERN_OK && tern_data_f32(y)[0] != 5)
            status = TERN_INTERNAL;
    }
    tern_exec_free(exec);
    return status;
}

int main(void)
{
    const tern_custom_pass pass = {.name = "use_square", .before = "fold", .run = use_square};
    const tern_fusion_pattern pattern = {.name = "add_relu", .op = "relu", .fuse = fuse_add_relu};
    tern_compile_options options = tern_compile_options_default();
    options.n_passes = 1;
    options.passes = &pass;
    options.n_patterns = 1;
    options.patterns = &pattern;

    tern_ctx *ctx = NULL;
    tern_graph *graph = NULL;
    tern_program *program = NULL;
    tern_status status = tern_ctx_create(NULL, &ctx);
    if (status == TERN_OK)
        status = tern_graph_parse(ctx, text, sizeof text - 1, &graph);
    if (status == TERN_OK)
        status = tern_graph_compile(ctx, graph, &options, &program);
    if (status == TERN_OK)
        print_report(program);
    if (status == TERN_OK)
        status = check(ctx, program);
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", tern_status_name(status), tern_last_error());
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    return status != TERN_OK;
}
