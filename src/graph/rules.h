/* rules.h - prototypes of the rules that ops.def names, taken from the table itself, and what they share.
 *
 * Contracts are in op.h: a rule sees one call of an op and either fills its part of the result types or fails
 * with a sentence that starts with the op's name. Rules run whenever an op is recorded: no allocation, no
 * formatting unless they fail. Attributes are read by their place in the row (op_attrs.h); a rule that serves rows of
 * different make looks them up with tern__attr_called. */
#ifndef TERN_GRAPH_RULES_H
#define TERN_GRAPH_RULES_H

#include <inttypes.h>

#include "base/checked.h"
#include "base/status.h"
#include "graph/op.h"
#include "tensor/op_attrs.h"

#define COST(rule, factor) rule
#define DECLARE_COST(rule) double tern__rule_cost_##rule(const tern__call *call, double per_item)
#define TERN_OP(id, in, out, attrs, shape_rule, dtype_rule, flags, work_rule, cost_rule, bound, kind, \
                grad_rule, kernel, text)                                                              \
    tern_status tern__rule_shape_##shape_rule(const tern__call *call);                                \
    tern_status tern__rule_dtype_##dtype_rule(const tern__call *call, tern_dtype *operands);          \
    int64_t tern__rule_work_##work_rule(const tern__call *call);                                      \
    DECLARE_COST(cost_rule);                                                                          \
    tern_status tern__rule_grad_##grad_rule(struct tern__grad_call *g);
#include "graph/ops.def"
#undef TERN_OP
#undef DECLARE_COST
#undef COST

/* Fails with "<op>: ...". For functions with a `call`. */
#define TERN__RULE_FAIL(status, format, ...) tern__fail((status), "%s: " format, call->op->name, __VA_ARGS__)
#define TERN__RULE_FAIL_IF(condition, status, ...)         \
    do {                                                   \
        if (TERN__UNLIKELY(condition))                     \
            return TERN__RULE_FAIL((status), __VA_ARGS__); \
    } while (0)

/* "[2,3]", valid to the end of the block. */
#define TERN__SHAPE_TEXT(type) tern__shape_text((type)->rank, (type)->shape, (char[TERN__TYPE_TEXT]){0})

/* The attribute called `name`, which the row has. */
const tern__attr *tern__attr_called(const tern__call *call, const char *name);

/* The first attribute of a kind, which the row has. */
const tern__attr *tern__attr_of_kind(const tern__call *call, tern__attr_kind kind);

/* `axis` of operand 0 as 0..rank-1. */
tern_status tern__rule_axis(const tern__call *call, int64_t axis, int *out);

/* out[i] gets the shape of `type`. */
static inline void tern__rule_copy_shape(const tern__call *call, int i, const tern__type *type)
{
    call->out[i].rank = type->rank;
    for (int axis = 0; axis < type->rank; axis++)
        call->out[i].shape[axis] = type->shape[axis];
}

/* The optional scales[n, blocks] of a ternary product of n rows: blocks are of equal width, in whole quads of columns. */
tern_status tern__rule_check_block_scales(const tern__call *call, int64_t n);

/* Refuses products of i8 that are promised to be exact in i32, but whose sums over the last axis of x need not fit: those of
 * more than INT32_MAX / `largest` products. */
enum { TERN__LARGEST_I8_BY_TERNARY = 128, TERN__LARGEST_I8_BY_I8 = 128 * 128 };
tern_status tern__rule_check_exact_sums(const tern__call *call, int64_t largest);

/* The name of operand `i`, for messages, into buffer; "xs[3]" for variadic ops. */
enum { TERN__OPERAND_TEXT = 64 };
char *tern__operand_text(const tern__op *op, int i, char buffer[TERN__OPERAND_TEXT]);
#define TERN__OPERAND_NAME(i) tern__operand_text(call->op, (i), (char[TERN__OPERAND_TEXT]){0})

#endif
