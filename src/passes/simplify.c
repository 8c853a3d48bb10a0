/* simplify.c - algebraic simplification by the rules of simplify.def.
 *
 * The pass walks the nodes once. Operands have been simplified when a node is reached, and what a rule puts in a node's
 * place is looked at again, so one walk is enough. Until the first rule fires nothing is copied: a graph in which none does
 * costs a look at its ops. */
#include "passes/simplify.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

tern_status tern__pass_simplify(tern__compilation *c);

/* ---- the rules as data ---- */

typedef enum pattern { PATTERN_UNIT, PATTERN_ABSORB, PATTERN_NEST, PATTERN_TWICE, PATTERN_CALL } pattern;
enum { LEFT = 1, RIGHT = 2, EITHER = 3 };
enum {
    BOOL = 1,
    UNSIGNED = 2,
    SIGNED_INTS = 4,
    NARROW = 8,
    WIDE = 16,
    INTS = UNSIGNED | SIGNED_INTS,
    FLOATS = NARROW | WIDE,
    SIGNED = SIGNED_INTS | FLOATS,
    NUMBERS = INTS | FLOATS,
    ANY = NUMBERS | BOOL,
};
enum { X = -1, INNER = -2, ZERO = -3 };

typedef struct rule {
    const char *name, *text;
    tern__opcode op;
    pattern pattern;
    int sides, types;
    double number;
    tern__opcode other; /* inner op of NEST, needed op of CALL */
    int result;         /* X, INNER, ZERO or an opcode */
    tern__simplify_fn *function;
} rule;

static const rule rules[] = {
#define UNIT(side, value, dtypes) .pattern = PATTERN_UNIT, .sides = side, .number = value, .types = dtypes
#define ABSORB(side, value, dtypes) .pattern = PATTERN_ABSORB, .sides = side, .number = value, .types = dtypes
#define NEST(inner, becomes, dtypes) \
    .pattern = PATTERN_NEST, .other = TERN__OP_##inner, .result = becomes, .types = dtypes
#define TWICE(becomes, dtypes) .pattern = PATTERN_TWICE, .result = becomes, .types = dtypes
#define CALL(fn, needs) .pattern = PATTERN_CALL, .function = tern__simplify_##fn, .other = TERN__OP_##needs
#define AS(becomes) TERN__OP_##becomes
#define TERN_RULE(rule_name, rule_op, rule_pattern, rule_text) \
    {.name = #rule_name, .text = rule_text, .op = TERN__OP_##rule_op, rule_pattern},
#include "passes/simplify.def"
#undef TERN_RULE
#undef UNIT
#undef ABSORB
#undef NEST
#undef TWICE
#undef CALL
#undef AS
};

enum { RULES = TERN__COUNT(rules), NO_RULE = 255 };
_Static_assert(RULES < NO_RULE, "rules are numbered in a byte");

/* Rules that can match in a graph with these ops, by the op they match: first[op], then next[rule]. */
typedef struct rule_index {
    bool any;
    uint8_t first[TERN__OP_COUNT], next[RULES];
} rule_index;

static bool can_match(const rule *r, const tern__op_set *present)
{
    if (!tern__op_in(present, r->op))
        return false;
    if (r->pattern == PATTERN_UNIT || r->pattern == PATTERN_ABSORB)
        return tern__op_in(present, TERN__OP_full) || tern__op_in(present, TERN__OP_constant);
    return r->pattern == PATTERN_TWICE || tern__op_in(present, r->other);
}

static void make_index(const tern__op_set *present, rule_index *index)
{
    index->any = false;
    for (int i = RULES; i-- > 0;) {
        if (!can_match(&rules[i], present))
            continue;
        if (!index->any)
            memset(index->first, NO_RULE, sizeof index->first);
        index->any = true;
        index->next[i] = index->first[rules[i].op];
        index->first[rules[i].op] = (uint8_t)i;
    }
}

/* ---- matching ---- */

static bool has_type(const rule *r, tern_dtype dtype)
{
    int type = dtype == TERN_BOOL            ? BOOL
               : dtype == TERN_U8            ? UNSIGNED
               : tern__dtype_is_int(dtype)   ? SIGNED_INTS
               : dtype == TERN_F64           ? WIDE
               : tern__dtype_is_float(dtype) ? NARROW
                                             : 0;
    return r->types & type;
}

static bool is_number(const tern_graph *g, tern__id value, double number)
{
    double found;
    return tern__is_uniform(g, value, &found) && found == number && signbit(found) == signbit(number);
}

static bool match_number(const rule *r, const tern__site *s, tern__replacement *out)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!(r->sides & (i == 0 ? LEFT : RIGHT)) || !is_number(s->g, s->in[i], r->number))
            continue;
        if (r->pattern == PATTERN_UNIT)
            return tern__type_equal(tern__site_type(s, 1 - i), s->type) && tern__becomes(out, s->in[1 - i]);
        out->kind = TERN__BECOMES_NUMBER;
        out->number = r->number;
        return true;
    }
    return false;
}

