/* eval.c - asking for data: capture the pending graph, compile it, run the plan, keep the results. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/trace.h"
#include "runtime/context.h"
#include "runtime/run.h"

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
        tern_tensor *base = NULL;
        TERN_TRY(base_of(ctx, ctx->roots[i], &base));
        if (base)
            TERN_TRY(add_root(ctx, base));
    }
    return TERN_OK;
}

/* ---- what else runs with it ---- */

static tern_status add_output(tern_ctx *ctx, tern_tensor *t)
{
    if (t->output == ctx->recorder.capture)
        return TERN_OK;
    TERN_TRY(add_root(ctx, t));
    return tern__capture_add(ctx, t, NULL, &ctx->graph);
}

/* Does the captured write change memory that others can see? Intermediates are nobody else's. */
static bool writes_storage(const tern_ctx *ctx, const tern__node *write)
{
    const tern_graph *g = &ctx->graph;
    uint32_t leaf = tern__graph_written_leaf(g, &g->nodes[g->values[write->out[0].value].node]);
    return leaf != TERN__NO_ID && g->leaves[leaf].storage;
}

/* Calls visit(ctx, reader) for every pending node that reads what `write` is about to change. */
static tern_status for_old_readers(tern_ctx *ctx, const tern__node *write,
                                   tern_status (*visit)(tern_ctx *ctx, tern__node *reader))
{
    tern_tensor *target = write->in[0].source;
    for (tern_tensor *t = target->storage ? target->storage->tensors : target; t;
         t = target->storage ? t->alias_next : NULL)
        for (tern__edge *edge = t->readers; edge; edge = edge->next)
            if (edge->reader != write && !edge->reader->symbolic)
                TERN_TRY(visit(ctx, edge->reader));
    return TERN_OK;
}

/* Readers that the capture does not have join it. */
static tern_status add_outsider(tern_ctx *ctx, tern__node *reader)
{
    for (uint32_t i = 0; reader->captured != ctx->recorder.capture && i < reader->n_out; i++)
        if (!reader->out[i].storage)
            TERN_TRY(add_output(ctx, &reader->out[i]));
    return TERN_OK;
}

/* Captured readers keep what they computed if it may be asked for later: computed again, it would be from new data. */
static tern_status add_lasting(tern_ctx *ctx, tern__node *reader)
{
    for (uint32_t i = 0; reader->stays_pending && i < reader->n_out; i++)
        if (!reader->out[i].storage)
            TERN_TRY(add_output(ctx, &reader->out[i]));
    return TERN_OK;
}

/* Will somebody be able to ask for the node's results after this run, though they are not among its outputs? Its readers
 * hold one reference each; more are handles. */
static bool stays_pending(const tern_ctx *ctx, const tern__node *node)
{
    uint32_t capture = ctx->recorder.capture, edges = 0, kept = 0;
    bool wanted = false;
    for (uint32_t i = 0; i < node->n_out; i++) {
        kept += node->out[i].storage || node->out[i].output == capture;
        for (const tern__edge *edge = node->out[i].readers; edge; edge = edge->next, edges++)
            wanted |= edge->reader->captured != capture || edge->reader->stays_pending;
    }
    return kept < node->n_out && (wanted || (!node->fleeting && node->refs > edges));
}

/* A write happens once: whatever evaluation reaches it first keeps its result, asked for or not. Pending readers of what
 * it changes run before it, in the same plan. */
static tern_status add_what_writes_need(tern_ctx *ctx)
{
    tern__recorder *r = &ctx->recorder;
    for (size_t i = 0; i < r->n_writes; i++) { /* outsiders may bring more writes */
        if (!writes_storage(ctx, r->writes[i]))
            continue;
        TERN_TRY(add_output(ctx, &r->writes[i]->out[0]));
        TERN_TRY(for_old_readers(ctx, r->writes[i], add_outsider));
    }
    for (size_t i = r->n_captured; i-- > 0;) /* readers stand behind what they read */
        r->captured[i]->stays_pending = stays_pending(ctx, r->captured[i]);
    for (size_t i = 0; i < r->n_writes; i++)
        if (writes_storage(ctx, r->writes[i]))
            TERN_TRY(for_old_readers(ctx, r->writes[i], add_lasting));
    return TERN_OK;
}

static tern_status capture(tern_ctx *ctx)
{
    tern__graph_reset(&ctx->graph);
    tern__capture_begin(ctx);
    for (size_t i = 0; i < ctx->n_roots; i++)
        TERN_TRY(tern__capture_add(ctx, ctx->roots[i], NULL, &ctx->graph));
    if (ctx->graph.n_writes > 0)
        TERN_TRY(add_what_writes_need(ctx));
    return tern__capture_end(ctx, &ctx->graph);
}

/* ---- running ---- */

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
        tern__storage_note_use(bound->storage);
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

