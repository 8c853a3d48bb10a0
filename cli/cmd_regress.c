/* cmd_regress.c - `tern regress`: has anything become worse since a baseline was taken? */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tern/regress.h>

#include "baselines.h"
#include "bench_suite.h"
#include "commands.h"
#include "disturbed.h"
#include "progress.h"
#include "sessions.h"
#include "term.h"

#define FORMAT_NAME(id, number, name) name " "
static const char formats[] = TERN_REGRESS_FORMAT_LIST(FORMAT_NAME);

/* Everything that the command line says, read before anything is opened. */
typedef struct settings {
    tern_regress_options o;
    bench_settings bench;          /* of a baseline's benchmarks */
    int sessions;                  /* of --program */
    bool no_missing, no_undecided; /* rows of these states are no answer "0" */
} settings;

/* After so many pairs of sessions it looks, and goes on if that was not enough; the chance of a false alarm is shared out. */
enum { PAIRS_FIRST = 12, PAIRS_MOST = 24 };

/* Either a baseline is compared with, or a program, and files are not measured: what is of the other would be dropped without a word. */
static bool check_kind(const args *a)
{
    static const option of_baselines[] = {{.name = "baseline"}, {.name = "from"},
                                          {.name = "family"},   {.name = "budget"},
                                          {.name = "samples"},  {.name = "timeout"},
                                          {.name = "any-host"}, {.name = "no-record"},
                                          {.name = "store"},    {0}},
                        of_programs[] = {{.name = "bench"}, {.name = "sessions"}, {0}},
                        of_measuring[] = {{.name = "budget"}, {.name = "samples"}, {.name = "timeout"}, {0}};
    if (args_has(a, "program"))
        return args_none_of(
            a, of_baselines,
            "is of baselines; with --program both builds run what --bench says, and nothing is kept");
    return args_none_of(a, of_programs, "goes with --program") &&
           (!args_has(a, "from") ||
            args_none_of(a, of_measuring, "is of measuring; --from takes results as they are"));
}

/* "pass", which is the usual, or "fail". */
static bool says_fail(const args *a, const char *name)
{
    const char *value = args_value(a, name);
    return value && strcmp(value, "fail") == 0;
}

static bool read_settings(const args *a, settings *s)
{
    double percent = 0, critical = 0;
    *s = (settings){0};
    if (!check_kind(a) || !args_percent(a, "threshold", &percent) ||
        !args_positive(a, "critical", &critical) || !args_int(a, "samples", 10, 1000, 0, &s->o.rounds) ||
        !args_int(a, "sessions", 8, 1000, PAIRS_MOST, &s->sessions) ||
        bench_read_settings(a, NULL, &s->bench) != EXIT_DONE)
        return false;
    s->o.threshold = percent / 100;
    if (critical > 0)
        s->o.critical = critical / (percent > 0 ? percent : 10);
    if (critical > 0 && s->o.critical < 1) {
        fail_usage("--critical %g is below the threshold", critical);
        return false;
    }
    s->o.budget_s = s->bench.o.budget_s;
    s->o.any_host = args_has(a, "any-host");
    s->no_missing = says_fail(a, "missing");
    s->no_undecided = says_fail(a, "undecided");
    return true;
}

/* What is not of the family is not asked for. */
static int keep_family(const char *family, tern_results **base)
{
    tern_results *some;
    if (results_of_family(*base, family, &some) != TERN_OK)
        return fail_status(NULL);
    tern_results_free(*base);
    *base = some;
    return tern_results_count(some) > 0 ? EXIT_DONE
                                        : fail("the baseline has no benchmark of family '%.64s'", family);
}

/* The baseline and its history; both are the caller's, whatever becomes of them. */
static int load(const args *a, tern_baselines *store, tern_results **base, tern_results **history)
{
    const char *name = args_value(a, "baseline"), *family = args_value(a, "family");
    tern_status status = tern_baseline_load(store, name, base);
    if (status == TERN_OK)
        status = tern_baseline_history(store, name, history);
    if (status != TERN_OK)
        return fail_baseline(status);
    return family ? keep_family(family, base) : EXIT_DONE;
}

/* Why the session must not become part of the history; NULL: it may. */
static const char *why_not_recorded(const tern_results *history, const tern_results *now)
{
    const char *then = tern_results_condition(history, "host"), *here = tern_results_condition(now, "host");
    return tern_results_repeat(history, now) ? "a session of it is there already"
           : strcmp(then ? then : "", here ? here : "") != 0 ? "it is of another machine"
                                                             : NULL;
}

