/* text_lex.c - cuts the text form into tokens. Tokens point into the text; line and column are counted only when a
 * message needs them. */
#include "graph/text_lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "graph/text.h"

/* How much of a token a message shows. */
enum { SHOWN = 40 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_part(char c)
{
    return is_letter(c) || is_digit(c) || c == '.';
}

bool tern__is_identifier(const char *text, size_t length)
{
    if (length == 0 || length > TERN__MAX_NAME || !is_letter(text[0]))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!is_name_part(text[i]))
            return false;
    return true;
}

/* ---- messages ----------------------------------------------------------------------------------------------- */

size_t tern__lex_line(const tern__lexer *lex, const char *start)
{
    size_t line = 1;
    for (const char *p = lex->begin; p < start; p++)
        line += *p == '\n';
    return line;
}

static size_t column_of(const tern__lexer *lex, const char *start)
{
    size_t column = 1;
    for (const char *p = start; p > lex->begin && p[-1] != '\n'; p--)
        column += ((unsigned char)p[-1] & 0xc0) != 0x80; /* only the first byte of a UTF-8 character counts */
    return column;
}

tern_status tern__lex_fail_at(const tern__lexer *lex, const char *start, tern_status status)
{
    char place[64];
    if (lex->one_line)
        snprintf(place, sizeof place, "attributes, column %zu", column_of(lex, start));
    else
        snprintf(place, sizeof place, "line %zu, column %zu", tern__lex_line(lex, start),
                 column_of(lex, start));
    return tern__fail_in(status, place);
}

tern_status tern__lex_fail(const tern__lexer *lex, const char *start, tern_status status, const char *format,
                           ...)
{
    va_list args;
    va_start(args, format);
    tern__fail_v(status, format, args);
    va_end(args);
    return tern__lex_fail_at(lex, start, status);
}

tern_status tern__lex_unexpected(const tern__lexer *lex, const char *what)
{
    const tern__token *t = &lex->token;
    if (t->kind == TERN__TOKEN_END)
        return tern__lex_fail(lex, t->start, TERN_FORMAT, "expected %s but the text ends", what);
    const char *sign = t->kind == TERN__TOKEN_VALUE ? "%" : t->kind == TERN__TOKEN_STRING ? "\"" : "";
    return tern__lex_fail(lex, t->start, TERN_FORMAT, "expected %s but found '%s%.*s%s%s'", what, sign,
                          (int)(t->length < SHOWN ? t->length : SHOWN), t->text,
                          t->length > SHOWN ? "..." : "", t->kind == TERN__TOKEN_STRING ? sign : "");
}

/* ---- tokens ------------------------------------------------------------------------------------------------- */

static void skip_blanks(tern__lexer *lex)
{
    const char *p = lex->at;
    for (; p < lex->end; p++) {
        if (*p == '#')
            while (p + 1 < lex->end && p[1] != '\n')
                p++;
        else if (*p != ' ' && *p != '\t' && *p != '\n' && *p != '\r')
            break;
    }
    lex->at = p;
}

static tern_status take(tern__lexer *lex, tern__token_kind kind, const char *from, const char *to)
{
    lex->token = (tern__token){.kind = kind, .start = lex->at, .text = from, .length = (size_t)(to - from)};
    lex->at = to + (kind == TERN__TOKEN_STRING); /* past the closing quote */
    return TERN_OK;
}

static tern_status take_word(tern__lexer *lex)
{
    bool value = *lex->at == '%';
    const char *from = lex->at + value, *to = from;
    while (to < lex->end && is_name_part(*to))
        to++;
    size_t length = (size_t)(to - from);
    const char *what = value ? "value" : "word";
    if (length > TERN__MAX_NAME)
        return tern__lex_fail(lex, lex->at, TERN_LIMIT, "this %s name has %zu characters; the limit is %d",
                              what, length, TERN__MAX_NAME);
    bool number = value && length > 0;
    for (size_t i = 0; i < length; i++)
        number = number && is_digit(from[i]);
    if (!number && !tern__is_identifier(from, length))
        return tern__lex_fail(lex, lex->at, TERN_FORMAT,
                              "'%%%.*s' is not a value: %% is followed by a name (letters, digits, _ and .) "
                              "or by a number",
                              (int)(length < SHOWN ? length : SHOWN), from);
    return take(lex, value ? TERN__TOKEN_VALUE : TERN__TOKEN_NAME, from, to);
}

static tern_status take_number(tern__lexer *lex)
{
    const char *to = lex->at + 1;
    while (to < lex->end && (is_name_part(*to) || ((*to == '-' || *to == '+') && (to[-1] | 0x20) == 'e')))
        to++;
    return take(lex, TERN__TOKEN_NUMBER, lex->at, to);
}

