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

typedef struct tensor_list {
    tern_tensor **items;
    size_t n, capacity;
} tensor_list;

/* Pending readers of `storage` that can be evaluated. */
static tern_status list_readers(const tern__storage *storage, tensor_list *list)
{
    for (const tern_tensor *t = storage->tensors; t; t = t->alias_next)
        for (tern__edge *edge = t->readers; edge; edge = edge->next)
            for (uint32_t i = 0; !edge->reader->symbolic && i < edge->reader->n_out; i++) {
                if (edge->reader->out[i].storage || edge->reader->error)
                    continue;
                if (!tern__grow((void **)&list->items, &list->capacity, list->n + 1, sizeof *list->items))
                    return tern__out_of_memory(sizeof *list->items);
                list->items[list->n++] = &edge->reader->out[i];
            }
    return TERN_OK;
}

static tern_status settle_one(tern_ctx *ctx, tern_tensor *t)
{
    if (t->storage || t->node->error)
        return TERN_OK;
    tern_status status = tern__eval(ctx, 1, &t);
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    tern__node_fail(t->node, status);
    return TERN_OK;
}

tern_status tern__settle_each(tern_ctx *ctx, size_t n, tern_tensor *const *tensors)
{
    /* A copy, for evaluation changes the context's list; kept, for they may be held by each other only. */
    tern_tensor **own = tern__alloc(n * sizeof *own);
    if (!own)
        return tern__out_of_memory(n * sizeof *own);
    for (size_t i = 0; i < n; i++) {
        own[i] = tensors[i];
        own[i]->node->refs++;
    }
    tern_status status = TERN_OK;
    /* Those found last were recorded first: from that end none has to wait for another. */
    for (size_t i = n; i-- > 0 && status == TERN_OK;)
        status = settle_one(ctx, own[i]);
    for (size_t i = 0; i < n; i++)
        tern__node_drop(own[i]->node);
    tern__free(own);
    return status;
}

tern_status tern__settle_readers(tern_ctx *ctx, const tern__storage *storage)
{
    /* A pending view becomes an alias of the storage when it is evaluated: its own readers come to light then. */
    tensor_list list = {0};
    tern_status status;
    do {
        list.n = 0;
        status = list_readers(storage, &list);
        if (status != TERN_OK || list.n == 0)
            break;
        status = tern__eval(ctx, (int)list.n, list.items);
        if (status != TERN_OK && status != TERN_OUT_OF_MEMORY)
            status = tern__settle_each(ctx, list.n, list.items);
    } while (status == TERN_OK);
    tern__free(list.items);
    return status;
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
    if (t->storage->frozen || t->storage->read_only)
        return TERN_OK;
    t->storage->version++;
    t->storage->exposed = true;
    return TERN_OK;
}