static int record(const args *a, tern_baselines *store, const tern_results *history, const tern_results *now)
{
    const char *why = why_not_recorded(history, now);
    if (args_has(a, "no-record"))
        return EXIT_DONE;
    if (why) {
        warn("this is not added to the history: %s", why);
        return EXIT_DONE;
    }
    return tern_baseline_add_check(store, args_value(a, "baseline"), now) == TERN_OK
               ? EXIT_DONE
               : fail("this session was not added to the history: %s", last_words());
}

static void show_progress(void *user, int done, int total)
{
    (void)user;
    progress_count((uint64_t)done, (uint64_t)total);
}

static bool any_slower(const tern_regress_report *report)
{
    tern_regress_row row;
    /* None past the last: an error may still be to be told. */
    for (int i = 0; i < tern_regress_rows(report); i++)
        if (tern_regress_at(report, i, &row) == TERN_OK && row.time >= TERN_REGRESS_REGRESSION)
            return true;
    return false;
}

/* They had it at some time; a verdict is of times in which they had not. */
static void warn_of_others(const tern_regress_report *report)
{
    disturbed_warn_of(tern_regress_results(report),
                      any_slower(report) ? "what is called slower was so again when they left it alone"
                                         : NULL);
}

/* Ctrl-C ends it with TERN_CANCELLED and a report of what was measured. */
static tern_status run_and_show(const settings *s, const tern_results *base, const tern_results *history,
                                tern_regress_report **out)
{
    tern_regress_options o = s->o;
    tern_bench_options bench = s->bench.o;
    o.progress = show_progress;
    bench.stop = progress_asked;
    bench.guard = true;
    progress_begin_of("measuring", "benchmarks");
    const tern_status status = tern_regress_run(&o, &bench, base, history, out);
    progress_end();
    if (*out)
        warn_of_others(*out);
    return status;
}

static int make_report(const args *a, const settings *s, const tern_results *base,
                       const tern_results *history, tern_regress_report **out)
{
    tern_results *now = NULL;
    tern_status status = tern_results_create(&now);
    if (status == TERN_OK && args_has(a, "from")) {
        const int code = results_append_files(a, now);
        if (code != EXIT_DONE) {
            tern_results_free(now);
            return code;
        }
        status = tern_regress_compare(&s->o, base, history, now, out);
    } else if (status == TERN_OK) {
        status = run_and_show(s, base, history, out);
    }
    tern_results_free(now);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* Rows of this state; a row that the baseline could not measure either is not missed. */
static int count_state(const tern_regress_report *report, tern_regress_state state)
{
    tern_regress_row row;
    int n = 0;
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++)
        n += row.state == state && (state != TERN_REGRESS_MISSING || row.base.rounds > 0);
    return n;
}

/* Does a row lack a noise floor, so that it can never be called slower? Pairs need none. */
static bool lacks_floor(const args *a, const tern_regress_row *row)
{
    return !args_has(a, "program") && row->comparison.n_b > 0 && isnan(row->noise_floor);
}

/* How many do; of the undecided ones alone. */
static int count_lacking(const args *a, const tern_regress_report *report, bool undecided)
{
    tern_regress_row row;
    int n = 0;
    for (int i = 0; i < tern_regress_rows(report); i++)
        if (tern_regress_at(report, i, &row) == TERN_OK && lacks_floor(a, &row))
            n += !undecided || row.state == TERN_REGRESS_UNDECIDED;
    return n;
}

static void warn_of_one_session(const args *a, const tern_results *base, const tern_regress_report *report)
{
    const int n = count_lacking(a, report, false);
    const char *options = tern_results_condition(base, BASELINE_OPTIONS);
    text again = {0};
    if (n == 0)
        return;
    baselines_add_again(&again, a, args_value(a, "baseline"), options);
    warn("warning: the baseline has one session of %d benchmark%s, which tells nothing of what sessions "
         "differ by: no time can be called a regression; make it of five%s: %s",
         n, n == 1 ? "" : "s", options ? "" : ", with the options of `tern bench` that it was made with",
         text_string(&again));
    text_free(&again);
}

/* What a state asks of who reads it. */
static const char *next_step(tern_regress_state state, bool in_turns)
{
    switch (state) {
    case TERN_REGRESS_UNDECIDED:
        return in_turns
                   ? "undecided: slower or not, these pairs cannot tell. More of them can (--sessions),\n"
                     "  or an idle machine.\n"
                   : "undecided: slower or not, these times cannot tell. More of them can (--budget),\n"
                     "  or an idle machine, or the old build at hand (--program OLD).\n";
    case TERN_REGRESS_MISSING:
        return "missing: not measured now, or not then; --missing fail makes that a failure.\n";
    case TERN_REGRESS_BETTER:
    case TERN_REGRESS_SAME:
    case TERN_REGRESS_REGRESSION:
    case TERN_REGRESS_CRITICAL:
        break;
    }
    return NULL;
}

