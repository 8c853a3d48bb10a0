/* results.h - a set of benchmark results: rows of samples with what they say, and the conditions under which they were taken.
 *
 * `tern bench` fills it, baselines keep it, regressions and comparisons read it, and tern_results_write turns it into the formats
 * that other tools read. Statistics are computed from the samples when a row is added, and again when a file is read: what a file
 * says of its own medians is not believed.
 *
 * Ownership: a set owns all its text and samples; what tern_results_at gives is valid as long as the set.
 * Threading: a set belongs to one thread at a time; reading it from several at once is fine. */
#ifndef TERN_RESULTS_H
#define TERN_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_results tern_results;

/* One row. Text is never NULL in rows that are read; NULL counts as "" in those that are added. Measures that are
 * not known are NaN, or -1 for bytes and allocations. */
typedef struct tern_result {
    /* Which benchmark it is: rows that agree in all of these belong together (tern_result_same). */
    const char *suite; /* "ops", "graph" */
    const char *family, *name;
    const char *shape;  /* of the operands, "i8[1,2560] t2[6912,2560]" */
    const char *dtype;  /* of the first operand; of the cache, for models */
    const char *device; /* "cpu"; "" counts as it in rows that are added */
    int threads;        /* 0: those of another device than the CPU */
    /* How it was done. */
    int run; /* number of the session in which it was taken: a baseline has several */
    const char *op, *kernel, *isa;
    int copies;      /* how often it is done in a run, each time with data of its own */
    int64_t repeats; /* runs in one sample */
    /* Times of one run. With samples, the figures below them are computed from them. */
    int rounds;               /* samples; 0: `error` says why there are none */
    const double *samples_us; /* (rounds), in the order in which they were taken; NULL: not kept */
    /* (rounds), likewise, what all threads of the process computed; NULL: unknown */
    const double *cpu_samples_us;
    double median_us, mad_us, min_us; /* mad_us: NaN with one sample */
    double low_us, high_us;           /* 95 % interval of the median; NaN with fewer than 6 samples */
    /* samples farther than 3 scaled MADs from the median; where the MAD is 0, 3 scaled mean distances */
    int outliers;
    double gflops, gbytes_s;
    const char *limit_kind; /* "read_bw" or another of TERN_LIMIT_LIST in <tern/measure.h> */
    double limit_share, limit_mad;
    const char *limit; /* how the limit was reached */
    /* Besides time. */
    int64_t allocations; /* blocks that one run asks for, of the heap and of pools; counted */
    int64_t peak_bytes;  /* that one run has at most beyond its operands: arena, scratch, results; counted */
    /* root of the mean square of what differs from the reference, relative to its size */
    double accuracy_error;
    /* "", or one sentence: "unavailable: ..." if it cannot be had here, or has samples but no share of a limit; else it went wrong */
    const char *error;
} tern_result;

/* The formats: X(enumerator, number, name, what it is). */
#define TERN_RESULT_FORMAT_LIST(X)                                                                      \
    X(JSON, 0, "json", "rows with their samples, and the conditions; what tern reads back")             \
    X(ROWS, 1, "rows", "JSON, the rows alone: an array")                                                \
    X(CSV, 2, "csv", "a line for each row, without samples")                                            \
    X(GOOGLE, 3, "google-benchmark", "JSON of Google Benchmark: every sample, and aggregates")          \
    X(ACTION_SMALLER, 4, "github-action", "github-action-benchmark, customSmallerIsBetter: times")      \
    X(ACTION_BIGGER, 5, "github-action-bigger", "github-action-benchmark, customBiggerIsBetter: rates") \
    X(BENCHER, 6, "bencher", "Bencher Metric Format: latency in ns, rates, memory")

typedef enum tern_result_format {
#define TERN_RESULT_FORMAT_ENUM(id, number, name, what) TERN_RESULT_##id = number,
    TERN_RESULT_FORMAT_LIST(TERN_RESULT_FORMAT_ENUM)
#undef TERN_RESULT_FORMAT_ENUM
} tern_result_format;

#ifdef __cplusplus
extern "C" {
#endif

/* Nothing measured yet: texts "", times and rates NaN, allocations and peak_bytes -1, one copy, one repeat, the other counts 0. */
TERN_API tern_result tern_result_default(void);

/* Are they of one benchmark? By suite, family, name, shape, dtype, device and threads. */
TERN_API bool tern_result_same(const tern_result *a, const tern_result *b);

/* "google-benchmark"; "unknown" for numbers that are no formats. Static. */
TERN_API const char *tern_result_format_name(tern_result_format format);
/* TERN_NOT_FOUND, with the names, if there is none. */
TERN_API tern_status tern_result_format_parse(const char *name, tern_result_format *out);

TERN_API tern_status tern_results_create(tern_results **out);
TERN_API void tern_results_free(tern_results *results); /* NULL is fine */

/* Copies the row. With samples (at most 2^20) it computes the figures of times. TERN_INVALID_ARGUMENT: times that
 * nothing can have taken (they are from 1e-6 to 1e15 us), or other figures below 0 or above 1e15. */
TERN_API tern_status tern_results_add(tern_results *results, const tern_result *row);

TERN_API int tern_results_count(const tern_results *results); /* 0 for NULL */
/* TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_results_at(const tern_results *results, int i, tern_result *out);

/* Is a session of `later` (its rows of one `run`) also one of `earlier`, sample for sample? A measurement that counts twice makes noise
 * floors too low, and confirms itself. Sessions of fewer than six samples are not told apart: false. NULL holds none. */
TERN_API bool tern_results_repeat(const tern_results *earlier, const tern_results *later);

/* ---- conditions ---------------------------------------------------------------------------------------------- */

/* Records what can be known of the machine and of this moment: CPU model and flags, governor, frequency, load, temperature, power,
 * cgroup limits, versions, the commit of this library's sources ("build_commit") and that of the folder it runs in
 * ("folder_commit"), the time. What the system does not tell is "unavailable: " and why.
 * "host" is a fingerprint of what makes times comparable: CPU model, instruction sets, cores that may be used, caches. */
TERN_API tern_status tern_results_note_conditions(tern_results *results);

/* Replaces the value that there was. At most 64 names of 64 bytes and values of 8191. */
TERN_API tern_status tern_results_set_condition(tern_results *results, const char *name, const char *value);
/* The value; NULL: there is none of this name. Valid until it is replaced. */
TERN_API const char *tern_results_condition(const tern_results *results, const char *name);
/* The load before they were measured, if it was more than a quarter of the cores that could be used: figures may be too low. NaN: the
 * machine was quieter, or they do not say. */
TERN_API double tern_results_busy(const tern_results *results);
/* Condition i, in the order of their making. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_results_condition_at(const tern_results *results, int i, const char **name,
                                               const char **value);

/* ---- as text ------------------------------------------------------------------------------------------------- */

/* Free with tern_string_free. */
TERN_API tern_status tern_results_write(const tern_results *results, tern_result_format format, char **text);

/* Reads TERN_RESULT_JSON, and TERN_RESULT_ROWS (which have no conditions). Unknown members are passed over. At most 64 MiB, 65,536
 * rows. TERN_FORMAT says where it is malformed; TERN_UNAVAILABLE: a build without jansson. */
TERN_API tern_status tern_results_read(const char *text, size_t length, tern_results **out);
/* The same of a file; messages start with its path. */
TERN_API tern_status tern_results_load(const char *path, tern_results **out);

#ifdef __cplusplus
}
#endif
#endif
