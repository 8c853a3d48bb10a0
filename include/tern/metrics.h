/* metrics.h - numbers of a running program for those who watch it: counters, gauges, histograms of times, and how rates went over time.
 *
 *     tern_metrics *metrics;
 *     tern_metrics_span *span;
 *     TERN_TRY(tern_metrics_create(NULL, &metrics));
 *     tern_operation what = {.name = "run", .batch = 1, .sequence = 4096, .threads = 2, .ctx = ctx};
 *     TERN_TRY(tern_metrics_start(metrics, &what, &span));
 *     ... work with ctx; now and then tern_metrics_observe(span) ...
 *     TERN_TRY(tern_metrics_stop(span, TERN_OK));
 *     char *text;
 *     TERN_TRY(tern_metrics_write(metrics, TERN_METRICS_PROMETHEUS, &text));
 *
 * Everything is counted or timed, nothing is estimated. The counters of a context, its pool and a cache are read when a span starts,
 * is observed and stops; what was added in between belongs to the span's operation. What nobody told is not there: a program without a
 * tensor cache has no hit rate of one, and not 0.
 *
 * Operations that agree in name, batch, sequence, parameters, precision, level and threads are added up as one. Give sizes that stay
 * the same from call to call (a session's context, not the length of each prompt), or there will be one for each call. When there are
 * as many as the options allow, all others are added up as one that is called "other".
 *
 * Threading: a collector may be used by any number of threads at once, and written while others record. A span's counters may be
 * recorded by any thread; tern_metrics_start, _observe and _stop read the context and belong to its thread. Only one span at a time
 * should watch a context or a cache, or what they count is counted twice: a server has one span that watches, and one without a context
 * for each request.
 * Costs: a call takes one lock, and no memory but for the first of its kind; docs/metrics.md has them in nanoseconds. */
#ifndef TERN_METRICS_H
#define TERN_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/cache.h>
#include <tern/context.h>
#include <tern/export.h>
#include <tern/pass.h>
#include <tern/program.h>
#include <tern/status.h>
#include <tern/trace.h>

typedef struct tern_metrics tern_metrics;
typedef struct tern_metrics_span tern_metrics_span;

/* X(enumerator, number, name, meaning). */
#define TERN_METRIC_KIND_LIST(X)                                           \
    X(COUNTER, 0, "counter", "a sum that only grows")                      \
    X(GAUGE, 1, "gauge", "what it was when last looked at")                \
    X(PEAK, 2, "peak", "the most that it ever was")                        \
    X(HISTOGRAM, 3, "histogram", "how many were up to so long, for times") \
    X(SERIES, 4, "series", "a share of 1, and how it went over time")

typedef enum tern_metric_kind {
#define TERN_METRIC_KIND_ENUM(id, number, name, meaning) TERN_METRIC_##id = number,
    TERN_METRIC_KIND_LIST(TERN_METRIC_KIND_ENUM)
#undef TERN_METRIC_KIND_ENUM
} tern_metric_kind;

/* The metrics: X(enumerator, number, name, kind, unit, where it comes from, help). A new one is a line here.
 *
 * Units are NONE, SECONDS, BYTES or RATIO. They come from the caller (tern_metrics_record), the span itself, a field of tern_ctx_stats,
 * tern_pool_stats or tern_cache_stats, a plan (tern_metrics_take_program), trace events of a category (tern_metrics_take_event), or are
 * the SHARE of one counter of the sum of two. */
