/* args.h - commands and their options as tables. Parsing, --help, completion and the suggestions for misspelt words
 * all come from the same rows; a command adds a row and reads its values by name. */
#ifndef TERN_CLI_ARGS_H
#define TERN_CLI_ARGS_H

#include <stdbool.h>

#include "text.h"

typedef struct option {
    const char *name;     /* without the dashes; NULL ends a table */
    char letter;          /* 'i' for -i, or 0 */
    const char *argument; /* what to call its value in --help; NULL: a switch, without value */
    const char *choices;  /* the values it may have, space-separated, or a list as below; NULL: any */
    const char *help;     /* the choices are added to it */
} option;

typedef struct args args;

typedef struct command {
    const char *name;
    const char *operands; /* as in the usage line, "FILE"; "" for none */
    int least, most;      /* how many operands; most -1 = any number */
    /* values of the first operand, space-separated, for completion; NULL: files or any */
    const char *choices;
    const char *summary; /* one line */
    const char *details; /* for --help, paragraphs; NULL: none */
    const option *options;
    const char *elsewhere; /* an option that a neighbour has, "input"; NULL: none comes to mind */
    const char *instead;   /* and what to say to who tries it here */
    bool runs_another;     /* its operands are another command, whose options go behind '--' */
    const char *examples;  /* one per line; NULL: none */
    const char *answers;   /* lines of --help about exit statuses, which are answers; NULL: the usual ones */
    const struct command *const *verbs; /* NULL: none; ends with NULL */
    int (*run)(const args *a);          /* NULL: one of the verbs must follow */
} command;

/* The top of the tree (tern.c), and what every command takes besides its own options (args.c). */
extern const command program;
extern const option common_options[];

/* Finds the command, parses the rest of the line, runs it; returns the exit code. */
int args_dispatch(int count, char **words);

bool args_has(const args *a, const char *option);
const char *args_value(const args *a, const char *option); /* the last one given, or NULL */
/* Value i of an option that may be repeated; NULL past the last. */
const char *args_nth(const args *a, const char *option, int i);
int args_operands(const args *a);
const char *args_operand(const args *a, int i); /* NULL past the last */

/* The value as a whole number from least to most, or `fallback` if it was not given. false: it is something else, and
 * that was said. */
bool args_int(const args *a, const char *option, int least, int most, int fallback, int *out);

/* The same of several, "1,2", at most `room`; none if it was not given. */
bool args_ints(const args *a, const char *option, int least, int most, int room, int *out, int *n);

/* The value as a number above 0; *out stays as it is if it was not given. false: it is something else, and that was said. */
bool args_positive(const args *a, const char *option, double *out);
/* The same of per cent, which are below 1000, and of seconds, an hour at most. */
bool args_percent(const args *a, const char *option, double *out);
bool args_seconds(const args *a, const char *option, double *out);
/* The same of bytes, a whole number of them: "4096", "64K", "1.5MiB". K is 1024 for memory, and 1000 for files, as those who share files
 * count; Ki is 1024 for both. */
bool args_bytes(const args *a, const char *option, size_t *out);
bool args_file_bytes(const args *a, const char *option, uint64_t *out);

/* false: one of the options (up to one without a name) was given, and "--NAME why" was said: it would be dropped without a word. */
bool args_none_of(const args *a, const option *names, const char *why);

/* The same line with further options, "level=none,threads=2", which come last and so count. NULL: they are wrong, and that was
 * said. Free it with args_free, before `a` is gone. */
args *args_with(const args *a, const char *settings);
void args_free(args *a); /* NULL is fine */

/* ---- help.c -------------------------------------------------------------------------------------------------- */

/* The command that words[0..count) name; NULL, and an error was said, if there is none. `path` receives "graph run". */
const command *find_command(int count, const char *const *words, text *path);
int print_help(const command *c, const char *path);

/* ---- foreign.c ----------------------------------------------------------------------------------------------- */

/* What to do instead of an option of llama.cpp ("-ngl", "--keep=4"), or of a verb of another program; NULL: no idea. */
const char *foreign_option(const char *word);
const char *foreign_verb(const char *word);

/* ---- suggest.c ----------------------------------------------------------------------------------------------- */

/* Calls for the nearest of the words offered: start with suggestion_for(word), offer each, then ask. */
typedef struct suggestion {
    const char *word;
    const char *best;
    int distance;
} suggestion;

suggestion suggestion_for(const char *word);
void suggestion_offer(suggestion *s, const char *candidate); /* which must stay valid */
/* "; did you mean 'x'?" in `buffer`, or "" if nothing is near. `before` stands before the word: "--". */
const char *suggestion_text(const suggestion *s, const char *before, char *buffer, size_t room);

/* Lists that the library has: what is added to its tables can be chosen. */
#define LIST_ARCHITECTURES "=architectures"
#define LIST_SHAPES "=shapes"
#define LIST_PRETOKENIZERS "=pretokenizers"
#define LIST_CHAT_TEMPLATES "=chat-templates"
#define LIST_REPORT_SECTIONS "=report-sections"
#define LIST_ENDINGS "=endings" /* of files that `tern convert` writes */
#define LIST_STORED "=stored"   /* types of layers in files, known in capitals, too */
#define LIST_IN_GGUF "=in-gguf" /* those of them that GGUF has */

/* Word i of a space-separated list, or of one of those above, in `buffer`; false past the last. */
bool list_word(const char *list, int i, char *buffer, size_t room);
/* Is it that word of the list? */
bool list_is(const char *list, const char *word, const char *value);
/* "auto, always or never" */
void list_add(text *t, const char *list);

#endif
