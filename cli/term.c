/* term.c - errors, colour, width and characters. */
#include "term.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tern/log.h>

#include "hints.h"
#include "text.h"

static char command[64]; /* the command that messages name */
static char program_word[4096] = "tern";
static char *const *given; /* (n_given) the words of the command line */
static int n_given;
static bool utf8, color, terminal;
static int columns; /* 0 = nobody says */

static text *held;   /* where messages go instead of stderr; or NULL */
static bool answers; /* exit statuses 1 and 2 are answers */

/* ---- errors ------------------------------------------------------------------------------------------------- */

void term_set_command(const char *path)
{
    snprintf(command, sizeof command, "%s", path);
}

/* How often a word stands on the command line, by itself or as "--option=word". */
static int times_given(const char *word, size_t length)
{
    int n = 0;
    for (int i = 0; i < n_given; i++) {
        const char *value = strncmp(given[i], "--", 2) == 0 ? strchr(given[i], '=') : NULL;
        const char *said = value ? value + 1 : given[i];
        n += strlen(said) == length && strncmp(said, word, length) == 0;
    }
    return n;
}

/* Is the word of the library before a message's colon one that the line says already, "chat: chat: ..." or "synth: model_synth: ..."?
 * Not so if a file that was given has the command's name. */
static bool is_said(const char *word, size_t length)
{
    char whole[2][sizeof command + 8];
    snprintf(whole[0], sizeof whole[0], "model_%s", command);
    snprintf(whole[1], sizeof whole[1], "%s", command);
    for (char *blank; (blank = strchr(whole[1], ' '));)
        *blank = '_'; /* "bench model" */
    for (int i = 0; i < 2; i++)
        if (strchr(whole[i], '_') && strlen(whole[i]) == length && strncmp(whole[i], word, length) == 0)
            return true;
    for (const char *at = command; *at;) {
        const size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, word, n) == 0)
            return times_given(word, length) < 2;
        at += n + (at[n] == ' ');
    }
    return false;
}

/* The message without what the line begins with anyway. */
static const char *without_prefix(const char *words)
{
    const size_t length = strcspn(words, ":");
    return length > 0 && strncmp(words + length, ": ", 2) == 0 && is_said(words, length) ? words + length + 2
                                                                                         : words;
}

static void say(const char *format, va_list list, const char *tail)
{
    char message[4096];
    vsnprintf(message, sizeof message, format, list);
    text line = {0};
    text_addf(&line, "tern: %s%s", command, command[0] ? ": " : "");
    text_add_safe(&line, without_prefix(message));
    hints_add(&line, command, message);
    text_addf(&line, "%s\n", tail);
    fflush(stdout); /* what was said before comes before */
    if (held)
        text_add(held, text_string(&line));
    else
        fputs(text_string(&line), stderr);
    text_free(&line);
}

void term_hold(text *to)
{
    held = to;
}

int fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list, "");
    va_end(list);
    return EXIT_FAILED;
}

int fail_usage(const char *format, ...)
{
    char tail[128];
    snprintf(tail, sizeof tail, " (see 'tern %s%s--help')", command, command[0] ? " " : "");
    va_list list;
    va_start(list, format);
    say(format, list, tail);
    va_end(list);
    return EXIT_USAGE;
}

const char *last_words(void)
{
    return without_prefix(tern_last_error());
}

int fail_status(const char *subject)
{
    return fail("%s%s%s", subject ? subject : "", subject ? ": " : "", last_words());
}

void warn(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list, "");
    va_end(list);
}

void term_set_answers(bool set)
{
    answers = set;
}

/* What the process ends with. */
static int status_of(int code)
{
    return code >= EXIT_ANSWER ? code - EXIT_ANSWER : answers && code != EXIT_DONE ? code + 2 : code;
}

/* In the library's own words. May be called by several threads. */
void term_log(tern_log_level level, const char *message)
{
    text line = {0};
    text_addf(&line, "tern: %s: ", level == TERN_LOG_ERROR ? "error" : "warning");
    text_add_safe(&line, message); /* it may quote a file */
    text_add(&line, "\n");
    fputs(text_string(&line), stderr);
    text_free(&line);
}

static void print_log(void *user, tern_log_level level, const char *message)
{
    (void)user;
    term_log(level, message);
}

void term_show_warnings(bool show)
{
    tern_log_set(show ? TERN_LOG_WARN : TERN_LOG_ERROR, print_log, NULL);
}

static int lost; /* why something could not be written; 0: nothing is known to be lost */

void term_note_lost(int why)
{
    lost = lost ? lost : why;
}

bool term_put(const char *words)
{
    errno = 0;
    if (fputs(words, stdout) >= 0)
        return true;
    term_note_lost(errno ? errno : EIO);
    return false;
}

