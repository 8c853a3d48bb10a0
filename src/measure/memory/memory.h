/* memory.h - what the memory tracker keeps: a log of events while it is on (memory_record.c), and what is made of it at the end.
 *
 *   memory.c          start and stop, telling
 *   memory_record.c   the watcher: writes the log, without a lock and without memory of its own
 *   memory_replay.c   walks the log: sums, peaks, the timeline, lives of blocks, leaks
 *   memory_rows.c     adds the lives up by op, site, tensor, part and path
 *   memory_advice.c   what could be saved
 *   memory_system.c   what the system says
 *   memory_json.c     all of it as JSON
 *   memory_timeline.c memory over time as a picture
 *   memory_export.c   the table of formats, flame graphs */
#ifndef TERN_MEASURE_MEMORY_H
#define TERN_MEASURE_MEMORY_H

#include <stdatomic.h>

#include <tern/memory.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "base/watch.h"

enum { TERN__MEMORY_KINDS = TERN__WATCH_BLOCK + 1, TERN__MEMORY_POOLS = 32, TERN__MEMORY_RSS = 4096 };

typedef enum tern__memory_action {
    TERN__MEMORY_MADE,
    TERN__MEMORY_FREED,
    TERN__MEMORY_USED,
    TERN__MEMORY_COPIED, /* address: the direction */
    TERN__MEMORY_RUN,    /* bytes: the program; begins */
    TERN__MEMORY_RAN,    /* ... and ends */
} tern__memory_action;

typedef struct tern__memory_event {
    uint64_t ns; /* since the start */
    uint64_t address, bytes;
    const tern__call_site *site;
    uint32_t frame;
    uint16_t thread;
    uint8_t action, kind;
} tern__memory_event;

/* Frame 0 is the work that nobody named. */
typedef struct tern__memory_frame {
    tern__watch_frame what;
    uint32_t parent;
} tern__memory_frame;

typedef struct tern__memory_plan {
    tern__watch_plan told; /* steps: in the log */
    uint64_t runs;
} tern__memory_plan;

typedef struct tern__memory_pool {
    _Atomic(const void *) pool; /* NULL: gone */
    uint64_t gets, sampled_ns;
    tern_memory_pool told;
} tern__memory_pool;

typedef struct tern__memory_rss {
    uint64_t ns, bytes;
} tern__memory_rss;

/* Lies in pages of its own, of which only those are touched that are needed. Arrays are filled from their start. */
typedef struct tern__memory_log {
    uint64_t start_ns;
    tern_memory_bytes start;
    tern_pressure_reading pressure;
    char title[256];
    size_t mapped_bytes;
    _Atomic(uint64_t) made[TERN__MEMORY_KINDS], made_bytes[TERN__MEMORY_KINDS];
    _Atomic(uint64_t) freed[TERN__MEMORY_KINDS], freed_bytes[TERN__MEMORY_KINDS];
    _Atomic(uint32_t) threads;
    tern__memory_event *events;
    size_t cap_events;
    _Atomic(uint64_t) n_events; /* may go beyond the capacity: those are lost */
    tern__memory_frame *frames;
    uint32_t *slots; /* hash table of frames, 0: empty */
    uint32_t n_frames;
    tern__memory_plan *plans;
    uint32_t n_plans;
    tern__watch_step *steps; /* of all plans */
    size_t n_steps;
    tern__memory_pool pools[TERN__MEMORY_POOLS];
    _Atomic(int) n_pools;
    int statm; /* /proc/self/statm, or -1 */
    uint64_t rss_every_ns;
    _Atomic(uint64_t) rss_next_ns;
    size_t n_rss;
    tern__memory_rss rss[TERN__MEMORY_RSS];
} tern__memory_log;

/* A block from its allocation to its end. Indices are of events; SIZE_MAX: never. */
typedef struct tern__memory_life {
    size_t made, freed;
    size_t used; /* the last time: the end of the run that used it, or when it was read */
} tern__memory_life;

typedef struct tern__memory_peak_at {
    size_t event; /* SIZE_MAX: none */
    uint32_t run; /* the program that ran on its thread, or 0 */
} tern__memory_peak_at;

typedef struct tern__memory_rows {
    tern_memory_row *rows;
    uint64_t *live; /* while they are added up */
    size_t n, cap, cap_live;
} tern__memory_rows;

enum { TERN__MEMORY_BY_COUNT = TERN_MEMORY_PARTS + 1, TERN__MEMORY_SUMS = TERN_MEMORY_HELD + 1 };

struct tern_memory {
    tern_memory_info info;
    char title[256];
    tern_memory_system system;
    tern_pressure_reading pressure;
    tern_memory_peak peaks[TERN__MEMORY_SUMS];
    bool has_peak;
    int most_runs; /* at the same time */
    tern__memory_rows by[TERN__MEMORY_BY_COUNT];
    tern_memory_frame *frames; /* each array is a block of its own */
    tern_memory_point *points;
    tern_memory_leak *leaks;
    tern_memory_copy *copies;
    tern_memory_pool *pools;
    tern_memory_plan *plans;
    tern_memory_advice *advice;
};

/* What the files of the making share. */
typedef struct tern__memory_story {
    const tern__memory_log *log;
    size_t n_events; /* kept */
    tern__memory_life *lives;
    size_t n_lives;
    tern__memory_peak_at peaks[TERN__MEMORY_SUMS];
    tern_memory *memory;
} tern__memory_story;

/* memory_record.c */
tern_status tern__memory_log_create(const tern_memory_options *options, tern__memory_log **out);
void tern__memory_log_free(tern__memory_log *log);
void tern__memory_record(tern__memory_log *log); /* begins; one at a time */
tern__memory_log *tern__memory_record_end(void); /* all who were writing are done; NULL: nobody recorded */
bool tern__memory_log_now(tern_memory_bytes *out);
tern_memory_bytes tern__memory_log_sum(const tern__memory_log *log);

/* memory_replay.c */
tern_status tern__memory_replay(tern__memory_story *story);
/* "run.c:36 carry_out" */
const char *tern__memory_site_text(const tern__call_site *site);
/* "heap", "pages", "region", "tensor" */
const char *tern__memory_kind_name(int kind);
/* What becomes of "in use" and "held" with an event. */
void tern__memory_apply(const tern__memory_event *e, tern_memory_bytes *bytes);
uint64_t tern__memory_sum_of(const tern_memory_bytes *bytes, tern_memory_sum sum);

/* memory_rows.c, memory_advice.c, memory_system.c, memory_export.c */
tern_status tern__memory_make_rows(tern__memory_story *story);
tern_status tern__memory_make_tree(tern__memory_story *story);
tern_status tern__memory_make_advice(tern__memory_story *story);
void tern__memory_system_read(tern_memory_system *out);
/* Bytes of the process in physical memory by a file like /proc/self/statm that is open; 0: it says nothing. */
uint64_t tern__memory_statm_rss(int file);

static inline bool tern__life_spans(const tern__memory_life *life, size_t event)
{
    return life->made <= event && life->freed > event;
}

#endif
