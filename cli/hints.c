/* hints.c - one table of what helps with what. tests/cli has most of them in expected outputs, where a sentence of the library that is
 * changed shows. */
#include "hints.h"

#include <string.h>

static const struct {
    const char *command; /* its first word; NULL: any */
    const char *words;   /* a part of the library's sentence */
    const char *hint;
} hints[] = {
    {"regress", "unless any host is allowed", "--any-host"},
    {"report", "unless any host is allowed", "--any-host"},
    {"baseline", "take another file", "--store FILE"},
    {"regress", "take another file", "--store FILE"},
    {"report", "take another file", "--store FILE"},
    {"bench", "no case of ", "--list shows them"},
    {"report", "no results of benchmarks", "tern bench --format json"},
    {"report", "no results with conditions", "tern bench --format json"},
    {"report", "no profile", "tern profile --json"},
    {"report", "the profile has no limits", "tern profile without --no-limits"},
    {"report", "no record of memory", "tern memory --json"},
    {"report", "no comparison of devices", "tern compare --devices ... --json"},
    {"report", "no earlier results to compare with", "--baseline NAME or --against FILE"},
    {"report", "no benchmark has two sessions", "--baseline NAME"},
    {NULL, "with fallback it would run on the CPU", "--fallback"},
    {NULL, "its plugin cannot be loaded", "docs/devices.md says how it is installed"},
};

static bool is_of(const char *command, const char *first)
{
    const size_t n = strcspn(command, " ");
    return !first || (strlen(first) == n && strncmp(command, first, n) == 0);
}

void hints_add(text *to, const char *command, const char *words)
{
    bool any = false;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (is_of(command, hints[i].command) && strstr(words, hints[i].words)) {
            text_addf(to, "%s%s", any ? ", " : " (", hints[i].hint);
            any = true;
        }
    text_add(to, any ? ")" : "");
}

void hints_copy_lines(text *to, const char *command, const char *start, const char *lines)
{
    text line = {0};
    while (*lines) {
        const size_t n = strcspn(lines, "\n"), margin = strspn(lines, " ");
        text_clear(&line);
        text_add_n(&line, lines, n);
        text_add(to, text_string(&line));
        if (strncmp(lines + margin, start, strlen(start)) == 0)
            hints_add(to, command, text_string(&line));
        if (lines[n])
            text_add(to, "\n");
        lines += n + (lines[n] != '\0');
    }
    text_free(&line);
}