/* clang-format off */
#define TERN_METRIC_LIST(X) \
    X(OPERATIONS,         0, "operations",               COUNTER,   NONE,    SPAN,                                "operations that ended") \
    X(FAILURES,           1, "operation_failures",       COUNTER,   NONE,    SPAN,                                "operations that ended with an error") \
    X(RUNNING,            2, "operations_running",       GAUGE,     NONE,    SPAN,                                "operations that have started and not ended") \
    X(OPERATION_TIME,     3, "operation_duration",       HISTOGRAM, SECONDS, SPAN,                                "from start to end of an operation") \
    X(PROMPT_TOKENS,      4, "prompt_tokens",            COUNTER,   NONE,    CALLER,                              "tokens of prompts that were computed") \
    X(GENERATED_TOKENS,   5, "generated_tokens",         COUNTER,   NONE,    CALLER,                              "tokens that were generated") \
    X(FIRST_TOKEN_TIME,   6, "first_token",              HISTOGRAM, SECONDS, CALLER,                              "from the start of a prompt to the first token") \
    X(TOKEN_TIME,         7, "token",                    HISTOGRAM, SECONDS, CALLER,                              "from one generated token to the next") \
    X(EVALUATIONS,        8, "plan_runs",                COUNTER,   NONE,    CTX(evaluations),                    "plans run") \
    X(STEPS,              9, "plan_steps_run",           COUNTER,   NONE,    CTX(steps),                          "steps of plans run") \
    X(FUSED_OPS,         10, "fused_ops",                COUNTER,   NONE,    CTX(fused_ops),                      "operations run in one step with others") \
    X(SINGLE_OPS,        11, "single_ops",               COUNTER,   NONE,    CTX(single_ops),                     "operations run in a step of their own") \
    X(FUSION_RATE,       12, "fusion",                   SERIES,    RATIO,   SHARE(FUSED_OPS, SINGLE_OPS),        "operations run in one step with others, of all") \
    X(PROGRAM_HITS,      13, "program_cache_hits",       COUNTER,   NONE,    CTX(cache_hits),                     "compiled graphs found in the cache") \
    X(PROGRAM_MISSES,    14, "program_cache_misses",     COUNTER,   NONE,    CTX(cache_misses),                   "graphs that had to be compiled") \
    X(PROGRAM_EVICTIONS, 15, "program_cache_evictions",  COUNTER,   NONE,    CTX(cache_evictions),                "compiled graphs dropped") \
    X(PROGRAM_ENTRIES,   16, "program_cache_entries",    GAUGE,     NONE,    CTX(cache_entries),                  "compiled graphs kept") \
    X(PROGRAM_HIT_RATE,  17, "program_cache_hit",        SERIES,    RATIO,   SHARE(PROGRAM_HITS, PROGRAM_MISSES), "graphs found in the cache, of those looked for") \
    X(NODES,             18, "live_nodes",               GAUGE,     NONE,    CTX(nodes_live),                     "recorded operations and leaves that exist") \
    X(ARENA_PEAK,        19, "arena_peak",               PEAK,      BYTES,   CTX(arena_peak_bytes),               "largest arena that a plan has used") \
    X(POOL_HITS,         20, "pool_hits",                COUNTER,   NONE,    POOL(hits),                          "blocks served from memory that the pool held") \
    X(POOL_MISSES,       21, "pool_misses",              COUNTER,   NONE,    POOL(misses),                        "blocks that needed new pages from the system") \
    X(POOL_HIT_RATE,     22, "pool_hit",                 SERIES,    RATIO,   SHARE(POOL_HITS, POOL_MISSES),       "blocks served from memory that the pool held, of all") \
    X(POOL_BYTES,        23, "pool_used",                GAUGE,     BYTES,   POOL(current_bytes),                 "blocks of the pool in use") \
    X(POOL_PEAK,         24, "pool_peak",                PEAK,      BYTES,   POOL(peak_bytes),                    "most that blocks of the pool in use ever were") \
    X(CACHE_HITS,        25, "tensor_cache_hits",        COUNTER,   NONE,    CACHE(hits),                         "tensors found in the cache") \
    X(CACHE_MISSES,      26, "tensor_cache_misses",      COUNTER,   NONE,    CACHE(misses),                       "tensors not found in the cache") \
    X(CACHE_EVICTED,     27, "tensor_cache_evictions",   COUNTER,   NONE,    CACHE(evicted),                      "tensors dropped to make room") \
    X(CACHE_EXPIRED,     28, "tensor_cache_expirations", COUNTER,   NONE,    CACHE(expired),                      "tensors dropped because of their age") \
    X(CACHE_ENTRIES,     29, "tensor_cache_entries",     GAUGE,     NONE,    CACHE(entries),                      "tensors in the cache") \
    X(CACHE_BYTES,       30, "tensor_cache_used",        GAUGE,     BYTES,   CACHE(bytes),                        "size of the tensors in the cache") \
    X(CACHE_HIT_RATE,    31, "tensor_cache_hit",         SERIES,    RATIO,   SHARE(CACHE_HITS, CACHE_MISSES),     "tensors found in the cache, of those looked for") \
    X(PLANS,             32, "plans",                    COUNTER,   NONE,    PLAN(plans),                         "plans that the operation was compiled into") \
    X(PLAN_STEPS,        33, "plan_steps",               PEAK,      NONE,    PLAN(steps),                         "steps of the longest plan") \
    X(PLAN_ARENA,        34, "plan_arena",               PEAK,      BYTES,   PLAN(arena_bytes),                   "largest arena that a plan asks for") \
    X(PLAN_COMPILE,      35, "plan_compile",             COUNTER,   SECONDS, PLAN(compile_ns),                    "time that compiling the plans took") \
    X(RUN_TIME,          36, "run",                      HISTOGRAM, SECONDS, EVENT("run"),                        "one thread's part in a run of a plan") \
    X(STEP_TIME,         37, "step",                     HISTOGRAM, SECONDS, EVENT("step"),                       "one thread's part in a step of a plan") \
    X(WAIT_TIME,         38, "wait",                     HISTOGRAM, SECONDS, EVENT("wait"),                       "waits of a thread for others at a step's end") \
    X(EVAL_TIME,         39, "eval",                     HISTOGRAM, SECONDS, EVENT("eval"),                       "evaluations of lazy tensors, compiling included") \
    X(COMPILE_TIME,      40, "compile",                  HISTOGRAM, SECONDS, EVENT("compile"),                    "compiling a graph") \
    X(PASS_TIME,         41, "pass",                     HISTOGRAM, SECONDS, EVENT("pass"),                       "one pass over a graph") \
    X(LOST_EVENTS,       42, "lost_events",              COUNTER,   NONE,    CALLER,                              "trace events that were overwritten before they were read") \
    X(DEVICE_STEPS,      43, "device_steps",             COUNTER,   NONE,    CTX(device_steps),                   "steps run by another device than the CPU") \
    X(FALLBACK_STEPS,    44, "fallback_steps",           COUNTER,   NONE,    CTX(fallback_steps),                 "steps run by the CPU because the device that was to run them could not") \
    X(PREDICTED_TIME,    45, "placed_predicted",         COUNTER,   SECONDS, CTX(predicted_ns),                   "time that was predicted for partitions placed by device auto") \
    X(MEASURED_TIME,     46, "placed_measured",          COUNTER,   SECONDS, CTX(measured_ns),                    "time that those partitions took") \
    X(CHECKED_STEPS,     47, "checked_steps",            COUNTER,   NONE,    CTX(checked_steps),                  "steps of another device that the CPU computed as well, and compared") \
    X(CHECK_FAILURES,    48, "check_failures",           COUNTER,   NONE,    CTX(check_failures),                 "of those: steps whose results were wrong") \
    X(DEVICE_FAILURES,   49, "device_failures",          COUNTER,   NONE,    CTX(device_failures),                "calls of another device than the CPU that failed for its own reasons") \
    X(DEVICE_RETRIES,    50, "device_retries",           COUNTER,   NONE,    CTX(device_retries),                 "of those: calls that were tried again") \
    X(DEVICE_MOVES,      51, "device_moves",             COUNTER,   NONE,    CTX(device_moves),                   "programs that the CPU took over from a device that failed")
