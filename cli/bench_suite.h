/* bench_suite.h - what the verbs of `tern bench` that measure a suite have in common: options, tables and formats. */
#ifndef TERN_CLI_BENCH_SUITE_H
#define TERN_CLI_BENCH_SUITE_H

#include <tern/measure.h>
#include <tern/results.h>

#include "args.h"
#include "output.h"

enum { BENCH_THREADS = 16 };

/* A tern_bench_options with the room that it points to. */
typedef struct bench_settings {
    tern_bench_options o;
    int threads[BENCH_THREADS];
    bool whole; /* a part of the rows is of no use: that it was stopped is for the caller to say */
} bench_settings;

#define BENCH_FORMAT_NAME(id, number, name, what) name " "
#define BENCH_RESULT_FORMATS TERN_RESULT_FORMAT_LIST(BENCH_FORMAT_NAME)
#define BENCH_FORMATS "table " BENCH_RESULT_FORMATS

/* clang-format off */
/* What says which cells are measured, and how; also for verbs that measure on their own account. */
#define BENCH_MEASURE_OPTIONS BENCH_MEASURE_OPTIONS_OF("--list")
#define BENCH_MEASURE_OPTIONS_OF(list) \
    {"family", 0, "F", NULL, "only the cases of this family (default: all; " list " shows them)"}, \
    {"dtype", 0, "TYPE", NULL, "only cases with an operand of this type, such as f16"}, \
    {"size", 0, "N", NULL, "only cases with an operand of these sizes, such as 512x512, or with one such as 2560 among them"}, \
    {"layout", 0, "HOW", "contiguous strided", "only cases whose operands all lie in one piece, or only the others (default: both)"}, \
    {"device", 0, "NAMES", NULL, "measure on these of `tern devices`, such as cpu,opencl (default: cpu)"}, \
    {"cpu", 0, "LEVEL", NULL, "use no instruction set above LEVEL, such as avx2 or avx2,-avxvnni (default: $TERN_CPU, else the best); limits stay those of the machine"}, \
    {"threads", 0, "N,...", NULL, "measure with these numbers of threads (default: 1, and all that may be used)"}, \
    {"budget", 0, "S", NULL, "about S seconds for the samples of each row (default: 0.5); data, compiling and the reference come on top, and --timeout bounds all of it"}, \
    {"timeout", 0, "S", NULL, "give up a row that takes longer, and say so in it (default: 60)"}, \
    {"samples", 0, "N", NULL, "at most N samples of each row, if the budget lasts (default: 100)"}, \
    {"warmup", 0, "N", NULL, "run each case N times before it counts (default: 1)"}, \
    {"memory", 0, "MIB", NULL, "size of what is streamed (default: 256, or four times the last cache)"}
#define BENCH_OUTPUT_OPTIONS \
    {"list", 0, NULL, NULL, "say what would be measured, and measure nothing"}, \
    {"format", 0, "NAME", BENCH_FORMATS, "print the results as (default: table)"}, \
    {"output-file", 'o', "FILE", NULL, "write them to FILE instead of standard output"}, \
    {"json", 0, NULL, NULL, "the same as --format rows"}
/* clang-format on */

/* Reads BENCH_MEASURE_OPTIONS. EXIT_USAGE: something is wrong with them, and that was said. */
int bench_read_settings(const args *a, const char *suite, bench_settings *out);

/* Is there what they ask for: suite, family, device, sizes? Else that was said, and nothing needs to be begun. */
int bench_check(const bench_settings *settings);

/* Measures a suite into a new set, with the conditions. EXIT_DONE: it is the caller's; EXIT_FAILED with a set: rows are doubtful, or it
 * was stopped before all of them (condition "incomplete"), and that was said. */
int bench_measure(const bench_settings *settings, tern_results **out);

/* The verb: measures (or lists) the suite and prints it as BENCH_OUTPUT_OPTIONS ask for. */
int bench_run_suite(const args *a, const char *suite);

/* As rows of a table on stdout. */
void bench_print_table(const tern_results *results);
/* To a file that is open; it is finished then. */
int bench_write(const tern_results *results, tern_result_format format, out_file *to);

/* Cells of tables and pages; each fills `buffer` and returns it. */
const char *bench_operands(const tern_result *row, char *buffer, size_t room); /* "batch 512, f16" */
/* "5.49 us", the median of one operation, however many copies a run does. */
const char *bench_time(const tern_result *row, char *buffer, size_t room);
const char *bench_rate(const tern_result *row, char *buffer, size_t room);
const char *bench_spread(const tern_result *row, char *buffer, size_t room);
const char *bench_share(const tern_result *row, char *buffer, size_t room);

#endif
