/* write_order.c - keeps recorded writes as if they had happened when they were called: what must be evaluated before
 * another write into the same memory may be recorded. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"

tern_status tern__tensor_check_writable(const char *who, const tern_tensor *t)
{
    TERN__FAIL_IF(t->consumed, TERN_STATE,
                  "%s: the target was given to an earlier write: use the result of that write", who);
    if (!t->storage)
        return TERN_OK;
    TERN__FAIL_IF(t->storage->frozen, TERN_STATE, "%s: the target %s constant", who,
                  t->constant ? "is a" : "shares storage with a");
    TERN__FAIL_IF(t->storage->read_only, TERN_STATE, "%s: the target is read-only", who);
    for (int i = 0; i < t->type.rank; i++)
        TERN__FAIL_IF(t->layout.strides[i] == 0 && t->type.shape[i] > 1, TERN_UNSUPPORTED,
                      "%s: the target is a broadcast view: write into a copy (contiguous)", who);
    return TERN_OK;
}

tern_status tern__settle_writes(tern_ctx *ctx, const tern__storage *storage)
{
    tern__node *last = storage->pending_write;
    if (!last || last->symbolic)
        return TERN_OK;
    for (tern__node *next = tern__writer_of(&last->out[0]); next && !next->symbolic;
         next = tern__writer_of(&last->out[0]))
        last = next;
    const tern__evaluator *evaluator = tern__recorder_of(ctx)->evaluator;
    tern_status status = evaluator->eval(ctx, 1, (tern_tensor *[]){&last->out[0]});
    while (status != TERN_OK && !tern__may_go_away(status)) { /* one by one, to see which it is */
        tern__node *first = storage->pending_write;
        if (!first || first->symbolic)
            return TERN_OK;
        first->refs++;
        status = evaluator->eval(ctx, 1, (tern_tensor *[]){&first->out[0]});
        if (status != TERN_OK && !tern__may_go_away(status) && !first->error)
            tern__node_fail(first, status);
        bool stuck = storage->pending_write == first;
        tern__node_drop(first);
        if (stuck)
            return status;
        if (status == TERN_OK && tern__write_is_due(storage))
            return tern__settle_writes(ctx, storage);
    }
    return status;
}

static tern_status add_views(tern__recorder *r, const tern_tensor *t, size_t *n)
{
    for (tern__edge *edge = t->readers; edge; edge = edge->next) {
        if (!(tern__ops[edge->reader->op].flags & TERN__VIEW) || edge->reader->symbolic ||
            edge->reader->error)
            continue;
        if (!tern__grow((void **)&r->stack, &r->cap_stack, *n + 1, sizeof *r->stack))
            return tern__out_of_memory(sizeof *r->stack);
        r->stack[(*n)++] = &edge->reader->out[0];
    }
    return TERN_OK;
}

/* Puts the pending views of `t`'s memory, and the views of those, into the recorder's stack. */
static tern_status list_views(tern__recorder *r, const tern_tensor *t, size_t *n)
{
    *n = 0;
    if (!t->storage)
        TERN_TRY(add_views(r, t, n));
    for (const tern_tensor *alias = t->storage ? t->storage->tensors : NULL; alias; alias = alias->alias_next)
        TERN_TRY(add_views(r, alias, n));
    for (size_t i = 0; i < *n; i++)
        TERN_TRY(add_views(r, r->stack[i], n));
    return TERN_OK;
}

/* Evaluates `t` and the pending views of its memory, which become handles of that memory, or copies. */
static tern_status eval_with_views(tern_ctx *ctx, tern_tensor *t)
{
    tern__recorder *r = tern__recorder_of(ctx);
    size_t n;
    TERN_TRY(list_views(r, t, &n));
    if (n == 0)
        return r->evaluator->eval(ctx, 1, &t);
    tern_tensor **all = tern__alloc((n + 1) * sizeof *all); /* evaluation uses the stack */
    if (!all)
        return tern__out_of_memory((n + 1) * sizeof *all);
    memcpy(all, r->stack, n * sizeof *all);
    all[n] = t;
    tern_status status = r->evaluator->eval(ctx, (int)(n + 1), all);
    tern__free(all);
    return status;
}

static bool has_pending_views(const tern_tensor *t)
{
    for (const tern__edge *edge = t->readers; edge; edge = edge->next)
        if ((tern__ops[edge->reader->op].flags & TERN__VIEW) && !edge->reader->symbolic &&
            !edge->reader->error)
            return true;
    return false;
}

tern_status tern__ready_target(tern_ctx *ctx, tern_tensor *target, bool symbolic)
{
    if (!target->storage) {
        bool chained =
            (tern__ops[target->node->op].flags & TERN__WRITES) && target->node->n_writes < TERN__MAX_WRITES;
        if (target->node->symbolic || (chained && !has_pending_views(target)))
            return TERN_OK;
        TERN_TRY(eval_with_views(ctx, target));
    }
    const tern__storage *storage = target->storage;
    TERN_TRY(tern__settle_writes(ctx, storage));
    TERN__FAIL_IF(symbolic && storage->pending_write, TERN_STATE,
                  "the target's memory is written by %s, which is recorded already: write into its result",
                  tern__ops[storage->pending_write->op].name);
    for (const tern_tensor *alias = storage->tensors; alias; alias = alias->alias_next)
        if (has_pending_views(alias))
            return eval_with_views(ctx, target);
    return TERN_OK;
}
