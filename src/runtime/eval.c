/* eval.c - asking for data: capture the pending graph, compile it, run the plan, keep the results. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/trace.h"
#include "runtime/context.h"

/* ---- what to evaluate ---- */

static tern_status add_root(tern_ctx *ctx, tern_tensor *t)
{
    if (!tern__grow((void **)&ctx->roots, &ctx->cap_roots, ctx->n_roots + 1, sizeof *ctx->roots))
        return tern__out_of_memory(sizeof *ctx->roots);
    ctx->roots[ctx->n_roots++] = t;
    return TERN_OK;
}

/* The pending tensor whose buffer `t` will share once evaluated, or NULL if that is its own or exists already. The
 * layouts decide, from the bottom up: a view that its operand's layout does not allow starts a buffer. */
static tern_status base_of(tern_ctx *ctx, tern_tensor *t, tern_tensor **out)
{
    tern__recorder *r = &ctx->recorder;
    size_t n = 0;
    tern_tensor *bottom = t;
    while (!bottom->storage && (tern__ops[bottom->node->op].flags & TERN__VIEW)) {
        if (!tern__grow((void **)&r->stack, &r->cap_stack, n + 1, sizeof *r->stack))
            return tern__out_of_memory(sizeof *r->stack);
        r->stack[n++] = bottom;
        bottom = bottom->node->in[0].source;
    }
    tern_tensor *base = bottom->storage ? NULL : bottom;
    tern__layout from = bottom->layout, layout;
    if (base)
        tern__layout_contiguous(&base->type, &from);
    for (const tern_tensor *below = bottom; n > 0; below = r->stack[n], from = layout) {
        tern_tensor *view = r->stack[--n];
        if (tern__op_view(&tern__ops[view->node->op], view->node->attrs, &below->type, &from, &view->type,
                          &layout))
            continue;
        base = view;
        tern__layout_contiguous(&view->type, &layout);
    }
    *out = base == t ? NULL : base;
    return TERN_OK;
}

/* Named tensors that are pending first, then the bases of those that are views: base and view share storage, so
 * that writing through one is seen in the other. */
static tern_status collect_roots(tern_ctx *ctx, int n, tern_tensor *const *tensors)
{
    ctx->n_roots = 0;
    for (int i = 0; i < n; i++) {
        TERN_TRY(tern__tensor_check(tensors[i]));
        TERN__FAIL_IF(tensors[i]->node->ctx != ctx, TERN_INVALID_ARGUMENT,
                      "eval: tensor %d belongs to another context", i);
        if (!tensors[i]->storage)
            TERN_TRY(add_root(ctx, tensors[i]));
    }
    size_t named = ctx->n_roots;
    for (size_t i = 0; i < named; i++) {
        tern_tensor *base;
        TERN_TRY(base_of(ctx, ctx->roots[i], &base));
        if (base)
            TERN_TRY(add_root(ctx, base));
    }
    return TERN_OK;
}

/* ---- readers that must see the old value ---- */

typedef struct tensor_list {
    tern_tensor **items;
    size_t n, capacity;
} tensor_list;

/* Pending readers of `storage` that are not part of capture `mark` (0: all of them). */
static tern_status list_readers(const tern__storage *storage, uint32_t mark, tensor_list *list)
{
    for (tern_tensor *t = storage->tensors; t; t = t->alias_next)
        for (tern__edge *edge = t->readers; edge; edge = edge->next)
            for (uint32_t i = 0; i < edge->reader->n_out; i++) {
                tern_tensor *result = &edge->reader->out[i];
                if (result->storage || (mark && result->mark == mark))
                    continue;
                if (!tern__grow((void **)&list->items, &list->capacity, list->n + 1, sizeof *list->items))
                    return tern__out_of_memory(sizeof *list->items);
                list->items[list->n++] = result;
            }
    return TERN_OK;
}

