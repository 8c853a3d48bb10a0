/* tune.h - choosing by measuring, and remembering what was measured.
 *
 * Where a step of a program can run in several ways (lengths of tiles, stores past the caches, numbers of
 * threads), the tuner runs each on the program's own buffers and keeps the medians. The next compilation,
 * in this process or another, takes the fastest. All ways compute the same bits: tuning never changes a
 * result. The same machinery serves the caller's own work (tern_tune).
 *
 * Results are kept in one SQLite file (tern_ctx_options.tuning says where), under op, shapes, dtypes,
 * parameters, threads, CPU model and version of the library; those of another CPU or version are never
 * used. A file that is damaged, locked for long, or cannot be written is as good as none: a warning in the
 * log, never a failure.
 *
 * Ownership: a report is its caller's (tern_tune_report_free) and owns the texts of its rows; a row that `progress` is shown is valid during
 * the call.
 *
 * Threading: as the context that is given. */
#ifndef TERN_TUNE_H
#define TERN_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/program.h>
#include <tern/status.h>

typedef struct tern_tune_report tern_tune_report;

/* One way to do something, and what is known about it. */
typedef struct tern_tune_row {
    const char *op; /* "fused"; "user" for tern_tune                                              */
    int n_ops;
    const char *const *ops; /* (n_ops) the op, or those of a fused step; of tern_tune: the name           */
    const char *shapes;     /* "f32[64,512],f32[512]->f32[64,512]"; of tern_tune: the caller's key        */
    /* attributes, the body of a fused step: a key, not for reading; of tern_tune: the name */
    const char *params;
    const char *candidate; /* "tile=512 stream=0 threads=2"                                              */
    const char *source;    /* "tune": measured by itself; "run": while programs ran                      */
    const char *cpu, *version; /* where and with what it was measured                                    */
    int threads;               /* of the context                                                         */
    int step;                  /* of the program; -1 in a list                                           */
    uint64_t median_ns, min_ns;
    uint64_t run_median_ns; /* of ordinary runs, which counts in place of median_ns; 0: there were too few */
    int runs;
    tern_status status; /* TERN_OK, or why it could not run: such rows have no times                      */
    bool usual;         /* what would run if nothing were known                                            */
    bool chosen;        /* the fastest                                                                     */
    bool remembered;    /* from the file: nothing was run                                                  */
} tern_tune_row;

/* Called when a way has been measured or remembered, `done` of `total` by then. */
typedef void (*tern_tune_progress)(void *user, const tern_tune_row *row, int done, int total);

/* Zeroed fields are the defaults. */
typedef struct tern_tune_options {
    int runs;           /* timed runs of each way; fewer if the time is up; 0 = 7                      */
    uint64_t budget_ns; /* most time for each way, if two runs fit; 0 = 250 ms                         */
    bool again;         /* measure also what is remembered                                             */
    tern_tune_progress progress; /* or NULL                                                            */
    void *user;
} tern_tune_options;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_tune_options tern_tune_options_default(void);

/* ---- a program's steps --------------------------------------------------------------------------------------------- */

/* Measures every way to run every step of `program`. Steps whose ways were all measured before (and those
 * that have only one) are not run again. inputs[i] NULL, or `inputs` NULL: data are made up, random for
 * floats, the end of a full context for slots and positions of attention, 0 for other integers. The
 * program itself does not change; compiling its graph again uses what was found. *out (may be NULL): all
 * rows, by step. */
TERN_API tern_status tern_program_tune(tern_ctx *ctx, const tern_program *program, int n_inputs,
                                       tern_tensor *const *inputs, const tern_tune_options *options,
                                       tern_tune_report **out);

/* ---- anything else -------------------------------------------------------------------------------------------------- */

/* Does the work once, as configuration `configuration` says. May set *ns to what it measured itself; else
 * the time of the call counts. A status other than TERN_OK takes the configuration out of the race. */
typedef tern_status (*tern_tune_run)(void *user, int configuration, uint64_t *ns);

/* Which of n configurations is fastest? `name` says what is tuned, `key` for what (sizes, files; NULL =
 * ""). A configuration is known by its name, so that a list may grow. *best is set if one of them runs; if
 * none does, the status of the first is returned. *out (may be NULL): one row each. */
TERN_API tern_status tern_tune(tern_ctx *ctx, const char *name, const char *key, int n,
                               const char *const *configurations, tern_tune_run run, void *user,
                               const tern_tune_options *options, int *best, tern_tune_report **out);

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* Measures what kinds of work take on devices, which are named, or 0: all that are there. Contexts on device "auto", with as many threads
 * as `ctx`, place steps by it from then on. *out (may be NULL): a row for each device, kind (`shapes`) and
 * amount of work (`candidate`, "65536 bytes"), with what one step of it takes; of kind "partition" what a partition takes beside
 * its steps, of kind "border" what operands and results that cross its borders take. A kind that a device cannot do has a
 * status. Takes seconds. */
TERN_API tern_status tern_tune_devices(tern_ctx *ctx, int n, const char *const *devices,
                                       const tern_tune_options *options, tern_tune_report **out);

/* ---- what is known --------------------------------------------------------------------------------------------------- */

/* All rows of the file, of every CPU and version. TERN_NOT_FOUND: there is none; other statuses say what
 * is wrong with it. */
TERN_API tern_status tern_tune_list(tern_ctx *ctx, tern_tune_report **out);

/* Forgets everything and removes the file, even a damaged one. TERN_NOT_FOUND: there was none. */
TERN_API tern_status tern_tune_clear(tern_ctx *ctx);

/* Where results are kept; "" if they are not (switched off, or a build without SQLite). Valid as long as
 * the context. */
TERN_API const char *tern_tune_path(tern_ctx *ctx);

/* Why the newest results could not be written there; "" if they were, or there were none. Valid until the
 * next call that measures. */
TERN_API const char *tern_tune_trouble(tern_ctx *ctx);

TERN_API int tern_tune_report_rows(const tern_tune_report *report);
TERN_API tern_status tern_tune_report_row(const tern_tune_report *report, int i, tern_tune_row *out);
/* How often the work was done in order to measure it, warming up not counted. 0: everything was
 * remembered. */
TERN_API uint64_t tern_tune_report_runs(const tern_tune_report *report);
TERN_API void tern_tune_report_free(tern_tune_report *report); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
