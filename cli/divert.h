/* divert.h - for commands that run another command and tell of it: where the output of each goes. */
#ifndef TERN_CLI_DIVERT_H
#define TERN_CLI_DIVERT_H

#include "args.h"

/* Runs the command that the operands name, in this process; returns its exit code. Messages are `name`'s again afterwards. */
int divert_command(const args *a, const char *name);

/* Has `print` print a report: on stdout, or into the file at `path` if it is not NULL. */
int divert_report(int (*print)(const void *report, const char *format), const void *report,
                  const char *format, const char *path);

#endif
