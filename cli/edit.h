/* edit.h - reading lines from people: on a terminal with editing keys and a history, from a pipe as they come. */
#ifndef TERN_CLI_EDIT_H
#define TERN_CLI_EDIT_H

#include "text.h"

/* Lines that were entered. {0} is empty. */
typedef struct edit_history {
    char **lines;
    size_t n, capacity;
} edit_history;

typedef enum edit_end {
    EDIT_LINE,        /* a line, without its end */
    EDIT_INTERRUPTED, /* Ctrl-C: nothing */
    EDIT_CLOSED,      /* Ctrl-D on an empty line, or the end of the input */
} edit_end;

/* Shows `prompt` (which takes `columns` columns) on a terminal, and reads a line into `out`. Keys: arrows, Home, End, Backspace,
 * Delete; Ctrl-A and -E to the ends, -B and -F a character, -P and -N in the history, -K and -U delete to the ends, -W a word,
 * -L clears the screen, -Z suspends the program. What is pasted is inserted whole, with its line ends. Signals that end the program
 * meanwhile give the terminal back first. */
edit_end edit_read(edit_history *h, const char *prompt, int columns, text *out);
void edit_history_free(edit_history *h);

#endif