/* The listed tensors may be held by each other only: they are kept while they are evaluated. */
static tern_status eval_list(tern_ctx *ctx, tensor_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        tern_keep(list->items[i]);
    tern_status status = TERN_OK;
    for (size_t i = 0; i < list->n && status == TERN_OK; i++)
        status = tern__eval(ctx, 1, &list->items[i]);
    for (size_t i = 0; i < list->n; i++)
        tern_release(list->items[i]);
    return status;
}

tern_status tern__settle_readers(tern_ctx *ctx, const tern__storage *storage)
{
    /* A pending view becomes an alias of the storage when it is evaluated: its own readers come to light then. */
    tensor_list list = {0};
    tern_status status;
    do {
        list.n = 0;
        status = list_readers(storage, 0, &list);
        if (status == TERN_OK)
            status = eval_list(ctx, &list);
    } while (status == TERN_OK && list.n > 0);
    tern__free(list.items);
    return status;
}

/* Readers outside the captured graph of storages that it overwrites. */
static tern_status list_outsiders(const tern_ctx *ctx, tensor_list *list)
{
    const tern_graph *g = &ctx->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!(tern__ops[g->nodes[i].op].flags & TERN__WRITES))
            continue;
        uint32_t leaf = tern__graph_written_leaf(g, &g->nodes[i]);
        if (leaf != TERN__NO_ID && g->leaves[leaf].storage)
            TERN_TRY(list_readers(g->leaves[leaf].storage, ctx->recorder.capture, list));
    }
    return TERN_OK;
}

static bool is_root(const tern_ctx *ctx, const tern_tensor *t)
{
    for (size_t k = 0; k < ctx->n_roots; k++)
        if (ctx->roots[k] == t)
            return true;
    return false;
}

static tern_status add_captured(tern_ctx *ctx, tern_tensor *t)
{
    if (is_root(ctx, t))
        return TERN_OK;
    TERN_TRY(add_root(ctx, t));
    return tern__graph_add_output(&ctx->graph, t->value, NULL);
}

/* Can somebody ask for the node's results later? Its readers hold one reference each; more are handles. */
static bool has_handles(const tern__node *node)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < node->n_out; i++)
        for (const tern__edge *edge = node->out[i].readers; edge; edge = edge->next)
            edges++;
    return !node->fleeting && node->refs > edges;
}

/* Readers of `storage` inside the capture keep what they computed from the old values. */
static tern_status add_readers(tern_ctx *ctx, const tern__storage *storage)
{
    for (tern_tensor *t = storage->tensors; t; t = t->alias_next)
        for (tern__edge *edge = t->readers; edge; edge = edge->next)
            for (uint32_t i = 0; i < edge->reader->n_out; i++) {
                tern_tensor *result = &edge->reader->out[i];
                if (!result->storage && result->mark == ctx->recorder.capture && has_handles(edge->reader))
                    TERN_TRY(add_captured(ctx, result));
            }
    return TERN_OK;
}

/* A write happens once: whatever evaluation reaches it first keeps its result, asked for or not. */
static tern_status add_writes(tern_ctx *ctx)
{
    tern_graph *g = &ctx->graph;
    for (size_t i = 0; i < ctx->recorder.n_writes; i++) {
        tern_tensor *t = ctx->recorder.writes[i];
        uint32_t leaf = tern__graph_written_leaf(g, &g->nodes[g->values[t->value].node]);
        if (leaf == TERN__NO_ID || !g->leaves[leaf].storage)
            continue; /* intermediates are nobody else's */
        TERN_TRY(add_captured(ctx, t));
        TERN_TRY(add_readers(ctx, g->leaves[leaf].storage));
    }
    return TERN_OK;
}

/* Captures the roots; where the graph overwrites something that others still have to read, those go first. */
static tern_status capture(tern_ctx *ctx, int n, tern_tensor *const *tensors)
{
    for (;;) {
        TERN_TRY(collect_roots(ctx, n, tensors));
        if (ctx->n_roots == 0)
            return TERN_OK;
        tern__graph_reset(&ctx->graph);
        TERN_TRY(tern__capture(ctx, (int)ctx->n_roots, ctx->roots, NULL, &ctx->graph));
        if (ctx->graph.n_writes == 0)
            return TERN_OK;
        tensor_list list = {0};
        tern_status status = list_outsiders(ctx, &list);
        bool none = list.n == 0;
        if (status == TERN_OK && !none)
            status = eval_list(ctx, &list);
        tern__free(list.items);
        TERN_TRY(status);
        if (none)
            return add_writes(ctx);
    }
}

