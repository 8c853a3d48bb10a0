/* text_cycle.c - a value is used that nothing has defined so far: is it defined later, in a cycle, or nowhere?
 * Runs only when parsing has failed, over the whole text, reading of each statement no more than
 * `%results = op(%operands)`. */
#include "graph/text_lex.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/text.h"

typedef struct statement {
    const char *start;
    size_t use, n_uses; /* into uses */
    uint32_t from;      /* the statement that led the search here; TERN__NO_ID: not reached */
    size_t by;          /* ... and the use in it */
} statement;

typedef struct outline {
    statement *statements;
    tern__token *uses;
    size_t n_statements, cap_statements, n_uses, cap_uses;
    tern__names names; /* value -> number of the statement that defines it */
} outline;

static void outline_free(outline *o)
{
    tern__free(o->statements);
    tern__free(o->uses);
    tern__names_free(&o->names);
}

/* The statement whose first token is the lexer's. Ends behind its operands. */
static tern_status read_statement(outline *o, tern__lexer *lex)
{
    if (!tern__grow((void **)&o->statements, &o->cap_statements, o->n_statements + 1, sizeof *o->statements))
        return TERN_OUT_OF_MEMORY;
    statement *s = &o->statements[o->n_statements];
    *s = (statement){.start = lex->token.start, .use = o->n_uses, .from = TERN__NO_ID};
    uint32_t ignored;
    while (!tern__lex_is_mark(lex, '=')) {
        if (lex->token.kind == TERN__TOKEN_VALUE)
            TERN_TRY(tern__names_add(&o->names, lex->token.text, lex->token.length, (uint32_t)o->n_statements,
                                     &ignored));
        else if (!tern__lex_is_mark(lex, ','))
            return TERN_FORMAT;
        TERN_TRY(tern__lex_next(lex));
    }
    o->n_statements++;
    TERN_TRY(tern__lex_next(lex)); /* = */
    TERN_TRY(tern__lex_next(lex)); /* op */
    if (!tern__lex_is_mark(lex, '('))
        return TERN_OK;
    TERN_TRY(tern__lex_next(lex));
    while (lex->token.kind == TERN__TOKEN_VALUE || tern__lex_is_mark(lex, ',')) {
        if (lex->token.kind == TERN__TOKEN_VALUE) {
            if (!tern__grow((void **)&o->uses, &o->cap_uses, o->n_uses + 1, sizeof *o->uses))
                return TERN_OUT_OF_MEMORY;
            o->uses[o->n_uses++] = lex->token;
            s->n_uses++;
        }
        TERN_TRY(tern__lex_next(lex));
    }
    return TERN_OK;
}

/* As far as the text can be read. */
static void read_outline(outline *o, tern__lexer lex)
{
    lex.at = lex.begin;
    tern_status status = tern__lex_next(&lex);
    while (status == TERN_OK && lex.token.kind != TERN__TOKEN_END) {
        if (tern__lex_is_name(&lex, "return"))
            return;
        status = lex.token.kind == TERN__TOKEN_VALUE ? read_statement(o, &lex) : tern__lex_next(&lex);
    }
}

/* Breadth first from the definition of what is missing, along operands, to the statement that misses it. */
static bool find_cycle(outline *o, uint32_t from, uint32_t to)
{
    uint32_t *queue = tern__alloc(o->n_statements * sizeof *queue);
    if (!queue)
        return false;
    size_t head = 0, tail = 0;
    queue[tail++] = from;
    o->statements[from].from = from;
    while (head < tail && o->statements[to].from == TERN__NO_ID) {
        uint32_t at = queue[head++];
        const statement *s = &o->statements[at];
        for (size_t u = s->use; u < s->use + s->n_uses; u++) {
            uint32_t next = tern__names_find(&o->names, o->uses[u].text, o->uses[u].length);
            if (next == TERN__NO_ID || o->statements[next].from != TERN__NO_ID)
                continue;
            o->statements[next].from = at;
            o->statements[next].by = u;
            queue[tail++] = next;
        }
    }
    tern__free(queue);
    return o->statements[to].from != TERN__NO_ID;
}

static void add_name(tern__strbuf *s, const char *separator, const tern__token *value)
{
    tern__strbuf_addf(s, "%s%%%.*s", separator, (int)(value->length < 40 ? value->length : 40), value->text);
}

/* "%a needs %b needs %a". The search left the way back in `from` and `by`; the reader wants it forwards. */
static void tell_cycle(outline *o, uint32_t from, uint32_t to, const tern__token *use, tern__strbuf *s)
{
    enum { SHOWN = 6 };
    const tern__token *first = from == to ? use : &o->uses[o->statements[to].by];
    size_t steps = 0, shown = 0;
    for (uint32_t at = to; at != from; at = o->statements[at].from)
        steps++;
    const tern__token *last[SHOWN];
    for (uint32_t at = to; at != from; at = o->statements[at].from)
        if (steps-- <= SHOWN)
            last[shown++] = &o->uses[o->statements[at].by];
    bool cut = from != to && last[0] != first;
    add_name(s, "", first);
    add_name(s, " needs ", use);
    while (shown > 0 && from != to)
        add_name(s, " needs ", last[--shown]);
    if (cut)
        add_name(s, " needs ... needs ", first);
}

tern_status tern__lex_undefined(const tern__lexer *lex, const tern__token *at, const tern__token *use)
{
    outline o = {0};
    tern__strbuf cycle = TERN__STRBUF_EMPTY;
    read_outline(&o, *lex);
    uint32_t later = tern__names_find(&o.names, use->text, use->length), here = 0;
    while (here < o.n_statements && o.statements[here].start != at->start)
        here++;
    int length = (int)use->length;
    tern_status status;
    if (later == TERN__NO_ID)
        status = tern__lex_fail(lex, use->start, TERN_FORMAT, "%%%.*s is not defined", length, use->text);
    else if (here < o.n_statements && find_cycle(&o, later, here)) {
        tell_cycle(&o, later, here, use, &cycle);
        status = tern__lex_fail(lex, use->start, TERN_FORMAT, "cycle: %s", cycle.text ? cycle.text : "");
    } else
        status =
            tern__lex_fail(lex, use->start, TERN_FORMAT, "%%%.*s is used before its definition in line %zu",
                           length, use->text, tern__lex_line(lex, o.statements[later].start));
    tern__strbuf_free(&cycle);
    outline_free(&o);
    return status;
}
