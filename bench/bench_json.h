/* bench_json.h - what every benchmark program does with its results: a table on the screen, rows in a file.
 *
 * A benchmark is started with `--rows FILE` (one JSON object per line, for scripts/run-bench.sh, which
 * merges the programs' rows into bench.json) or `--json FILE` (the same rows as an array), or neither. A row
 * is {"name", "value", "unit", "better": "higher" or "lower", "detail"}. What could not be measured has no
 * row. What was measured on, and by which command, is printed first.
 *
 *     bench_output out;
 *     if (!bench_open(&out, &argc, argv))
 *         return 2;
 *     bench_row(&out, "pool_hit_ns", 21.4, "ns", "lower", "64 B: %.1f, ...", ...);
 *     return bench_close(&out) ? 0 : 1;
 *
 * Header-only, because each .c file here is a program. */
#ifndef TERN_BENCH_JSON_H
#define TERN_BENCH_JSON_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <tern/export.h>
#include <tern/status.h>

#include "base/cpu.h"
#include "base/json_text.h"
#include "base/strbuf.h"
#include "measure/stats.h"

typedef struct bench_output {
    FILE *file; /* NULL: nobody wants rows */
    const char *path;
    bool array;
    int rows;
} bench_output;

static inline void bench_heading(int argc, char **argv)
{
    struct utsname system;
    const tern__cpu_info *cpu = tern__cpu();
    char huge[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file == NULL || fgets(huge, sizeof huge, file) == NULL)
        snprintf(huge, sizeof huge, "unavailable: no /sys/kernel/mm/transparent_hugepage");
    if (file != NULL)
        fclose(file);
    huge[strcspn(huge, "\n")] = '\0';
    printf("machine: %s, %d of %d cores usable (%s)", cpu->model, cpu->cores_usable, cpu->cores_online,
           cpu->cores_reason);
    if (uname(&system) == 0)
        printf(", %s %s", system.sysname, system.release);
    printf("; transparent huge pages: %s\ncommand:", huge);
    for (int i = 0; i < argc; i++)
        printf(" %s", argv[i]);
    printf("\n");
}

/* Prints the heading and takes `--rows FILE` or `--json FILE` out of the arguments. false: wrong usage or the file cannot be
 * written; it has been said on stderr. */
static inline bool bench_open(bench_output *out, int *argc, char **argv)
{
    *out = (bench_output){0};
    bench_heading(*argc, argv);
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        bool array = strcmp(argv[i], "--json") == 0;
        if (!array && strcmp(argv[i], "--rows") != 0) {
            argv[kept++] = argv[i];
            continue;
        }
        if (i + 1 == *argc || out->path != NULL) {
            fprintf(stderr, "usage: %s [--rows FILE | --json FILE]\n", argv[0]);
            return false;
        }
        out->path = argv[++i];
        out->array = array;
    }
    *argc = kept;
    if (out->path == NULL)
        return true;
    out->file = fopen(out->path, "w");
    if (out->file == NULL) {
        fprintf(stderr, "%s: cannot write %s\n", argv[0], out->path);
        return false;
    }
    if (out->array)
        fputs("[", out->file);
    return true;
}

static inline void bench_string(FILE *file, const char *text)
{
    tern__strbuf quoted = TERN__STRBUF_EMPTY;
    char *words = NULL;
    tern__json_add_text(&quoted, text);
    const bool whole = tern__strbuf_take(&quoted, &words) == TERN_OK;
    fputs(whole ? words : "null", file);
    tern_string_free(words);
}

/* One result: printed, and written if rows are wanted. `better` is "higher" or "lower". A value that is not a
 * finite number is not a measurement: it is reported on stderr and left out. */
static inline void bench_row(bench_output *out, const char *name, double value, const char *unit,
                             const char *better, const char *detail, ...) TERN_PRINTF(6, 7);

static inline void bench_row(bench_output *out, const char *name, double value, const char *unit,
                             const char *better, const char *detail, ...)
{
    char text[2048];
    va_list args;
    va_start(args, detail);
    vsnprintf(text, sizeof text, detail, args);
    va_end(args);
    if (!isfinite(value)) {
        fprintf(stderr, "%s: no value (%s)\n", name, text);
        return;
    }
    printf("%s = %.4g %s (%s is better)\n", name, value, unit, better);
    if (out->file == NULL)
        return;
    fputs(!out->array ? "" : out->rows > 0 ? ",\n " : "\n ", out->file);
    fputs("{\"name\": ", out->file);
    bench_string(out->file, name);
    fprintf(out->file, ", \"value\": %.6g, \"unit\": ", value);
    bench_string(out->file, unit);
    fputs(", \"better\": ", out->file);
    bench_string(out->file, better);
    fputs(", \"detail\": ", out->file);
    bench_string(out->file, text);
    fputs(out->array ? "}" : "}\n", out->file);
    out->rows++;
}

/* false: the rows could not be written; it has been said on stderr. */
static inline bool bench_close(bench_output *out)
{
    if (out->file == NULL)
        return true;
    if (out->array)
        fputs("\n]\n", out->file);
    bool ok = ferror(out->file) == 0;
    ok = fclose(out->file) == 0 && ok;
    if (!ok)
        fprintf(stderr, "cannot write %s\n", out->path);
    return ok;
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lesser of two shares, where one that is not to be believed (NaN) makes the result such a one: a worst that leaves it out
 * would be a better one. */
static inline double bench_worse(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

/* As the library's; the values keep their order. NaN, which has no row: of none, or without memory. */
static inline double bench_median(const double *values, int n)
{
    double *copy = n > 0 ? malloc((size_t)n * sizeof *copy) : NULL;
    if (!copy)
        return NAN;
    memcpy(copy, values, (size_t)n * sizeof *copy);
    const double median = tern__stats_of(copy, n).median;
    free(copy);
    return median;
}

#endif