/* ---- running ---- */

static tern_status allocate_blocks(tern_ctx *ctx, const tern__plan *plan, tern__storage **blocks,
                                   void **pointers)
{
    for (uint32_t i = 0; i < plan->n_blocks; i++) {
        tern_status status = tern__storage_create(ctx->pool, plan->block_bytes[i], 0, &blocks[i]);
        if (status != TERN_OK) {
            while (i > 0)
                tern__storage_release(blocks[--i]);
            return status;
        }
        pointers[i] = blocks[i]->host;
    }
    return TERN_OK;
}

tern_status tern__run_plan(tern_ctx *ctx, const tern__plan *plan, void *const *leaves, tern__storage **blocks,
                           void **block_pointers)
{
    TERN_TRY(allocate_blocks(ctx, plan, blocks, block_pointers));
    void *arena = NULL;
    tern_status status = plan->arena_bytes ? tern_pool_get(ctx->pool, plan->arena_bytes, 0, &arena) : TERN_OK;
    if (status == TERN_OK) {
        tern__bindings bindings = {.leaves = leaves, .blocks = block_pointers, .arena = arena};
        status = ctx->probe && ctx->probe->plan == plan ? ctx->probe->run(ctx->probe, &bindings)
                                                        : ctx->device_ops->run(ctx->device, plan, &bindings);
        tern_pool_put(ctx->pool, arena);
    }
    if (status != TERN_OK) {
        for (uint32_t i = 0; i < plan->n_blocks; i++)
            tern__storage_release(blocks[i]);
        return status;
    }
    ctx->stats.evaluations++;
    ctx->stats.steps += plan->n_steps;
    if (plan->arena_bytes > ctx->stats.arena_peak_bytes)
        ctx->stats.arena_peak_bytes = plan->arena_bytes;
    return TERN_OK;
}

tern__storage *tern__leaf_storage(const tern__leaf *leaf, tern__storage *const *storages)
{
    return leaf->source == TERN__NO_ID ? leaf->storage : storages[leaf->source];
}

void *tern__leaf_address(const tern_graph *graph, const tern__leaf *leaf, const tern__storage *storage,
                         int64_t offset)
{
    tern_dtype dtype = graph->values[graph->nodes[leaf->node].out].type.dtype;
    return (char *)storage->host + offset * (int64_t)tern__dtype_unit_bytes(dtype);
}

/* The leaf of the captured graph that a leaf of the compiled one was; NULL for constants that a pass made. */
static const tern__leaf *captured_leaf(const tern_ctx *ctx, const tern__leaf *leaf)
{
    return leaf->source == TERN__NO_ID ? NULL : &ctx->graph.leaves[leaf->source];
}

static tern_status leaf_pointers(const tern_ctx *ctx, const tern_graph *compiled, void **pointers)
{
    for (uint32_t i = 0; i < compiled->n_leaves; i++) {
        const tern__leaf *leaf = &compiled->leaves[i];
        const tern__leaf *bound = captured_leaf(ctx, leaf) ? captured_leaf(ctx, leaf) : leaf;
        TERN__FAIL_IF(!bound->storage, TERN_STATE,
                      "eval: input '%s' has no data: compile a program and bind it when it runs",
                      compiled->nodes[leaf->node].attrs[0].text);
        pointers[i] = tern__leaf_address(compiled, leaf, bound->storage, bound->layout.offset);
    }
    return TERN_OK;
}

