/* text_parse.c - the text form (docs/graph-text.md) to a graph: one token of lookahead, one statement at a time.
 *
 * Whatever a statement needs while it is read lies in the scratch arena, which is emptied before the next one, and
 * lists are counted before room is made for them: memory stays within a small multiple of the text's size. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/region.h"
#include "graph/text.h"
#include "graph/text_data.h"
#include "graph/text_lex.h"

typedef struct parser {
    tern__lexer lex;
    tern_graph *g;
    tern_pool *pool;
    tern__arena scratch;   /* of the current statement */
    tern__token statement; /* its first token */
    tern__names values;    /* name -> value */
    tern__names leaves;    /* name of input, constant or state -> node */
    tern__names outputs;   /* name -> number of output */
    const char **starts;   /* (n_nodes) where each node is written */
    size_t cap_starts;
} parser;

static void *scratch(parser *p, size_t count, size_t bytes_each)
{
    return tern__arena_alloc_zero(&p->scratch, count, bytes_each);
}

/* ---- lists of values ---------------------------------------------------------------------------------------- */

/* "%a, %b" in scratch memory. */
static tern_status read_values(parser *p, tern__token **out, size_t *count)
{
    tern__lexer again = p->lex;
    size_t n = 0;
    bool more = true;
    tern__token t;
    for (; more; n++) {
        TERN_TRY(tern__lex_expect(&p->lex, TERN__TOKEN_VALUE, "a value such as %x", &t));
        TERN_TRY(tern__lex_accept(&p->lex, ',', &more));
    }
    if (n >= INT32_MAX)
        return tern__lex_fail(&p->lex, again.token.start, TERN_LIMIT, "%zu values are too many for one list",
                              n);
    tern__token *tokens = scratch(p, n, sizeof *tokens);
    if (!tokens)
        return tern__out_of_memory(n * sizeof *tokens);
    for (size_t i = 0; i < n; i++) {
        TERN_TRY(tern__lex_expect(&again, TERN__TOKEN_VALUE, "a value such as %x", &tokens[i]));
        TERN_TRY(tern__lex_accept(&again, ',', &more));
    }
    *out = tokens;
    *count = n;
    return TERN_OK;
}

static tern_status find_value(parser *p, const tern__token *t, tern__id *out)
{
    *out = tern__names_find(&p->values, t->text, t->length);
    return *out != TERN__NO_ID ? TERN_OK : tern__lex_undefined(&p->lex, &p->statement, t);
}

/* The newest node's results get their names, and the node its place in the text. */
static tern_status define(parser *p, const tern__token *names, size_t n)
{
    tern__id node = p->g->n_nodes - 1;
    if (!tern__grow((void **)&p->starts, &p->cap_starts, (size_t)node + 1, sizeof *p->starts))
        return tern__out_of_memory(((size_t)node + 1) * sizeof *p->starts);
    p->starts[node] = p->statement.start;
    for (size_t i = 0; i < n; i++) {
        tern__id value = p->g->nodes[node].out + (tern__id)i;
        uint32_t before;
        TERN_TRY(tern__names_add(&p->values, names[i].text, names[i].length, value, &before));
        if (before != TERN__NO_ID) {
            tern__id other = p->g->values[before].node;
            return tern__lex_fail(&p->lex, names[i].start, TERN_FORMAT,
                                  "%%%.*s is defined already, in line %zu", (int)names[i].length,
                                  names[i].text, tern__lex_line(&p->lex, p->starts[other]));
        }
        if (names[i].text[0] >= '0' && names[i].text[0] <= '9')
            continue; /* a number is not kept: values without a name are counted when they are printed */
        p->g->values[value].name = tern__arena_strndup(&p->g->arena, names[i].text, names[i].length);
        if (!p->g->values[value].name)
            return tern__out_of_memory(names[i].length);
    }
    return TERN_OK;
}

/* ---- types -------------------------------------------------------------------------------------------------- */

