/* program.c - compiling graphs, and telling people what came of it. */
#include "runtime/program.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "graph/region.h"

/* Inputs, and constants whose data are not known yet. */
static bool is_bound_at_run(const tern_graph *g, const tern__leaf *leaf)
{
    return !leaf->bound && g->nodes[leaf->node].op != TERN__OP_state;
}

/* Keeps the data of the graph's leaves and lists those that have none. */
static tern_status keep_leaves(const tern_graph *g, tern_program *p)
{
    p->storages = tern__alloc_zero(g->n_leaves, sizeof *p->storages);
    p->inputs = tern__alloc_zero(g->n_leaves, sizeof *p->inputs);
    if (!p->storages || !p->inputs)
        return tern__out_of_memory(g->n_leaves * sizeof *p->storages);
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        if (is_bound_at_run(g, &g->leaves[i]))
            p->inputs[p->n_inputs++] = i;
        p->storages[i] = g->leaves[i].storage;
        if (p->storages[i])
            tern__storage_retain(p->storages[i]);
    }
    return TERN_OK;
}

static tern_status compile_into(tern_ctx *ctx, const tern_graph *graph, const tern_compile_options *options,
                                tern_program *p)
{
    uint64_t start = tern__now_ns();
    tern__compile_options checked;
    TERN_TRY(tern__compile_options_from(options, &checked));
    TERN_TRY(tern__cache_get(&ctx->cache, graph, ctx->device_ops->target(ctx->device), &checked, true,
                             &p->compiled));
    p->nodes_before = (int)graph->n_nodes;
    TERN_TRY(keep_leaves(graph, p));
    p->compile_ns = tern__now_ns() - start;
    return TERN_OK;
}

static tern_status compile(tern_ctx *ctx, const tern_graph *graph, const tern_compile_options *options,
                           tern_program **out)
{
    tern_program *p = tern__alloc_zero(1, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    tern_status status = compile_into(ctx, graph, options, p);
    if (status != TERN_OK) {
        tern_program_free(p);
        return status;
    }
    *out = p;
    return TERN_OK;
}

tern_status tern_graph_compile(tern_ctx *ctx, const tern_graph *graph, const tern_compile_options *options,
                               tern_program **out)
{
    TERN__FAIL_IF(!ctx || !graph || !out, TERN_INVALID_ARGUMENT,
                  "compile: needs a context, a graph and room for a program");
    return compile(ctx, graph, options, out);
}

tern_status tern_compile(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                         const tern_compile_options *options, tern_program **out)
{
    tern_graph *graph;
    TERN_TRY(tern_graph_capture(ctx, n, outputs, names, &graph));
    tern_status status = compile(ctx, graph, options, out);
    tern_graph_free(graph);
    return status;
}

void tern_program_free(tern_program *program)
{
    if (!program)
        return;
    const tern_graph *source = program->compiled ? &program->compiled->source : NULL;
    for (uint32_t i = 0; program->storages && i < source->n_leaves; i++)
        tern__storage_release(program->storages[i]);
    tern__free(program->storages);
    tern__free(program->inputs);
    tern__compiled_release(program->compiled);
    tern__free(program);
}

int tern_program_inputs(const tern_program *program)
{
    return program->n_inputs;
}

int tern_program_outputs(const tern_program *program)
{
    return (int)program->compiled->plan.n_results;
}

static tern_port port(const tern__type *type, const char *name)
{
    return (tern_port){.name = name, .dtype = type->dtype, .rank = type->rank, .shape = type->shape};
}

tern_status tern_program_input(const tern_program *program, int i, tern_port *out)
{
    TERN__FAIL_IF(i < 0 || i >= program->n_inputs, TERN_OUT_OF_RANGE, "program input %d: there are %d", i,
                  program->n_inputs);
    const tern_graph *g = &program->compiled->source;
    const tern__gnode *node = &g->nodes[g->leaves[program->inputs[i]].node];
    *out = port(&g->values[node->out].type, node->attrs[0].text);
    return TERN_OK;
}

tern_status tern_program_output(const tern_program *program, int i, tern_port *out)
{
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_results, TERN_OUT_OF_RANGE,
                  "program output %d: there are %u", i, plan->n_results);
    const tern__result *result = &plan->results[i];
    *out = port(result->at.type, result->name);
    return TERN_OK;
}

