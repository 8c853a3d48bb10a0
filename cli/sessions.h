/* sessions.h - two builds of the program, whose benchmarks are run in turns: what slows the machine down slows down both. */
#ifndef TERN_CLI_SESSIONS_H
#define TERN_CLI_SESSIONS_H

#include <stdbool.h>

#include <tern/results.h>

#include "text.h"

typedef struct sessions {
    const char *programs[2]; /* the caller's */
    text commands[2];
    tern_results *sets[2]; /* of A and B; session i of one was next to session i of the other */
    int pairs;             /* that there are */
    int disturbed;         /* sessions in which other programs had the machine */
    bool stopped;          /* by the user, before there were as many as wanted */
} sessions;

#define SESSIONS_BENCH "ops --family rows --memory 4 --budget 0.1"

/* `bench` is what stands behind `bench` on their command lines; NULL: SESSIONS_BENCH. Programs that cannot be run are refused. Close it
 * in any case. */
int sessions_open(const char *a, const char *b, const char *bench, sessions *s);
/* Goes on until there are so many pairs: A B, B A, A B, ... Else what was wrong was said, but not that it was `stopped`; pairs that were
 * complete by then stay. Its bar is of `shown` pairs, if that is more. */
int sessions_run(sessions *s, int pairs, int shown);
/* Says that it was stopped, and of what the answer is, if there is one. EXIT_FAILED. */
int sessions_fail_stopped(const sessions *s);
/* Says on stderr in how many of them others had the machine, if in any. */
void sessions_warn(const sessions *s);
void sessions_close(sessions *s);

#endif