static tern_status read_type(parser *p, const char *who, tern__type *out)
{
    const char *start = p->lex.token.start;
    tern_dtype dtype;
    TERN_TRY(tern__lex_dtype(&p->lex, &dtype));
    TERN_TRY(tern__lex_expect_mark(&p->lex, '['));
    int64_t shape[TERN__MAX_RANK];
    int rank = 0;
    bool more = !tern__lex_is_mark(&p->lex, ']');
    for (; more; rank++) {
        const char *size = p->lex.token.start;
        if (rank == TERN__MAX_RANK)
            return tern__lex_fail(&p->lex, size, TERN_LIMIT, "a shape has at most %d axes", TERN__MAX_RANK);
        TERN_TRY(tern__lex_int(&p->lex, "a size", &shape[rank]));
        if (shape[rank] < 0)
            return tern__lex_fail(&p->lex, size, TERN_FORMAT, "a size cannot be negative");
        TERN_TRY(tern__lex_accept(&p->lex, ',', &more));
    }
    TERN_TRY(tern__lex_expect_mark(&p->lex, ']'));
    tern_status status = tern__type_make(who, dtype, rank, shape, out);
    return status == TERN_OK ? TERN_OK : tern__lex_fail_at(&p->lex, start, status);
}

/* ": f32[2], i64[2]", which must be what was inferred. */
static tern_status check_types(parser *p, const tern__op *op, size_t n, const tern__type *types)
{
    char got[TERN__TYPE_TEXT], want[TERN__TYPE_TEXT];
    bool present;
    TERN_TRY(tern__lex_accept(&p->lex, ':', &present));
    for (size_t i = 0; present && i < n; i++) {
        tern__type type;
        if (i > 0)
            TERN_TRY(tern__lex_expect_mark(&p->lex, ','));
        const char *start = p->lex.token.start;
        TERN_TRY(read_type(p, op->name, &type));
        if (!tern__type_equal(&type, &types[i]))
            return tern__lex_fail(&p->lex, start, type.dtype == types[i].dtype ? TERN_SHAPE : TERN_DTYPE,
                                  "%s: result %zu is %s, not %s", op->name, i,
                                  tern__type_text(&types[i], want), tern__type_text(&type, got));
    }
    return TERN_OK;
}

/* ---- statements --------------------------------------------------------------------------------------------- */

/* from "layer 3" */
static tern_status read_origin(parser *p, const char **out)
{
    size_t length;
    *out = NULL;
    if (!tern__lex_is_name(&p->lex, "from"))
        return TERN_OK;
    TERN_TRY(tern__lex_next(&p->lex));
    return tern__lex_string(&p->lex, &p->g->arena, "a text in quotes", out, &length);
}

/* input "x" f32[2] {1, 2} */
static tern_status read_leaf(parser *p, const tern__op *op, const tern__token *names, size_t n_names)
{
    if (n_names != 1)
        return tern__lex_fail(&p->lex, names[1].start, TERN_FORMAT, "%s gives 1 result, but %zu are named",
                              op->name, n_names);
    const char *name = NULL, *name_start = p->lex.token.start;
    size_t length = 0;
    if (p->lex.token.kind == TERN__TOKEN_STRING)
        TERN_TRY(tern__lex_string(&p->lex, &p->g->arena, "", &name, &length));
    if (length > 0) {
        uint32_t before;
        TERN_TRY(tern__names_add(&p->leaves, name, length, p->g->n_nodes, &before));
        if (before != TERN__NO_ID)
            return tern__lex_fail(
                &p->lex, name_start, TERN_FORMAT, "\"%s\" is the name of another %s, in line %zu", name,
                tern__ops[p->g->nodes[before].op].name, tern__lex_line(&p->lex, p->starts[before]));
    }
    tern__type type;
    TERN_TRY(read_type(p, op->name, &type));
    tern__storage *storage = NULL;
    if (tern__lex_is_mark(&p->lex, '{'))
        TERN_TRY(tern__lex_data(&p->lex, &p->scratch, &type, p->pool, &storage));
    tern__id value;
    tern_status status = tern__graph_add_leaf(p->g, tern__op_code(op), name, &type, storage, NULL, &value);
    tern__storage_release(storage);
    TERN_TRY(status);
    return read_origin(p, &p->g->nodes[p->g->n_nodes - 1].origin);
}