static void add_next_steps(text *t, const args *a, const tern_regress_report *report)
{
    const size_t begun = t->length;
    const int lacking = count_lacking(a, report, true);
    if (lacking > 0)
        text_add(t, "undecided: the baseline has one session, and more samples cannot help. Make it\n"
                    "  again of five ('tern baseline create' with the same options, --runs 5 and\n"
                    "  --replace), or have the old build at hand (--program OLD).\n");
    for (int s = TERN_REGRESS_BETTER; s <= TERN_REGRESS_CRITICAL; s++) {
        const char *step = next_step((tern_regress_state)s, args_has(a, "program"));
        const int n = count_state(report, (tern_regress_state)s);
        if (step && n > (s == TERN_REGRESS_UNDECIDED ? lacking : 0))
            text_add(t, step);
    }
    if (t->length > begun)
        text_add(t, "\n");
}

/* Where it begins: behind the last empty line. */
static size_t last_paragraph_of(const char *words)
{
    size_t at = strlen(words);
    while (at > 1 && (words[at - 1] != '\n' || words[at - 2] != '\n'))
        at--;
    return at > 1 ? at : 0;
}

/* A text ends with its summary, behind the advice: that is what `tern monitor` shows. */
static int write_report(const args *a, const tern_regress_report *report, out_file *to)
{
    const char *name = args_has(a, "json") ? "json" : args_value(a, "output-format");
    char *words;
    tern_regress_format format = TERN_REGRESS_AS_TEXT;
    if (name && tern_regress_format_parse(name, &format) != TERN_OK)
        return fail_status(NULL); /* not one of the choices */
    if (tern_regress_write(report, format, &words) != TERN_OK)
        return fail_status(NULL);
    text all = {0};
    const size_t summary = format == TERN_REGRESS_AS_TEXT ? last_paragraph_of(words) : strlen(words);
    text_add_n(&all, words, summary);
    if (format == TERN_REGRESS_AS_TEXT)
        add_next_steps(&all, a, report);
    text_add(&all, words + summary);
    const int code = out_finish(to, text_string(&all));
    text_free(&all);
    tern_string_free(words);
    return code;
}

static int fail_rows(int n, const char *are, const char *said)
{
    return fail("%d benchmark%s %s, and --%s says that this is no success", n, n == 1 ? " is" : "s are", are,
                said);
}

/* What was told; "no regression" only if there is an answer to everything that has to have one. */
static int answer_of(const settings *s, const tern_regress_report *report)
{
    const tern_regress_state worst = tern_regress_worst(report);
    const int missing = count_state(report, TERN_REGRESS_MISSING),
              undecided = count_state(report, TERN_REGRESS_UNDECIDED);
    return worst == TERN_REGRESS_CRITICAL     ? EXIT_ANSWER + 2
           : worst == TERN_REGRESS_REGRESSION ? EXIT_ANSWER + 1
           : s->no_missing && missing > 0     ? fail_rows(missing, "missing", "missing fail")
           : s->no_undecided && undecided > 0 ? fail_rows(undecided, "undecided", "undecided fail")
                                              : EXIT_ANSWER;
}

/* true: a row was compared. */
static bool any_compared(const tern_regress_report *report)
{
    tern_regress_row row;
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++)
        if (row.state != TERN_REGRESS_MISSING)
            return true;
    return false;
}

/* ---- the old build at hand ---- */

/* The program that runs, unless a second one is given. */
static const char *newer(const args *a, char *buffer, size_t room)
{
    const char *given = args_nth(a, "program", 1);
    const ssize_t n = given ? 0 : readlink("/proc/self/exe", buffer, room - 1);
    if (given || n <= 0)
        return given;
    buffer[n] = '\0';
    return buffer;
}

static bool any_undecided(const tern_regress_report *report)
{
    tern_regress_row row;
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++)
        if (row.time == TERN_REGRESS_UNDECIDED)
            return true;
    return false;
}

static int count_compared(const tern_regress_report *report)
{
    tern_regress_row row;
    int n = 0;
    for (int i = 0; tern_regress_at(report, i, &row) == TERN_OK; i++)
        n += row.comparison.n_b > 0;
    return n;
}

