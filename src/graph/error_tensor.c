/* error_tensor.c - what an operation returns when it cannot be recorded: a tensor that carries the status and a sentence. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"

/* What a call returns when there is no memory even for an error, and when nothing tells the context. */
static tern_tensor no_memory = {.node = NULL};
static tern_tensor
    no_context[TERN__OP_COUNT + 1]; /* one per op, so that the message can name it; the last: any call */
static const char *const no_context_messages[TERN__OP_COUNT + 1] = {
#define NO_CONTEXT "the context, or the operand that would tell it, is NULL or missing"
#define TERN_OP(id, ...) [TERN__OP_##id] = #id ": " NO_CONTEXT,
#include "graph/ops.def"
#undef TERN_OP
    [TERN__OP_COUNT] = NO_CONTEXT,
};

static bool lacks_context(const tern_tensor *t)
{
    return t >= no_context && t <= &no_context[TERN__OP_COUNT];
}

tern_tensor *tern__error_wrap(tern_ctx *ctx, tern__error *error)
{
    tern__node *node = tern__node_new(ctx, TERN__OP_constant, 0, NULL, 1);
    if (!node)
        return &no_memory;
    error->refs++;
    node->error = error;
    tern__node_own(node);
    return &node->out[0];
}

tern__error *tern__error_make(tern_status status)
{
    const char *message = tern_last_error();
    size_t length = strlen(message) + 1;
    tern__error *error = tern__alloc(sizeof *error + length);
    if (!error)
        return NULL;
    error->refs = 0;
    error->status = status;
    memcpy(error->message, message, length);
    return error;
}

tern_tensor *tern__error_no_context(tern__opcode op)
{
    return &no_context[op];
}

tern_tensor *tern__error_tensor(tern_ctx *ctx, tern_status status)
{
    if (status == TERN_OUT_OF_MEMORY)
        return &no_memory;
    if (!ctx)
        return &no_context[TERN__OP_COUNT];
    tern__error *error = tern__error_make(status);
    if (!error)
        return &no_memory;
    tern_tensor *t = tern__error_wrap(ctx, error);
    if (error->refs == 0)
        tern__free(error);
    return t;
}

bool tern__tensor_is_error(const tern_tensor *t)
{
    return !t->node || t->node->error;
}

tern_status tern_status_of(const tern_tensor *t)
{
    if (!t)
        return TERN_INVALID_ARGUMENT;
    if (!t->node)
        return lacks_context(t) ? TERN_INVALID_ARGUMENT : TERN_OUT_OF_MEMORY;
    return t->node->error ? t->node->error->status : TERN_OK;
}

const char *tern_message_of(const tern_tensor *t)
{
    if (!t)
        return "the tensor is NULL";
    if (!t->node)
        return lacks_context(t) ? no_context_messages[t - no_context] : "out of memory";
    return t->node->error ? t->node->error->message : "";
}

tern_status tern__tensor_check(const tern_tensor *t)
{
    tern_status status = tern_status_of(t);
    return status == TERN_OK ? TERN_OK : tern__fail(status, "%s", tern_message_of(t));
}
