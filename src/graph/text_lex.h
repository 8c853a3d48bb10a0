/* text_lex.h - tokens of the text form, with their places for error messages. Internal to text_*.c. */
#ifndef TERN_GRAPH_TEXT_LEX_H
#define TERN_GRAPH_TEXT_LEX_H

#include "base/arena.h"
#include "graph/op.h"

typedef enum tern__token_kind {
    TERN__TOKEN_END,    /* of the text */
    TERN__TOKEN_VALUE,  /* %x, %12; `text` is what follows the % */
    TERN__TOKEN_NAME,   /* relu, f32, true */
    TERN__TOKEN_NUMBER, /* -12, 1.5e-3, -inf; the characters are right, the number may not be */
    TERN__TOKEN_STRING, /* "x"; `text` is what stands between the quotes, escapes and all */
    TERN__TOKEN_MARK,   /* one of { } [ ] ( ) , : = */
} tern__token_kind;

typedef struct tern__token {
    tern__token_kind kind;
    const char *start; /* where it begins in the text */
    const char *text;
    size_t length; /* of `text` */
} tern__token;

/* Copying a lexer saves its place: assigning the copy back returns to it. */
typedef struct tern__lexer {
    const char *begin, *end, *at; /* the whole text, and where the next token is looked for */
    bool one_line;                /* attributes alone: messages give a column only */
    tern__token token;            /* the current one */
} tern__lexer;

/* Stands on the first token. */
tern_status tern__lex_init(tern__lexer *lex, const char *text, size_t length, bool one_line);

/* Goes on to the next token; TERN_FORMAT for characters that begin none. */
tern_status tern__lex_next(tern__lexer *lex);

/* Is the current token this mark, this word? */
bool tern__lex_is_mark(const tern__lexer *lex, char mark);
bool tern__lex_is_name(const tern__lexer *lex, const char *name);

/* Goes past the mark, or past a token of that kind, which lands in *out; else "expected `what` but found ...". */
tern_status tern__lex_expect_mark(tern__lexer *lex, char mark);
tern_status tern__lex_expect(tern__lexer *lex, tern__token_kind kind, const char *what, tern__token *out);

/* Goes past the mark if it is there. */
tern_status tern__lex_accept(tern__lexer *lex, char mark, bool *found);

/* "line 3, column 14: " and the message. `start` is a token's; columns count characters. */
tern_status tern__lex_fail(const tern__lexer *lex, const char *start, tern_status status, const char *format,
                           ...) TERN_PRINTF(4, 5);
/* The same for a failure whose message is set already. */
tern_status tern__lex_fail_at(const tern__lexer *lex, const char *start, tern_status status);
/* "expected `what` but found ...", at the current token. */
tern_status tern__lex_unexpected(const tern__lexer *lex, const char *what);
size_t tern__lex_line(const tern__lexer *lex, const char *start);

/* ---- things made of a few tokens ---------------------------------------------------------------------------- */

tern_status tern__lex_int(tern__lexer *lex, const char *what, int64_t *out);
tern_status tern__lex_dtype(tern__lexer *lex, tern_dtype *out);
/* A string without its escapes, in the arena and terminated; at most TERN__MAX_NAME bytes, none of them 0. */
tern_status tern__lex_string(tern__lexer *lex, tern__arena *arena, const char *what, const char **out,
                             size_t *length);
/* "[1,2]" into the arena. */
tern_status tern__lex_ints(tern__lexer *lex, tern__arena *arena, const char *what, int64_t **out,
                           uint32_t *count);

/* Attributes up to the mark `end` ('\0': the end of the text), which is left for the caller. text_attrs.c. */
tern_status tern__lex_attrs(tern__lexer *lex, tern__arena *arena, const tern__op *op, char end,
                            tern__attr *attrs);

/* The op that was probably meant by a misspelt name, or NULL. text_suggest.c. */
const tern__op *tern__op_nearest(const char *name, size_t length);

/* `use` names a value that no statement before `statement` (its first token) defines: says whether it is defined
 * later, in a cycle, or not at all. text_cycle.c. */
tern_status tern__lex_undefined(const tern__lexer *lex, const tern__token *statement, const tern__token *use);

#endif