static tern_status take_string(tern__lexer *lex)
{
    const char *to = lex->at + 1;
    while (to < lex->end && *to != '"' && *to != '\n')
        to += to[0] == '\\' && to + 1 < lex->end && to[1] != '\n' ? 2 : 1;
    if (to >= lex->end || *to != '"')
        return tern__lex_fail(lex, lex->at, TERN_FORMAT, "this text has no closing quote on its line");
    return take(lex, TERN__TOKEN_STRING, lex->at + 1, to);
}

tern_status tern__lex_next(tern__lexer *lex)
{
    skip_blanks(lex);
    if (lex->at == lex->end)
        return take(lex, TERN__TOKEN_END, lex->at, lex->at);
    char c = *lex->at;
    if (c == '%' || is_letter(c))
        return take_word(lex);
    if (c == '-' || is_digit(c))
        return take_number(lex);
    if (c == '"')
        return take_string(lex);
    if (c != '\0' && strchr("{}[](),:=", c))
        return take(lex, TERN__TOKEN_MARK, lex->at, lex->at + 1);
    if (c == '/' && lex->at + 1 < lex->end && lex->at[1] == '/')
        return tern__lex_fail(lex, lex->at, TERN_FORMAT, "unexpected '//': a comment begins with #");
    if (c == '?')
        return tern__lex_fail(
            lex, lex->at, TERN_FORMAT,
            "unexpected '?': every size is known; write one, and compile for a range of batches "
            "(--batch) if the first axis varies");
    if (c > ' ' && c <= '~')
        return tern__lex_fail(lex, lex->at, TERN_FORMAT, "unexpected '%c'", c);
    return tern__lex_fail(lex, lex->at, TERN_FORMAT, "unexpected byte 0x%02x", (unsigned char)c);
}

tern_status tern__lex_init(tern__lexer *lex, const char *text, size_t length, bool one_line)
{
    if (length == 0)
        text = ""; /* which may be NULL */
    *lex = (tern__lexer){.begin = text, .end = text + length, .at = text, .one_line = one_line};
    return tern__lex_next(lex);
}

bool tern__lex_is_mark(const tern__lexer *lex, char mark)
{
    return lex->token.kind == TERN__TOKEN_MARK && lex->token.text[0] == mark;
}

bool tern__lex_is_name(const tern__lexer *lex, const char *name)
{
    const tern__token *t = &lex->token;
    return t->kind == TERN__TOKEN_NAME && t->length == strlen(name) && memcmp(t->text, name, t->length) == 0;
}

tern_status tern__lex_expect_mark(tern__lexer *lex, char mark)
{
    char what[4] = {'\'', mark, '\'', '\0'};
    if (!tern__lex_is_mark(lex, mark))
        return tern__lex_unexpected(lex, what);
    return tern__lex_next(lex);
}

/* Is the token in a list, not at the beginning of a statement? */
static bool is_listed(const tern__lexer *lex)
{
    const char *p = lex->token.start;
    while (p > lex->begin && (p[-1] == ' ' || p[-1] == '\n'))
        p--;
    return p > lex->begin && (p[-1] == '(' || p[-1] == ',');
}

/* Not a value. Numbers and attributes stand among the operands in other languages; here they have their own places. */
static tern_status fail_no_value(const tern__lexer *lex, const char *what)
{
    const tern__token *t = &lex->token;
    tern__lexer ahead = *lex;
    if (t->length <= SHOWN && is_listed(lex) && t->kind == TERN__TOKEN_NUMBER)
        return tern__lex_fail(
            lex, t->start, TERN_FORMAT,
            "expected %s but found '%.*s': numbers are constants: %%c = constant f32[] {%.*s}", what,
            (int)t->length, t->text, (int)t->length, t->text);
    if (t->length <= SHOWN && is_listed(lex) && t->kind == TERN__TOKEN_NAME &&
        tern__lex_next(&ahead) == TERN_OK && tern__lex_is_mark(&ahead, '='))
        return tern__lex_fail(
            lex, t->start, TERN_FORMAT,
            "expected %s but found '%.*s': attributes stand behind the operands: (...) {%.*s=...}", what,
            (int)t->length, t->text, (int)t->length, t->text);
    return tern__lex_unexpected(lex, what);
}

tern_status tern__lex_expect(tern__lexer *lex, tern__token_kind kind, const char *what, tern__token *out)
{
    *out = lex->token;
    if (lex->token.kind != kind)
        return kind == TERN__TOKEN_VALUE ? fail_no_value(lex, what) : tern__lex_unexpected(lex, what);
    return tern__lex_next(lex);
}

tern_status tern__lex_accept(tern__lexer *lex, char mark, bool *found)
{
    *found = tern__lex_is_mark(lex, mark);
    return *found ? tern__lex_next(lex) : TERN_OK;
}

