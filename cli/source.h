/* source.h - files that the program reads: what they are, by their content, and graphs from them. Each call that
 * returns bool says what went wrong before it returns false. */
#ifndef TERN_CLI_SOURCE_H
#define TERN_CLI_SOURCE_H

#include <stdbool.h>

#include <tern/graph.h>

#include "args.h"
#include "text.h"

typedef enum file_kind {
    FILE_NPY,
    FILE_NPZ,
    FILE_GRAPH, /* text that begins like a graph */
    FILE_MODEL, /* begins like GGUF, or like JSON, alone or behind a length: safetensors and their index */
    FILE_OTHER,
} file_kind;

/* Looks at the first bytes of a file. Comments at the start of a graph may be of any length. */
bool file_kind_of(const char *path, file_kind *out);

/* Reads and parses a graph; "-" is standard input. Messages name the file, line and column. The comment that stands
 * behind the graph is added to `remarks`, line by line, unless that is NULL. */
bool read_graph(tern_ctx *ctx, const char *path, tern_graph **out, text *remarks);

/* Appends a whole file, or standard input for "-". */
bool read_text(const char *path, text *out);

/* The text that -p (--prompt) or -f (--file) gives, else standard input; on a terminal that is said. Escapes in -p are replaced
 * unless --no-escape is given. EXIT_DONE, or the exit code. */
int read_prompt(const args *a, text *out);
/* The same without the newline at the end of a file or of standard input, which editors and `echo` put there. */
int read_prompt_line(const args *a, text *out);

/* Appends a text of the command line, with escapes as llama.cpp has them unless --no-escape is given. */
void add_argument(const args *a, const char *value, text *out);

/* After tern_last_error() on a model's file or folder: says it, and what the file is instead if that can be told, else `otherwise` unless it is
 * NULL. EXIT_FAILED. */
int fail_model(const char *path, const char *otherwise);

/* How messages and reports call it: the path, or "standard input". */
const char *source_name(const char *path);

#endif