/* Operands, inference and the casts it asks for. Blames the operand, or the op. */
static tern_status infer(parser *p, const tern__token *op_token, const tern__token *operands,
                         const tern__id *in, tern__call *call)
{
    size_t n = (size_t)call->n_in;
    const tern__type **types = scratch(p, n, sizeof *types);
    tern_dtype *casts = scratch(p, n, sizeof *casts);
    call->n_out = tern__op_results(call->op, call->attrs);
    call->out = scratch(p, (size_t)call->n_out, sizeof *call->out);
    if (!types || !casts || !call->out)
        return tern__out_of_memory(n * sizeof *types);
    for (size_t i = 0; i < n; i++)
        types[i] = &p->g->values[in[i]].type;
    call->in = types;
    int blamed;
    tern_status status = tern__call_check(call, casts, &blamed);
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    return tern__lex_fail_at(&p->lex, blamed >= 0 ? operands[blamed].start : op_token->start, status);
}

static tern_status fail_unknown_op(const parser *p, const tern__token *t)
{
    int shown = (int)(t->length < 40 ? t->length : 40);
    const tern__op *near = tern__op_nearest(t->text, t->length);
    if (near)
        return tern__lex_fail(&p->lex, t->start, TERN_FORMAT, "unknown op '%.*s': did you mean '%s'?", shown,
                              t->text, near->name);
    return tern__lex_fail(&p->lex, t->start, TERN_FORMAT, "unknown op '%.*s'", shown, t->text);
}

/* {axis=1}, or nothing. */
static tern_status read_attrs(parser *p, const tern__op *op, tern__attr *attrs)
{
    bool present = false;
    tern__op_default_attrs(op, attrs);
    if (op->n_attrs == 0 || op->attrs[0].kind != TERN__ATTR_BODY)
        TERN_TRY(tern__lex_accept(&p->lex, '{', &present));
    if (present) {
        TERN_TRY(tern__lex_attrs(&p->lex, &p->scratch, op, '}', attrs));
        TERN_TRY(tern__lex_expect_mark(&p->lex, '}'));
    }
    return TERN_OK;
}

/* ---- the body of a fused node (text_region.c prints it) ----------------------------------------------------- */

/* Values of a body: the node's operands by the names they are given, then what is computed. */
typedef struct body {
    tern__region_draft draft;
    tern__token names[TERN__REGION_MAX_VALUES];
} body;

static tern_status find_local(parser *p, const body *b, const tern__token *t, uint16_t *out)
{
    for (uint16_t i = 0; i < b->draft.region.n_values; i++)
        if (b->names[i].length == t->length && memcmp(b->names[i].text, t->text, t->length) == 0) {
            *out = i;
            return TERN_OK;
        }
    return tern__lex_fail(&p->lex, t->start, TERN_FORMAT,
                          "%%%.*s is neither an operand of fused nor computed before",
                          (int)(t->length < 40 ? t->length : 40), t->text);
}

/* The op, its types inferred, joins the draft. */
static tern_status add_body_op(parser *p, body *b, const tern__op *op, const tern__token *op_token,
                               size_t n_in, const tern__token *operands, tern__attr *attrs, size_t n_names,
                               const tern__token *names)
{
    uint16_t in[TERN__MAX_INPUTS_FIXED], first;
    const tern__type *types[TERN__MAX_INPUTS_FIXED];
    tern_dtype casts[TERN__MAX_INPUTS_FIXED];
    tern__type out[TERN__MAX_RESULTS_FIXED];
    if (n_in > TERN__MAX_INPUTS_FIXED || op->max_in < 0 || op->n_out < 0 ||
        (op->flags & (TERN__LEAF | TERN__WRITES)))
        return tern__lex_fail(&p->lex, op_token->start, TERN_FORMAT, "%s cannot be part of fused", op->name);
    if (n_names != (size_t)op->n_out)
        return tern__lex_fail(&p->lex, names[0].start, TERN_FORMAT, "%s gives %d results, but %zu are named",
                              op->name, op->n_out, n_names);
    for (size_t i = 0; i < n_in; i++) {
        TERN_TRY(find_local(p, b, &operands[i], &in[i]));
        types[i] = &b->draft.types[in[i]];
    }
    tern__call call = {
        .op = op, .n_in = (int)n_in, .n_out = op->n_out, .in = types, .attrs = attrs, .out = out};
    int blamed;
    tern_status status = tern__call_check(&call, casts, &blamed);
    if (status != TERN_OK)
        return tern__lex_fail_at(&p->lex, op_token->start, status);
    TERN_TRY(check_types(p, op, n_names, out));
    uint16_t before = b->draft.region.n_values;
    if (!tern__region_add_op(&b->draft, tern__op_code(op), (int)n_in, in, attrs, op->n_out, out, &first))
        return tern__lex_fail(&p->lex, op_token->start, TERN_LIMIT, "fused has at most %d ops",
                              TERN__REGION_MAX_OPS);
    for (size_t i = 0; i < n_names; i++)
        b->names[before + i] = names[i];
    return TERN_OK;
}