/* ---- things made of a few tokens ---------------------------------------------------------------------------- */

tern_status tern__lex_int(tern__lexer *lex, const char *what, int64_t *out)
{
    tern__token t;
    bool overflow;
    TERN_TRY(tern__lex_expect(lex, TERN__TOKEN_NUMBER, what, &t));
    if (tern__number_read_int(t.text, t.length, out, &overflow))
        return TERN_OK;
    int shown = (int)(t.length < SHOWN ? t.length : SHOWN);
    if (overflow)
        return tern__lex_fail(lex, t.start, TERN_OVERFLOW, "%.*s%s does not fit in 64 bits", shown, t.text,
                              t.length > SHOWN ? "..." : "");
    return tern__lex_fail(lex, t.start, TERN_FORMAT,
                          "expected %s but found '%.*s%s', which is no whole number", what, shown, t.text,
                          t.length > SHOWN ? "..." : "");
}

tern_status tern__lex_dtype(tern__lexer *lex, tern_dtype *out)
{
    tern__token t;
    char name[SHOWN];
    TERN_TRY(tern__lex_expect(lex, TERN__TOKEN_NAME, "a dtype such as f32", &t));
    snprintf(name, sizeof name, "%.*s", (int)(t.length < SHOWN ? t.length : SHOWN), t.text);
    tern_status status = tern_dtype_parse(name, out);
    return status == TERN_OK ? TERN_OK : tern__lex_fail_at(lex, t.start, TERN_FORMAT);
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* One character after a backslash, at *p, which is moved behind it; -1 if it is none of ours. */
static int unescape(const char **p, const char *end)
{
    if (*p == end)
        return -1;
    char c = *(*p)++;
    switch (c) {
    case '"':
    case '\\':
        return c;
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'x':
        if (end - *p >= 2 && hex_digit((*p)[0]) >= 0 && hex_digit((*p)[1]) >= 0) {
            *p += 2;
            return hex_digit((*p)[-2]) * 16 + hex_digit((*p)[-1]);
        }
        return -1;
    default:
        return -1;
    }
}

tern_status tern__lex_string(tern__lexer *lex, tern__arena *arena, const char *what, const char **out,
                             size_t *length)
{
    tern__token t;
    TERN_TRY(tern__lex_expect(lex, TERN__TOKEN_STRING, what, &t));
    char copy[TERN__MAX_NAME];
    size_t n = 0;
    for (const char *p = t.text, *end = t.text + t.length; p < end;) {
        const char *from = p;
        int c = (unsigned char)*p++;
        if (c < ' ' || c == 0x7f)
            return tern__lex_fail(lex, from, TERN_FORMAT, "byte 0x%02x cannot stand in a text; write \\x%02x",
                                  (unsigned)c, (unsigned)c);
        if (c == '\\') {
            c = unescape(&p, end);
            if (c < 0)
                return tern__lex_fail(lex, from, TERN_FORMAT,
                                      "after \\ stands one of \" \\ n t r, or x and two hex digits");
            if (c == 0)
                return tern__lex_fail(lex, from, TERN_FORMAT, "a text cannot contain a zero byte");
        }
        if (n == sizeof copy)
            return tern__lex_fail(lex, t.start, TERN_LIMIT, "this text has more than %d bytes",
                                  TERN__MAX_NAME);
        copy[n++] = (char)c;
    }
    *out = tern__arena_strndup(arena, copy, n);
    *length = n;
    return *out ? TERN_OK : tern__out_of_memory(n);
}

tern_status tern__lex_ints(tern__lexer *lex, tern__arena *arena, const char *what, int64_t **out,
                           uint32_t *count)
{
    TERN_TRY(tern__lex_expect_mark(lex, '['));
    /* read twice: once to count, once to store */
    tern__lexer again = *lex;
    size_t n = 0;
    int64_t ignored;
    bool more = !tern__lex_is_mark(lex, ']');
    for (; more; n++) {
        TERN_TRY(tern__lex_int(lex, what, &ignored));
        TERN_TRY(tern__lex_accept(lex, ',', &more));
    }
    TERN_TRY(tern__lex_expect_mark(lex, ']'));
    if (n >= INT32_MAX)
        return tern__lex_fail(lex, again.token.start, TERN_LIMIT, "%zu numbers are too many for one list", n);
    int64_t *ints = tern__arena_alloc_zero(arena, n, sizeof *ints);
    if (!ints)
        return tern__out_of_memory(n * sizeof *ints);
    for (size_t i = 0; i < n; i++) {
        TERN_TRY(tern__lex_int(&again, what, &ints[i]));
        TERN_TRY(tern__lex_accept(&again, ',', &more));
    }
    *out = ints;
    *count = (uint32_t)n;
    return TERN_OK;
}