/* One look at the pairs there are, which may spend so much of the chance of a false alarm. */
static int look_at_pairs(tern_regress_options o, double spend, const sessions *s, tern_regress_report **out)
{
    tern_regress_free(*out);
    *out = NULL;
    o.spend = spend;
    return tern_regress_pairs(&o, s->sets[0], s->sets[1], out) == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* Looks at what there is when somebody stopped it; the failure stays what it is. */
static int look_at_rest(tern_regress_options o, int code, double spend, const sessions *s,
                        tern_regress_report **out)
{
    if (s->stopped && s->pairs > 0 && look_at_pairs(o, spend, s, out) != EXIT_DONE)
        return EXIT_FAILED;
    return s->stopped ? sessions_fail_stopped(s) : code;
}

static int report_pairs(tern_regress_options o, int most, sessions *s, tern_regress_report **out)
{
    int first = most < PAIRS_FIRST ? most : PAIRS_FIRST;
    /* The first pair tells how many benchmarks there are, and so how many pairs it takes to tell anything. */
    int code = sessions_run(s, 1, first);
    if (code == EXIT_DONE)
        code = look_at_pairs(o, 1, s, out);
    if (code != EXIT_DONE)
        return s->stopped ? sessions_fail_stopped(s) : code;
    const int rows = count_compared(*out), needed = tern_regress_pairs_needed(&o, rows);
    if (most < needed)
        return fail("%d sessions can never tell anything of %d benchmark%s; --sessions %d can", most, rows,
                    rows == 1 ? "" : "s", needed);
    tern_regress_options early = o;
    early.spend = (double)first / most;
    if (first < tern_regress_pairs_needed(&early, rows))
        first = most; /* a look that cannot tell is none */
    code = sessions_run(s, first, first);
    if (code != EXIT_DONE)
        return look_at_rest(o, code, (double)first / most, s, out);
    code = look_at_pairs(o, (double)first / most, s, out);
    if (code != EXIT_DONE || first == most || !any_undecided(*out))
        return code;
    code = sessions_run(s, most, most);
    return code == EXIT_DONE ? look_at_pairs(o, 1 - (double)first / most, s, out)
                             : look_at_rest(o, code, 1 - (double)first / most, s, out);
}

static int regress_programs(const args *a, const settings *given, out_file *to)
{
    char self[4096];
    sessions s;
    tern_regress_report *report = NULL;
    const char *now = newer(a, self, sizeof self);
    if (args_nth(a, "program", 2))
        return fail_usage("--program: give the old build, or the old and the new one");
    if (!now)
        return fail("this program's own file is not known here; give it as a second --program");
    int code = sessions_open(args_nth(a, "program", 0), now, args_value(a, "bench"), &s);
    if (code == EXIT_DONE)
        code = report_pairs(given->o, given->sessions, &s, &report);
    sessions_warn(&s);
    if (report && (code == EXIT_DONE || s.stopped)) {
        const int written = write_report(a, report, to);
        code = code == EXIT_DONE ? written : code;
    }
    if (code == EXIT_DONE && !any_compared(report))
        code = fail("the programs have no benchmark with samples in common");
    if (code == EXIT_DONE)
        code = answer_of(given, report);
    if (code >= EXIT_ANSWER && !args_has(a, "bench"))
        warn("measured was 'tern bench %s'; --bench names another", SESSIONS_BENCH);
    tern_regress_free(report);
    sessions_close(&s);
    return code;
}

/* ---- a baseline ---- */

/* The report has been written. A history that could not be kept hides no regression: it is the status only where there is none. */
static int answer_with(int answer, int recorded)
{
    return recorded == EXIT_DONE || answer > EXIT_ANSWER ? answer : recorded;
}

static int regress(const args *a, const settings *s, tern_baselines *store, out_file *to)
{
    tern_results *base = NULL, *history = NULL;
    tern_regress_report *report = NULL;
    int code = load(a, store, &base, &history);
    if (code == EXIT_DONE)
        code = make_report(a, s, base, history, &report);
    if (report) { /* also one of a part: it is said, and the failure stays */
        const int written = write_report(a, report, to);
        warn_of_one_session(a, base, report);
        code = code == EXIT_DONE ? written : code;
    }
    if (code == EXIT_DONE && !any_compared(report))
        code = fail("no benchmark of the baseline could be compared");
    if (code == EXIT_DONE)
        code = answer_with(answer_of(s, report), record(a, store, history, tern_regress_results(report)));
    tern_regress_free(report);
    tern_results_free(history);
    tern_results_free(base);
    return code;
}

static int regress_baseline(const args *a, const settings *s, out_file *to)
{
    tern_baselines *store;
    int code = baselines_open_with(a, args_value(a, "baseline"), &store);
    if (code == EXIT_DONE)
        code = regress(a, s, store, to);
    tern_baselines_close(store);
    return code;
}

static int run(const args *a)
{
    settings s;
    out_file to;
    if (!read_settings(a, &s))
        return EXIT_USAGE;
    if (!args_has(a, "program") && !args_has(a, "baseline"))
        return fail_usage(
            "compare with what? give --program OLD, an earlier build of this program, or --baseline NAME");
    if (args_has(a, "json") && args_has(a, "output-format"))
        return fail_usage("--json is --output-format json: give one of them");
    int code = out_open(args_value(a, "output-file"), &to);
    if (code == EXIT_DONE)
        code = args_has(a, "program") ? regress_programs(a, &s, &to) : regress_baseline(a, &s, &to);
    out_discard(&to);
    return code;
}

/* clang-format off */
static const option options[] = {
    {"baseline", 'b', "NAME", NULL, "compare with this one"},
    {"threshold", 0, "PERCENT", NULL, "changes by less than this are none (default: 10)"},
    {"critical", 0, "PERCENT", NULL, "regressions from this on are critical (default: three times the threshold)"},
    {"from", 0, "FILE", NULL, "compare results that were measured before (JSON of `tern bench`) instead of measuring; several, each a session: one alone proves no change"},
    {"program", 0, "OLD", NULL, "compare with this build of the program instead of a baseline: both are run in turns; given twice, the second is compared with the first"},
    {"bench", 0, "WORDS", NULL, "with --program: what to measure, as after `tern bench` (default: " SESSIONS_BENCH ")"},
    {"sessions", 0, "N", NULL, "with --program: at most N sessions of each (default: 24; after 12 it looks whether that is enough)"},
    {"family", 0, "F", NULL, "only the benchmarks of this family"},
    {"budget", 0, "S", NULL, "take samples of each benchmark for at most S seconds (default: four times what a session of the baseline took)"},
    {"samples", 0, "N", NULL, "take at most N of them (default: four times as many as a session of the baseline)"},
    {"timeout", 0, "S", NULL, "take no samples of a benchmark after S seconds. With less than a session's by then it is given up: a regression if the baseline measured it in less than a tenth of that and others leave the machine alone, else missing (default: 60; of models 600)"},
    {"any-host", 0, NULL, NULL, "compare although the baseline is of another machine"},
    {"no-record", 0, NULL, NULL, "do not add this session to the baseline's history"},
    {"missing", 0, "WHAT", "pass fail", "a benchmark that the baseline has and this build does not: no regression (default), or status 3"},
    {"undecided", 0, "WHAT", "pass fail", "the same of those that stay undecided"},
    {"output-format", 0, "FORMAT", formats, "how to print the report (default: text)"},
    {"json", 0, NULL, NULL, "the same as --output-format json: an object"},
    {"output-file", 'o', "FILE", NULL, "write it to FILE instead of standard output"},
    STORE_OPTION,
    {0},
};
/* clang-format on */

const command cmd_regress = {
    .name = "regress",
    .operands = "",
    .summary = "Measure the benchmarks of a baseline again, and tell what has become worse.",
    .details =
        "A benchmark is slower if the samples differ significantly, by more than the threshold, and "
        "by more than its "
        "noise floor: what its sessions differed by when nothing had changed. More samples are taken "
        "until that is clear "
        "or the budget has been used, and what seems slower or faster is measured once more at the end; what "
        "stays unclear, or has changed only while other programs have the machine, is "
        "'undecided', which is no regression. Memory is worse if a run needs more than the threshold "
        "more of it, accuracy "
        "if the error is more than doubled. With --program nothing is kept: sessions of "
        "both builds are taken in turns and compared in pairs, which tells smaller changes on a machine "
        "that others use. docs/measurement.md says how the decision is made.",
    .options = options,
    .examples = "tern regress --baseline main\n"
                "tern regress --baseline main --threshold 5 --output-format html -o report.html\n"
                "tern regress --baseline main --from results.json\n"
                "tern regress --program old/build/tern --bench 'ops --family ternary --budget 0.1'",
    .answers = "  0  no regression; what is undecided or missing is none, and is said, unless\n"
               "     --undecided fail or --missing fail is given\n"
               "  1  a regression\n"
               "  2  a critical regression\n"
               "  3  it was stopped (what was measured is reported), or it failed: no such\n"
               "     baseline, a bad file, another machine; or there is no\n"
               "     regression, but the session could not be added to the history (the report\n"
               "     is written before); or something is missing or undecided that must not\n"
               "     be; one line on standard error says why\n"
               "  4  the command line is wrong; nothing was read or written",
    .run = run,
};
