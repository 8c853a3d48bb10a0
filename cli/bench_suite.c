/* bench_suite.c - see bench_suite.h. */
#include "bench_suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/catalog.h>

#include "disturbed.h"
#include "progress.h"
#include "table.h"
#include "term.h"

/* ---- options ------------------------------------------------------------------------------------------------- */

int bench_read_settings(const args *a, const char *suite, bench_settings *out)
{
    int mebibytes;
    tern_bench_options *o = &out->o;
    out->whole = false;
    *o = (tern_bench_options){.suite = suite,
                              .family = args_value(a, "family"),
                              .dtype = args_value(a, "dtype"),
                              .size = args_value(a, "size"),
                              .layout = args_value(a, "layout"),
                              .device = args_value(a, "device"),
                              .cpu = args_value(a, "cpu"),
                              .threads = out->threads};
    if (!args_ints(a, "threads", 1, 64, BENCH_THREADS, out->threads, &o->n_threads) ||
        !args_seconds(a, "budget", &o->budget_s) || !args_seconds(a, "timeout", &o->timeout_s) ||
        !args_int(a, "samples", 1, 1000, 0, &o->rounds) || !args_int(a, "warmup", 1, 1000, 0, &o->warmups) ||
        !args_int(a, "memory", 1, 16384, 0, &mebibytes))
        return EXIT_USAGE;
    o->memory = (int64_t)mebibytes << 20;
    return EXIT_DONE;
}

/* ---- measuring ----------------------------------------------------------------------------------------------- */

/* What a visitor fills; once a row could not be kept, no others are. */
typedef struct collecting {
    tern_results *results;
    tern_status status;
    int expected, rows; /* that there will be; that are done */
} collecting;

static void collect(void *user, const tern_result *row)
{
    collecting *c = user;
    if (c->status == TERN_OK)
        c->status = tern_results_add(c->results, row);
}

static int usable_cores(void)
{
    tern_device_info device;
    return tern_catalog_device(0, &device) == TERN_OK ? device.cores_usable : 1;
}

typedef struct measuring {
    collecting c;
    const tern_bench_options *o;
} measuring;

/* The CPU has a row for each number of threads, other devices have one. */
static void count_rows(void *user, const tern_result *row)
{
    measuring *m = user;
    const bool on_cpu = strcmp(row->device, "cpu") == 0;
    m->c.expected += !on_cpu ? 1 : m->o->n_threads > 0 ? m->o->n_threads : usable_cores() > 1 ? 2 : 1;
}

static void collect_measured(void *user, const tern_result *row)
{
    measuring *m = user;
    collect(&m->c, row);
    m->c.rows++;
    progress_count((uint64_t)m->c.rows, (uint64_t)m->c.expected);
}

static int say_failure(tern_status status)
{
    const bool usage = status == TERN_NOT_FOUND || status == TERN_INVALID_ARGUMENT;
    return usage ? fail_usage("%s", last_words()) : fail_status(NULL);
}

static void pass_over(void *user, const tern_result *row)
{
    (void)user;
    (void)row;
}

int bench_check(const bench_settings *settings)
{
    const tern_status status = tern_bench_case(&settings->o, 0, pass_over, NULL);
    return status == TERN_OK ? EXIT_DONE : say_failure(status);
}

/* What was measured before somebody stopped it is kept, and says that it is not all. */
static int keep_incomplete(const bench_settings *settings, measuring *m)
{
    char words[64];
    snprintf(words, sizeof words, "stopped after %d of %d rows", m->c.rows, m->c.expected);
    m->c.status = tern_results_set_condition(m->c.results, "incomplete", words);
    if (settings->whole)
        return EXIT_FAILED;
    return m->c.rows > 0 ? fail("%s: what is told is of these", words) : fail("%s: nothing is told", words);
}

int bench_measure(const bench_settings *settings, tern_results **out)
{
    tern_bench_options o = settings->o;
    measuring m = {.o = &o};
    o.stop = progress_asked;
    tern_status status = tern_results_create(&m.c.results);
    if (status == TERN_OK)
        status = tern_results_note_conditions(m.c.results);
    if (status == TERN_OK)
        status = tern_bench_note_settings(&o, m.c.results);
    for (int i = 0; status == TERN_OK && tern_bench_case(&o, i, count_rows, &m) == TERN_OK;)
        i++;
    const tern_moment begin = tern_moment_now();
    if (status == TERN_OK) {
        progress_begin_of("measuring", "rows");
        progress_count(0, (uint64_t)m.c.expected);
        status = tern_bench_run(&o, collect_measured, &m);
        progress_end();
    }
    int code = status == TERN_OK          ? EXIT_DONE
               : status == TERN_CANCELLED ? keep_incomplete(settings, &m)
                                          : say_failure(status);
    if (m.c.status == TERN_OK && m.c.rows > 0)
        m.c.status = tern_results_note_disturbance(m.c.results, &begin);
    if (m.c.status != TERN_OK)
        code = say_failure(m.c.status);
    else if (code == EXIT_DONE || status == TERN_STATE || (status == TERN_CANCELLED && m.c.rows > 0)) {
        *out = m.c.results;
        return code;
    }
    tern_results_free(m.c.results);
    return code;
}