static bool match_result(const rule *r, tern__id x, tern__id inner, tern__replacement *out)
{
    if (r->result == X || r->result == INNER)
        return tern__becomes(out, r->result == X ? x : inner);
    if (r->result != ZERO)
        return tern__becomes_call(out, (tern__opcode)r->result, 1, &x);
    out->kind = TERN__BECOMES_NUMBER;
    out->number = 0;
    return true;
}

static bool match(const rule *r, const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner;
    switch (r->pattern) {
    case PATTERN_UNIT:
    case PATTERN_ABSORB:
        return has_type(r, s->type->dtype) && match_number(r, s, out);
    case PATTERN_NEST:
        inner = tern__site_operand(s, 0);
        return inner->op == r->other && has_type(r, s->type->dtype) &&
               match_result(r, inner->in[0], s->in[0], out);
    case PATTERN_TWICE:
        return s->in[0] == s->in[1] && has_type(r, s->type->dtype) &&
               match_result(r, s->in[0], s->in[0], out);
    default:
        return r->function(s, out);
    }
}

/* A bool that came from outside may be any byte; ops make 0 and 1. */
static bool is_clean_bool(const tern_graph *g, tern__id value)
{
    const tern__gnode *node = &g->nodes[g->values[value].node];
    return (tern__ops[node->op].flags & TERN__ELEMENTWISE) && node->op != TERN__OP_where;
}

/* The first rule that matches, from `at` on; NO_RULE if none. */
static int find_rule(const rule_index *index, int at, const tern__site *s, tern__replacement *out)
{
    for (; at != NO_RULE; at = index->next[at]) {
        *out = (tern__replacement){0};
        if (!match(&rules[at], s, out))
            continue;
        bool is_bool = out->kind == TERN__BECOMES_VALUE && s->type->dtype == TERN_BOOL && !out->same_memory;
        if (!is_bool || is_clean_bool(s->g, out->in[0]))
            break;
    }
    return at;
}

/* ---- applying ---- */

typedef struct simplifier {
    tern__compilation *c;
    tern__rewrite w;
    const rule_index *index;
} simplifier;

static void note(simplifier *s, const rule *r, tern__id old)
{
    char value[TERN__VALUE_TEXT];
    s->c->changes++;
    tern__note(s->c, "%s at %s: %s", r->name, tern__value_text(s->c, s->w.from, old, value), r->text);
}

/* Would the change read memory that somebody overwrites, and that its node did not read? It may stand behind the write. */
static bool reads_written(const simplifier *s, tern__id old, const tern__replacement *change)
{
    const tern__gnode *node = &s->w.from->nodes[s->w.from->values[old].node];
    for (uint32_t i = 0; change->kind == TERN__BECOMES_CALL && i < change->n_in; i++) {
        bool known = change->in[i] == TERN__NO_ID || !(s->w.held[change->in[i]] & TERN__HELD_WRITTEN);
        for (uint32_t k = 0; k < node->n_in && !known; k++)
            known = s->w.map[node->in[k]] == change->in[i];
        if (!known)
            return true;
    }
    return false;
}

/* May this change be made to old value `old`, given who holds it? */
static bool is_allowed(simplifier *s, tern__id old, const tern__replacement *change)
{
    if (reads_written(s, old, change))
        return false;
    if (change->same_memory)
        return true;
    if (change->kind == TERN__BECOMES_VALUE)
        return tern__rewrite_may_share(&s->w, old, change->in[0]);
    return !change->makes_view ||
           !((s->w.holds[old] | s->w.held[change->in[0]]) & (TERN__HELD_OUTPUT | TERN__HELD_WRITTEN));
}

