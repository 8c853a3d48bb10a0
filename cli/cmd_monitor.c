/* cmd_monitor.c - `tern monitor`: a check that is run again and again, a line for each, and an alert when it says that something has
 * become worse. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer.h"
#include "child.h"
#include "clock.h"
#include "commands.h"
#include "term.h"

enum {
    OUTPUT_MOST = 32768
}; /* bytes of a check's output that are kept, and that an alert is told: environments have limits */

/* What a check said, from good to bad. X(enumerator, name). */
#define STATES(X)          \
    X(GOOD, "ok")          \
    X(FAILED, "failed")    \
    X(WORSE, "regression") \
    X(CRITICAL, "critical")

typedef enum state {
#define STATE_ENUM(id, name) STATE_##id,
    STATES(STATE_ENUM)
#undef STATE_ENUM
} state;

static const char *const state_names[] = {
#define STATE_NAME(id, name) name,
    STATES(STATE_NAME)
#undef STATE_NAME
};

typedef struct monitor {
    const char *check, *alert, *log_path;
    uint64_t period_ns;
    int count;     /* checks; 0: without end */
    FILE *log;     /* or NULL */
    bool log_lost; /* a line of it */
    int done;
    state worst, last;
} monitor;

/* ---- options ---- */

/* "30s", "5m", "1h" or "1d", also with fractions. */
static bool read_period(const args *a, uint64_t *out)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const char *word = args_value(a, "every");
    char *end;
    if (!word) {
        fail_usage("how often? give --every 30s, 5m, 1h or 1d");
        return false;
    }
    const double number = strtod(word, &end);
    for (size_t i = 0; end != word && i < sizeof units / sizeof units[0]; i++) {
        const double seconds = number * units[i].seconds;
        if (end[0] == units[i].letter && end[1] == '\0' && seconds >= 0.01 && seconds <= 366 * 86400.0) {
            *out = (uint64_t)(seconds * 1e9);
            return true;
        }
    }
    fail_usage("--every '%s': give a number with s, m, h or d behind it, such as 30s, 5m, 1h or 1d", word);
    return false;
}

static int read_options(const args *a, monitor *m)
{
    m->check = args_value(a, "check");
    m->alert = args_value(a, "alert");
    m->log_path = args_value(a, "log");
    if (!m->check || !*m->check)
        return fail_usage("what is to be checked? give --check 'tern regress --baseline NAME'");
    return read_period(a, &m->period_ns) && args_int(a, "count", 1, 1 << 30, 0, &m->count) ? EXIT_DONE
                                                                                           : EXIT_USAGE;
}

/* ---- lines ---- */

static const char *time_text(char to[32])
{
    const time_t now = time(NULL);
    struct tm t;
    if (!gmtime_r(&now, &t) || !strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &t))
        to[0] = '\0';
    return to;
}

/* To stdout, and to the log if there is one; each line at once and whole. */
static void say(monitor *m, const char *line)
{
    char when[32];
    time_text(when);
    printf("%s %s\n", when, line);
    fflush(stdout);
    if (m->log && (fprintf(m->log, "%s %s\n", when, line) < 0 || fflush(m->log) != 0)) {
        warn("cannot write '%s': %s", m->log_path, strerror(errno));
        clearerr(m->log);
        m->log_lost = true;
    }
}

/* Where the last line that says anything before `*end` begins; *end becomes its end. */
static size_t line_before(const text *out, size_t *end)
{
    while (*end > 0 && strchr(" \t\r\n", out->data[*end - 1]))
        --*end;
    size_t start = *end;
    while (start > 0 && out->data[start - 1] != '\n')
        start--;
    return start;
}

/* The lines that end with the last one, back to an empty line, as one: summaries of `tern regress` may be longer than a line. */
static void add_paragraph(text *t, const text *out, size_t end)
{
    size_t start = end;
    while (start > 0 && (out->data[start - 1] != '\n' || (start > 1 && out->data[start - 2] != '\n')))
        start--;
    for (size_t i = start; i < end; i++)
        text_add_n(t, out->data[i] == '\n' ? " " : out->data + i, 1);
}