static int list_cases(const tern_bench_options *o, tern_results **out)
{
    collecting c = {0};
    tern_status status = tern_results_create(&c.results);
    for (int i = 0; status == TERN_OK && c.status == TERN_OK; i++)
        status = tern_bench_case(o, i, collect, &c);
    status = status == TERN_OUT_OF_RANGE ? c.status : status;
    if (status == TERN_OK)
        *out = c.results;
    else
        tern_results_free(c.results);
    return status == TERN_OK ? EXIT_DONE : say_failure(status);
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

const char *bench_operands(const tern_result *row, char *buffer, size_t room)
{
    const bool said = strncmp(row->shape, row->dtype, strlen(row->dtype)) == 0;
    snprintf(buffer, room, "%s%s%s", row->shape, said || !row->shape[0] ? "" : ", ", said ? "" : row->dtype);
    return buffer;
}

const char *bench_rate(const tern_result *row, char *buffer, size_t room)
{
    const bool operations = !isnan(row->gflops), on_integers = strcmp(row->limit_kind, "int8_dot") == 0;
    buffer[0] = '\0';
    if (operations)
        snprintf(buffer, room, "%.1f %s", row->gflops, on_integers ? "GOPS" : "GFLOPS");
    else if (!isnan(row->gbytes_s))
        snprintf(buffer, room, "%.1f GB/s", row->gbytes_s);
    return buffer;
}

const char *bench_time(const tern_result *row, char *buffer, size_t room)
{
    return tern_time_text(row->median_us * 1e3 / (row->copies > 1 ? row->copies : 1), buffer, room);
}

const char *bench_spread(const tern_result *row, char *buffer, size_t room)
{
    if (isnan(row->mad_us))
        return "-";
    snprintf(buffer, room, "%.1f%%", row->mad_us / row->median_us * 100);
    return buffer;
}

const char *bench_share(const tern_result *row, char *buffer, size_t room)
{
    if (!isnan(row->limit_share))
        snprintf(buffer, room, "%.3f of %s", row->limit_share, row->limit_kind);
    else
        snprintf(buffer, room, "%s",
                 row->error[0]     ? row->error
                 : row->rounds > 0 ? "unavailable: the results do not say why" /* of an older tern */
                                   : row->limit_kind);
    return buffer;
}

static void add_row(table *t, const tern_result *row)
{
    char buffer[640];
    table_add_safe(t, row->name);
    table_add_safe(t, bench_operands(row, buffer, sizeof buffer));
    if (row->threads > 0)
        table_addf(t, "%d", row->threads);
    else
        table_add(t, "");
    table_add_safe(t, row->kernel);
    if (row->rounds > 0) {
        table_add(t, bench_time(row, buffer, sizeof buffer));
        table_add(t, bench_spread(row, buffer, sizeof buffer));
    } else {
        table_add(t, "");
        table_add(t, "");
    }
    table_add(t, bench_rate(row, buffer, sizeof buffer));
    table_add_safe(t, bench_share(row, buffer, sizeof buffer));
}

/* The family, and the device if it is another than usual. */
static const char *heading_of(const tern_result *row, char *buffer, size_t room)
{
    const bool on_cpu = strcmp(row->device, "cpu") == 0;
    snprintf(buffer, room, "%s%s%s", row->family, on_cpu ? "" : " on ", on_cpu ? "" : row->device);
    return buffer;
}

void bench_print_table(const tern_results *results)
{
    static const table_column columns[] = {
        {"case", false, false, STYLE_NAME},   {"operands", false, true, STYLE_NONE},
        {"threads", true, false, STYLE_NONE}, {"kernel", false, true, STYLE_NONE},
        {"time", true, false, STYLE_NONE},    {"spread", true, false, STYLE_NONE},
        {"rate", true, false, STYLE_NONE},    {"share of the limit", false, false, STYLE_NONE},
    };
    table t = table_make(columns, 8);
    tern_result row, last = tern_result_default();
    char heading[256];
    for (int i = 0; tern_results_at(results, i, &row) == TERN_OK; last = row, i++) {
        if (strcmp(last.family, row.family) != 0 || strcmp(last.device, row.device) != 0)
            table_add_heading(&t, heading_of(&row, heading, sizeof heading));
        add_row(&t, &row);
    }
    table_print(&t, 0, true);
}

int bench_write(const tern_results *results, tern_result_format format, out_file *to)
{
    char *out;
    if (tern_results_write(results, format, &out) != TERN_OK) {
        out_discard(to);
        return fail_status(NULL);
    }
    const int code = out_finish(to, out);
    tern_string_free(out);
    return code;
}

int bench_run_suite(const args *a, const char *suite)
{
    bench_settings settings;
    tern_results *results = NULL;
    tern_result_format format;
    const char *file = args_value(a, "output-file");
    const char *name = args_has(a, "json") ? "rows" : args_value(a, "format");
    const bool as_table = !name || tern_result_format_parse(name, &format) != TERN_OK;
    int code = bench_read_settings(a, suite, &settings);
    if (code == EXIT_DONE && args_has(a, "json") && args_value(a, "format"))
        code = fail_usage("--json is --format rows: give one of them");
    if (code == EXIT_DONE && as_table && file)
        code = fail_usage("-o FILE needs a --format other than table");
    out_file to = {0};
    if (code == EXIT_DONE)
        code = out_open(file, &to); /* before minutes are spent on what could not be kept */
    if (code != EXIT_DONE)
        return code;
    code = args_has(a, "list") ? list_cases(&settings.o, &results) : bench_measure(&settings, &results);
    if (!results) {
        out_discard(&to);
        return code;
    }
    if (as_table) {
        bench_print_table(results);
        disturbed_warn_of(results, NULL);
    } else if (bench_write(results, format, &to) != EXIT_DONE)
        code = EXIT_FAILED;
    tern_results_free(results);
    return code;
}
