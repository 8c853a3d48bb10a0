/* disturbed.c - see disturbed.h. */
#include "disturbed.h"

#include <stdio.h>
#include <string.h>

#include "term.h"

static const char usual[] = "without them it may be faster than this says";

void disturbed_warn(const tern_moment *begin)
{
    char text[256];
    if (tern_moment_disturbed(begin, text, sizeof text))
        warn("warning: other programs had the machine meanwhile (%s): %s", text, usual);
}

bool disturbed_is(const tern_results *results)
{
    static const char unknown[] = "unavailable:";
    const char *by = tern_results_condition(results, "disturbed_by");
    return by && strcmp(by, "nobody") != 0 && strncmp(by, unknown, strlen(unknown)) != 0;
}

void disturbed_warn_of(const tern_results *results, const char *so)
{
    if (disturbed_is(results))
        warn("warning: other programs had the machine meanwhile (%s): %s",
             tern_results_condition(results, "disturbed_by"), so ? so : usual);
}

void disturbed_count(const tern_results *results, disturbed_sessions *s)
{
    s->sessions++;
    if (!disturbed_is(results))
        return;
    s->disturbed++;
    snprintf(s->last, sizeof s->last, "%s", tern_results_condition(results, "disturbed_by"));
}

void disturbed_warn_of_sessions(const disturbed_sessions *s)
{
    if (s->disturbed > 0)
        warn("warning: other programs had the machine in %d of %d sessions (in the last of them %s): %s",
             s->disturbed, s->sessions, s->last, usual);
}