/* %r0 = add(%x, %b) : f32[2] */
static tern_status read_body_op(parser *p, body *b)
{
    tern__token *names, *operands = NULL, op_token;
    size_t n_names, n_in = 0;
    TERN_TRY(read_values(p, &names, &n_names));
    TERN_TRY(tern__lex_expect_mark(&p->lex, '='));
    TERN_TRY(tern__lex_expect(&p->lex, TERN__TOKEN_NAME, "an op such as add", &op_token));
    const tern__op *op = tern__op_find(op_token.text, op_token.length);
    if (!op)
        return fail_unknown_op(p, &op_token);
    TERN_TRY(tern__lex_expect_mark(&p->lex, '('));
    if (!tern__lex_is_mark(&p->lex, ')'))
        TERN_TRY(read_values(p, &operands, &n_in));
    TERN_TRY(tern__lex_expect_mark(&p->lex, ')'));
    tern__attr *attrs = scratch(p, TERN__MAX_ATTRS, sizeof *attrs);
    if (!attrs)
        return tern__out_of_memory(TERN__MAX_ATTRS * sizeof *attrs);
    TERN_TRY(read_attrs(p, op, attrs));
    for (size_t i = 0; i < n_names; i++) {
        uint16_t found;
        if (find_local(p, b, &names[i], &found) == TERN_OK)
            return tern__lex_fail(&p->lex, names[i].start, TERN_FORMAT, "%%%.*s is defined already",
                                  (int)(names[i].length < 40 ? names[i].length : 40), names[i].text);
    }
    return add_body_op(p, b, op, &op_token, n_in, operands, attrs, n_names, names);
}

static tern_status read_body_results(parser *p, body *b)
{
    if (!tern__lex_is_name(&p->lex, "return"))
        return tern__lex_unexpected(&p->lex, "an op or 'return'");
    TERN_TRY(tern__lex_next(&p->lex));
    tern__token *results;
    size_t n;
    TERN_TRY(read_values(p, &results, &n));
    for (size_t i = 0; i < n; i++) {
        uint16_t value = 0;
        TERN_TRY(find_local(p, b, &results[i], &value));
        if (!tern__region_add_output(&b->draft, value))
            return tern__lex_fail(&p->lex, results[i].start, TERN_LIMIT, "fused has at most %d results",
                                  TERN__REGION_MAX_OUTPUTS);
    }
    return tern__lex_expect_mark(&p->lex, '}');
}

