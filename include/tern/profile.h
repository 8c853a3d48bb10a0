/* profile.h - where the time of some work went.
 *
 *     TERN_TRY(tern_profile_start(NULL));
 *     ... any work, on any threads ...
 *     tern_profile *profile;
 *     TERN_TRY(tern_profile_stop(&profile));
 *     tern_profile_row row;
 *     for (int i = 0; tern_profile_get_row(profile, TERN_PROFILE_OPS, i, &row) == TERN_OK; i++) ...
 *     tern_profile_free(profile);
 *
 * A profile is made of the events of <tern/trace.h> and of nothing else. It is immutable and may be read by several threads.
 * Times are of threads: two that work for a second have worked for two. An event inside another on the same thread is its
 * child; `self` is what is left of an event without its children, so that the self times of all rows and the time that
 * threads waited for each other are together the time of all events that are inside no other. */
#ifndef TERN_PROFILE_H
#define TERN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

typedef struct tern_profile tern_profile;

/* Zeroed fields are the defaults. */
typedef struct tern_profile_options {
    /* kept; the oldest go first, and are counted. 0 = 262144, about 24 MiB a thread */
    size_t events_per_thread;
    bool counters;     /* ask the processor's counters too */
    const char *title; /* for reports; copied, at most 255 bytes of it. NULL = none */
} tern_profile_options;

typedef struct tern_profile_info {
    uint64_t wall_ns;          /* from start to stop */
    uint64_t work_ns, wait_ns; /* of all threads: in events, without waits; waits at barriers */
    uint64_t events, lost;     /* kept, and overwritten or without memory: then all numbers are too small */
    int threads;               /* that recorded anything */
    int ops, steps, parts;     /* rows of each kind */
    int frames;                /* of the call tree */
    const char *title;         /* "" if none; lives as long as the profile */
    uint64_t compile_ns;       /* of all threads: inside compilations, with all that they do and wait for */
} tern_profile_info;

/* What a row adds up. X(enumerator, number, name, meaning). */
#define TERN_PROFILE_BY_LIST(X)                                        \
    X(OPS, 0, "op", "events of one name, of steps also of one kernel") \
    X(STEPS, 1, "step", "one step of one program")                     \
    X(PARTS, 2, "part", "steps that come from one part of a model (tern_origin_open)")

typedef enum tern_profile_by {
#define TERN_PROFILE_BY_ENUM(id, number, name, meaning) TERN_PROFILE_##id = number,
    TERN_PROFILE_BY_LIST(TERN_PROFILE_BY_ENUM)
#undef TERN_PROFILE_BY_ENUM
} tern_profile_by;

/* Strings live as long as the process. */
typedef struct tern_profile_row {
    const char *name;       /* "ternary_matmul", of fused steps "rmsnorm+quantise_rows"; of parts the part */
    const char *category;   /* "step", "run", "eval", "compile", "pass", "model", "work" */
    const char *kernel;     /* NULL: no step, or several kernels */
    const char *where;      /* "layer 3/attention"; NULL: nobody said, or several */
    uint32_t program, step; /* of a row of STEPS, else 0 and UINT32_MAX */
    int threads;            /* that it ran on */
    uint64_t count;         /* events: a step that two threads share has two each time */
    uint64_t total_ns, self_ns;
    uint64_t min_ns, max_ns, p50_ns, p90_ns, p99_ns; /* of the events, children included */
    double mean_ns;
    uint64_t wait_ns;      /* that threads waited for others to finish it, at barriers */
    uint64_t flops, bytes; /* estimates */
    bool int8;             /* the flops are operations on int8 */
    bool at_most;          /* flops and bytes are the most they can be, of some of its events at least */
} tern_profile_row;

/* One place of the call tree: all events with the same names around them, on one thread. Parents come before
 * their children; those without are threads. `total_ns` is never less than that of the children together. */
typedef struct tern_profile_frame {
    const char *name;
    const char *category; /* "thread", "part", or that of the events */
    int parent;           /* -1: none */
    int depth;            /* 0: a thread */
    int thread;
    uint64_t count, total_ns, self_ns;
} tern_profile_frame;

typedef struct tern_profile_thread {
    const char *
        name; /* "main"; "worker 1" runs steps beside it; "helper 1" reads weights or folds constants; "copies 1"; "thread 1" none
                       * of these. Lives as long as the profile */
    int spans;
    uint64_t work_ns, wait_ns;
} tern_profile_thread;

/* An event, or a part of a model around its steps (category "part"), in order of start. */
typedef struct tern_profile_span {
    const char *name, *category, *kernel, *where; /* as in rows */
    uint64_t start_ns;                            /* since tern_profile_start */
    uint64_t duration_ns;
    int depth; /* 0: inside no other */
    uint32_t program, step;
    uint64_t flops, bytes;
} tern_profile_span;

/* ---- Hot spots ------------------------------------------------------------------------------------------------ */

/* What this machine gives at most to so many threads together; 0: there is no probe for its instructions. */
typedef struct tern_profile_rates {
    int threads;
    double memory_bytes_per_s; /* read, far beyond the caches */
    double last_bytes_per_s;   /* read, from the last cache; 0 also where nobody knows how large it is */
    double cache_bytes_per_s;  /* read, from the private caches, each thread from its own */
    double f32_per_s;          /* operations, two for each multiply-add */
    double int8_per_s;         /* operations on int8, two for each product that is added up */
} tern_profile_rates;

/* The bytes of a step come from the smallest cache that holds all that its program moves in a run. */
typedef struct tern_profile_limits {
    tern_profile_rates one,
        all; /* of one thread, and of as many as were asked for, at most those that can run at once */
} tern_profile_limits;

