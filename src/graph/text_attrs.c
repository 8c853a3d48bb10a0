/* text_attrs.c - attributes from text: name=value, one after the other, as the op's row lists them. */
#include "graph/text_lex.h"

#include <string.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "graph/text.h"

/* "conv2d has stride_h, stride_w, ..." or "relu has no attributes". */
static tern_status fail_unknown(const tern__lexer *lex, const tern__token *t, const tern__op *op)
{
    char known[TERN__MAX_ATTRS * 24] = "no attributes";
    size_t at = 0;
    for (int i = 0; i < op->n_attrs; i++) {
        const char *separator = i == 0 ? "" : ", ";
        size_t a = strlen(separator), b = strlen(op->attrs[i].name);
        if (at + a + b >= sizeof known)
            break;
        memcpy(known + at, separator, a);
        memcpy(known + at + a, op->attrs[i].name, b + 1);
        at += a + b;
    }
    return tern__lex_fail(lex, t->start, TERN_FORMAT, "unknown attribute '%.*s': %s has %s",
                          (int)(t->length < 40 ? t->length : 40), t->text, op->name, known);
}

static tern_status read_bool(tern__lexer *lex, tern__attr *attr)
{
    attr->i = tern__lex_is_name(lex, "true");
    if (!attr->i && !tern__lex_is_name(lex, "false"))
        return tern__lex_unexpected(lex, "true or false");
    return tern__lex_next(lex);
}

static tern_status read_float(tern__lexer *lex, tern__attr *attr)
{
    tern__token t = lex->token;
    bool overflow = false;
    bool word = t.kind == TERN__TOKEN_NAME || t.kind == TERN__TOKEN_NUMBER;
    if (!word || !tern__number_read_float(TERN_F64, t.text, t.length, &attr->f, &overflow)) {
        if (overflow)
            return tern__lex_fail(lex, t.start, TERN_OVERFLOW, "%.*s does not fit in 64 bits",
                                  (int)(t.length < 40 ? t.length : 40), t.text);
        return tern__lex_unexpected(lex, "a number");
    }
    return tern__lex_next(lex);
}

static tern_status read_value(tern__lexer *lex, tern__arena *arena, tern__attr_kind kind, tern__attr *attr)
{
    size_t length = 0;
    tern_dtype dtype = TERN_F32;
    switch (kind) {
    case TERN__ATTR_INT:
        return tern__lex_int(lex, "a whole number", &attr->i);
    case TERN__ATTR_FLOAT:
        return read_float(lex, attr);
    case TERN__ATTR_BOOL:
        return read_bool(lex, attr);
    case TERN__ATTR_INTS:
        return tern__lex_ints(lex, arena, "a whole number", &attr->ints, &attr->count);
    case TERN__ATTR_DTYPE:
        TERN_TRY(tern__lex_dtype(lex, &dtype));
        attr->i = dtype;
        return TERN_OK;
    case TERN__ATTR_TEXT:
        TERN_TRY(tern__lex_string(lex, arena, "a text in quotes", &attr->text, &length));
        attr->count = (uint32_t)length;
        return TERN_OK;
    case TERN__ATTR_BODY:
        return tern__lex_unexpected(lex, "another attribute: a body stands behind them");
    }
    return tern__fail(TERN_INTERNAL, "attribute of kind %d", (int)kind);
}

static bool at_end(const tern__lexer *lex, char end)
{
    return end == '\0' ? lex->token.kind == TERN__TOKEN_END : tern__lex_is_mark(lex, end);
}

tern_status tern__lex_attrs(tern__lexer *lex, tern__arena *arena, const tern__op *op, char end,
                            tern__attr *attrs)
{
    tern__op_default_attrs(op, attrs);
    bool seen[TERN__MAX_ATTRS] = {false}, comma = false;
    while (comma || !at_end(lex, end)) {
        tern__token name;
        TERN_TRY(tern__lex_expect(lex, TERN__TOKEN_NAME, "an attribute such as axis=1", &name));
        int i = 0;
        while (i < op->n_attrs && (strlen(op->attrs[i].name) != name.length ||
                                   memcmp(op->attrs[i].name, name.text, name.length) != 0))
            i++;
        if (i == op->n_attrs)
            return fail_unknown(lex, &name, op);
        if (seen[i])
            return tern__lex_fail(lex, name.start, TERN_FORMAT, "attribute '%s' is given twice",
                                  op->attrs[i].name);
        seen[i] = true;
        TERN_TRY(tern__lex_expect_mark(lex, '='));
        TERN_TRY(read_value(lex, arena, op->attrs[i].kind, &attrs[i]));
        TERN_TRY(tern__lex_accept(lex, ',', &comma));
    }
    return TERN_OK;
}

tern_status tern__attrs_parse(tern__arena *arena, const tern__op *op, const char *text, size_t length,
                              tern__attr *attrs)
{
    tern__lexer lex;
    tern_status status = tern__lex_init(&lex, text, length, true);
    if (status == TERN_OK)
        status = tern__lex_attrs(&lex, arena, op, '\0', attrs);
    return status == TERN_OK || status == TERN_OUT_OF_MEMORY ? status : tern__fail_in(status, op->name);
}
