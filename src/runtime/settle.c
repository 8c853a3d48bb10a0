/* settle.c - what is pending on memory that is about to change or to be seen is evaluated first, so that programs behave
 * as if every operation had run when it was recorded.
 *
 * Readers that were recorded before a write see the old values; what is recorded after it, through any view, sees the
 * new ones. A reader that depends on an input without data belongs to a program yet to be compiled: it reads when that
 * runs. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/context.h"
#include "tensor/deferred.h"

bool tern__tensor_list_add(tern__tensor_list *list, tern_tensor *t)
{
    if (!tern__grow((void **)&list->items, &list->capacity, list->n + 1, sizeof *list->items))
        return false;
    list->items[list->n++] = t;
    t->node->refs++;
    return true;
}

void tern__tensor_list_free(tern__tensor_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        tern__node_drop(list->items[i]->node);
    tern__free(list->items);
    *list = (tern__tensor_list){0};
}

/* Pending readers of `storage` that can be evaluated. */
static tern_status list_readers(const tern__storage *storage, tern__tensor_list *list)
{
    for (const tern_tensor *t = storage->tensors; t; t = t->alias_next)
        for (tern__edge *edge = t->readers; edge; edge = edge->next)
            for (uint32_t i = 0; !edge->reader->symbolic && i < edge->reader->n_out; i++)
                if (!edge->reader->out[i].storage && !edge->reader->error &&
                    !tern__tensor_list_add(list, &edge->reader->out[i]))
                    return tern__out_of_memory(sizeof *list->items);
    return TERN_OK;
}

static tern_status settle_one(tern_ctx *ctx, tern_tensor *t)
{
    if (t->storage || t->node->error)
        return TERN_OK;
    tern_status status = tern__eval(ctx, 1, &t);
    if (status == TERN_OK || tern__may_go_away(status))
        return status;
    tern__node_fail(t->node, status);
    return t->node->error ? TERN_OK : tern__out_of_memory(0);
}

tern_status tern__settle_each(tern_ctx *ctx, const tern__tensor_list *list)
{
    /* Those found last were recorded first: from that end none has to wait for another. */
    tern_status status = TERN_OK;
    for (size_t i = list->n; i-- > 0 && status == TERN_OK;)
        status = settle_one(ctx, list->items[i]);
    return status;
}

tern_status tern__settle_readers(tern_ctx *ctx, const tern__storage *storage)
{
    /* A pending view becomes an alias of the storage when it is evaluated: its own readers come to light then. */
    for (;;) {
        tern__tensor_list list = {0};
        tern_status status = list_readers(storage, &list);
        bool none = list.n == 0;
        if (status == TERN_OK && !none)
            status = tern__eval(ctx, (int)list.n, list.items);
        if (status != TERN_OK && !tern__may_go_away(status))
            status = tern__settle_each(ctx, &list);
        tern__tensor_list_free(&list);
        if (status != TERN_OK || none)
            return status;
    }
}

tern_status tern__settle_for_writing(tern_tensor *t)
{
    TERN_TRY(tern_eval(t));
    TERN_TRY(tern__settle_writes(t->node->ctx, t->storage));
    return tern__settle_readers(t->node->ctx, t->storage);
}

tern_status tern__expose(tern_tensor *t)
{
    TERN_TRY(tern__settle_for_writing(t));
    TERN_TRY(tern__storage_hold(t->storage));
    if (t->storage->frozen || t->storage->read_only)
        return TERN_OK;
    t->storage->version++;
    t->storage->exposed = true;
    return TERN_OK;
}
