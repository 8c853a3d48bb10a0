/* output.h - results that go to a file, or to standard output. A file appears whole or not at all: it is written beside its place and
 * renamed, so that a command that fails or is stopped leaves what was there before, and who reads it at any time (Prometheus' node
 * exporter does) finds a whole one. */
#ifndef TERN_CLI_OUTPUT_H
#define TERN_CLI_OUTPUT_H

#include <stdbool.h>

#include "text.h"

typedef struct out_file {
    const char *path; /* as the user has it; NULL: standard output */
    text target;      /* what is replaced: where the path leads, if it is a link */
    text beside; /* empty: what the path names is written itself, since it is no file (a pipe, /dev/null) */
} out_file;

/* Before the work is done, so that a bad name is known then; nothing stays on the disk meanwhile. `path` (NULL: standard output) stays
 * the caller's. Returns an exit code; a failure was said. */
int out_open(const char *path, out_file *f);

/* Writes all of it, and puts the file in its place. Returns an exit code; a failure was said, and left nothing. Standard output that
 * cannot be written to is said at the end of the program. */
int out_finish(out_file *f, const char *words);

/* The same in two steps, for who writes to a descriptor and has a path: the file to write, and then whether that went well (else errno
 * says why). */
const char *out_place(const out_file *f);
int out_commit(out_file *f, bool good);

/* For who does not finish; nothing happens behind out_finish, or to one that is zeroed. */
void out_discard(out_file *f);

#endif
