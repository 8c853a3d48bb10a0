/* report.h - the inside of a report: what its documents say, the one table of sections, and the words that they share. */
#ifndef TERN_MEASURE_REPORT_REPORT_H
#define TERN_MEASURE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/compare_devices.h>
#include <tern/profile.h>
#include <tern/report.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum { TERN__REPORT_SOURCES = 16, TERN__REPORT_NOTES = 16, TERN__REPORT_NOTE = 1000 };

/* A document as it was given, in the report's arena. */
typedef struct tern__report_source {
    const char *name;
    const char *kind; /* "results", "profile", "memory", "devices", "baseline" */
    const char *json;
    size_t length;
    int first_row; /* of results: where its rows begin among those of the report */
} tern__report_source;

/* A hot spot as `tern profile --json` tells it. */
typedef struct tern__spot {
    const char *name, *category, *kernel, *where, *bottleneck, *evidence;
    int threads;
    double count, self_ns, flops, bytes, share, limit_share, saving_ns; /* NaN: unknown */
    bool int8, at_most;
} tern__spot;

typedef struct tern__rates {
    int threads;
    double memory, last, cache, f32, int8; /* per second; NaN: unknown */
} tern__rates;

typedef struct tern__profile_document {
    const char *title;      /* "tern run -m tiny.gguf" */
    tern_profile_info info; /* `frames` and `threads` count those below */
    tern_profile_frame *frames;
    tern__spot *ops, *steps; /* by self time */
    int n_ops, n_steps, n_rates;
    tern__rates rates[2]; /* of one thread, of all */
} tern__profile_document;

/* One moment of a memory timeline; NaN: unknown. */
typedef struct tern__memory_moment {
    double time_ns, in_use, held, rss;
} tern__memory_moment;

/* What an op had in use at the peak. */
typedef struct tern__holder {
    const char *name, *category;
    double peak_bytes, most_bytes;
} tern__holder;

/* What would save memory. */
typedef struct tern__advice {
    const char *kind, *priority, *of, *what, *evidence; /* `of`: "peak", "held", "end" or "allocated" */
    double saves_bytes, share;
} tern__advice;

/* What `tern memory --json` tells, as far as it is shown. */
typedef struct tern__memory_document {
    const char *title;
    /* of the step, else of the allocation that made the peak, whose category is told; "": nobody said */
    const char *peak_op, *peak_where, *peak_category;
    double wall_ns, peak_bytes, peak_ns, held_peak_bytes, leaked_bytes;
    double leaked_blocks;
    tern__memory_moment *moments;
    tern__holder *holders; /* the most at the peak first */
    tern__advice *advice;
    int n_moments, n_holders, n_advice;
} tern__memory_document;

/* A benchmark's medians over the sessions, oldest first. */
typedef struct tern__median_series {
    const tern_regress_row *row;
    double *medians; /* us */
    int n;
} tern__median_series;

struct tern_report {
    tern__arena arena;
    const char *title;
    tern__report_source sources[TERN__REPORT_SOURCES];
    int n_sources;
    const char *notes[TERN__REPORT_NOTES]; /* sentences of the caller */
    /* the highest load of documents that only tell the load before, if their machine was busy; NaN: none was */
    double busy;
    char disturbed
        [256]; /* who had the machine while a document was measured: the first that says so; "": none does */
    int n_notes;
    tern_results *results; /* of all sources; NULL: none */
    tern__profile_document *profile;
    tern__memory_document *memory;
    tern_device_comparison *devices;    /* owned; NULL: none */
    const tern_regress_report *regress; /* held */
    const char *base_name;
    tern__median_series *series; /* of benchmarks with two sessions or more */
    int n_series;
    const char *checks; /* of a history that leaves some out: "the latest 1000 of 4096"; NULL: it is whole */
};

/* ---- sections (section_*.c, in the table of report.c) ---- */

typedef void (*tern__section_writer)(const tern_report *report, tern__strbuf *to);

typedef struct tern__section {
    const char *name, *title, *what;
    /* NULL: its data is there; else why it is not. */
    const char *(*missing)(const tern_report *report);
    tern__section_writer html, text;
    tern__section_writer json; /* a value */
} tern__section;

const tern__section *tern__report_section(int i); /* NULL past the last */

#define TERN__SECTION_LIST(X) \
    X(summary)                \
    X(performance)            \
    X(roofline)               \
    X(profile)                \
    X(memory)                 \
    X(comparison)             \
    X(regressions)            \
    X(devices)                \
    X(history)                \
    X(machine)                \
    X(data)

#define TERN__SECTION_DECLARE(name) extern const tern__section tern__section_##name;
TERN__SECTION_LIST(TERN__SECTION_DECLARE)
#undef TERN__SECTION_DECLARE

/* section_roofline.c: is hot spot i a point of the roofline? Those with the most time are. */
bool tern__roofline_has(const tern__profile_document *profile, int i);

/* ---- reading (report_read.c) ---- */

/* What a document says: one member is set, `results` and `devices` are the caller's to free. Without jansson TERN_UNAVAILABLE. */
typedef struct tern__document {
    tern_results *results;
    tern__profile_document *profile;
    tern__memory_document *memory;
    tern_device_comparison *devices;
} tern__document;

tern_status tern__report_read(tern__arena *arena, const char *text, size_t length, tern__document *out);

/* ---- what sections share (report_words.c) ---- */

enum { TERN__WORD = 48 };

/* Each fills `buffer` and returns it: "1.24 ms", "3.2 MiB", "91 %". NaN is "unavailable". */
const char *tern__say_us(char buffer[TERN__WORD], double us);
const char *tern__say_bytes(char buffer[TERN__WORD], double bytes);
const char *tern__say_share(char buffer[TERN__WORD], double share);
/* "113 GFLOPS", "740 GOPS", "21.4 GB/s" or "". */
const char *tern__say_rate(char buffer[TERN__WORD], const tern_result *row);

/* "t2 n=1, i8[1,2560] t2[640,2560], 2 threads" */
void tern__say_case(tern__strbuf *to, const tern_result *row);

/* Text for a terminal: control characters and what is no UTF-8 become '?'. */
void tern__add_plain(tern__strbuf *to, const char *text);

/* The median share of the limit of the n rows that have one; NaN: none have. Running out of memory is noted in `to`. */
double tern__median_share(const tern_results *results, int *n, tern__strbuf *to);

#endif