/* over [64,128] { ... } */
static tern_status read_body(parser *p, size_t n_in, const tern__token *operands, const tern__id *in,
                             const tern__region **out)
{
    body *b = scratch(p, 1, sizeof *b);
    tern__type domain = {.dtype = TERN_F32};
    const char *start = p->lex.token.start;
    int64_t *sizes;
    uint32_t rank;
    if (!b)
        return tern__out_of_memory(sizeof *b);
    if (!tern__lex_is_name(&p->lex, "over"))
        return tern__lex_unexpected(&p->lex, "'over' and the shape that the body works on");
    TERN_TRY(tern__lex_next(&p->lex));
    TERN_TRY(tern__lex_ints(&p->lex, &p->scratch, "a size", &sizes, &rank));
    tern_status status =
        tern__type_make("fused", TERN_F32, rank > INT32_MAX ? INT32_MAX : (int)rank, sizes, &domain);
    if (status != TERN_OK)
        return tern__lex_fail_at(&p->lex, start, status);
    tern__region_begin(&b->draft, &domain);
    for (size_t i = 0; i < n_in; i++) {
        uint16_t value = 0;
        if (!tern__region_add_input(&b->draft, &p->g->values[in[i]].type, &value))
            return tern__lex_fail(&p->lex, operands[i].start, TERN_LIMIT, "fused has at most %d operands",
                                  TERN__REGION_MAX_INPUTS);
        b->names[value] = operands[i];
    }
    TERN_TRY(tern__lex_expect_mark(&p->lex, '{'));
    while (p->lex.token.kind == TERN__TOKEN_VALUE)
        TERN_TRY(read_body_op(p, b));
    *out = &b->draft.region;
    return read_body_results(p, b);
}

/* (%a, %b) {axis=1} : f32[2] */
static tern_status read_call(parser *p, const tern__op *op, const tern__token *op_token, size_t n_names)
{
    tern__token *operands = NULL;
    size_t n_in = 0;
    TERN_TRY(tern__lex_expect_mark(&p->lex, '('));
    if (!tern__lex_is_mark(&p->lex, ')'))
        TERN_TRY(read_values(p, &operands, &n_in));
    TERN_TRY(tern__lex_expect_mark(&p->lex, ')'));
    tern__id *in = scratch(p, n_in, sizeof *in);
    if (!in)
        return tern__out_of_memory(n_in * sizeof *in);
    for (size_t i = 0; i < n_in; i++)
        TERN_TRY(find_value(p, &operands[i], &in[i]));

    tern__attr attrs[TERN__MAX_ATTRS];
    TERN_TRY(read_attrs(p, op, attrs));
    if (tern__op_code(op) == TERN__OP_fused)
        TERN_TRY(read_body(p, n_in, operands, in, &attrs[0].region));
    tern__call call = {.op = op, .n_in = (int)n_in, .attrs = attrs};
    TERN_TRY(infer(p, op_token, operands, in, &call));
    size_t n_out = (size_t)call.n_out;
    if (n_out != n_names)
        return tern__lex_fail(&p->lex, p->statement.start, TERN_FORMAT,
                              "%s gives %zu result%s, but %zu %s named", op->name, n_out,
                              n_out == 1 ? "" : "s", n_names, n_names == 1 ? "is" : "are");
    TERN_TRY(check_types(p, op, n_out, call.out));
    const char *origin;
    TERN_TRY(read_origin(p, &origin));
    tern__id value;
    TERN_TRY(tern__graph_add(p->g, tern__op_code(op), (uint32_t)n_in, in, attrs, (uint32_t)n_out, call.out,
                             &value));
    p->g->nodes[p->g->n_nodes - 1].origin = origin;
    return TERN_OK;
}

/* %a, %b = op ... */
static tern_status read_definition(parser *p)
{
    tern__token *names, op_token;
    size_t n_names;
    tern__arena_reset(&p->scratch);
    p->statement = p->lex.token;
    TERN_TRY(read_values(p, &names, &n_names));
    TERN_TRY(tern__lex_expect_mark(&p->lex, '='));
    TERN_TRY(tern__lex_expect(&p->lex, TERN__TOKEN_NAME, "an op such as add", &op_token));
    const tern__op *op = tern__op_find(op_token.text, op_token.length);
    if (!op)
        return fail_unknown_op(p, &op_token);
    if (op->flags & TERN__LEAF)
        TERN_TRY(read_leaf(p, op, names, n_names));
    else
        TERN_TRY(read_call(p, op, &op_token, n_names));
    return define(p, names, n_names);
}