bool term_flush(void)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout))
        term_note_lost(errno ? errno : EIO); /* a write that failed before may have left no reason */
    return !lost;
}

int term_finish(int code)
{
    term_flush();
    int problem = lost;
    if (fclose(stdout) != 0 && !problem)
        problem = errno; /* some file systems report a full disk only here */
    if (!problem)
        return status_of(code);
    if (problem != EPIPE) /* a reader that has gone has seen enough */
        fprintf(stderr, "tern: cannot write to standard output: %s\n", strerror(problem));
    return status_of(EXIT_FAILED);
}

/* ---- where stdout goes --------------------------------------------------------------------------------------- */

int term_turn_stdout(int file)
{
    fflush(stdout);
    int was = dup(STDOUT_FILENO);
    if (was < 0 || file < 0 || dup2(file, STDOUT_FILENO) < 0) {
        if (was >= 0)
            close(was);
        was = -1;
    }
    if (file >= 0)
        close(file);
    return was;
}

int term_turn_back(int was)
{
    const bool written = term_flush();
    const int why = lost;
    dup2(was, STDOUT_FILENO);
    close(was);
    clearerr(stdout); /* what failed is of the other file, and the caller says so */
    lost = 0;
    errno = why;
    return written ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the terminal ------------------------------------------------------------------------------------------- */

static int read_columns(void)
{
    const char *set = getenv("COLUMNS");
    if (set && *set) {
        char *end;
        long value = strtol(set, &end, 10);
        if (*end == '\0' && value > 0 && value < 10000)
            return (int)value;
    }
    struct winsize size;
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

/* A name that does not fit, or is none, stays "tern". */
static void keep_program(const char *called)
{
    text word = {0};
    if (called && *called)
        text_add_word(&word, called);
    if (word.length > 0 && word.length < sizeof program_word)
        memcpy(program_word, word.data, word.length + 1);
    text_free(&word);
}

const char *term_program(void)
{
    return program_word;
}

void term_init(int count, char *const *words)
{
    keep_program(count > 0 ? words[0] : NULL);
    given = words + (count > 0);
    n_given = count > 0 ? count - 1 : 0;
    signal(SIGPIPE, SIG_DFL); /* a parent may have it ignored; a closed pipe ends the program, quietly */
    signal(
        SIGXFSZ,
        SIG_IGN); /* a file that may not grow (ulimit -f) is an error like a full disk, and what was begun is removed */
    setlocale(LC_CTYPE, ""); /* characters only: numbers keep their point */
    const char *charset = nl_langinfo(CODESET);
    utf8 = charset && (strcmp(charset, "UTF-8") == 0 || strcmp(charset, "utf8") == 0);
    terminal = isatty(STDOUT_FILENO);
    columns = read_columns();
    term_set_color(COLOR_AUTO);
}

void term_set_color(color_when when)
{
    const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");
    bool wanted = terminal && !(no && *no) && !(kind && strcmp(kind, "dumb") == 0);
    color = when == COLOR_ALWAYS || (when == COLOR_AUTO && wanted);
}

bool term_utf8(void)
{
    return utf8;
}

int term_width(void)
{
    enum { LEAST = 80, MOST = 160 };
    return columns < LEAST ? LEAST : columns > MOST ? MOST : columns;
}

int term_columns(void)
{
    return columns > 0 ? columns : 80;
}

bool term_is_wide(void)
{
    return columns == 0;
}

const char *on(style s)
{
    static const char *const codes[STYLE_COUNT] = {
        [STYLE_NONE] = "",         [STYLE_BOLD] = "\033[1m",       [STYLE_DIM] = "\033[2m",
        [STYLE_TITLE] = "\033[1m", [STYLE_NAME] = "\033[36m",      [STYLE_NUMBER] = "\033[33m",
        [STYLE_BAR] = "\033[32m",  [STYLE_OTHER_BAR] = "\033[34m",
    };
    return color ? codes[s] : "";
}

const char *off(style s)
{
    return color && s != STYLE_NONE ? "\033[0m" : "";
}

const char *glyph_of(glyph g)
{
    static const char *const glyphs[GLYPH_COUNT][2] = {
        [GLYPH_LINE] = {"-", "─"},   [GLYPH_ELLIPSIS] = {"...", "…"}, [GLYPH_DOT] = {".", "·"},
        [GLYPH_FULL] = {"#", "█"},   [GLYPH_LIGHT] = {":", "░"},      [GLYPH_ARROW] = {"->", "→"},
        [GLYPH_RETURN] = {"|", "↵"},
    };
    return glyphs[g][utf8];
}
