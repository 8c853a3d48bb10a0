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

static uint32_t alias_of(const tern_graph *g, tern__id value)
{
    uint32_t leaf = g->nodes[g->values[value].node].leaf;
    return leaf == TERN__NO_ID ? TERN__NO_ID : g->leaves[leaf].alias;
}

/* When a run is over, a state holds its last value: an earlier one cannot be an output. */
static tern_status check_outputs(const tern__compiled *compiled)
{
    const tern_graph *g = &compiled->graph;
    const tern__plan *plan = &compiled->plan;
    for (uint32_t i = 0; g->n_writes > 0 && i < g->n_nodes; i++) {
        if (!(tern__ops[g->nodes[i].op].flags & TERN__WRITES))
            continue;
        tern__id gone = tern__graph_view_base(g, g->nodes[i].in[0]);
        uint32_t memory = alias_of(g, gone);
        for (uint32_t k = 0; k < plan->n_results; k++) {
            if (plan->results[k].at.space != TERN__SPACE_LEAF)
                continue;
            tern__id value = tern__graph_view_base(g, plan->results[k].at.value);
            TERN__FAIL_IF(value == gone || (memory != TERN__NO_ID && alias_of(g, value) == memory),
                          TERN_STATE,
                          "compile: output '%s' is a value that %s overwrites: use the result of the write, "
                          "or a copy (contiguous)",
                          plan->results[k].name, tern__ops[g->nodes[i].op].name);
        }
    }
    return TERN_OK;
}

tern_status tern__check_device(const tern_ctx *ctx, const tern_compile_options *options)
{
    TERN__FAIL_IF(options && options->device && strcmp(options->device, ctx->device_ops->name) != 0,
                  TERN_NOT_FOUND, "compile: device '%s' was asked for, the context computes on '%s'",
                  options->device, ctx->device_ops->name);
    return TERN_OK;
}

static tern_status compile_into(tern_ctx *ctx, const tern_graph *graph, const tern_compile_options *options,
                                tern_program *p)
{
    uint64_t start = tern__now_ns();
    tern__compile_options checked;
    TERN_TRY(tern__check_device(ctx, options));
    TERN_TRY(tern__compile_options_from(options, &checked));
    const tern__target *target = ctx->device_ops->target(ctx->device);
    /* Whoever watches wants to see the passes run. */
    tern_status status = checked.observe
                             ? tern__compiled_make(graph, target, &checked, true, &p->compiled)
                             : tern__cache_get(&ctx->cache, graph, target, &checked, true, &p->compiled);
    tern__compile_options_drop(&checked);
    TERN_TRY(status);
    TERN_TRY(check_outputs(p->compiled));
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
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "compile: no place for the program");
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
    return program ? program->n_inputs : 0;
}

int tern_program_outputs(const tern_program *program)
{
    return program ? (int)program->compiled->plan.n_results : 0;
}

static tern_port port(const tern__type *type, const char *name)
{
    return (tern_port){.name = name, .dtype = type->dtype, .rank = type->rank, .shape = type->shape};
}

tern_status tern_program_input(const tern_program *program, int i, tern_port *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_input: an argument is NULL");
    TERN__FAIL_IF(i < 0 || i >= program->n_inputs, TERN_OUT_OF_RANGE, "program input %d: there are %d", i,
                  program->n_inputs);
    const tern_graph *g = &program->compiled->source;
    const tern__gnode *node = &g->nodes[g->leaves[program->inputs[i]].node];
    *out = port(&g->values[node->out].type, node->attrs[0].text);
    return TERN_OK;
}

tern_status tern_program_output(const tern_program *program, int i, tern_port *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_output: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_results, TERN_OUT_OF_RANGE,
                  "program output %d: there are %u", i, plan->n_results);
    const tern__result *result = &plan->results[i];
    *out = port(result->at.type, result->name);
    return TERN_OK;
}

static size_t most_scratch(const tern__plan *plan)
{
    size_t most = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        size_t bytes = plan->steps[i].scratch_bytes * (size_t)plan->steps[i].parts;
        most = bytes > most ? bytes : most;
    }
    return most;
}

void tern_program_get_info(const tern_program *program, tern_program_info *out)
{
    if (!program || !out)
        return;
    const tern__plan *plan = &program->compiled->plan;
    *out = (tern_program_info){.nodes_before = program->nodes_before,
                               .nodes_after = (int)program->compiled->graph.n_nodes,
                               .steps = (int)plan->n_steps,
                               .arena_bytes = plan->arena_bytes,
                               .scratch_bytes = most_scratch(plan),
                               .live_bytes = plan->live_bytes,
                               .naive_bytes = plan->naive_bytes,
                               .flops = plan->flops,
                               .bytes = plan->bytes,
                               .compile_ns = program->compile_ns};
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
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_step: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_steps, TERN_OUT_OF_RANGE, "program step %d: there are %u",
                  i, plan->n_steps);
    const tern__step *step = &plan->steps[i];
    tern_step_info info = {.op = tern__ops[step->op].name,
                           .kernel = step->kernel_name,
                           .isa = step->isa_name,
                           .node = step->node,
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
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_operand: an argument is NULL");
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
