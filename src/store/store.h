/* store.h - the one SQLite wrapper: a database file that several processes share.
 *
 * Whoever uses a store gives the history of its tables (a list of migrations); opening brings an older file up to date.
 * Statuses say what went wrong: TERN_UNAVAILABLE another process held the file for longer than the timeout, or this build has
 * no SQLite; TERN_FORMAT the file is damaged or is something else; TERN_UNSUPPORTED a newer version wrote it; TERN_NOT_FOUND
 * there is no such file; TERN_IO the disk. Messages name the file.
 *
 * Where neither the file nor its folder may be written, it can be read if it was closed well.
 *
 * SQLite allocates its own memory: a library must not change that for the whole process.
 * Threading: a store and its queries belong to one thread at a time; different stores are independent. */
#ifndef TERN_STORE_STORE_H
#define TERN_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/status.h>

typedef struct tern__store tern__store;
typedef struct tern__query tern__query;

typedef struct tern__store_schema {
    const char *name;              /* what messages call it: "tuning results" */
    const char *remedy;            /* what to do where the file is at fault, to be said behind "; " */
    uint32_t application;          /* SQLite's application_id: whose file it is */
    int n_migrations;              /* also the version of the newest form */
    const char *const *migrations; /* SQL that turns version i into version i + 1 */
} tern__store_schema;

typedef struct tern__store_options {
    bool create;         /* make the file, and its folder, if there is none */
    int busy_timeout_ms; /* how long to wait for other processes, at most; 0 = not at all */
    /* What was committed survives a process that is killed and a power cut, and readers do not wait for a writer (a write-ahead log
     * that is synced). Nothing is written into a file with damaged pages. Otherwise a power cut may cost the file: for what can be
     * measured again. */
    bool durable;
} tern__store_options;

tern_status tern__store_open(const char *path, const tern__store_schema *schema,
                             const tern__store_options *options, tern__store **out);
void tern__store_close(tern__store *store); /* NULL is fine; queries must be gone */

/* SQL without results. */
tern_status tern__store_run(tern__store *store, const char *sql);

/* All that follows until the end happens or does not, and nobody else writes meanwhile. */
tern_status tern__store_begin(tern__store *store);
/* All that is read until the end is of one moment. */
tern_status tern__store_begin_view(tern__store *store);
/* Ends either as the work in it ended: what a good `status` did is kept, else taken back, and `status` and the message of the first
 * failure stay. Does nothing outside of one. */
tern_status tern__store_end(tern__store *store, tern_status status);

/* A statement with parameters ?1, ?2, ... and results by column, both from 1 and 0 on as SQLite counts. Free it before the
 * store. Texts are copied. */
tern_status tern__query_make(tern__store *store, const char *sql, tern__query **out);
void tern__query_free(tern__query *query); /* NULL is fine */
void tern__query_bind_text(tern__query *query, int parameter, const char *text);
void tern__query_bind_int(tern__query *query, int parameter, int64_t value);
void tern__query_bind_real(tern__query *query, int parameter, double value); /* NaN: NULL */
void tern__query_bind_null(tern__query *query, int parameter);
/* Next row: *row false when there are no more. A binding that failed is reported here. */
tern_status tern__query_step(tern__query *query, bool *row);
/* Runs a statement without results, and makes it ready for other bindings. */
tern_status tern__query_finish(tern__query *query);
int64_t tern__query_int(const tern__query *query, int column);
double tern__query_real(const tern__query *query, int column); /* NULL: NaN */
bool tern__query_is_null(const tern__query *query, int column);
/* The file, for messages. */
const char *tern__store_path(const tern__store *store);
/* The row that the last INSERT made. */
int64_t tern__store_last_row(const tern__store *store);
/* How many rows the last statement changed. */
int64_t tern__store_changes(const tern__store *store);
const char *tern__query_text(const tern__query *query,
                             int column); /* never NULL; valid until the next step */

/* Removes a database file and what SQLite keeps beside it. TERN_NOT_FOUND if there is none. */
tern_status tern__store_remove(const char *path);

/* Is SQLite part of this build? */
bool tern__store_available(void);

#endif
