/* baseline.h - results that are kept by name, to compare later ones with: one SQLite file that several processes may use at once.
 *
 * A baseline is a set of results of one or several sessions on one machine, and the history of what was compared with it since. What a
 * call has written when it returns survives whatever happens to the process. Calls that fail leave the file as it was.
 *
 * Statuses besides the usual: TERN_FORMAT the file is damaged or is something else, TERN_UNSUPPORTED a newer version of tern wrote it,
 * TERN_UNAVAILABLE another process held it for 10 s, or this build has no SQLite, TERN_IO the disk (it may be full).
 *
 * Ownership: what is loaded belongs to the caller. Threading: an open store belongs to one thread at a time; threads and processes that
 * open it for themselves do not disturb each other. */
#ifndef TERN_BASELINE_H
#define TERN_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/results.h>
#include <tern/status.h>

typedef struct tern_baselines tern_baselines;

/* Texts are valid during the visit. */
typedef struct tern_baseline_info {
    const char *name, *description;
    const char *host;                         /* fingerprint of the machine: condition "host" */
    const char *cpu_model, *version, *commit; /* by which people know it; "" if nobody noted them */
    int64_t created_at;                       /* seconds since 1970 */
    int runs;                                 /* sessions of the baseline itself */
    int checks;                               /* sessions compared with it since */
    int rows;                                 /* of the baseline itself, all sessions */
    int benchmarks;                           /* different ones among these rows (tern_result_same) */
} tern_baseline_info;

typedef void (*tern_baseline_visit)(void *user, const tern_baseline_info *info);

#ifdef __cplusplus
extern "C" {
#endif

/* `create`: makes the file and its folder if there are none; else TERN_NOT_FOUND. */
TERN_API tern_status tern_baselines_open(const char *path, bool create, tern_baselines **out);
TERN_API void tern_baselines_close(tern_baselines *store); /* NULL is fine */

/* Keeps the results as a baseline. Names are 1 to 100 bytes without control characters. TERN_STATE: there is one of this name, and
 * `replace` is false; else the old one goes in the same step. Its machine is what the results' condition "host" says. */
TERN_API tern_status tern_baseline_create(tern_baselines *store, const char *name, const char *description,
                                          const tern_results *results, bool replace);
/* Would that be refused for its name? The same statuses, before anything is measured for it. */
TERN_API tern_status tern_baseline_check_name(tern_baselines *store, const char *name, bool replace);
/* Adds what was compared with it to its history. */
TERN_API tern_status tern_baseline_add_check(tern_baselines *store, const char *name,
                                             const tern_results *results);
/* TERN_NOT_FOUND, as for all calls below, if there is none of this name. */
TERN_API tern_status tern_baseline_delete(tern_baselines *store, const char *name);

/* All of them, by name. */
TERN_API tern_status tern_baseline_list(tern_baselines *store, tern_baseline_visit visit, void *user);
TERN_API tern_status tern_baseline_find(tern_baselines *store, const char *name, tern_baseline_visit visit,
                                        void *user);

/* The results, with the conditions of the first session, and "baseline" and "description" among them. */
TERN_API tern_status tern_baseline_load(tern_baselines *store, const char *name, tern_results **out);
/* The same with the checks since, oldest first: `run` of a row counts sessions from 0 on. Of very many only the latest: at most 1000, and
 * as many as there is room for among 65,536 rows. The condition "checks" says so then ("the latest 1000 of 4096"). */
TERN_API tern_status tern_baseline_history(tern_baselines *store, const char *name, tern_results **out);

#ifdef __cplusplus
}
#endif
#endif