/* clang-format on */

typedef enum tern_metric {
#define TERN_METRIC_ENUM(id, number, name, kind, unit, source, help) TERN_METRIC_##id = number,
    TERN_METRIC_LIST(TERN_METRIC_ENUM)
#undef TERN_METRIC_ENUM
} tern_metric;

/* Strings are static. */
typedef struct tern_metric_info {
    const char *name; /* in all formats: "tern_pool_hits_total", "tern_step_seconds" */
    tern_metric_kind kind;
    const char *unit; /* "seconds", "bytes", "ratio"; "" for numbers of things */
    const char *help;
} tern_metric_info;

/* What is being done, and what is watched meanwhile. Zeroed fields are the defaults. */
typedef struct tern_operation {
    const char *name;    /* "run", "POST /completion"; at most 127 bytes of UTF-8, cut if longer; NULL = "" */
    int64_t batch;       /* rows or sequences at once; 0: not said */
    int64_t sequence;    /* positions of each; 0: not said */
    uint64_t parameters; /* of the model; 0: not said */
    tern_precision precision; /* of intermediates */
    tern_level level;
    int threads;       /* 0: not said */
    tern_ctx *ctx;     /* watched, with its pool, until the span stops; or NULL */
    tern_cache *cache; /* likewise */
} tern_operation;

