/* apply.c - any operation by name, with its attributes as text. */
#include <string.h>

#include "base/status.h"
#include "graph/text.h"
#include "runtime/context.h"

static tern_status prepare(const char *name, const char *text, tern__arena *arena, const tern__op **op,
                           tern__attr *attrs)
{
    TERN__FAIL_IF(!name, TERN_INVALID_ARGUMENT, "apply: the op's name is NULL");
    *op = tern__op_find(name, strlen(name));
    TERN__FAIL_IF(!*op, TERN_NOT_FOUND, "apply: there is no op '%s'", name);
    TERN__FAIL_IF((*op)->flags & TERN__LEAF, TERN_INVALID_ARGUMENT, "apply: '%s' is a leaf, not an operation",
                  name);
    TERN__FAIL_IF((*op)->flags & TERN__INTERNAL, TERN_INVALID_ARGUMENT,
                  "apply: '%s' is made by the compiler only", name);
    return tern__attrs_parse(arena, *op, text ? text : "", text ? strlen(text) : 0, attrs);
}

void tern_apply(tern_ctx *ctx, const char *name, const char *attributes, int n_in, tern_tensor *const *in,
                int n_out, tern_tensor **out)
{
    const tern__op *op = NULL;
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__arena arena;
    if (n_out > 0 && !out) {
        tern__fail(TERN_INVALID_ARGUMENT, "apply: no place for %d results", n_out);
        return;
    }
    tern__arena_init(&arena, 1024);
    tern_status status = prepare(name, attributes, &arena, &op, attrs);
    if (status == TERN_OK && (n_in < 0 || (n_in > 0 && !in)))
        status = tern__fail(TERN_INVALID_ARGUMENT, "%s: %d operands were given at NULL", op->name, n_in);
    if (status == TERN_OK)
        tern__record_n(ctx, tern__op_code(op), n_in, in, attrs, n_out, out);
    else
        tern__hand_out(tern__error_tensor(ctx, status), true, n_out, out);
    tern__arena_free(&arena);
}
