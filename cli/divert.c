/* divert.c - see divert.h. */
#include "divert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "term.h"

const char *divert_format(const args *a)
{
    const char *format = args_value(a, "format");
    return args_has(a, "json") ? "json" : format ? format : "text";
}

int divert_begin(const args *a)
{
    const bool apart = strcmp(divert_format(a), "text") != 0 && !args_has(a, "output");
    return apart ? term_turn_stdout(dup(STDERR_FILENO)) : -1;
}

void divert_end(int begun)
{
    if (begun >= 0)
        term_turn_back(begun);
}

void divert_add_title(const args *a, text *to)
{
    text_add(to, "tern");
    for (int i = 0; i < args_operands(a); i++) {
        text_add(to, " ");
        text_add_word(to, args_operand(a, i));
    }
}

bool divert_is_worth_telling(int code)
{
    return (code != EXIT_FAILED && code != EXIT_USAGE) || progress_stopped_by() != 0;
}

int divert_report(int (*print)(const void *report, const char *format), const void *report,
                  const char *format, out_file *to)
{
    if (!to->path) {
        if (strcmp(format, "text") == 0)
            putchar('\n');
        return print(report, format);
    }
    int was = term_turn_stdout(open(out_place(to), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (was < 0)
        return out_commit(to, false);
    term_set_color(COLOR_NEVER);
    int code = print(report, format);
    const bool written = term_turn_back(was) == EXIT_DONE;
    if (code != EXIT_DONE && written) {
        out_discard(to); /* it was said why there is no report */
        return code;
    }
    return out_commit(to, written);
}

int divert_command(const args *a, const char *name)
{
    const int n = args_operands(a);
    char **words = grab((size_t)n, sizeof *words);
    for (int i = 0; i < n; i++)
        words[i] = grab_string(args_operand(a, i), strlen(args_operand(a, i)));
    int code = args_dispatch(n, words);
    term_set_command(name);
    for (int i = 0; i < n; i++)
        free(words[i]);
    free(words);
    return code;
}
