/* disturbed.h - the one place that tells people that other programs had the machine while figures were taken: a remark on stderr. Results
 * for programs carry it (condition "disturbed_by"). */
#ifndef TERN_CLI_DISTURBED_H
#define TERN_CLI_DISTURBED_H

#include <stdbool.h>

#include <tern/measure.h>
#include <tern/results.h>

/* `begin`: tern_moment_now() before the first figure. Says nothing if the machine was one's own, or the system does not tell. */
void disturbed_warn(const tern_moment *begin);
/* The same of results that say so themselves; `so`: what that means for them, NULL: that they may be too bad. */
void disturbed_warn_of(const tern_results *results, const char *so);
bool disturbed_is(const tern_results *results);

/* Of several sessions: one line for all of them. Zeroed, it has seen none. */
typedef struct disturbed_sessions {
    int sessions, disturbed;
    char last[256]; /* of the latest disturbed one: what others had */
} disturbed_sessions;
void disturbed_count(const tern_results *results, disturbed_sessions *s);
void disturbed_warn_of_sessions(const disturbed_sessions *s);

#endif