/* "2 regression of 5 benchmarks; threshold 10 %, critical from 30 %" */
static bool is_regress_summary(const char *words)
{
    const char *at = strstr(words, " of ");
    at = at ? strstr(at, " benchmark") : NULL;
    return at && strstr(at, "; threshold ") && strstr(at, ", critical from ");
}

/* The summary of `tern regress`, with which it ends, else the last line that says anything. Where the check has an answer, remarks of tern
 * that come behind it ("tern: regress: this is not added to the history") are not what it is about. */
static void add_summary(text *t, const text *out, bool has_answer)
{
    size_t end = out->length, start = line_before(out, &end), last = start, last_end = end;
    while (has_answer && end > start && strncmp(out->data + start, "tern: ", 6) == 0) {
        end = start;
        start = line_before(out, &end);
    }
    if (end == start) {
        start = last;
        end = last_end;
    }
    text paragraph = {0};
    add_paragraph(&paragraph, out, end);
    char *line = grab_string(end > start ? out->data + start : "", end - start);
    text_add_safe(t, is_regress_summary(text_string(&paragraph)) ? text_string(&paragraph) : line);
    text_free(&paragraph);
    free(line);
}

/* ---- a check ---- */

static state state_of(int status)
{
    return status == 0 ? STATE_GOOD : status == 1 ? STATE_WORSE : status == 2 ? STATE_CRITICAL : STATE_FAILED;
}

static void tell(const char *name, const char *value)
{
    text whole = {0};
    text_addf(&whole, "TERN_MONITOR_%s", name);
    setenv(text_string(&whole), value, 1);
    text_free(&whole);
}

static void raise_alert(monitor *m, state s, int status, const char *summary, const text *out)
{
    char number[NUMBER_TEXT], when[32];
    text line = {0};
    tell("STATE", state_names[s]);
    tell("BEFORE", state_names[m->last]);
    tell("CHECK", m->check);
    tell("SUMMARY", summary);
    tell("OUTPUT", text_string(out));
    tell("TIME", time_text(when));
    snprintf(number, sizeof number, "%d", status);
    tell("STATUS", number);
    snprintf(number, sizeof number, "%d", m->done);
    tell("NUMBER", number);
    const int ended = child_run(m->alert, NULL, 0, false);
    if (ended == CHILD_NOT_RUN)
        text_addf(&line, "#%d alert: it could not be run: %s", m->done, strerror(errno));
    else if (ended > 0)
        text_addf(&line, "#%d alert: it ended with status %d", m->done, ended);
    if (line.length > 0)
        say(m, text_string(&line));
    text_free(&line);
}

/* false: it was stopped. */
static bool check_once(monitor *m)
{
    text out = {0}, summary = {0}, line = {0};
    char took[NUMBER_TEXT];
    const uint64_t start = clock_ns();
    const int status = child_run(m->check, &out, OUTPUT_MOST, true);
    if (status != CHILD_STOPPED) {
        const state s = state_of(status);
        m->done++;
        add_summary(&summary, &out, s != STATE_FAILED);
        if (status == CHILD_NOT_RUN)
            text_addf(&summary, "it could not be run: %s", strerror(errno));
        text_addf(&line, "#%d %s", m->done, state_names[s]);
        if (s == STATE_FAILED)
            text_addf(&line, " (status %d)", status);
        text_addf(&line, " in %s: %s", format_time(took, clock_ns() - start), text_string(&summary));
        say(m, text_string(&line));
        if (s != STATE_GOOD && m->alert)
            raise_alert(m, s, status, text_string(&summary), &out);
        m->worst = s > m->worst ? s : m->worst;
        m->last = s;
    }
    text_free(&out);
    text_free(&summary);
    text_free(&line);
    return status != CHILD_STOPPED;
}