/* return %a as "y", %b */
static tern_status read_return(parser *p)
{
    p->statement = p->lex.token;
    TERN_TRY(tern__lex_next(&p->lex));
    bool more = p->lex.token.kind == TERN__TOKEN_VALUE;
    while (more) {
        tern__token t;
        tern__id value;
        uint32_t before;
        const char *name = NULL, *start = p->lex.token.start;
        size_t length;
        TERN_TRY(tern__lex_expect(&p->lex, TERN__TOKEN_VALUE, "a value such as %x", &t));
        TERN_TRY(find_value(p, &t, &value));
        if (tern__lex_is_name(&p->lex, "as")) {
            TERN_TRY(tern__lex_next(&p->lex));
            start = p->lex.token.start;
            TERN_TRY(tern__lex_string(&p->lex, &p->g->arena, "a name in quotes", &name, &length));
            if (length == 0)
                return tern__lex_fail(&p->lex, start, TERN_FORMAT, "an output's name cannot be empty");
        }
        TERN_TRY(tern__graph_add_output(p->g, value, name));
        uint32_t number = p->g->n_outputs - 1;
        name = p->g->outputs[number].name;
        TERN_TRY(tern__names_add(&p->outputs, name, strlen(name), number, &before));
        if (before != TERN__NO_ID)
            return tern__lex_fail(&p->lex, start, TERN_FORMAT, "outputs %u and %u are both named \"%s\"",
                                  before, number, name);
        TERN_TRY(tern__lex_accept(&p->lex, ',', &more));
    }
    return TERN_OK;
}

static tern_status read_name(parser *p)
{
    size_t length;
    if (p->lex.token.kind == TERN__TOKEN_STRING)
        return tern__lex_string(&p->lex, &p->g->arena, "", &p->g->name, &length);
    if (p->lex.token.kind != TERN__TOKEN_NAME)
        return TERN_OK;
    p->g->name = tern__arena_strndup(&p->g->arena, p->lex.token.text, p->lex.token.length);
    return p->g->name ? tern__lex_next(&p->lex) : tern__out_of_memory(p->lex.token.length);
}

static tern_status read_graph(parser *p)
{
    if (!tern__lex_is_name(&p->lex, "graph"))
        return tern__lex_unexpected(&p->lex, "'graph'");
    TERN_TRY(tern__lex_next(&p->lex));
    TERN_TRY(read_name(p));
    TERN_TRY(tern__lex_expect_mark(&p->lex, '{'));
    while (p->lex.token.kind == TERN__TOKEN_VALUE)
        TERN_TRY(read_definition(p));
    const char *what =
        p->g->n_nodes ? "a definition or 'return'" : "a definition such as %x = input \"x\" f32[2]";
    if (!tern__lex_is_name(&p->lex, "return"))
        return tern__lex_unexpected(&p->lex, what);
    TERN_TRY(read_return(p));
    if (!tern__lex_is_mark(&p->lex, '}'))
        return tern__lex_unexpected(&p->lex, "'}' after the return");
    TERN_TRY(tern__lex_next(&p->lex));
    return p->lex.token.kind == TERN__TOKEN_END ? TERN_OK
                                                : tern__lex_unexpected(&p->lex, "the end of the text");
}

static tern_status parse(parser *p, const char *text, size_t length)
{
    TERN_TRY(tern__lex_init(&p->lex, text, length, false));
    TERN_TRY(read_graph(p));
    tern__id node;
    tern_status status = tern__graph_check(p->g, &node);
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY || node == TERN__NO_ID)
        return status;
    return tern__lex_fail_at(&p->lex, p->starts[node], status);
}

tern_status tern_graph_parse(tern_ctx *ctx, const char *text, size_t length, tern_graph **out)
{
    TERN__FAIL_IF(!out || (!text && length > 0), TERN_INVALID_ARGUMENT, "graph_parse: a NULL argument");
    parser p = {.pool = ctx ? tern_ctx_pool(ctx) : NULL};
    TERN_TRY(tern__graph_new(&p.g));
    tern__arena_init(&p.scratch, 0);
    tern_status status = parse(&p, text, length);
    if (status == TERN_OK)
        *out = p.g;
    else
        tern_graph_free(p.g);
    tern__arena_free(&p.scratch);
    tern__names_free(&p.values);
    tern__names_free(&p.leaves);
    tern__names_free(&p.outputs);
    tern__free(p.starts);
    return status;
}