/* The steps that run before a value of the compiled graph exists: all up to the one that makes it. */
static uint32_t steps_before(const tern__compiled *compiled, tern__id value)
{
    const tern_graph *g = &compiled->graph;
    for (;;) {
        const tern__gnode *node = &g->nodes[g->values[value].node];
        if (tern__ops[node->op].flags & TERN__LEAF)
            return 0;
        for (uint32_t s = 0; s < compiled->plan.n_steps; s++)
            if (compiled->plan.steps[s].node == g->values[value].node)
                return s + 1;
        /* A view takes no step; nor does a write into which its operand wrote itself. */
        value = node->in[tern__ops[node->op].flags & TERN__WRITES ? 1 : 0];
    }
}

/* Results become the tensors' data: all of them, or after a failure those that were complete by then. A write that ran
 * must never run again, even if something after it failed. */
static void keep_results(tern_ctx *ctx, const tern__compiled *compiled, tern__storage **blocks,
                         uint32_t n_done)
{
    bool all = n_done == compiled->plan.n_steps;
    for (size_t i = 0; i < ctx->n_roots; i++)
        if (all || steps_before(compiled, compiled->plan.results[i].at.value) <= n_done)
            set_result(ctx, compiled, (uint32_t)i, blocks);
    for (size_t i = 0; i < ctx->recorder.n_writes; i++) {
        uint32_t leaf = tern__graph_written_leaf(
            &ctx->graph, &ctx->graph.nodes[ctx->graph.values[ctx->recorder.writes[i]->out[0].value].node]);
        if (leaf != TERN__NO_ID && ctx->graph.leaves[leaf].storage)
            ctx->graph.leaves[leaf].storage->version++;
    }
}

static tern_status run_compiled(tern_ctx *ctx, const tern__compiled *compiled)
{
    tern__arena_reset(&ctx->arena);
    void **leaves = tern__arena_alloc(&ctx->arena, compiled->graph.n_leaves * sizeof *leaves);
    tern__run run = {.plan = &compiled->plan, .graph = &compiled->graph, .leaves = leaves};
    if (!leaves || !tern__run_init(&run, &ctx->arena))
        return tern__out_of_memory(compiled->graph.n_leaves * sizeof *leaves);
    TERN_TRY(leaf_pointers(ctx, &compiled->graph, leaves));
    tern__loaded **kept = tern__program_cache_loaded(&ctx->cache, compiled);
    run.loaded = kept ? *kept : NULL;
    tern_status status = tern__run_plan(ctx, &run);
    if (kept)
        *kept = run.loaded;
    else
        tern__run_forget(ctx, &run);
    if (status == TERN_OK || run.n_done > 0)
        keep_results(ctx, compiled, run.blocks, run.n_done);
    tern__run_finish(&run);
    return status;
}

static tern_status compile_and_run(tern_ctx *ctx)
{
    tern__compiled *compiled;
    TERN_TRY(tern__program_cache_get(&ctx->cache, &ctx->graph, ctx->target, &ctx->compile, false, &compiled));
    tern_status status = run_compiled(ctx, compiled);
    tern__compiled_release(compiled);
    return status;
}

/* Evaluates the tensors in one plan, with what writes need besides. After a failure *unasked lists that (one reference
 * each, memory of the caller's). */
static tern_status evaluate(tern_ctx *ctx, int n, tern_tensor *const *tensors, tern__tensor_list *unasked)
{
    TERN_TRY(collect_roots(ctx, n, tensors));
    size_t n_named = ctx->n_roots;
    if (n_named == 0)
        return TERN_OK;
    uint64_t start = tern__trace_begin(), scope = tern__watch_enter("eval", "eval");
    tern_status status = capture(ctx);
    /* Some outputs may be held by other outputs only: setting those lets them go. */
    for (size_t i = 0; i < ctx->n_roots; i++)
        ctx->roots[i]->node->refs++;
    if (status == TERN_OK)
        status = compile_and_run(ctx);
    tern__graph_reset(&ctx->graph); /* lets the leaves' storages go */
    for (size_t i = n_named; status != TERN_OK && !tern__may_go_away(status) && i < ctx->n_roots; i++)
        if (!tern__tensor_list_add(unasked, ctx->roots[i]))
            status = tern__out_of_memory(sizeof *ctx->roots);
    for (size_t i = 0; i < ctx->n_roots; i++)
        tern__node_drop(ctx->roots[i]->node);
    tern__watch_leave(scope);
    tern__trace_end(start, "eval", "eval", UINT32_MAX, 0, 0);
    return status;
}

tern_status tern__eval(tern_ctx *ctx, int n, tern_tensor *const *tensors)
{
    for (;;) {
        tern__tensor_list unasked = {0};
        tern_status status = evaluate(ctx, n, tensors, &unasked);
        /* Perhaps only something that nobody asked for failed: it is settled by itself, as an error if need be. */
        bool again = unasked.n > 0 && !tern__may_go_away(status);
        if (again)
            status = tern__settle_each(ctx, &unasked);
        tern__tensor_list_free(&unasked);
        if (!again || status != TERN_OK)
            return status;
    }
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