/* Check k is due at start + k periods, however long checks take: what falls into the time of another is left out, and that is said. */
static void watch(monitor *m)
{
    const uint64_t start = clock_ns();
    uint64_t tick = 0;
    while (stop_wait(start + tick * m->period_ns)) {
        if (!check_once(m) || m->done == m->count)
            break;
        const uint64_t due = (clock_ns() - start) / m->period_ns + 1; /* the next that is not over */
        if (due > tick + 1) {
            text line = {0};
            text_addf(&line, "#%d took so long that ", m->done);
            text_add_plural(&line, (int64_t)(due - tick - 1), "check");
            text_add(&line, due > tick + 2 ? " were left out" : " was left out");
            say(m, text_string(&line));
            text_free(&line);
        }
        tick = due;
    }
    if (stop_wanted()) {
        text line = {0};
        text_add(&line, "stopped after ");
        text_add_plural(&line, m->done, "check");
        say(m, text_string(&line));
        text_free(&line);
    }
}

static int run(const args *a)
{
    monitor m = {0};
    int code = read_options(a, &m);
    if (code != EXIT_DONE)
        return code;
    if (m.log_path && !(m.log = fopen(m.log_path, "a")))
        return fail("cannot write '%s': %s", m.log_path, strerror(errno));
    stop_catch();
    watch(&m);
    if (m.log && fclose(m.log) != 0) {
        warn("cannot write '%s': %s", m.log_path, strerror(errno));
        m.log_lost = true;
    }
    if (m.log_lost && m.worst == STATE_GOOD)
        m.worst = STATE_FAILED; /* who reads the log would take silence for good news */
    switch (m.worst) {
    case STATE_GOOD:
        break;
    case STATE_FAILED:
        return EXIT_FAILED;
    case STATE_WORSE:
        return EXIT_ANSWER + 1;
    case STATE_CRITICAL:
        return EXIT_ANSWER + 2;
    }
    return EXIT_ANSWER;
}

/* clang-format off */
static const option options[] = {
    {"every", 0, "TIME", NULL, "from one check to the next: 30s, 5m, 1h, 1d"},
    {"check", 0, "CMD", NULL, "the check: a command for the shell that ends as `tern regress` does: with status 0, 1 for a regression, 2 for a critical one, 3 and more for what went wrong; of others (tern bench: 1 is a failure) say so: 'CMD || exit 3'"},
    {"count", 0, "N", NULL, "end after N checks (default: go on until Ctrl-C or SIGTERM)"},
    {"log", 0, "FILE", NULL, "also append every line to FILE"},
    {"alert", 0, "CMD", NULL, "run this, by the shell, when a check finds a regression or fails"},
    {0},
};
/* clang-format on */

const command cmd_monitor = {
    .name = "monitor",
    .operands = "",
    .summary = "Run a check on schedule, log it, and raise an alert when something has become worse.",
    .details =
        "The first check is made at once, and check k is due k times TIME later, however long checks "
        "take; those that fall into the time of another are left out, and that is said. Each is a line: "
        "when, its number, what it found (ok, regression, critical, failed), how long it took, and the "
        "summary of `tern regress`, or the last line that the check printed. An alert finds what it is about "
        "in $TERN_MONITOR_STATE, _BEFORE (what the "
        "check before it found), _NUMBER, _STATUS, _TIME, _CHECK, _SUMMARY (that line) and _OUTPUT (the "
        "last 32 KiB). An alert that fails is a line, too. Ctrl-C ends the check that is running, and then "
        "the monitor.",
    .options = options,
    .examples =
        "tern monitor --every 1h --check 'tern regress --baseline main --family rows' --log watch.log\n"
        "tern monitor --every 1d --check 'tern regress --baseline main' \\\n"
        "    --alert 'echo \"$TERN_MONITOR_OUTPUT\" | mail -s \"tern: $TERN_MONITOR_STATE\" me'",
    .answers = "  0  no check found a regression\n"
               "  1  one did\n"
               "  2  one found a critical regression\n"
               "  3  it failed: a check did (status other than 0, 1 and 2), or the log cannot\n"
               "     be written\n"
               "  4  the command line is wrong; nothing was run",
    .run = run,
};
