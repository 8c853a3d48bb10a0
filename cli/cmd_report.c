/* cmd_report.c - `tern report`: what was measured, as one page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/measure.h>
#include <tern/report.h>

#include "baselines.h"
#include "commands.h"
#include "hints.h"
#include "output.h"
#include "progress.h"
#include "report_measure.h"
#include "term.h"

#define FORMAT_NAME(id, number, name, what) name " "
static const char formats[] = TERN_REPORT_FORMAT_LIST(FORMAT_NAME);

/* What --format says, else what the file's name ends in; text for terminals. */
static tern_report_format format_of(const args *a)
{
    const char *name = args_has(a, "json") ? "json" : args_value(a, "format"),
               *file = args_value(a, "output");
    tern_report_format format;
    if (name && tern_report_format_parse(name, &format) == TERN_OK)
        return format;
    if (!file || text_ends_in(file, ".txt"))
        return TERN_REPORT_TEXT;
    return text_ends_in(file, ".json") ? TERN_REPORT_JSON : TERN_REPORT_HTML;
}

/* ---- what it is made of -------------------------------------------------------------------------------------- */

static bool read_options(const args *a, tern_regress_options *o)
{
    double percent = 0;
    if (!args_percent(a, "threshold", &percent))
        return false;
    o->threshold = percent / 100;
    o->any_host = args_has(a, "any-host");
    return true;
}

static void show_progress(void *user, int done, int total)
{
    (void)user;
    progress_count((uint64_t)done, (uint64_t)total);
}

/* Takes samples of the baseline's benchmarks until the answer is clear, half a second of each at most; the answer is the report's. */
static tern_status measure_again(const char *name, const tern_regress_options *options,
                                 const tern_results *base, const tern_results *history, tern_report *report)
{
    tern_regress_options o = *options;
    tern_regress_report *regress = NULL;
    tern_bench_options bench = tern_bench_options_default();
    o.budget_s = 0.5;
    o.progress = show_progress;
    bench.guard = true;
    bench.stop = progress_asked;
    progress_begin_of("measuring again", "benchmarks");
    tern_status status = tern_regress_run(&o, &bench, base, history, &regress);
    progress_end();
    if (status == TERN_OK)
        status = tern_report_add_results(report, "measured now", tern_regress_results(regress));
    if (status == TERN_OK)
        status = tern_report_add_regress(report, name, regress, base, history);
    tern_regress_free(regress);
    return status;
}

static int compare_with_baseline(const args *a, const tern_regress_options *o, tern_report *report)
{
    const char *name = args_value(a, "baseline");
    tern_baselines *store;
    tern_results *base = NULL, *history = NULL;
    int code = baselines_open_with(a, name, &store);
    if (code != EXIT_DONE)
        return code;
    tern_status status = tern_baseline_load(store, name, &base);
    if (status == TERN_OK)
        status = tern_baseline_history(store, name, &history);
    if (status == TERN_OK && args_operands(a) == 0)
        status = measure_again(name, o, base, history, report);
    else if (status == TERN_OK)
        status = tern_report_compare(report, name, o, base, history);
    tern_results_free(history);
    tern_results_free(base);
    tern_baselines_close(store);
    return status == TERN_OK ? EXIT_DONE : fail_baseline(status);
}

static int compare_with_file(const char *path, const tern_regress_options *o, tern_report *report)
{
    tern_results *base = NULL;
    if (!results_load(path, &base))
        return EXIT_FAILED;
    const char *name = strrchr(path, '/');
    tern_status status = tern_report_compare(report, name ? name + 1 : path, o, base, NULL);
    tern_results_free(base);
    return status == TERN_OK ? EXIT_DONE : fail_status(path);
}

static int fill(const args *a, const tern_regress_options *o, tern_report *report)
{
    for (int i = 0; i < args_operands(a); i++)
        if (tern_report_load(report, args_operand(a, i)) != TERN_OK)
            return fail_status(NULL);
    if (args_has(a, "baseline")) {
        int code = compare_with_baseline(a, o, report);
        if (code != EXIT_DONE)
            return code;
    }
    if (args_operands(a) == 0) {
        int code = report_measure(report, !args_has(a, "baseline"));
        if (code != EXIT_DONE)
            return code;
    }
    if (args_has(a, "against"))
        return compare_with_file(args_value(a, "against"), o, report);
    return EXIT_DONE;
}

