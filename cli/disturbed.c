/* disturbed.c - see disturbed.h. */
#include "disturbed.h"

#include <string.h>

#include "term.h"

static void say(const char *text)
{
    warn("warning: other programs had the machine meanwhile (%s): figures may be too low", text);
}

void disturbed_warn(const tern_moment *begin)
{
    char text[256];
    if (tern_moment_disturbed(begin, text, sizeof text))
        say(text);
}

bool disturbed_is(const tern_results *results)
{
    static const char unknown[] = "unavailable:";
    const char *by = tern_results_condition(results, "disturbed_by");
    return by && strcmp(by, "nobody") != 0 && strncmp(by, unknown, strlen(unknown)) != 0;
}

void disturbed_warn_of(const tern_results *results)
{
    if (disturbed_is(results))
        say(tern_results_condition(results, "disturbed_by"));
}
