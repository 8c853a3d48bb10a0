/* exec.c - runs a program: binds inputs, owns its states, wraps the results. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/program.h"

struct tern_exec {
    tern_ctx *ctx;
    const tern_program *program;
    tern__storage **storages;   /* (n_leaves) what each leaf is bound to in the run under way; states: always */
    void **leaves;              /* (n_leaves) */
    tern__storage **blocks;     /* (n_blocks) */
    void **pointers;            /* (n_blocks) */
    void *memory;               /* behind the four */
};

/* A state starts as a copy of the data it was compiled with. */
static tern_status make_state(tern_exec *e, uint32_t leaf)
{
    const tern_graph *g = &e->program->graph;
    const tern__leaf *from = &g->leaves[leaf];
    size_t bytes = from->storage ? from->storage->bytes : tern__type_bytes(&g->values[g->nodes[from->node].out].type);
    TERN_TRY(tern__storage_create(e->ctx->pool, bytes, 0, &e->storages[leaf]));
    if (from->storage)
        memcpy(e->storages[leaf]->host, from->storage->host, bytes);
    else
        memset(e->storages[leaf]->host, 0, bytes);
    e->leaves[leaf] = e->storages[leaf]->host;
    return TERN_OK;
}

static bool is_state(const tern_graph *g, uint32_t leaf)
{
    return g->nodes[g->leaves[leaf].node].op == TERN__OP_state;
}

static tern_status prepare(tern_exec *e)
{
    const tern_graph *g = &e->program->graph;
    size_t n = g->n_leaves, blocks = e->program->plan.n_blocks;
    char *memory = tern__alloc_zero(2 * (n + blocks), sizeof(void *));
    if (!memory)
        return tern__out_of_memory(2 * (n + blocks) * sizeof(void *));
    e->memory = memory;
    e->storages = (tern__storage **)(void *)memory;
    e->leaves = (void **)(void *)(memory + n * sizeof(void *));
    e->blocks = (tern__storage **)(void *)(memory + 2 * n * sizeof(void *));
    e->pointers = (void **)(void *)(memory + (2 * n + blocks) * sizeof(void *));
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        if (is_state(g, i))
            TERN_TRY(make_state(e, i));
        else if (g->leaves[i].storage)
            e->leaves[i] = g->leaves[i].storage->host;
    }
    return TERN_OK;
}

tern_status tern_exec_create(tern_ctx *ctx, const tern_program *program, tern_exec **out)
{
    TERN__FAIL_IF(!ctx || !program || !out, TERN_INVALID_ARGUMENT, "exec: needs a context and a program");
    tern_exec *e = tern__alloc_zero(1, sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    e->ctx = ctx;
    e->program = program;
    tern_status status = prepare(e);
    if (status != TERN_OK) {
        tern_exec_free(e);
        return status;
    }
    *out = e;
    return TERN_OK;
}

void tern_exec_free(tern_exec *exec)
{
    if (!exec)
        return;
    if (exec->memory)
        for (uint32_t i = 0; i < exec->program->graph.n_leaves; i++)
            if (is_state(&exec->program->graph, i))
                tern__storage_release(exec->storages[i]);
    tern__free(exec->memory);
    tern__free(exec);
}

/* The plan expects the dense layout of an unbound leaf; a strided input is made contiguous first. */
static tern_status bind_input(tern_exec *e, int i, tern_tensor *t)
{
    const tern_program *p = e->program;
    tern_port want;
    TERN_TRY(tern_program_input(p, i, &want));
    TERN_TRY(tern__tensor_check(t));
    const tern__type *type = &p->graph.values[p->graph.nodes[p->graph.leaves[p->inputs[i]].node].out].type;
    char expected[TERN__TYPE_TEXT], given[TERN__TYPE_TEXT];
    TERN__FAIL_IF(!tern__type_equal(type, &t->type), TERN_SHAPE, "exec_run: input '%s' is %s, got %s", want.name,
                  tern__type_text(type, expected), tern__type_text(&t->type, given));
    TERN__FAIL_IF(t->node->ctx != e->ctx, TERN_INVALID_ARGUMENT, "exec_run: input '%s' belongs to another context",
                  want.name);
    const void *data = tern_data(t);
    if (!data)
        return TERN_OUT_OF_MEMORY; /* tern_data has said why; its other failures were ruled out above */
    uint32_t leaf = p->inputs[i];
    e->leaves[leaf] = (void *)(uintptr_t)data; /* never written: plans write to states, outputs and the arena only */
    e->storages[leaf] = t->dense && data == t->dense->host ? t->dense : t->storage;
    return TERN_OK;
}

/* Wraps result i. One that lies in an input, constant or state shares its storage. */
static tern_tensor *wrap_result(tern_exec *e, uint32_t i)
{
    const tern__result *result = &e->program->plan.results[i];
    const tern_graph *g = &e->program->graph;
    tern__storage *storage = result->at.space == TERN__SPACE_OUTPUT ? e->blocks[result->at.index]
                             : e->storages[result->at.index]        ? e->storages[result->at.index]
                                                                    : g->leaves[result->at.index].storage;
    tern__layout layout = result->layout;
    if (result->at.space == TERN__SPACE_LEAF) {
        /* The leaf's data may start anywhere in the storage that was bound. */
        int64_t unit = (int64_t)tern__dtype_unit_bytes(result->at.type->dtype);
        layout.offset += ((char *)e->leaves[result->at.index] - (char *)storage->host) / unit;
    }
    tern__storage_retain(storage);
    return tern__tensor_wrap(e->ctx, result->at.type, storage, &layout);
}

static tern_status wrap_results(tern_exec *e, tern_tensor **outputs)
{
    const tern__plan *plan = &e->program->plan;
    for (uint32_t i = 0; i < plan->n_results; i++) {
        tern_tensor *t = wrap_result(e, i);
        if (tern__tensor_is_error(t)) {
            while (i > 0)
                tern_release(outputs[--i]);
            return TERN_OUT_OF_MEMORY;
        }
        outputs[i] = t;
    }
    return TERN_OK;
}

tern_status tern_exec_run(tern_exec *exec, int n_in, tern_tensor *const *inputs, int n_out, tern_tensor **outputs)
{
    const tern_program *p = exec->program;
    TERN__FAIL_IF(n_in != p->n_inputs, TERN_INVALID_ARGUMENT, "exec_run: the program has %d inputs, got %d",
                  p->n_inputs, n_in);
    TERN__FAIL_IF(n_out != (int)p->plan.n_results, TERN_INVALID_ARGUMENT,
                  "exec_run: the program has %u outputs, room was given for %d", p->plan.n_results, n_out);
    for (int i = 0; i < n_in; i++)
        TERN_TRY(bind_input(exec, i, inputs[i]));
    TERN_TRY(tern__run_plan(exec->ctx, &p->plan, exec->leaves, exec->blocks, exec->pointers));
    tern_status status = wrap_results(exec, outputs);
    for (uint32_t i = 0; i < p->plan.n_blocks; i++)
        tern__storage_release(exec->blocks[i]);
    return status;
}
