/* report_measure.c - see report_measure.h. Other commands of this program do the work, in this process, and what they write is what
 * the report is made of: anybody can do the same by hand. */
#include "report_measure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builtin.h"
#include "clock.h"
#include "model_source.h"
#include "progress.h"
#include "term.h"

#define AT "@" /* begins the name of a file in the folder where they go */
#define OPS(family, seconds)                                                                 \
    {                                                                                        \
        family ".json",                                                                      \
        {                                                                                    \
            "bench", "ops", "--family", family, "--budget", seconds, "--memory", "64", "-o", \
                AT family ".json", "--format", "json"                                        \
        }                                                                                    \
    }

#define MODEL "model.gguf"
#define RANDOM "-m", AT MODEL /* the last words; without them it is the built-in model */

/* clang-format off */
static const struct {
    const char *file; /* JSON becomes part of the report */
    const char *words[20];
} steps[] = {
    OPS("matmul", "0.05"),
    OPS("head", "0.1"),
    OPS("elementwise", "0.05"),
    {"graph.json", {"bench", "graph", "--budget", "0.05", "-o", AT "graph.json", "--format", "json"}},
    {MODEL, {"synth", "--shape", "tiny", AT MODEL}}, /* where none is built in */
    {"profile.json", {"profile", "--json", "-o", AT "profile.json", "--", "run", "-p",
                      "Once upon a time", "-n", "200", "--ignore-eos", RANDOM}},
    {"memory.json", {"memory", "--json", "-o", AT "memory.json", "--", "run", "-p",
                     "Once upon a time", "-n", "200", "--ignore-eos", RANDOM}},
};
/* clang-format on */
enum { STEPS = sizeof steps / sizeof steps[0] };

static char *path_of(const char *folder, const char *file)
{
    text path = {0};
    text_addf(&path, "%s/%s", folder, file);
    return path.data;
}

/* With its stdout away: what counts is in the file. */
static int run_step(int i, const char *folder)
{
    char *words[20];
    int n = 0, code = EXIT_FAILED;
    for (; steps[i].words[n]; n++) {
        const char *word = steps[i].words[n];
        if (strcmp(word, "-m") == 0 && builtin_name())
            break;
        words[n] = word[0] == AT[0] ? path_of(folder, word + 1) : grab_string(word, strlen(word));
    }
    int was = term_turn_stdout(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (was >= 0) {
        model_set_announced(false); /* the report says which one it is, and takes no -m */
        code = args_dispatch(n, words);
        model_set_announced(true);
        term_turn_back(was);
    }
    term_set_command("report");
    while (n > 0)
        free(words[--n]);
    return code;
}

/* The benchmarks of a baseline were measured before; a model is made where none is built in. */
static bool is_wanted(int i, bool benchmarks)
{
    return (benchmarks || strcmp(steps[i].words[0], "bench") != 0) &&
           (!builtin_name() || strcmp(steps[i].file, MODEL) != 0);
}

static int measure_all(const char *folder, tern_report *report, bool benchmarks)
{
    int code = EXIT_DONE;
    int wanted = 0, done = 0;
    for (int i = 0; i < STEPS; i++)
        wanted += is_wanted(i, benchmarks);
    progress_begin_parts("part", wanted, false);
    for (int i = 0; i < STEPS && code == EXIT_DONE; i++) {
        if (!is_wanted(i, benchmarks))
            continue;
        char *path = path_of(folder, steps[i].file);
        if (!progress_part(++done, "making", steps[i].file))
            code = EXIT_FAILED;
        /* Results that were written although some are doubtful are better than none: the page says which those are. */
        text words = {0};
        term_hold(&words);
        if (code == EXIT_DONE && run_step(i, folder) != EXIT_DONE && access(path, R_OK) != 0)
            code = EXIT_FAILED;
        term_hold(NULL);
        if (code != EXIT_DONE && progress_asked(NULL))
            fail("stopped: no report was made"); /* and nothing of the part that it came into */
        else if (code != EXIT_DONE)
            fputs(text_string(&words), stderr);
        text_free(&words);
        if (code == EXIT_DONE && text_ends_in(path, ".json") && tern_report_load(report, path) != TERN_OK)
            code = fail_status(NULL);
        free(path);
    }
    progress_end();
    return code;
}

/* What was done, for readers who were not there. */
static int add_note(tern_report *report, bool benchmarks, double seconds)
{
    char words[400];
    const char *name = builtin_name();
    snprintf(
        words, sizeof words,
        "No files were given, so %s%s%s was profiled while it wrote 200 tokens, and its memory recorded, in "
        "%.0f s: a first look, not a verdict.",
        benchmarks ? "a small set of benchmarks was measured with few samples, and " : "",
        name ? "the built-in model " : "a tiny random model", name ? name : "", ceil(seconds));
    return tern_report_note(report, words) == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

int report_measure(tern_report *report, bool benchmarks)
{
    const char *root = getenv("TMPDIR");
    char *folder = path_of(root && root[0] ? root : "/tmp", "tern-report-XXXXXX");
    if (!mkdtemp(folder)) {
        int code = fail("cannot make the folder %s: %s", folder, strerror(errno));
        free(folder);
        return code;
    }
    const uint64_t begun = clock_ns();
    int code = measure_all(folder, report, benchmarks);
    if (code == EXIT_DONE)
        code = add_note(report, benchmarks, 1e-9 * (double)(clock_ns() - begun));
    for (int i = 0; i < STEPS; i++) {
        char *path = path_of(folder, steps[i].file);
        unlink(path);
        free(path);
    }
    rmdir(folder);
    free(folder);
    return code;
}
