/* disturbed.h - the one place that tells people that other programs had the machine while figures were taken: a remark on stderr. Results
 * for programs carry it (condition "disturbed_by"). */
#ifndef TERN_CLI_DISTURBED_H
#define TERN_CLI_DISTURBED_H

#include <stdbool.h>

#include <tern/measure.h>
#include <tern/results.h>

/* `begin`: tern_moment_now() before the first figure. Says nothing if the machine was one's own, or the system does not tell. */
void disturbed_warn(const tern_moment *begin);
/* The same of results that say so themselves. */
void disturbed_warn_of(const tern_results *results);
bool disturbed_is(const tern_results *results);

#endif
