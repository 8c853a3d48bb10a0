/* child.h - commands that are run by the shell: what they print, how they end, and an end to them when the user wants one. */
#ifndef TERN_CLI_CHILD_H
#define TERN_CLI_CHILD_H

#include "text.h"

/* Statuses besides those of the command itself. A signal that ends it is 128 and its number, as shells say it. */
enum { CHILD_NOT_RUN = -1, CHILD_STOPPED = -2 };

/* Can the shell run a program of this name, which is a path or is looked for in $PATH? false: errno says why not. */
bool child_can_run(const char *name);

/* Runs `line` to its end and returns its status. `out` receives what it prints, stderr included if `errors` says so, and of more than
 * `most` bytes the last; NULL: it prints where this program does. CHILD_NOT_RUN: there is no shell, and errno says why. CHILD_STOPPED: stop_wanted became true, and it was
 * ended. What it leaves behind in the background is not waited for. */
int child_run(const char *line, text *out, size_t most, bool errors);
/* The same with all of its stdout in `out`; each line that it writes to stderr goes to `heard` as it comes, without its end. */
typedef void (*child_hears)(const char *line);
int child_run_heard(const char *line, text *out, child_hears heard);

/* From now on Ctrl-C and SIGTERM do not end this program, but make stop_wanted true. */
void stop_catch(void);
bool stop_wanted(void);
/* Waits until `when`, nanoseconds of clock_ns(); false: stop_wanted. */
bool stop_wait(uint64_t when);

#endif
