/* term.h - where the program's words go: exit codes, errors, colour, width and the characters a terminal has. */
#ifndef TERN_CLI_TERM_H
#define TERN_CLI_TERM_H

#include <stdbool.h>

#include <tern/export.h>
#include <tern/log.h>
#include <tern/status.h>

/* Exit codes: docs/cli.md states them, and so does every --help. */
enum {
    EXIT_DONE = 0,    /* the work was done                                                     */
    EXIT_FAILED = 1,  /* it was not: a file, a graph, a run or a write failed                  */
    EXIT_USAGE = 2,   /* the command line is wrong as it stands; nothing was read or written   */
    EXIT_ANSWER = 16, /* + n: of commands whose answer is a status, n                           */
};

/* The commands whose answer is a status (0, 1, 2) tell failures apart by others: it failed 3, wrong command line 4. */
void term_set_answers(bool answers);

/* ---- errors: one line on stderr, "tern: graph run: ..." ------------------------------------------------------ */

/* The command that messages name from now on, such as "graph run". */
void term_set_command(const char *path);

/* Each returns the exit code, so that a command can `return fail(...)`. */
int fail(const char *format, ...) TERN_PRINTF(1, 2);
int fail_usage(const char *format, ...) TERN_PRINTF(1, 2); /* adds where help is */
int fail_status(const char *subject);                      /* last_words(), after "subject: " unless NULL */
/* tern_last_error(), without the name of the library's function where it is the command's again: "synth: model_synth: ...", "chat: chat: ...".
 * Whole messages lose it by themselves; this is for words that come after others. */
const char *last_words(void);

/* A remark on stderr that is not a failure. */
void warn(const char *format, ...) TERN_PRINTF(1, 2);

/* Messages go to the end of `to` until term_hold(NULL): its caller says what there is to say. */
struct text;
void term_hold(struct text *to);

/* What the library has to say besides results appears on stderr: warnings, if `show`, and errors. */
void term_show_warnings(bool show);
/* As the library's messages are printed unless somebody else listens. */
void term_log(tern_log_level level, const char *message);

/* The program as it was called, in quotes if a shell needs them: what a command begins with that is printed to be pasted. */
const char *term_program(void);

/* Something could not be written to standard output, for this reason: term_finish says so. The first reason counts. */
void term_note_lost(int why);
/* Writes a whole text to stdout, and all that was written to it before; false: that failed, and term_finish says why. */
bool term_put(const char *words);
bool term_flush(void);
/* Called last: everything written to stdout has arrived, or the exit code says otherwise. */
int term_finish(int code);

/* ---- where stdout goes --------------------------------------------------------------------------------------- */

/* Points stdout at `file`, which is closed; returns what it was, or -1. */
int term_turn_stdout(int file);
/* The other way round. EXIT_FAILED: what was written meanwhile did not arrive, and errno says why. */
int term_turn_back(int was);

/* ---- the terminal -------------------------------------------------------------------------------------------- */

typedef enum color_when {
    COLOR_AUTO, /* on a terminal, unless $NO_COLOR is set or $TERM is dumb */
    COLOR_ALWAYS,
    COLOR_NEVER,
} color_when;

void term_init(int count, char *const *words); /* once, at the start, with argc and argv, which stay valid */
void term_set_color(color_when when);

bool term_utf8(void);
int term_width(void); /* for pictures: at least 80 */
int term_columns(
    void); /* for a line that is drawn over, and must not wrap: what there is; 80 where nobody says */
bool term_is_wide(void); /* tables need not be fitted: no terminal, and no $COLUMNS, limits them */

typedef enum style {
    STYLE_NONE,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_TITLE,
    STYLE_NAME, /* of a value, op or file */
    STYLE_NUMBER,
    STYLE_BAR,
    STYLE_OTHER_BAR, /* beside the first */
    STYLE_COUNT
} style;

/* Escape sequences that begin and end a style; "" without colour. */
const char *on(style s);
const char *off(style s);

/* Characters outside ASCII, or what stands for them. */
typedef enum glyph {
    GLYPH_LINE,     /* ─ */
    GLYPH_ELLIPSIS, /* … */
    GLYPH_DOT,      /* · */
    GLYPH_FULL,     /* █ */
    GLYPH_LIGHT,    /* ░ */
    GLYPH_ARROW,    /* → */
    GLYPH_RETURN,   /* ↵ */
    GLYPH_COUNT
} glyph;
const char *glyph_of(glyph g);

#endif
