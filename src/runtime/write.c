/* write.c - writing in place. The expression and the write are recorded like any other operation and evaluated at
 * once; the compiler lets an elementwise expression write straight into the target. */
#include <string.h>

#include "base/status.h"
#include "graph/text.h"
#include "runtime/context.h"

/* t = op(t, rest...) for an elementwise op; TERN__OP_overwrite: t = rest[0]. */
static tern_status write_in_place(const char *who, tern_tensor *t, tern__opcode code, const tern__attr *attrs,
                                  int n_rest, tern_tensor *const *rest)
{
    enum { MOST = TERN__MAX_INPUTS_FIXED };
    TERN_TRY(tern_eval(t));
    tern_ctx *ctx = t->node->ctx;
    TERN_TRY(tern__tensor_check_writable(who, t));
    TERN_TRY(tern__settle_for_writing(t));
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *value = n_rest ? rest[0] : NULL;
        if (code != TERN__OP_overwrite) {
            tern_tensor *in[MOST] = {t};
            if (n_rest)
                memcpy(in + 1, rest, (size_t)n_rest * sizeof *in);
            value = tern__record(ctx, code, n_rest + 1, in, attrs);
            if (value->node)
                value->node->fleeting = true;
        }
        status = tern__tensor_check(value);
        if (status == TERN_OK)
            status = tern_eval(tern__record(ctx, TERN__OP_overwrite, 2, (tern_tensor *[]){t, value}, NULL));
    }
    t->consumed = false; /* the write is done and `t` itself is the new value */
    return status == TERN_OK ? TERN_OK : tern__fail_in(status, who);
}

tern_status tern_assign(tern_tensor *t, tern_tensor *b)
{
    return write_in_place("assign", t, TERN__OP_overwrite, NULL, 1, &b);
}

tern_status tern_add_(tern_tensor *t, tern_tensor *b)
{
    return write_in_place("add_", t, TERN__OP_add, NULL, 1, &b);
}

tern_status tern_sub_(tern_tensor *t, tern_tensor *b)
{
    return write_in_place("sub_", t, TERN__OP_sub, NULL, 1, &b);
}

tern_status tern_mul_(tern_tensor *t, tern_tensor *b)
{
    return write_in_place("mul_", t, TERN__OP_mul, NULL, 1, &b);
}

tern_status tern_div_(tern_tensor *t, tern_tensor *b)
{
    return write_in_place("div_", t, TERN__OP_div, NULL, 1, &b);
}

tern_status tern_fill_(tern_tensor *t, double value)
{
    TERN_TRY(tern__tensor_check(t));
    tern_status status = TERN_OK;
    TERN_SCOPE(t->node->ctx) {
        tern_tensor *scalar = tern_scalar(t->node->ctx, TERN_F64, value);
        status = write_in_place("fill_", t, TERN__OP_overwrite, NULL, 1, &scalar);
    }
    return status;
}

tern_status tern_apply_(tern_tensor *t, const char *op_name, const char *attributes, int n_rest,
                        tern_tensor *const *rest)
{
    TERN__FAIL_IF(!op_name, TERN_INVALID_ARGUMENT, "apply_: the op's name is NULL");
    const tern__op *op = tern__op_find(op_name, strlen(op_name));
    TERN__FAIL_IF(!op, TERN_NOT_FOUND, "apply_: there is no op '%s'", op_name);
    TERN__FAIL_IF(!(op->flags & TERN__ELEMENTWISE), TERN_INVALID_ARGUMENT, "apply_: %s is not elementwise",
                  op->name);
    TERN__FAIL_IF(n_rest < op->min_in - 1 || n_rest > op->max_in - 1, TERN_INVALID_ARGUMENT,
                  "apply_: %s takes %d operands besides the target, got %d", op->name, op->max_in - 1,
                  n_rest);
    TERN__FAIL_IF(n_rest > 0 && !rest, TERN_INVALID_ARGUMENT, "apply_: %d operands were given at NULL",
                  n_rest);
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__arena arena;
    tern__arena_init(&arena, 1024);
    tern_status status = tern__attrs_parse(&arena, op, attributes ? attributes : "",
                                           attributes ? strlen(attributes) : 0, attrs);
    if (status == TERN_OK)
        status = write_in_place(op->name, t, tern__op_code(op), attrs, n_rest, rest);
    tern__arena_free(&arena);
    return status;
}