/* Zeroed fields are the defaults. */
typedef struct tern_metrics_options {
    int operations; /* most that are told apart; 0 = 64, at most 65536 */
    int points;     /* most of a series, an even number from 2 to 65536; when there are as many, neighbours
                           become one; 0 = 512 */
    uint64_t period_ns; /* from one point to the next at least; 0 = 100 ms */
} tern_metrics_options;

/* What is known of one metric of one operation. */
typedef struct tern_metric_value {
    double value;    /* of a series: the share of all that was counted; of a histogram: the sum */
    uint64_t count;  /* of a histogram: how many; of a series: points; else 0 */
    double min, max; /* of a histogram, else NaN */
} tern_metric_value;

/* A part of a series: what was counted from the point before it until then. */
typedef struct tern_metric_point {
    double seconds; /* since the collector was made */
    double value;   /* part / whole */
    double part, whole;
} tern_metric_point;

/* X(enumerator, number, name, what it is). */
#define TERN_METRICS_FORMAT_LIST(X)                                                \
    X(JSON, 0, "json", "an object for each operation, with series and histograms") \
    X(CSV, 1, "csv", "a line for each number")                                     \
    X(PROMETHEUS, 2, "prometheus", "text for Prometheus to scrape, version 0.0.4 of its exposition")

typedef enum tern_metrics_format {
#define TERN_METRICS_FORMAT_ENUM(id, number, name, what) TERN_METRICS_##id = number,
    TERN_METRICS_FORMAT_LIST(TERN_METRICS_FORMAT_ENUM)
#undef TERN_METRICS_FORMAT_ENUM
} tern_metrics_format;

#ifdef __cplusplus
extern "C" {
#endif

/* Metric i of the table. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_metric_at(int i, tern_metric_info *out);
/* "counter"; "unknown" for numbers that are no kinds. Static. */
TERN_API const char *tern_metric_kind_name(tern_metric_kind kind);

TERN_API tern_metrics_options tern_metrics_options_default(void);

/* `options` NULL = defaults. */
TERN_API tern_status tern_metrics_create(const tern_metrics_options *options, tern_metrics **out);
TERN_API void tern_metrics_free(tern_metrics *metrics); /* NULL is fine; its spans must have stopped */

/* Begins an operation: reads the counters of what is watched. */
TERN_API tern_status tern_metrics_start(tern_metrics *metrics, const tern_operation *operation,
                                        tern_metrics_span **out);
/* Adds what was counted since it started or was observed last; a point of each series, if it is time for one. */
TERN_API tern_status tern_metrics_observe(tern_metrics_span *span);
/* The same, with a last point; then the operation has ended, as `status` says, and the span is gone, whatever is returned. */
TERN_API tern_status tern_metrics_stop(tern_metrics_span *span, tern_status status);

/* Adds to a counter, sets a gauge, counts in a histogram. For metrics that come from the CALLER; TERN_INVALID_ARGUMENT for others, and
 * for values that are not finite or below zero. */
TERN_API tern_status tern_metrics_record(tern_metrics_span *span, tern_metric metric, double value);
/* Tells a plan that the operation was compiled into. */
TERN_API tern_status tern_metrics_take_program(tern_metrics_span *span, const tern_program *program);
/* Counts a trace event; events of categories that no metric comes from are passed over. Fits tern_trace_stop, which also tells how many
 * were lost: tern_metrics_record(span, TERN_METRIC_LOST_EVENTS, ...). */
TERN_API void tern_metrics_take_event(void *span, const tern_trace_event *event);

/* Operation i, in the order in which they first started, without what is watched; `name` is valid as long as the collector.
 * TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_metrics_operation(tern_metrics *metrics, int i, tern_operation *out);
/* TERN_NOT_FOUND: nobody told it. */
TERN_API tern_status tern_metrics_value(tern_metrics *metrics, int i, tern_metric metric,
                                        tern_metric_value *out);
/* Point k of a series. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_metrics_point(tern_metrics *metrics, int i, tern_metric metric, int k,
                                        tern_metric_point *out);

/* "json", "csv" and "prometheus"; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_metrics_format_parse(const char *name, tern_metrics_format *out);
/* The whole text, with a line end; free with tern_string_free. */
TERN_API tern_status tern_metrics_write(tern_metrics *metrics, tern_metrics_format format, char **out);

#ifdef __cplusplus
}
#endif
#endif