static void set_result(tern_ctx *ctx, const tern__compiled *compiled, uint32_t i, tern__storage **blocks)
{
    const tern__result *result = &compiled->plan.results[i];
    if (result->at.space == TERN__SPACE_OUTPUT) {
        tern__tensor_set(ctx->roots[i], blocks[result->at.index], &result->layout);
        return;
    }
    const tern__leaf *leaf = &compiled->graph.leaves[result->at.index];
    const tern__leaf *bound = captured_leaf(ctx, leaf) ? captured_leaf(ctx, leaf) : leaf;
    tern__layout layout = result->layout;
    layout.offset += bound->layout.offset;
    tern__tensor_set(ctx->roots[i], bound->storage, &layout);
}

/* Results become the tensors' data. Bases stand last among the roots and are set first: setting a view lets go of its
 * base, which may be nobody else's. */
static void keep_results(tern_ctx *ctx, const tern__compiled *compiled, tern__storage **blocks)
{
    for (size_t i = ctx->n_roots; i-- > 0;)
        set_result(ctx, compiled, (uint32_t)i, blocks);
    for (uint32_t i = 0; i < compiled->plan.n_blocks; i++)
        tern__storage_release(blocks[i]);
    const tern_graph *g = &ctx->graph;
    for (uint32_t i = 0; g->n_writes > 0 && i < g->n_nodes; i++) {
        if (!(tern__ops[g->nodes[i].op].flags & TERN__WRITES))
            continue;
        uint32_t leaf = tern__graph_written_leaf(g, &g->nodes[i]);
        if (leaf != TERN__NO_ID)
            g->leaves[leaf].storage->version++;
    }
}

static tern_status run_compiled(tern_ctx *ctx, const tern__compiled *compiled)
{
    const tern__plan *plan = &compiled->plan;
    tern__arena_reset(&ctx->arena);
    void **leaves = tern__arena_alloc(&ctx->arena, compiled->graph.n_leaves * sizeof *leaves);
    void **pointers = tern__arena_alloc(&ctx->arena, plan->n_blocks * sizeof *pointers);
    tern__storage **blocks = tern__arena_alloc(&ctx->arena, plan->n_blocks * sizeof *blocks);
    if (!leaves || !pointers || !blocks)
        return tern__out_of_memory(compiled->graph.n_leaves * sizeof *leaves);
    TERN_TRY(leaf_pointers(ctx, &compiled->graph, leaves));
    TERN_TRY(tern__run_plan(ctx, plan, leaves, blocks, pointers));
    keep_results(ctx, compiled, blocks);
    return TERN_OK;
}

static tern_status compile_and_run(tern_ctx *ctx)
{
    tern__compiled *compiled;
    TERN_TRY(tern__cache_get(&ctx->cache, &ctx->graph, ctx->device_ops->target(ctx->device), &ctx->compile,
                             false, &compiled));
    tern_status status = run_compiled(ctx, compiled);
    tern__compiled_release(compiled);
    return status;
}

tern_status tern__eval(tern_ctx *ctx, int n, tern_tensor *const *tensors)
{
    uint64_t start = tern__trace_begin();
    tern_status status = capture(ctx, n, tensors);
    if (status == TERN_OK && ctx->n_roots > 0)
        status = compile_and_run(ctx);
    tern__graph_reset(&ctx->graph); /* lets the leaves' storages go */
    tern__trace_end(start, "eval", "eval", UINT32_MAX, 0, 0);
    return status;
}

tern_status tern_eval(tern_tensor *t)
{
    if (t && t->storage)
        return TERN_OK;
    return tern_eval_all(1, &t);
}

tern_status tern_eval_all(int n, tern_tensor *const *tensors)
{
    TERN__FAIL_IF(n < 0, TERN_INVALID_ARGUMENT, "eval: the number of tensors is %d", n);
    TERN__FAIL_IF(n > 0 && !tensors, TERN_INVALID_ARGUMENT, "eval: %d tensors were given at NULL", n);
    for (int i = 0; i < n; i++)
        TERN_TRY(tern__tensor_check(tensors[i]));
    return n > 0 ? tern__eval(tensors[0]->node->ctx, n, tensors) : TERN_OK;
}