static tern_status emit_number(simplifier *s, const tern__type *type, double number, tern__id n,
                               tern__id *out)
{
    int64_t shape[TERN__MAX_RANK];
    memcpy(shape, type->shape, sizeof shape);
    tern__attr attrs[3] = {{.i = type->dtype}, {.ints = shape, .count = (uint32_t)type->rank}, {.f = number}};
    if (n == TERN__NO_ID)
        return tern__rewrite_emit(&s->w, TERN__OP_full, 0, NULL, attrs, out);
    return tern__rewrite_become(&s->w, n, TERN__OP_full, 0, NULL, attrs);
}

/* Copies node n, or what the rules make of it. */
static tern_status simplify_node(simplifier *s, tern__id n)
{
    enum { MOST = 32 };
    const tern__gnode *node = &s->w.from->nodes[n];
    int first = s->index->first[node->op];
    s->w.origin = node->origin;
    if (first == NO_RULE || node->n_in == 0 || node->n_in > MOST)
        return tern__rewrite_copy(&s->w, n);
    tern__id in[MOST];
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = s->w.map[node->in[i]];
    const tern__type type = s->w.from->values[node->out].type;
    tern__site site = {.g = s->w.to,
                       .op = node->op,
                       .n_in = node->n_in,
                       .in = in,
                       .attrs = node->attrs,
                       .type = &type,
                       .n_out = node->n_out};
    tern__replacement change, kept;
    bool changed = false;
    /* Each change makes the expression smaller or moves it towards one form: no rule undoes another. */
    for (int at = find_rule(s->index, first, &site, &change); at != NO_RULE;) {
        if (!is_allowed(s, node->out, &change)) {
            at = find_rule(s->index, s->index->next[at], &site, &change);
            continue;
        }
        note(s, &rules[at], node->out);
        if (change.kind == TERN__BECOMES_VALUE) {
            tern__rewrite_replace(&s->w, node->out, change.in[0]);
            return TERN_OK;
        }
        if (change.kind == TERN__BECOMES_NUMBER)
            return emit_number(s, &type, change.number, n, NULL);
        if (change.n_in == 2 && change.in[1] == TERN__NO_ID) {
            tern__type scalar = {.dtype = type.dtype};
            TERN_TRY(emit_number(s, &scalar, change.number, TERN__NO_ID, &change.in[1]));
        }
        kept = change;
        for (int a = 0; a < 3; a++) /* lists lie in the change itself */
            if (kept.attrs[a].count)
                kept.attrs[a].ints = kept.ints[a];
        memcpy(in, kept.in, sizeof kept.in);
        site.op = kept.op;
        site.n_in = kept.n_in;
        site.attrs = kept.attrs;
        changed = true;
        at = find_rule(s->index, s->index->first[site.op], &site, &change);
    }
    return changed ? tern__rewrite_become(&s->w, n, site.op, site.n_in, in, site.attrs)
                   : tern__rewrite_copy(&s->w, n);
}

/* The first node that a rule matches, in the graph as it is; n_nodes if there is none. */
static tern__id first_match(const tern_graph *g, const rule_index *index)
{
    tern__replacement ignored;
    for (tern__id n = 0; n < g->n_nodes; n++) {
        const tern__gnode *node = &g->nodes[n];
        if (index->first[node->op] == NO_RULE)
            continue;
        tern__site site = {.g = g,
                           .op = node->op,
                           .n_in = node->n_in,
                           .in = node->in,
                           .attrs = node->attrs,
                           .type = &g->values[node->out].type,
                           .n_out = node->n_out};
        if (find_rule(index, index->first[node->op], &site, &ignored) != NO_RULE)
            return n;
    }
    return g->n_nodes;
}

tern_status tern__pass_simplify(tern__compilation *c)
{
    tern__op_set present;
    rule_index index;
    tern__ops_present(c->graph, &present);
    make_index(&present, &index);
    if (!index.any || first_match(c->graph, &index) == c->graph->n_nodes)
        return TERN_OK;
    /* What a rule makes of a node may be an op that was not there before. */
    tern__op_set all;
    memset(&all, 0xff, sizeof all);
    make_index(&all, &index);
    simplifier s = {.c = c, .index = &index};
    TERN_TRY(tern__rewrite_begin_held(c, &s.w));
    for (tern__id n = 0; n < s.w.from->n_nodes; n++)
        TERN_TRY(simplify_node(&s, n));
    return tern__rewrite_end(&s.w);
}
