/* baselines.h - where baselines are kept, for the verbs that read or write them. */
#ifndef TERN_CLI_BASELINES_H
#define TERN_CLI_BASELINES_H

#include <tern/baseline.h>

#include "args.h"
#include "text.h"

/* clang-format off */
#define STORE_OPTION \
    {"store", 0, "FILE", NULL, "the file of baselines (default: $TERN_BASELINES, else tern/baselines.db in $XDG_DATA_HOME or ~/.local/share)"}
/* clang-format on */

/* Opens what STORE_OPTION names; free *out with tern_baselines_close. EXIT_FAILED: it cannot be, and that was said. Without `create`
 * a file that is not there is EXIT_DONE with *out NULL. */
int baselines_open(const args *a, bool create, tern_baselines **out);
/* The same for the sake of one that must be there: without a file there is none. */
int baselines_open_with(const args *a, const char *name, tern_baselines **out);

/* The condition under which `tern baseline create` keeps the options of its command line, so that they can be repeated. */
#define BASELINE_OPTIONS "create_options"
/* The command that makes a baseline of one session anew of five: with `options`, or, where they are not known (NULL), without. */
void baselines_add_again(text *to, const args *a, const char *name, const char *options);

/* EXIT_FAILED, with what the store said of a name; of one that is not there, also how it could be. */
int fail_baseline(tern_status status);

/* Appends the rows of `from` as sessions after those there are; conditions come with the first. false: they are of different machines
 * or too many, and that was said. */
bool results_append(tern_results *to, const tern_results *from);
/* The same, as sessions from number `first` on, which `to` has none of yet. */
bool results_append_as(tern_results *to, const tern_results *from, int first);
/* The number after that of the last session; 0: there is none. */
int results_next_session(const tern_results *r);
/* The same for sessions that were measured before, one or more in each file that --from names. A session that is given twice is refused:
 * it would confirm itself, and know of no noise. EXIT_FAILED: that was said. */
int results_append_files(const args *a, tern_results *to);
/* Results of a file, of a pipe, or of standard input for "-"; false: it was said what is wrong. */
bool results_load(const char *path, tern_results **out);

/* The rows of that family, with the conditions, in a set of their own (tern_results_free). */
tern_status results_of_family(const tern_results *all, const char *family, tern_results **out);

#endif