void tern_program_get_info(const tern_program *program, tern_program_info *out)
{
    const tern__plan *plan = &program->compiled->plan;
    *out = (tern_program_info){.nodes_before = program->nodes_before,
                               .nodes_after = (int)program->compiled->graph.n_nodes,
                               .steps = (int)plan->n_steps,
                               .arena_bytes = plan->arena_bytes,
                               .live_bytes = plan->live_bytes,
                               .naive_bytes = plan->naive_bytes,
                               .flops = plan->flops,
                               .bytes = plan->bytes,
                               .compile_ns = program->compile_ns};
}

tern_status tern_program_pass(const tern_program *program, int i, tern_pass_report *out)
{
    TERN__FAIL_IF(i < 0 || i >= tern__n_passes, TERN_OUT_OF_RANGE, "program pass %d: there are %d", i,
                  tern__n_passes);
    const tern__pass_log *log = &program->compiled->logs[i];
    *out = (tern_pass_report){.name = tern__passes[i].name,
                              .ran = log->ran,
                              .changes = (int)log->changes,
                              .nodes_after = (int)log->nodes_after,
                              .ns = log->ns,
                              .notes = log->notes.text ? log->notes.text : ""};
    return TERN_OK;
}

/* The names of a region's ops with " + " between them; those for which there is no room are counted. */
static void name_ops(const tern__region *region, char *out, size_t size)
{
    enum { MORE = sizeof " + 65535 more" };
    size_t used = 0;
    for (int i = 0; i < region->n_ops; i++) {
        const char *name = tern__ops[region->ops[i].op].name;
        if (used + strlen(" + ") + strlen(name) + MORE > size) {
            snprintf(out + used, size - used, " + %d more", region->n_ops - i);
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " + " : "", name);
    }
}

tern_status tern_program_step(const tern_program *program, int i, tern_step_info *out)
{
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_steps, TERN_OUT_OF_RANGE, "program step %d: there are %u",
                  i, plan->n_steps);
    const tern__step *step = &plan->steps[i];
    tern_step_info info = {.op = tern__ops[step->op].name,
                           .kernel = step->kernel_name,
                           .isa = step->isa_name,
                           .threads = step->parts,
                           .flops = step->flops,
                           .bytes = step->bytes,
                           .n_operands = (int)step->n_in,
                           .n_results = (int)step->n_out};
    if (step->op == TERN__OP_fused)
        name_ops(step->attrs[0].region, info.detail, sizeof info.detail);
    *out = info;
    return TERN_OK;
}

static const char *place_name(const tern_graph *g, const tern__operand *operand)
{
    if (operand->space == TERN__SPACE_LEAF)
        return tern__ops[g->nodes[g->leaves[operand->index].node].op].name;
    return operand->space == TERN__SPACE_OUTPUT ? "output" : "arena";
}

tern_status tern_program_operand(const tern_program *program, int step, int i, tern_operand_info *out)
{
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(step < 0 || (uint32_t)step >= plan->n_steps, TERN_OUT_OF_RANGE,
                  "program step %d: there are %u", step, plan->n_steps);
    const tern__step *s = &plan->steps[step];
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= s->n_in + s->n_out, TERN_OUT_OF_RANGE,
                  "operand %d of step %d: there are %u", i, step, s->n_in + s->n_out);
    const tern__operand *operand = &plan->operands[s->operands + (uint32_t)i];
    *out = (tern_operand_info){.port = port(operand->type, NULL),
                               .place = place_name(&program->compiled->graph, operand),
                               .offset = operand->byte_offset,
                               .bytes = tern__type_bytes(operand->type)};
    const tern__label *label = &program->compiled->labels[operand->value];
    if (label->name)
        snprintf(out->name, sizeof out->name, "%s", label->name);
    else
        snprintf(out->name, sizeof out->name, "%u", label->number);
    return TERN_OK;
}
