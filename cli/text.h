/* text.h - text that grows, and numbers as people read them. Running out of memory ends the program with a line. */
#ifndef TERN_CLI_TEXT_H
#define TERN_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/units.h>

/* malloc, realloc and strdup that do not return NULL. Free with free(). */
void *grab(size_t count, size_t bytes_each);
void *grab_more(void *block, size_t count, size_t bytes_each);
char *grab_string(const char *text, size_t length);

/* Zeroed = empty. `data` is terminated once anything was added, else NULL. */
typedef struct text {
    char *data;
    size_t length, capacity;
} text;

void text_add(text *t, const char *string);
void text_add_n(text *t, const char *string, size_t length);
void text_addf(text *t, const char *format, ...) TERN_PRINTF(2, 3);
void text_repeat(text *t, const char *string, int times);
void text_clear(text *t); /* empty again; keeps its memory */
void text_free(text *t);
const char *text_string(const text *t); /* "" if empty */

/* Appends text from a file or a user, harmless on a terminal: control characters and bytes that are not UTF-8
 * become '?'. */
void text_add_safe(text *t, const char *string);

/* Appends a word for a shell, in quotes. */
void text_add_quoted(text *t, const char *word);

/* Appends a word of a command, in quotes where a shell would take it apart. */
void text_add_word(text *t, const char *word);

/* Appends text in which \n, \r, \t, \', \", \\ and \xHH stand for characters; a backslash before anything else stays. */
void text_add_unescaped(text *t, const char *string);

/* "model.gguf" ends in ".gguf"; that alone does not. */
bool text_ends_in(const char *string, const char *ending);

/* Bytes of the UTF-8 character at the start of `string`; 0 if they are none. */
size_t text_character(const char *string);

/* Columns that UTF-8 text takes on a terminal: two for each wide character, none for what combines with the one before. */
int text_width(const char *string);
int text_columns(const char *string, size_t length); /* of its first bytes */
/* Bytes of the most characters from its start that fit into `columns`. */
size_t text_cut(const char *string, int columns);

enum { NUMBER_TEXT = TERN_UNIT_TEXT };

/* Each fills `buffer` and returns it. */
char *format_bytes(char buffer[NUMBER_TEXT], uint64_t bytes); /* 512 B, 1.50 KiB */
char *format_count(char buffer[NUMBER_TEXT], uint64_t count); /* 512, 1.50 k, 2.10 M */
char *format_time(char buffer[NUMBER_TEXT], uint64_t ns);     /* 812 ns, 1.24 ms */
char *format_double(char buffer[NUMBER_TEXT], double value);  /* the shortest that reads back as the same */

/* Joins with the right word: "1 node", "2 nodes". */
void text_add_plural(text *t, int64_t count, const char *noun);
/* "3 h 12 min", "4 min 10 s", "12 s" */
void text_add_duration(text *t, double seconds);

/* f32[2,3] */
void text_add_type(text *t, const char *dtype, int rank, const int64_t *shape);

#endif
