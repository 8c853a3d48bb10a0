/* simplify.h - between simplify.c (the pass, the plain patterns) and simplify_rules.c (rules that are functions). */
#ifndef TERN_PASSES_SIMPLIFY_H
#define TERN_PASSES_SIMPLIFY_H

#include "passes/rewrite.h"

/* A call as a rule sees it: operands are values of `g`, the node itself need not be in it. */
typedef struct tern__site {
    const tern_graph *g;
    tern__opcode op;
    uint32_t n_in;
    const tern__id *in;
    const tern__attr *attrs;
    const tern__type *type; /* of result 0 */
    uint32_t n_out;
} tern__site;

typedef enum tern__replacement_kind {
    TERN__BECOMES_VALUE,  /* in[0] */
    TERN__BECOMES_CALL,   /* op(in...) {attrs}; in[1] == TERN__NO_ID: `number`, of the call's dtype, rank 0 */
    TERN__BECOMES_NUMBER, /* full of the site's type with `number` */
} tern__replacement_kind;

/* What takes a site's place. */
typedef struct tern__replacement {
    tern__replacement_kind kind;
    bool same_memory; /* site and change are views of one buffer: nothing about sharing changes */
    bool makes_view;  /* the site had a buffer of its own, the change is a view of its operand */
    tern__opcode op;
    uint32_t n_in;
    tern__id in[3];
    tern__attr attrs[3];
    int64_t ints[3][TERN__MAX_RANK]; /* what attrs point at */
    double number;
} tern__replacement;

typedef bool tern__simplify_fn(const tern__site *s, tern__replacement *out);

/* The node behind operand i. */
static inline const tern__gnode *tern__site_operand(const tern__site *s, uint32_t i)
{
    return &s->g->nodes[s->g->values[s->in[i]].node];
}

static inline const tern__type *tern__site_type(const tern__site *s, uint32_t i)
{
    return &s->g->values[s->in[i]].type;
}

/* true, for `return`s: the site becomes this value, or another op of up to three of the site's kind of operands. */
static inline bool tern__becomes(tern__replacement *out, tern__id value)
{
    out->kind = TERN__BECOMES_VALUE;
    out->n_in = 1;
    out->in[0] = value;
    return true;
}

bool tern__becomes_call(tern__replacement *out, tern__opcode op, uint32_t n_in, const tern__id *in);

#define TERN__RULE_NONE(...)
#define TERN__RULE_CALL(function, needs) tern__simplify_fn tern__simplify_##function;
#define UNIT TERN__RULE_NONE
#define ABSORB TERN__RULE_NONE
#define NEST TERN__RULE_NONE
#define TWICE TERN__RULE_NONE
#define CALL TERN__RULE_CALL
#define TERN_RULE(name, op, pattern, text) pattern
#include "passes/simplify.def"
#undef TERN_RULE
#undef UNIT
#undef ABSORB
#undef NEST
#undef TWICE
#undef CALL

#endif
