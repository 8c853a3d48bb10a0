/* tuning.h - what is known about how long things take, by what they are: a table in memory, filled from a database that
 * outlives the process (tuning_store.c) when it is first asked. The compiler reads it through graph/target.h.
 *
 * Belongs to one context, and to its thread. */
#ifndef TERN_RUNTIME_TUNING_H
#define TERN_RUNTIME_TUNING_H

#include <tern/tune.h>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/strbuf.h"
#include "graph/target.h"

/* X(enumerator, name): how a time was measured. */
#define TERN__TUNED_LIST(X) X(TUNE, "tune") X(RUN, "run")

typedef enum tern__tuned_source {
#define TERN__TUNED_ENUM(id, name) TERN__TUNED_##id,
    TERN__TUNED_LIST(TERN__TUNED_ENUM)
#undef TERN__TUNED_ENUM
        TERN__TUNED_SOURCES
} tern__tuned_source;

enum { TERN__TUNED_SAMPLES = 16 };

/* What is known about one way to do one thing. */
typedef struct tern__tuned {
    struct tern__tuned *next; /* of the same thing */
    const char *candidate;
    tern__tuned_source source;
    uint64_t median_ns, min_ns;
    int runs;
    tern_status status;
    bool dirty;                            /* not in the database yet */
    uint64_t samples[TERN__TUNED_SAMPLES]; /* RUN: the newest, of this process */
    int n_samples;                         /* so many were added */
} tern__tuned;

/* One thing: an op with its shapes and parameters. */
typedef struct tern__tuned_key {
    struct tern__tuned_key *chain;
    uint64_t hash;
    const char *op, *shapes, *params;
    tern__tuned *ways;
} tern__tuned_key;

typedef struct tern__tuning {
    tern__timings timings; /* first: what the compiler sees */
    char *path;            /* of the database; NULL: nothing is kept */
    bool nobody_asked; /* `path` is where it would be by default: only tuning makes it, not ordinary runs */
    char trouble[256]; /* why it could not be written; "" if it could */
    bool loaded, dirty;
    uint32_t generation; /* counts how often everything was forgotten */
    int threads;
    char cpu[128]; /* model and highest level used: another one's times mean nothing here */
    tern__arena arena;
    tern__tuned_key **buckets;
    size_t n_buckets, n_keys;
    tern__strbuf text; /* of the key that is looked up: op, shapes and params, each ended by a NUL */
} tern__tuning;

/* `path` NULL or "": nothing is kept. No file is opened yet. */
tern_status tern__tuning_create(const char *path, int threads, tern__isa_cap cap, tern__tuning **out);
void tern__tuning_free(tern__tuning *tuning); /* writes what is new; NULL is fine */

/* The key of a call, or of texts; made if `add`. NULL: there is none, or no memory. */
tern__tuned_key *tern__tuning_key(tern__tuning *tuning, const tern__call *call, bool add);
tern__tuned_key *tern__tuning_key_text(tern__tuning *tuning, const char *op, const char *shapes,
                                       const char *params, bool add);

/* What is known about a candidate, or NULL. */
tern__tuned *tern__tuned_find(const tern__tuned_key *key, const char *candidate, tern__tuned_source source);
/* The same, made if need be. NULL: no memory. */
tern__tuned *tern__tuned_add(tern__tuning *tuning, tern__tuned_key *key, const char *candidate,
                             tern__tuned_source source);

/* The time to go by: that of runs if there are enough of them, else the tuner's. */
tern__timing tern__tuned_timing(const tern__tuned_key *key, const char *candidate);

/* Adds the time of a run to what is known. What is known from a few runs only is not written to the database. */
void tern__tuned_sample(tern__tuning *tuning, tern__tuned *tuned, uint64_t ns);

uint64_t tern__median(uint64_t *samples, int n); /* sorts them; n >= 1 */

/* ---- tuning_store.c: the database. All that can go wrong is a warning in the log ---- */

void tern__tuning_load(tern__tuning *tuning); /* once; later calls do nothing */
void tern__tuning_save(tern__tuning *tuning); /* what is dirty */

/* ---- tuning_report.c: rows for people ---- */

tern_status tern__tune_report_create(tern_tune_report **out);
/* Copies the row's texts. A row without `ops` gets those that its other texts tell. */
tern_status tern__tune_report_add(tern_tune_report *report, const tern_tune_row *row);
void tern__tune_report_count(tern_tune_report *report, uint64_t runs);

/* ---- race.c: measuring ---- */

enum { TERN__RACE_RUNS = 101 };

/* What was not asked for is the default; more runs than TERN__RACE_RUNS are not made. Only `runs` and `budget_ns` are settled. */
tern_tune_options tern__race_options(const tern_tune_options *asked);

/* One contestant. */
typedef struct tern__racer {
    uint64_t samples[TERN__RACE_RUNS];
    int n;
    uint64_t spent_ns;
    tern_status status;
} tern__racer;

/* Lets n ways take turns, so that a slow moment of the machine hits all alike; one that fails is out. *runs is added to. */
void tern__race(int n, tern__racer *racers, tern_tune_run run, void *user, const tern_tune_options *options,
                uint64_t *runs);

#endif
