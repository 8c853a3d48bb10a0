/* results.h - the inside of a set of results: the one table of fields, from which JSON, CSV, the reader and the database come. */
#ifndef TERN_MEASURE_RESULTS_H
#define TERN_MEASURE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/results.h>

#include "base/arena.h"
#include "base/strbuf.h"

/* The fields of a row but for its samples: X(kind, member of tern_result, name in files). A REASON is a text that is null when
 * empty. The database has a column for each: a new field needs a migration (baseline.c). */
#define TERN__RESULT_FIELDS(X)                \
    X(TEXT, suite, "suite")                   \
    X(TEXT, family, "family")                 \
    X(TEXT, name, "name")                     \
    X(TEXT, op, "op")                         \
    X(TEXT, kernel, "kernel")                 \
    X(TEXT, isa, "isa")                       \
    X(TEXT, shape, "shape")                   \
    X(TEXT, dtype, "dtype")                   \
    X(TEXT, device, "device")                 \
    X(INT, threads, "threads")                \
    X(INT, run, "run")                        \
    X(INT, copies, "copies")                  \
    X(LONG, repeats, "repeats")               \
    X(INT, rounds, "rounds")                  \
    X(REAL, median_us, "median_us")           \
    X(REAL, mad_us, "mad_us")                 \
    X(REAL, min_us, "min_us")                 \
    X(REAL, low_us, "low_us")                 \
    X(REAL, high_us, "high_us")               \
    X(INT, outliers, "outliers")              \
    X(REAL, gflops, "gflops")                 \
    X(REAL, gbytes_s, "gbytes_per_s")         \
    X(TEXT, limit_kind, "limit_kind")         \
    X(REAL, limit_share, "limit_share")       \
    X(REAL, limit_mad, "limit_share_mad")     \
    X(TEXT, limit, "limit_probe")             \
    X(LONG, allocations, "allocations")       \
    X(LONG, peak_bytes, "peak_bytes")         \
    X(REAL, accuracy_error, "accuracy_error") \
    X(REASON, error, "error")

typedef enum tern__field_kind {
    TERN__FIELD_TEXT,
    TERN__FIELD_REASON,
    TERN__FIELD_INT,
    TERN__FIELD_LONG, /* int64_t; negative: unknown */
    TERN__FIELD_REAL, /* NaN: unknown */
} tern__field_kind;

typedef struct tern__field {
    tern__field_kind kind;
    const char *name;
    size_t offset;
} tern__field;

enum {
    TERN__RESULT_ROWS = 65536,
    TERN__RESULT_SAMPLES = 1 << 20,
    TERN__RESULT_TEXT = 4095, /* bytes of a text of a row */
    TERN__CONDITION_NAME = 64,
    TERN__CONDITION_TEXT = 8191,
    TERN__CONDITIONS = 64,
};

typedef struct tern__condition {
    const char *name, *value;
} tern__condition;

struct tern_results {
    tern__arena arena; /* texts and samples */
    tern_result *rows; /* (n) */
    size_t capacity;
    int n, n_conditions;
    tern__condition conditions[TERN__CONDITIONS];
};

/* NULL past the last. */
const tern__field *tern__result_field(int i);
const char *tern__field_text(const tern__field *field, const tern_result *row);
int64_t tern__field_int(const tern__field *field, const tern_result *row); /* INT and LONG */
double tern__field_real(const tern__field *field, const tern_result *row);
void tern__field_set_text(const tern__field *field, tern_result *row, const char *text);
/* false: an INT that is too large for one. */
bool tern__field_set_int(const tern__field *field, tern_result *row, int64_t value);
void tern__field_set_real(const tern__field *field, tern_result *row, double value);

/* As tern_results_add, of a row that was in a set before, with all its samples: the interval of its median is the one that it has, which
 * is drawn a thousand times otherwise. A history has thousands of rows. */
tern_status tern__results_add_again(tern_results *results, const tern_result *row);
/* Is the row there, sample for sample? */
bool tern__results_have(const tern_results *in, const tern_result *row);
/* Do the operands say it? Tests of models keep the type of their cache in `dtype` alone. */
bool tern__result_says_dtype(const tern_result *row);
/* Was it tried, and went wrong? Not so what could not be had here, or took too long. */
bool tern__result_failed(const tern_result *row);
/* "ops/ternary/t2 n=1/i8[1,2560] t2[640,2560]/threads:2", for formats that have one name. */
void tern__result_add_name(tern__strbuf *to, const tern_result *row);

/* The first of the load averages among the conditions; NaN: unknown. */
double tern__results_load(const tern_results *results);

/* "GFLOPS", "GOPS" of integers, "GB/s": of `gflops`, or else of `gbytes_s`. */
const char *tern__result_rate_unit(const tern_result *row);

/* Of a test of a model, by its name and its median; NaN for other rows (model_test.c). */
double tern__result_tokens_s(const tern_result *row);

/* The hottest of the thermal zones in `folder` ("/sys/class/thermal"), as the condition's text: `to` has room for TERN__CONDITION_TEXT and a
 * NUL (results_conditions.c). */
void tern__results_temperature(const char *folder, char *to);

/* The condition that tells the sizes of caches, and how its text begins, for printf and scanf with three long long. */
#define TERN__CACHES_NAME "caches"
#define TERN__CACHES_READ "L1d %lld, L2 %lld, L3 %lld"

#endif
