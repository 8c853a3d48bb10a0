/* cmd_bench_ops.c - `tern bench ops`: operations one by one; also as the page docs/performance.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tern/catalog.h>

#include "bench_suite.h"
#include "commands.h"
#include "term.h"

/* ---- the page ------------------------------------------------------------------------------------------------ */

enum { WIDE_SPREAD = 10 }; /* per cent: somebody else was at work beside a row with more */

/* The machine, and whether it was quiet. */
static void print_page_head(const tern_results *results)
{
    tern_device_info device;
    tern_result row;
    char date[32] = "an unknown day", cache[TERN_UNIT_TEXT];
    time_t now = time(NULL);
    struct tm day;
    int wide = 0, rows = 0;
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    printf("# Performance: every operation as a share of what the machine can do\n\n"
           "Written by `tern bench ops --markdown` (`make performance`); do not edit. Measured on %s",
           date);
    if (tern_catalog_device(0, &device) == TERN_OK) {
        printf(", %s, %d of %d cores, %s, last cache %s", device.model, device.cores_usable,
               device.cores_online, device.isa_available,
               tern_bytes_text((double)device.l3_bytes, cache, sizeof cache));
        if (getenv("TERN_CPU"))
            printf(", under `TERN_CPU=%s`", getenv("TERN_CPU"));
    }
    for (; tern_results_at(results, rows, &row) == TERN_OK; rows++)
        wide += row.rounds > 0 && row.mad_us * 100 > WIDE_SPREAD * row.median_us;
    const double load = tern_results_busy(results);
    printf(".\n\n%d of %d rows have a spread above %d %%: something else was at work beside them. ", wide,
           rows, WIDE_SPREAD);
    if (isnan(load))
        printf("The machine was quiet when it began.");
    else
        printf("The machine was busy when it began (load %.2f): times may be too high.", load);
    printf(
        "\n\nEach operation is compiled and run as any program, its results are compared with those of the "
        "reference kernels, and\nit is timed in turns with probes of the limit that binds it at best: bytes "
        "read "
        "(`read_bw`), bytes read and written\n(`copy_bw`), f32 multiply-adds (`fma`) or int8 products "
        "(`int8_dot`) on registers. A share is the median over the\nrounds of limit / operation; the spread "
        "is the median distance from the median time. Ternary weights and heads are\nstreamed: a run does "
        "the "
        "operation with many copies of the weights, and a time is that of one. GOPS are operations on "
        "integers. Cases `t2` and `t5` are named by the type of the weights "
        "that are given;\nconstants are packed into the form that the processor does best whatever their "
        "type, "
        "which the kernel's name tells, and\nbytes are those of that form. What each family falls short of, "
        "and why, is in\n"
        "[performance-ternary.md](performance-ternary.md), [performance-heads.md](performance-heads.md),\n"
        "[performance-gemm.md](performance-gemm.md), [performance-attention.md](performance-attention.md) "
        "and\n"
        "[performance-rows.md](performance-rows.md).\n");
}

static void print_page_row(const char *family, const tern_result *row)
{
    char time[TERN_UNIT_TEXT], rate[64], share[640];
    if (strcmp(family, row->family) != 0)
        printf("\n## %s\n\n| case | operands | threads | kernel | time | spread | rate | share of the "
               "limit |\n"
               "|---|---|---|---|---|---|---|---|\n",
               row->family);
    printf("| %s | `%s` | %d | `%s` | ", row->name, row->shape, row->threads, row->kernel);
    if (row->rounds > 0)
        printf("%s | %s | ", bench_time(row, time, sizeof time), bench_spread(row, rate, sizeof rate));
    else
        printf("| | ");
    printf("%s | %s |\n", bench_rate(row, rate, sizeof rate), bench_share(row, share, sizeof share));
}

static int print_page(const args *a)
{
    bench_settings settings;
    tern_results *results = NULL;
    tern_result row, last = tern_result_default();
    int code = bench_read_settings(a, "ops", &settings);
    if (code == EXIT_DONE)
        code = bench_measure(&settings, &results);
    if (!results)
        return code;
    print_page_head(results);
    for (int i = 0; tern_results_at(results, i, &row) == TERN_OK; last = row, i++)
        print_page_row(i > 0 ? last.family : "", &row);
    tern_results_free(results);
    return code;
}

/* ---- the verb ------------------------------------------------------------------------------------------------ */

static int run(const args *a)
{
    /* The page is of all cases, on all that the processor has. */
    static const char *const others[] = {"list",  "json", "format", "output-file", "family",
                                         "dtype", "size", "layout", "device",      "cpu"};
    for (size_t i = 0; args_has(a, "markdown") && i < sizeof others / sizeof *others; i++)
        if (args_has(a, others[i]) || args_value(a, others[i]))
            return fail_usage("--markdown measures everything and prints a page: it does not go with --%s",
                              others[i]);
    return args_has(a, "markdown") ? print_page(a) : bench_run_suite(a, "ops");
}

static const option options[] = {
    BENCH_MEASURE_OPTIONS,
    BENCH_OUTPUT_OPTIONS,
    {"markdown", 0, NULL, NULL, "print the page docs/performance.md"},
    {0},
};

const command cmd_bench_ops = {
    .name = "ops",
    .operands = "",
    .summary = "Time operations one by one, as shares of what the machine can do.",
    .details =
        "Each case is compiled and run as any program, its results are compared with those of the reference "
        "kernels, then it is timed in turns with probes of the limit that binds it at best: read_bw, "
        "copy_bw, fma or int8_dot. A row that cannot be right (faster than its limit by more than 2 %, or "
        "different from the reference) has its error in place of a share, and the exit status is 1; so it is "
        "if no row could be measured. Times are medians, of one operation also where a run does it with many "
        "copies of "
        "the weights; GOPS are operations on integers. "
        "docs/cli.md describes the formats.",
    .options = options,
    .examples = "tern bench ops --family ternary --threads 1,2\n"
                "tern bench ops --family elementwise --cpu avx2 --format json -o results.json\n"
                "tern bench ops --list",
    .run = run,
};
