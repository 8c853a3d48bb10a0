/* leaf.c - tensors that are not the result of an operation: data, inputs, states. */
#include <string.h>

#include "base/status.h"
#include "graph/node.h"

tern_tensor *tern__tensor_wrap(tern_ctx *ctx, const tern__type *type, tern__storage *storage,
                               const tern__layout *layout)
{
    tern__node *node = tern__node_new(ctx, TERN__OP_input, 0, NULL, 1);
    if (!node) {
        tern__storage_release(storage);
        return tern__error_tensor(ctx, tern__out_of_memory(sizeof *node));
    }
    node->out[0].type = *type;
    tern__tensor_set(&node->out[0], storage, layout);
    tern__storage_release(storage);
    tern__node_own(node);
    return &node->out[0];
}

tern_tensor *tern__tensor_leaf(tern_ctx *ctx, tern__opcode op, const char *name, const tern__type *type,
                               tern__storage *storage)
{
    int64_t shape[TERN__MAX_RANK];
    memcpy(shape, type->shape, sizeof shape);
    tern__attr attrs[3] = {{.text = name, .count = (uint32_t)strlen(name)},
                           {.i = type->dtype},
                           {.ints = shape, .count = (uint32_t)type->rank}};
    tern__node *node = tern__node_new(ctx, op, 0, attrs, 1);
    if (!node) {
        tern__storage_release(storage);
        return tern__error_tensor(ctx, tern__out_of_memory(sizeof *node));
    }
    node->out[0].type = *type;
    if (storage) {
        tern__layout layout;
        tern__layout_contiguous(type, &layout);
        tern__tensor_set(&node->out[0], storage, &layout);
        tern__storage_release(storage);
    }
    node->symbolic = !storage;
    node->serial = ++tern__recorder_of(ctx)->n_recorded;
    tern__node_own(node);
    return &node->out[0];
}
