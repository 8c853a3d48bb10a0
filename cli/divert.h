/* divert.h - for commands that run another command and tell of it: where the output of each goes. */
#ifndef TERN_CLI_DIVERT_H
#define TERN_CLI_DIVERT_H

#include "args.h"
#include "output.h"
#include "text.h"

/* How the report is told: --json, what --format says, or "text". */
const char *divert_format(const args *a);

/* Stdout is for one of the two: machines that read the report do not want what the command says, which goes to stderr until
 * divert_end. */
int divert_begin(const args *a);
void divert_end(int begun);

/* Runs the command that the operands name, in this process; returns its exit code. Messages are `name`'s again afterwards. */
int divert_command(const args *a, const char *name);

/* "tern run -m tiny.gguf": what the operands say, for the title of the report, in quotes where a shell needs them. */
void divert_add_title(const args *a, text *to);

/* Of a command that failed its error is what counts, and a report behind it would hide it; one that was stopped ran well. */
bool divert_is_worth_telling(int code);

/* Has `print` print a report: on stdout, as text an empty line behind what the command said, or into the file that `to` was opened with,
 * which it finishes. */
int divert_report(int (*print)(const void *report, const char *format), const void *report,
                  const char *format, out_file *to);

#endif
