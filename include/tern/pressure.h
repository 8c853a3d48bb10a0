/* pressure.h - is memory running short, and what to do then.
 *
 *     TERN_TRY(tern_pressure_watch_start(NULL));      a thread looks every second, and trims pools and caches
 *     ...
 *     tern_pressure_watch_stop();
 *
 * Programs with a loop of their own call tern_pressure_read in it, and tern_pressure_relieve if they agree. */
#ifndef TERN_PRESSURE_H
#define TERN_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

/* X(enumerator, number, name, meaning). */
#define TERN_PRESSURE_LIST(X)                                               \
    X(NONE, 0, "none", "there is enough")                                   \
    X(MODERATE, 1, "moderate", "what is kept for later should become less") \
    X(CRITICAL, 2, "critical", "give back all that can be: the next step is worse")

typedef enum tern_pressure {
#define TERN_PRESSURE_ENUM(id, number, name, meaning) TERN_PRESSURE_##id = number,
    TERN_PRESSURE_LIST(TERN_PRESSURE_ENUM)
#undef TERN_PRESSURE_ENUM
} tern_pressure;

/* Who says so. X(enumerator, number, name, moderate, critical). */
#define TERN_PRESSURE_SOURCE_LIST(X)                                                                 \
    X(CGROUP, 0, "cgroup", "the working set is 80 % of the limit of a control group", "95 %")        \
    X(EVENTS, 1, "cgroup events", "its limit was run into since the last reading",                   \
      "a process was killed for it")                                                                 \
    X(STALL, 2, "stall", "of the last 10 s, some task waited for memory 10 %", "all tasks did 10 %") \
    X(AVAILABLE, 3, "available", "less than 10 % of the machine's memory is available", "less than 3 %")

typedef enum tern_pressure_source {
#define TERN_PRESSURE_SOURCE_ENUM(id, number, name, moderate, critical) TERN_PRESSURE_SOURCE_##id = number,
    TERN_PRESSURE_SOURCE_LIST(TERN_PRESSURE_SOURCE_ENUM)
#undef TERN_PRESSURE_SOURCE_ENUM
        TERN_PRESSURE_SOURCES
} tern_pressure_source;

typedef struct tern_pressure_signal {
    bool available;
    tern_pressure level; /* none, if it is not available */
    char text[200];      /* "working set 812 MiB of 1.00 GiB (79 %)", or why it is not available */
} tern_pressure_signal;

typedef struct tern_pressure_reading {
    tern_pressure level; /* the highest of the signals */
    bool known;          /* any signal is available */
    tern_pressure_signal signals[TERN_PRESSURE_SOURCES];
    /* that this process can still have: what is left of the machine's memory, or of a control group's limit; UINT64_MAX: nobody says */
    uint64_t available_bytes;
    uint64_t limit_hits, kills; /* of the control group, ever: what the next reading compares with */
} tern_pressure_reading;

/* Called on the watcher's thread when the level has changed, and with every reading while it is critical. It may call tern, but not
 * start or stop the watch. */
typedef void (*tern_pressure_call)(void *user, const tern_pressure_reading *reading);

/* Zeroed fields are the defaults. */
typedef struct tern_pressure_options {
    const char *root;        /* folder that has `proc` and `sys`; NULL = "/". Copied */
    uint64_t every_ns;       /* between readings; 0 = a second */
    tern_pressure_call call; /* NULL = tern_pressure_relieve with the level */
    void *user;
} tern_pressure_options;

#ifdef __cplusplus
extern "C" {
#endif

/* "moderate"; "cgroup events"; "unknown" for numbers that are none. Static. */
TERN_API const char *tern_pressure_name(tern_pressure level);
TERN_API const char *tern_pressure_source_name(tern_pressure_source source);

/* Looks at control groups (v2 and v1), /proc/pressure/memory and /proc/meminfo under `root` (NULL: "/"). What the system does not
 * have, or what is in it cannot be understood, is a signal that is not available, with the reason. `previous` (or NULL) is an earlier
 * reading: events since then count. Any thread. */
TERN_API tern_status tern_pressure_read(const char *root, const tern_pressure_reading *previous,
                                        tern_pressure_reading *out);

/* Has all pools give back free memory (moderate: half of it, critical: all) and all tensor caches entries (the least recently used
 * half, or all). Returns the bytes given back; `asked`, if not NULL, receives how many pools and caches there are. What is in use
 * stays, and so do programs that contexts keep: tern_ctx_trim, on their threads. Other devices than the CPU give back what they keep
 * when their context runs something next. Any thread. */
TERN_API size_t tern_pressure_relieve(tern_pressure level, int *asked);

TERN_API tern_pressure_options tern_pressure_options_default(void);

/* A thread that looks again and again. TERN_STATE if there is one already. */
TERN_API tern_status tern_pressure_watch_start(const tern_pressure_options *options);
/* Waits for its end. Nothing happens if there is none. */
TERN_API void tern_pressure_watch_stop(void);

#ifdef __cplusplus
}
#endif
#endif
