/* sessions.c - see sessions.h. */
#include "sessions.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "baselines.h"
#include "child.h"
#include "disturbed.h"
#include "progress.h"
#include "term.h"

/* What a program printed is no results: not those of another program, whose JSON would be strange anyway. */
static int fail_results(const char *name, const text *out)
{
    return out->length > 0 ? fail_status(name)
                           : fail("'%s' printed no results: is it a build of tern?", name);
}

/* What a program says while it is measured. On a terminal there is the bar of all sessions, and no room for one of each; that it was
 * stopped is said once, of all. */
static void hear(const char *line)
{
    const bool its_progress = strstr(line, ": measuring") && strstr(line, " of ");
    if ((stop_wanted() && strstr(line, "stopped")) || (its_progress && isatty(STDERR_FILENO) == 1))
        return;
    progress_line("");
    fprintf(stderr, "%s\n", line);
}

/* One session of a program, appended to `to` as number `number`. Its rows may lack a share of their limit, which is status 1. */
static int run_session(const char *name, const char *line, int number, tern_results *to, int *disturbed)
{
    text out = {0}, run = {0};
    tern_results *r = NULL;
    text_addf(&run, "exec %s", line); /* no shell in between that ends before it does */
    const int ended = child_run_heard(text_string(&run), &out, hear);
    int code = EXIT_DONE;
    if (ended == CHILD_STOPPED)
        code = EXIT_FAILED; /* the caller knows what becomes of the others, and says it */
    else if (ended == CHILD_NOT_RUN)
        code = fail("cannot run %s: %s", line, strerror(errno));
    else if (ended > 1)
        code = fail("it ended with status %d: %s", ended, line);
    else if (tern_results_read(text_string(&out), out.length, &r) != TERN_OK)
        code = fail_results(name, &out);
    else if (!results_append_as(to, r, number))
        code = EXIT_FAILED;
    *disturbed += code == EXIT_DONE && disturbed_is(r);
    tern_results_free(r);
    text_free(&run);
    text_free(&out);
    return code;
}

int sessions_open(const char *a, const char *b, const char *bench, sessions *s)
{
    const char *const programs[2] = {a, b};
    int code = EXIT_DONE;
    *s = (sessions){.programs = {a, b}};
    for (int i = 0; i < 2; i++) {
        if (code == EXIT_DONE && !child_can_run(programs[i]))
            code = fail("cannot run '%s': %s", programs[i], strerror(errno));
        text_add_quoted(&s->commands[i], programs[i]);
        text_addf(&s->commands[i], " bench %s --format json", bench ? bench : SESSIONS_BENCH);
        if (tern_results_create(&s->sets[i]) != TERN_OK)
            code = fail_status(NULL);
    }
    return code;
}

int sessions_run(sessions *s, int pairs, int shown)
{
    int code = EXIT_DONE, number = 0;
    progress_begin_of("measuring both programs in turns", "pairs");
    for (int k = 2 * s->pairs; k < 2 * pairs && code == EXIT_DONE; k++) {
        const int which = (k + k / 2) % 2;
        if (k % 2 == 0) { /* neighbours have one number, also behind a session that has no rows */
            const int a = results_next_session(s->sets[0]), b = results_next_session(s->sets[1]);
            number = a > b ? a : b;
        }
        progress_count((uint64_t)k / 2, (uint64_t)(shown > pairs ? shown : pairs));
        code = run_session(s->programs[which], text_string(&s->commands[which]), number, s->sets[which],
                           &s->disturbed);
        s->pairs += code == EXIT_DONE && k % 2;
    }
    progress_end();
    s->stopped = code != EXIT_DONE && progress_stopped_by() != 0;
    return code;
}

int sessions_fail_stopped(const sessions *s)
{
    text words = {0};
    text_add_plural(&words, s->pairs, "pair");
    const int code = s->pairs > 0
                         ? fail("stopped after %s of sessions: what is told is of these", text_string(&words))
                         : fail("stopped before a pair of sessions was whole: nothing is told");
    text_free(&words);
    return code;
}

void sessions_warn(const sessions *s)
{
    if (s->disturbed > 0)
        warn("warning: other programs had the machine in %d of %d sessions; neighbours are compared, so that "
             "it takes "
             "more of them, but tells nothing false",
             s->disturbed, 2 * s->pairs);
}

void sessions_close(sessions *s)
{
    for (int i = 0; i < 2; i++) {
        tern_results_free(s->sets[i]);
        text_free(&s->commands[i]);
    }
    *s = (sessions){0};
}
