/* program.c - compiling graphs, and what goes into programs and comes out. */
#include "runtime/program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "devices/auto.h"

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
    const char *asked = options ? options->device : NULL;
    const char *own = ctx->automatic ? TERN__DEVICE_AUTO : ctx->device_ops->name;
    TERN__FAIL_IF(asked && strcmp(asked, own) != 0, TERN_NOT_FOUND,
                  "compile: device '%s' was asked for, the context computes on '%s'", asked, own);
    return TERN_OK;
}

static tern_status make(tern_ctx *ctx, const tern_graph *graph, const tern__compile_options *options,
                        tern_program *p)
{
    uint64_t start = tern__now_ns();
    const tern__target *target = ctx->target;
    /* Whoever watches wants to see the passes run. */
    TERN_TRY(options->observe
                 ? tern__compiled_make(graph, target, options, true, &p->compiled)
                 : tern__program_cache_get(&ctx->cache, graph, target, options, true, &p->compiled));
    TERN_TRY(check_outputs(p->compiled));
    p->nodes_before = (int)graph->n_nodes;
    TERN_TRY(keep_leaves(graph, p));
    p->compile_ns = tern__now_ns() - start;
    return TERN_OK;
}

tern_status tern__program_make(tern_ctx *ctx, const tern_graph *graph, const tern__compile_options *options,
                               tern_program **out)
{
    tern_program *p = tern__alloc_zero(1, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    tern_status status = make(ctx, graph, options, p);
    if (status != TERN_OK) {
        tern_program_free(p);
        return status;
    }
    *out = p;
    return TERN_OK;
}

static tern_status compile(tern_ctx *ctx, const tern_graph *graph, const tern_compile_options *options,
                           tern_program **out)
{
    tern__compile_options checked;
    tern_program *p = NULL;
    TERN_TRY(tern__check_device(ctx, options));
    TERN_TRY(tern__compile_options_from(options, &checked));
    tern_status status = tern__program_make(ctx, graph, &checked, &p);
    tern__compile_options_drop(&checked);
    if (status == TERN_OK && options && (options->batch.least || options->batch.most))
        status = tern__batching_make(ctx, &options->batch, p);
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
    tern__free(program->batching);
    tern__compiled_release(program->compiled);
    tern__free(program);
}

tern_port tern__port(const tern__type *type, const char *name)
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
    *out = tern__port(&g->values[node->out].type, node->attrs[0].text);
    return TERN_OK;
}

tern_status tern_program_find_input(const tern_program *program, const char *name, int *out)
{
    TERN__FAIL_IF(!program || !name || !out, TERN_INVALID_ARGUMENT,
                  "program_find_input: an argument is NULL");
    tern__strbuf names = TERN__STRBUF_EMPTY;
    for (int i = 0; i < program->n_inputs; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(program, i, &port));
        if (port.name && strcmp(port.name, name) == 0) {
            tern__strbuf_free(&names);
            *out = i;
            return TERN_OK;
        }
        tern__strbuf_addf(&names, "%s%s", i ? ", " : "", port.name ? port.name : "(one without a name)");
    }
    tern_status status =
        tern__fail(TERN_NOT_FOUND, "program_find_input: no input is called '%s'; there %s %s", name,
                   program->n_inputs == 1 ? "is" : "are", names.text ? names.text : "none");
    tern__strbuf_free(&names);
    return status;
}

tern_status tern_program_output(const tern_program *program, int i, tern_port *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_output: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_results, TERN_OUT_OF_RANGE,
                  "program output %d: there are %u", i, plan->n_results);
    const tern__result *result = &plan->results[i];
    *out = tern__port(result->at.type, result->name);
    return TERN_OK;
}
