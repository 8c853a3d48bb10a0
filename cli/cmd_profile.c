/* cmd_profile.c - `tern profile`: another command of the program, run in the same process, and where its time went. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "disturbed.h"
#include "divert.h"
#include "profile_report.h"
#include "progress.h"
#include "term.h"

/* ---- the report ---------------------------------------------------------------------------------------------- */

static int print_report(const void *report, const char *format)
{
    const profile_report *r = report;
    tern_profile_format as;
    char *content;
    if (strcmp(format, "text") == 0) {
        profile_print(r);
        return EXIT_DONE;
    }
    if (tern_profile_format_parse(format, &as) != TERN_OK ||
        tern_profile_export(r->profile, as, r->limits, &content) != TERN_OK)
        return fail_status(NULL);
    term_put(content);
    tern_string_free(content);
    return EXIT_DONE;
}

static int report(const args *a, const tern_profile *profile, const char *disturbed, const char *format,
                  out_file *to)
{
    const char *by = args_value(a, "by") ? args_value(a, "by") : "op";
    profile_report r = {.profile = profile, .by_name = by, .disturbed = disturbed};
    tern_profile_limits limits;
    tern_profile_info info;
    if (!args_int(a, "top", 1, 10000, 15, &r.top))
        return EXIT_USAGE;
    if (tern_profile_by_parse(by, &r.by) != TERN_OK)
        return fail_status(NULL);
    tern_profile_get_info(profile, &info);
    const bool tells_limits = strcmp(format, "text") == 0 || strcmp(format, "json") == 0;
    if (tells_limits && !args_has(a, "no-limits") && info.steps > 0) {
        if (tern_profile_measure_limits(info.threads, &limits) == TERN_OK)
            r.limits = &limits;
        else
            warn("limits are unavailable: %s", tern_last_error());
    }
    return divert_report(print_report, &r, format, to);
}

/* ---- the command that is profiled ---------------------------------------------------------------------------- */

static int run_command(const args *a, tern_profile_options o, tern_profile **out)
{
    text title = {0};
    divert_add_title(a, &title);
    o.title = text_string(&title);
    tern_status status = tern_profile_start(&o);
    text_free(&title);
    if (status != TERN_OK)
        return fail_status(NULL);
    int code = divert_command(a, "profile");
    if (tern_profile_stop(out) != TERN_OK) {
        int failed = fail_status(NULL);
        code = code == EXIT_DONE ? failed : code;
    }
    return code;
}

static int run(const args *a)
{
    const char *format = divert_format(a);
    tern_profile_options o = {.counters = args_has(a, "counters")};
    int events, top;
    if (!args_int(a, "events", 16, 1 << 26, 0, &events) || !args_int(a, "top", 1, 10000, 15, &top))
        return EXIT_USAGE;
    if (strcmp(args_operand(a, 0), "profile") == 0)
        return fail_usage("a profile cannot be profiled");
    if (args_has(a, "json") && args_has(a, "format"))
        return fail_usage("--json is --format json: give one of them");
    o.events_per_thread = (size_t)events;
    out_file to;
    int code = out_open(args_value(a, "output"), &to);
    if (code != EXIT_DONE)
        return code;
    const int was = divert_begin(a);
    const tern_moment begin = tern_moment_now();
    tern_profile *profile = NULL;
    code = run_command(a, o, &profile);
    char disturbed[256];
    tern_moment_disturbed(&begin, disturbed,
                          sizeof disturbed); /* before limits are measured: they are not the command's */
    divert_end(was);
    if (profile && divert_is_worth_telling(code)) {
        int reported = report(a, profile, disturbed, format, &to);
        code = code == EXIT_DONE ? reported : code;
        disturbed_warn(&begin);
    }
    out_discard(&to);
    tern_profile_free(profile);
    return code;
}

#define NAME(id, number, name, meaning) name " "
/* clang-format off */
static const option options[] = {
    {"format", 0, "FORMAT", "text " TERN_PROFILE_FORMAT_LIST(NAME), "how to tell it (default: text)"},
    {"json", 0, NULL, NULL, "the same as --format json: an object"},
    {"output", 'o', "FILE", NULL, "write the profile to FILE"},
    {"by", 0, "WHAT", TERN_PROFILE_BY_LIST(NAME), "what hot spots are: ops with their kernels, steps of programs, or parts of a model (default: op)"},
    {"top", 0, "N", NULL, "show N hot spots (default: 15); JSON has all"},
    {"counters", 0, NULL, NULL, "ask the processor's counters too, where the system allows it"},
    {"no-limits", 0, NULL, NULL, "do not measure what the machine can do: no shares of limits, half a second less"},
    {"events", 0, "N", NULL, "keep the last N events of each thread (default: 262144)"},
    {0},
};
/* clang-format on */

const command cmd_profile = {
    .name = "profile",
    .operands = "[options] -- COMMAND...",
    .least = 1,
    .most = -1,
    .summary = "Run another command, and tell where its time went.",
    .details =
        "COMMAND is any command of this program with its options, after '--'. It runs in this process "
        "while every step, "
        "pass and wait is timed. Hot spots come with their share of the time, their share of what "
        "this machine can do, "
        "the time that could be saved, and what holds them back (docs/profiling.md). Without -o, "
        "formats other "
        "than text have stdout for themselves, and what the command prints goes to stderr. Of a command that "
        "fails there is no profile. The exit "
        "status is that of COMMAND, unless what was recorded cannot be told.",
    .options = options,
    .runs_another = true,
    .elsewhere = "model",
    .instead = "put the command behind '--': tern profile -- run -m FILE",
    .examples = "tern profile -- graph run examples/graphs/mlp.tern --made-up\n"
                "tern profile --by part -- run -m tiny.gguf -p \"Once upon a time\" -n 40\n"
                "tern profile --format svg -o flame.svg -- run -m tiny.gguf -p Hello -n 40",
    .run = run,
};
