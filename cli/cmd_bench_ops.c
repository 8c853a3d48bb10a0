/* cmd_bench_ops.c - `tern bench ops`: operations one by one, as a table, JSON, or the page docs/performance.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tern/catalog.h>
#include <tern/measure.h>

#include "commands.h"
#include "json.h"
#include "table.h"
#include "term.h"

enum { MOST_THREADS = 16 };

typedef enum format { AS_TABLE, AS_JSON, AS_MARKDOWN } format;

/* What the visitor writes to. */
typedef struct output {
    format format;
    table table;
    json json;
    char family[32]; /* of the row before */
} output;

/* ---- options ------------------------------------------------------------------------------------------------- */

static bool parse_seconds(const char *word, double *out)
{
    char *end;
    *out = word ? strtod(word, &end) : 0;
    return !word || (end != word && *end == '\0' && *out > 0 && *out <= 3600);
}

static int read_options(const args *a, tern_bench_options *o, int *threads)
{
    int mebibytes;
    *o = (tern_bench_options){
        .family = args_value(a, "family"), .cpu = args_value(a, "isa"), .threads = threads};
    if (!args_ints(a, "threads", 1, 64, MOST_THREADS, threads, &o->n_threads))
        return EXIT_USAGE;
    if (!parse_seconds(args_value(a, "budget"), &o->budget_s))
        return fail_usage("--budget '%s': give seconds, more than 0 and at most 3600",
                          args_value(a, "budget"));
    if (!args_int(a, "memory", 1, 16384, 0, &mebibytes))
        return EXIT_USAGE;
    o->memory = (int64_t)mebibytes << 20;
    return EXIT_DONE;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static const char *rate_of(const tern_bench_row *row, char *buffer, size_t room)
{
    snprintf(buffer, room, row->gflops > 0 ? "%.1f GFLOPS" : "%.1f GB/s",
             row->gflops > 0 ? row->gflops : row->gbytes_s);
    return row->rounds > 0 ? buffer : "";
}

static const char *share_of(const tern_bench_row *row, char *buffer, size_t room)
{
    if (isnan(row->limit_share))
        snprintf(buffer, room, "%s", row->error);
    else
        snprintf(buffer, room, "%.3f of %s", row->limit_share, tern_limit_name(row->limit_kind));
    return buffer;
}

static void add_to_table(output *out, const tern_bench_row *row)
{
    char buffer[640];
    table *t = &out->table;
    if (strcmp(out->family, row->family) != 0)
        table_add_heading(t, row->family);
    table_add(t, row->name);
    table_add(t, row->shape);
    if (row->threads > 0)
        table_addf(t, "%d", row->threads);
    else
        table_add(t, "");
    table_add(t, row->kernel);
    if (row->rounds > 0)
        table_addf(t, "%.1f us", row->median_us);
    else
        table_add(t, "");
    if (row->rounds > 0)
        table_addf(t, "%.1f%%", row->mad_us / row->median_us * 100);
    else
        table_add(t, "");
    table_add(t, rate_of(row, buffer, sizeof buffer));
    table_add(t, row->threads > 0 ? share_of(row, buffer, sizeof buffer) : tern_limit_name(row->limit_kind));
}

static void add_to_json(output *out, const tern_bench_row *row)
{
    json *j = &out->json;
    json_object(j, NULL);
    json_string(j, "family", row->family);
    json_string(j, "name", row->name);
    json_string(j, "op", row->op);
    json_string(j, "kernel", row->kernel);
    json_string(j, "isa", row->isa);
    json_string(j, "shape", row->shape);
    json_int(j, "threads", row->threads);
    json_int(j, "copies", row->copies);
    json_int(j, "rounds", row->rounds);
    const double none = NAN;
    json_double(j, "median_us", row->rounds > 0 ? row->median_us : none);
    json_double(j, "mad_us", row->rounds > 0 ? row->mad_us : none);
    json_double(j, "min_us", row->rounds > 0 ? row->min_us : none);
    json_double(j, "gflops", row->gflops > 0 ? row->gflops : none);
    json_double(j, "gbytes_per_s", row->gbytes_s > 0 ? row->gbytes_s : none);
    json_string(j, "limit_kind", tern_limit_name(row->limit_kind));
    json_double(j, "limit_share", row->limit_share);
    json_double(j, "limit_share_mad", isnan(row->limit_share) ? none : row->limit_mad);
    json_string(j, "limit_probe", row->limit);
    json_string(j, "error", row->error[0] ? row->error : NULL);
    json_end(j);
}

static void print_markdown(const output *out, const tern_bench_row *row)
{
    char rate[64], share[640];
    if (strcmp(out->family, row->family) != 0)
        printf("\n## %s\n\n| case | operands | threads | kernel | median | spread | rate | share of the "
               "limit |\n"
               "|---|---|---|---|---|---|---|---|\n",
               row->family);
    printf("| %s | `%s` | %d | `%s` | ", row->name, row->shape, row->threads, row->kernel);
    if (row->rounds > 0)
        printf("%.1f us | %.1f%% | ", row->median_us, row->mad_us / row->median_us * 100);
    else
        printf("| | ");
    printf("%s | %s |\n", rate_of(row, rate, sizeof rate), share_of(row, share, sizeof share));
    fflush(stdout);
}

static void visit(void *user, const tern_bench_row *row)
{
    output *out = user;
    if (out->format == AS_TABLE)
        add_to_table(out, row);
    else if (out->format == AS_JSON)
        add_to_json(out, row);
    else
        print_markdown(out, row);
    snprintf(out->family, sizeof out->family, "%s", row->family);
}

/* ---- the page ------------------------------------------------------------------------------------------------ */

static void print_page_head(const tern_bench_options *o)
{
    tern_device_info device;
    char date[32] = "an unknown day";
    time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    printf("# Performance: every operation as a share of what the machine can do\n\n"
           "Written by `tern bench ops --markdown` (`make performance`); do not edit. Measured on %s",
           date);
    if (tern_catalog_device(0, &device) == TERN_OK)
        printf(", %s, %d of %d cores, %s, last cache %lld MiB", device.model, device.cores_usable,
               device.cores_online, device.isa_available, (long long)(device.l3_bytes >> 20));
    printf(
        ".\n\nEach operation is compiled and run as any program, its results are compared with those of the "
        "reference kernels, and\nit is timed in turns with probes of the limit that binds it at best: bytes "
        "read "
        "(`read_bw`), bytes read and written\n(`copy_bw`), f32 multiply-adds (`fma`) or int8 products "
        "(`int8_dot`) on registers. A share is the median over the\nrounds of limit / operation; the spread "
        "is the median distance from the median time. Ternary weights and heads are\nstreamed: a run does "
        "the "
        "operation with many copies of the weights. What each family falls short of, and why, is in\n"
        "[performance-ternary.md](performance-ternary.md), [performance-gemm.md](performance-gemm.md) and\n"
        "[performance-rows.md](performance-rows.md).\n");
    (void)o;
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static tern_status list_cases(const tern_bench_options *o, output *out)
{
    tern_status status = TERN_OK;
    for (int i = 0; status == TERN_OK; i++)
        status = tern_bench_case(o, i, visit, out);
    return status == TERN_OUT_OF_RANGE ? TERN_OK : status;
}

static int finish(output *out, tern_status status)
{
    const bool usage = status == TERN_NOT_FOUND || status == TERN_INVALID_ARGUMENT;
    if (out->format == AS_JSON) {
        json_end(&out->json);
        if (usage)
            text_free(&out->json.out);
        else
            json_print(&out->json);
    }
    if (out->format == AS_TABLE && !usage)
        table_print(&out->table, 0, true);
    else
        table_free(&out->table);
    return status == TERN_OK ? EXIT_DONE : usage ? fail_usage("%s", tern_last_error()) : fail_status(NULL);
}

static int run(const args *a)
{
    static const table_column columns[] = {
        {"case", false, false, STYLE_NAME},   {"operands", false, true, STYLE_NONE},
        {"threads", true, false, STYLE_NONE}, {"kernel", false, true, STYLE_NONE},
        {"median", true, false, STYLE_NONE},  {"spread", true, false, STYLE_NONE},
        {"rate", true, false, STYLE_NONE},    {"share of the limit", false, false, STYLE_NONE},
    };
    int threads[MOST_THREADS];
    tern_bench_options o;
    int code = read_options(a, &o, threads);
    if (code != EXIT_DONE)
        return code;
    output out = {.format = args_has(a, "json")       ? AS_JSON
                            : args_has(a, "markdown") ? AS_MARKDOWN
                                                      : AS_TABLE,
                  .table = table_make(columns, 8)};
    if (out.format == AS_JSON)
        json_array(&out.json, NULL);
    if (args_has(a, "list"))
        return finish(&out, list_cases(&o, &out));
    if (out.format == AS_MARKDOWN)
        print_page_head(&o);
    return finish(&out, tern_bench_ops(&o, visit, &out));
}

/* clang-format off */
static const option options[] = {
    {"family", 0, "F", NULL, "only the cases of this family, such as ternary or elementwise (default: all)"},
    {"isa", 0, "LEVEL", NULL, "use no instruction set above LEVEL, such as avx2 (default: $TERN_CPU, else the best); limits stay those of the machine"},
    {"threads", 0, "N,...", NULL, "measure with these numbers of threads (default: 1, and all that may be used)"},
    {"budget", 0, "S", NULL, "about S seconds for each row (default: 0.5)"},
    {"memory", 0, "MIB", NULL, "size of what is streamed (default: 256, or four times the last cache)"},
    {"list", 0, NULL, NULL, "say what would be measured, and measure nothing"},
    {"json", 0, NULL, NULL, "print JSON: an array, one object for each row"},
    {"markdown", 0, NULL, NULL, "print the page docs/performance.md"},
    {0},
};
/* clang-format on */

const command cmd_bench_ops = {
    .name = "ops",
    .operands = "",
    .summary = "Time operations one by one, as shares of what the machine can do.",
    .details =
        "Each case is compiled and run as any program, its results are compared with those of the reference "
        "kernels, then it is timed in turns with probes of the limit that binds it at best: read_bw, "
        "copy_bw, "
        "fma or int8_dot. A row that cannot be right (faster than its limit by more than 2 %, or different "
        "from "
        "the reference) has its error in place of a share, and the exit status is 1.",
    .options = options,
    .examples = "tern bench ops --family ternary --threads 1,2\n"
                "tern bench ops --family elementwise --isa avx2 --json\n"
                "tern bench ops --list",
    .run = run,
};