/* X(enumerator, number, name, meaning). */
#define TERN_BOTTLENECK_LIST(X)                                                           \
    X(UNKNOWN, 0, "unknown",                                                              \
      "nothing tells: no limits were measured, or estimates of its work are too high")    \
    X(MEMORY, 1, "memory-bound", "moving its bytes takes most of its time")               \
    X(COMPUTE, 2, "compute-bound", "its arithmetic takes most of its time")               \
    X(OVERHEAD, 3, "overhead",                                                            \
      "neither does: calls, instructions around the work, or work of the program itself") \
    X(IMBALANCE, 4, "imbalance", "threads wait for each other")

typedef enum tern_bottleneck {
#define TERN_BOTTLENECK_ENUM(id, number, name, meaning) TERN_BOTTLENECK_##id = number,
    TERN_BOTTLENECK_LIST(TERN_BOTTLENECK_ENUM)
#undef TERN_BOTTLENECK_ENUM
} tern_bottleneck;

typedef struct tern_hot_spot {
    tern_profile_row row;
    double share; /* of the time of all rows */
    /* 1: as fast as the machine can be; NaN: nobody can say (it is no step, estimates are too high) */
    double limit_share;
    uint64_t saving_ns; /* of its own time, what goes beyond the limit */
    tern_bottleneck bottleneck;
    char evidence[240]; /* a sentence with numbers */
} tern_hot_spot;

/* What the processor counted between start and stop, in this thread and those that it made since. */
typedef struct tern_profile_counter {
    const char *name; /* "instructions"; static */
    double value;
    /* the share of the time that it counted: less than 1 if counters were shared, and scaled up */
    double running;
    const char *unavailable; /* NULL, or why there is no value; lives as long as the profile */
} tern_profile_counter;

/* ---- Formats -------------------------------------------------------------------------------------------------- */

/* X(enumerator, number, name, meaning). */
#define TERN_PROFILE_FORMAT_LIST(X)                                                          \
    X(COLLAPSED, 0, "collapsed", "stacks on lines, with microseconds: flamegraph.pl")        \
    X(SPEEDSCOPE, 1, "speedscope", "JSON for www.speedscope.app, a timeline of each thread") \
    X(CHROME, 2, "chrome", "JSON for Perfetto and chrome://tracing, a track of each thread") \
    X(SVG, 3, "svg", "a flame graph in one file, to be searched and zoomed")                 \
    X(JSON, 4, "json", "all of it as one object: what tern_report_add_document reads")

typedef enum tern_profile_format {
#define TERN_PROFILE_FORMAT_ENUM(id, number, name, meaning) TERN_PROFILE_FORMAT_##id = number,
    TERN_PROFILE_FORMAT_LIST(TERN_PROFILE_FORMAT_ENUM)
#undef TERN_PROFILE_FORMAT_ENUM
} tern_profile_format;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_profile_options tern_profile_options_default(void);

/* Starts to record in the whole process. TERN_STATE if that is on already (by tern_trace_start too). */
TERN_API tern_status tern_profile_start(const tern_profile_options *options);

/* Stops, and makes the profile, which the caller frees. No tern call may be running on other threads. Recording has ended also
 * if this fails, unless it was not on (TERN_STATE) or `out` is NULL (TERN_INVALID_ARGUMENT: it goes on). */
TERN_API tern_status tern_profile_stop(tern_profile **out);
TERN_API void tern_profile_free(tern_profile *profile); /* NULL is fine */

/* "op", "step" and "part"; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_profile_by_parse(const char *name, tern_profile_by *out);

TERN_API void tern_profile_get_info(const tern_profile *profile, tern_profile_info *out);

/* Each: TERN_OUT_OF_RANGE past the last. Rows come in order of self time, the longest first. */
TERN_API tern_status tern_profile_get_row(const tern_profile *profile, tern_profile_by by, int i,
                                          tern_profile_row *out);
TERN_API tern_status tern_profile_get_frame(const tern_profile *profile, int i, tern_profile_frame *out);
TERN_API tern_status tern_profile_get_thread(const tern_profile *profile, int i, tern_profile_thread *out);
TERN_API tern_status tern_profile_get_span(const tern_profile *profile, int thread, int i,
                                           tern_profile_span *out);
/* None, unless the options asked for them. */
TERN_API tern_status tern_profile_get_counter(const tern_profile *profile, int i, tern_profile_counter *out);

/* Measures what a hot spot is compared with, in about half a second: soon after the profile, so that the machine is in the
 * same mood. `threads` 0: as many as may be used. */
TERN_API tern_status tern_profile_measure_limits(int threads, tern_profile_limits *out);

/* Row i, and what keeps it from being faster. `limits` NULL: shares and waits only. */
TERN_API tern_status tern_profile_get_hot_spot(const tern_profile *profile, tern_profile_by by, int i,
                                               const tern_profile_limits *limits, tern_hot_spot *out);
/* "memory-bound"; "unknown" for numbers that are none. Static. */
TERN_API const char *tern_bottleneck_name(tern_bottleneck bottleneck);

/* "speedscope", "svg" and so on; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_profile_format_parse(const char *name, tern_profile_format *out);
/* The whole text; free with tern_string_free. `limits` (may be NULL) is what hot spots are compared with, in JSON: the other formats
 * have no place for them. */
TERN_API tern_status tern_profile_export(const tern_profile *profile, tern_profile_format format,
                                         const tern_profile_limits *limits, char **out);

#ifdef __cplusplus
}
#endif
#endif