/* ---- writing it ---------------------------------------------------------------------------------------------- */

static void say_written(const char *file)
{
    text name = {0};
    text_add_safe(&name, file);
    printf("wrote %s\n", text_string(&name));
    text_free(&name);
}

static int write_out(const args *a, const tern_report *report, out_file *to)
{
    const char *names[64];
    char *words;
    int n = 0;
    while (n < 64 && args_nth(a, "section", n)) {
        names[n] = args_nth(a, "section", n);
        n++;
    }
    if (tern_report_write(report, format_of(a), n, names, &words) != TERN_OK)
        return fail_status(NULL);
    text hinted = {0};
    if (format_of(a) == TERN_REPORT_TEXT)
        hints_copy_lines(&hinted, "report", "unavailable: ", words);
    else
        text_add(&hinted, words);
    tern_string_free(words);
    const int code = out_finish(to, text_string(&hinted));
    text_free(&hinted);
    if (code == EXIT_DONE && args_has(a, "output"))
        say_written(args_value(a, "output"));
    return code;
}

static int run(const args *a)
{
    tern_report *report = NULL;
    if (args_has(a, "baseline") && args_has(a, "against"))
        return fail_usage("--baseline and --against are two things to compare with: give one of them");
    if (args_has(a, "json") && args_has(a, "format"))
        return fail_usage("--json is --format json: give one of them");
    static const option of_comparing[] = {{.name = "threshold"}, {.name = "any-host"}, {0}};
    if (!args_has(a, "baseline") && !args_has(a, "against") &&
        !args_none_of(a, of_comparing, "goes with --baseline or --against"))
        return EXIT_USAGE;
    tern_regress_options o = {0};
    if (!read_options(a, &o))
        return EXIT_USAGE;
    if (tern_report_create(args_value(a, "title"), &report) != TERN_OK)
        return fail_status(NULL);
    out_file to;
    int code = out_open(args_value(a, "output"), &to);
    for (int i = 0; code == EXIT_DONE && args_nth(a, "note", i); i++)
        if (tern_report_note(report, args_nth(a, "note", i)) != TERN_OK)
            code = fail_status(NULL);
    if (code == EXIT_DONE)
        code = fill(a, &o, report);
    if (code == EXIT_DONE)
        code = write_out(a, report, &to);
    out_discard(&to);
    tern_report_free(report);
    return code;
}

/* clang-format off */
static const option options[] = {
    {"output", 'o', "FILE", NULL, "write the report to FILE"},
    {"format", 0, "FORMAT", formats, "how to write it (default: what FILE ends in; html; text without -o)"},
    {"json", 0, NULL, NULL, "the same as --format json: an object"},
    {"section", 0, "NAME", LIST_REPORT_SECTIONS, "only this section; may be repeated"},
    {"title", 0, "TEXT", NULL, "what the report is called"},
    {"note", 0, "TEXT", NULL, "a sentence for the summary; may be repeated"},
    {"baseline", 'b', "NAME", NULL, "compare the results with this baseline and its history"},
    {"against", 0, "FILE", NULL, "compare the results with those in FILE (JSON of `tern bench`)"},
    {"threshold", 0, "PERCENT", NULL, "changes by less than this are none (default: 10)"},
    {"any-host", 0, NULL, NULL, "compare although the earlier results are of another machine"},
    STORE_OPTION,
    {0},
};
/* clang-format on */

const command cmd_report = {
    .name = "report",
    .operands = "[FILE...]",
    .most = -1,
    .summary = "Put what was measured on one page: charts, roofline, flame graph, comparison, raw data.",
    .details =
        "FILEs are what other commands wrote: results (tern bench --format json), devices (tern compare "
        "--devices --json), a profile (tern profile --json), memory (tern memory "
        "--json). Without any, a small set is measured first, or the benchmarks of the baseline. The "
        "page needs no network, reads on "
        "phones and on paper, carries the data of every figure, and has sections that say what they "
        "lack where a file is not given.",
    .options = options,
    .examples = "tern report -o report.html\n"
                "tern report results.json profile.json --baseline main -o report.html\n"
                "tern report new.json --against old.json --section comparison",
    .run = run,
};
