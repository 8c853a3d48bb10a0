/* hints.h - options and commands that help with what the library says. The library does not know them: its sentences are for
 * every program. */
#ifndef TERN_CLI_HINTS_H
#define TERN_CLI_HINTS_H

#include "text.h"

/* Appends what helps with `words` in the command ("bench ops"), in parentheses; nothing if nothing does. */
void hints_add(text *to, const char *command, const char *words);

/* Copies a text of several lines; those that begin with `start` behind their spaces have their hints at the end. */
void hints_copy_lines(text *to, const char *command, const char *start, const char *lines);

#endif
