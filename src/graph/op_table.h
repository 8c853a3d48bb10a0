/* op_table.h - expands ops.def to tern__ops[]. Included by op.c and by tools/gen_ops.c, and by nobody else.
 *
 * The includer first defines TERN__RULE(kind, name): tern__rule_<kind>_<name>, or NULL in the generator, that
 * needs the text of the rows only and has to build when the files that it writes do not. */
#include <math.h>

#include "graph/op.h"

/* clang-format off */
#define SPEC(label, spec_kind, like, value) \
    {.name = label, .kind = spec_kind, .like_previous = like, .fallback = value}

#define NO_ATTRS {{0}}
#define ATTRS(...) {__VA_ARGS__, {0}}
#define INT(label, value) SPEC(#label, TERN__ATTR_INT, false, value)
#define FLOAT(label, value) SPEC(#label, TERN__ATTR_FLOAT, false, value)
#define BOOL(label, value) SPEC(#label, TERN__ATTR_BOOL, false, value)
#define DTYPE(label, value) SPEC(#label, TERN__ATTR_DTYPE, false, value)
#define INTS(label) SPEC(#label, TERN__ATTR_INTS, false, 0)
#define INTS_LIKE(label) SPEC(#label, TERN__ATTR_INTS, true, 0)
#define TEXT(label) SPEC(#label, TERN__ATTR_TEXT, false, 0)
#define BODY(label) SPEC(#label, TERN__ATTR_BODY, false, 0)

/* Each list ends with an empty entry, so that a row without attributes is a list too. */
#define TERN_OP(id, in, out, attr_list, ...) static const tern__attr_spec SPECS_##id[] = attr_list;
#include "graph/ops.def"
#undef TERN_OP

#define IN(least, most, names) .min_in = least, .max_in = most, .inputs = names
#define OUT(count, names) .n_out = count, .results = names
#define COST(rule, factor) .cost = TERN__RULE(cost, rule), .cost_factor = factor, .cost_name = #rule
#define TERN_OP(id, in, out, attr_list, s_rule, d_rule, op_flags, w_rule, cost_rule, bound, kind, g_rule, op_kernel, text) \
    [TERN__OP_##id] = {.name = #id,                                                                  \
                       in,                                                                           \
                       out,                                                                          \
                       .n_attrs = (int)(sizeof SPECS_##id / sizeof SPECS_##id[0]) - 1,               \
                       .attrs = SPECS_##id,                                                          \
                       .shape = TERN__RULE(shape, s_rule),                                           \
                       .dtype = TERN__RULE(dtype, d_rule),                                           \
                       .flags = op_flags,                                                            \
                       .work = TERN__RULE(work, w_rule),                                             \
                       cost_rule,                                                                    \
                       .grad = TERN__RULE(grad, g_rule),                                             \
                       .shape_name = #s_rule,                                                        \
                       .dtype_name = #d_rule,                                                        \
                       .grad_name = #g_rule,                                                         \
                       .kernel_name = #op_kernel,                                                    \
                       .description = text},

/* clang-format on */

const tern__op tern__ops[TERN__OP_COUNT] = {
#include "graph/ops.def"
};

#undef TERN_OP
#undef IN
#undef OUT
#undef COST
#undef SPEC
#undef NO_ATTRS
#undef ATTRS
#undef INT
#undef FLOAT
#undef BOOL
#undef DTYPE
#undef INTS
#undef INTS_LIKE
#undef TEXT
#undef BODY
