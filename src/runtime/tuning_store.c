/* tuning_store.c - the table of what is known, in a database. Whatever is wrong with the file, the work goes on without
 * it: the log says so, once for each context. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/tuning.h"
#include "store/store.h"

static const char *const migrations[] = {
    "CREATE TABLE timings("
    "  version TEXT NOT NULL, cpu TEXT NOT NULL, threads INTEGER NOT NULL,"
    "  op TEXT NOT NULL, shapes TEXT NOT NULL, params TEXT NOT NULL,"
    "  candidate TEXT NOT NULL, source TEXT NOT NULL,"
    "  median_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, runs INTEGER NOT NULL, status INTEGER NOT NULL,"
    "  at INTEGER NOT NULL," /* seconds since 1970 */
    "  PRIMARY KEY(version, cpu, threads, op, shapes, params, candidate, source)) WITHOUT ROWID",
};
static const tern__store_schema schema = {
    .name = "tuning results",
    .remedy = "`tern tune --clear` removes the file, and $TERN_TUNING names another",
    .application = 0x5445524e, /* TERN */
    .n_migrations = (int)TERN__COUNT(migrations),
    .migrations = migrations,
};

/* Nobody waits long for what is only meant to save time. */
enum { WAIT_MS = 500 };

static const char *const source_names[] = {
#define TERN__TUNED_NAME(id, name) [TERN__TUNED_##id] = name,
    TERN__TUNED_LIST(TERN__TUNED_NAME)
#undef TERN__TUNED_NAME
};

static tern_status open_store(const tern__tuning *t, bool create, tern__store **out)
{
    tern__store_options options = {.create = create, .busy_timeout_ms = WAIT_MS};
    return tern__store_open(t->path, &schema, &options, out);
}

/* ---- reading ---- */

enum {
    COLUMN_OP,
    COLUMN_SHAPES,
    COLUMN_PARAMS,
    COLUMN_CANDIDATE,
    COLUMN_SOURCE,
    COLUMN_MEDIAN,
    COLUMN_MIN,
    COLUMN_RUNS,
    COLUMN_STATUS,
    COLUMN_THREADS,
    COLUMN_CPU,
    COLUMN_VERSION
};
#define COLUMNS \
    "op, shapes, params, candidate, source, median_ns, min_ns, runs, status, threads, cpu, version"

/* Numbers that no measurement gives come from a file that something else wrote; such rows are not believed. */
static bool is_sane(const tern__query *q)
{
    int64_t status = tern__query_int(q, COLUMN_STATUS);
    return tern__query_int(q, COLUMN_MEDIAN) >= 0 && tern__query_int(q, COLUMN_MIN) >= 0 &&
           tern__query_int(q, COLUMN_RUNS) >= 0 && tern__query_int(q, COLUMN_RUNS) <= INT32_MAX &&
           status >= 0 && status <= TERN_INTERNAL;
}

static void take_row(tern__tuning *t, const tern__query *q)
{
    int source = 0;
    while (source < TERN__TUNED_SOURCES &&
           strcmp(source_names[source], tern__query_text(q, COLUMN_SOURCE)) != 0)
        source++;
    if (source == TERN__TUNED_SOURCES || !is_sane(q))
        return;
    tern__tuned_key *key =
        tern__tuning_key_text(t, tern__query_text(q, COLUMN_OP), tern__query_text(q, COLUMN_SHAPES),
                              tern__query_text(q, COLUMN_PARAMS), true);
    tern__tuned *w =
        key ? tern__tuned_add(t, key, tern__query_text(q, COLUMN_CANDIDATE), (tern__tuned_source)source)
            : NULL;
    if (!w)
        return; /* no memory: not knowing is fine */
    w->median_ns = (uint64_t)tern__query_int(q, COLUMN_MEDIAN);
    w->min_ns = (uint64_t)tern__query_int(q, COLUMN_MIN);
    w->runs = (int)tern__query_int(q, COLUMN_RUNS);
    w->status = (tern_status)tern__query_int(q, COLUMN_STATUS);
}

static tern_status load(tern__tuning *t, tern__store *store)
{
    tern__query *q = NULL;
    TERN_TRY(tern__query_make(
        store, "SELECT " COLUMNS " FROM timings WHERE version = ?1 AND cpu = ?2 AND threads = ?3", &q));
    tern__query_bind_text(q, 1, tern_version());
    tern__query_bind_text(q, 2, t->cpu);
    tern__query_bind_int(q, 3, t->threads);
    bool row = true;
    tern_status status = TERN_OK;
    while (status == TERN_OK && row) {
        status = tern__query_step(q, &row);
        if (status == TERN_OK && row)
            take_row(t, q);
    }
    tern__query_free(q);
    return status;
}

void tern__tuning_load(tern__tuning *t)
{
    if (t->loaded || !t->path)
        return;
    t->loaded = true;
    tern__store *store = NULL;
    tern_status status = open_store(t, false, &store);
    if (status == TERN_OK)
        status = load(t, store);
    tern__store_close(store);
    if (status != TERN_OK && status != TERN_NOT_FOUND)
        tern__log(TERN_LOG_WARN, "tuning results are not used: %s", tern_last_error());
}

/* ---- writing ---- */

static tern_status save_way(const tern__tuning *t, tern__query *q, const tern__tuned_key *key,
                            const tern__tuned *w)
{
    tern__query_bind_text(q, 1, tern_version());
    tern__query_bind_text(q, 2, t->cpu);
    tern__query_bind_int(q, 3, t->threads);
    tern__query_bind_text(q, 4, key->op);
    tern__query_bind_text(q, 5, key->shapes);
    tern__query_bind_text(q, 6, key->params);
    tern__query_bind_text(q, 7, w->candidate);
    tern__query_bind_text(q, 8, source_names[w->source]);
    tern__query_bind_int(q, 9, (int64_t)w->median_ns);
    tern__query_bind_int(q, 10, (int64_t)w->min_ns);
    tern__query_bind_int(q, 11, w->runs);
    tern__query_bind_int(q, 12, (int64_t)w->status);
    tern__query_bind_int(q, 13, (int64_t)time(NULL));
    return tern__query_finish(q);
}

static tern_status save_all(tern__tuning *t, tern__query *q)
{
    for (size_t i = 0; i < t->n_buckets; i++)
        for (const tern__tuned_key *key = t->buckets[i]; key; key = key->chain)
            for (const tern__tuned *w = key->ways; w; w = w->next)
                if (w->dirty)
                    TERN_TRY(save_way(t, q, key, w));
    return TERN_OK;
}

static tern_status save(tern__tuning *t, tern__store *store)
{
    tern__query *q = NULL;
    TERN_TRY(tern__query_make(
        store,
        "INSERT OR REPLACE INTO timings(version, cpu, threads, op, shapes, params, candidate, "
        "source, median_ns, min_ns, runs, status, at) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        &q));
    tern_status status = tern__store_begin(store);
    if (status == TERN_OK)
        status = save_all(t, q);
    tern__query_free(q);
    return tern__store_end(store, status);
}

/* Was anything measured on purpose? */
static bool was_tuned(const tern__tuning *t)
{
    for (size_t i = 0; i < t->n_buckets; i++)
        for (const tern__tuned_key *key = t->buckets[i]; key; key = key->chain)
            for (const tern__tuned *w = key->ways; w; w = w->next)
                if (w->dirty && w->source == TERN__TUNED_TUNE)
                    return true;
    return false;
}

void tern__tuning_save(tern__tuning *t)
{
    if (!t->dirty || !t->path)
        return;
    t->dirty = false; /* what could not be written is not tried again and again */
    t->trouble[0] = '\0';
    bool create = !t->nobody_asked || was_tuned(t);
    tern__store *store = NULL;
    tern_status status = open_store(t, create, &store);
    if (status == TERN_OK)
        status = save(t, store);
    tern__store_close(store);
    if (status == TERN_NOT_FOUND && !create)
        return; /* times of ordinary runs alone are no reason to leave a file behind */
    if (status != TERN_OK) {
        snprintf(t->trouble, sizeof t->trouble, "%s", tern_last_error());
        tern__log(TERN_LOG_WARN, "tuning results are not kept: %s", t->trouble);
    }
    for (size_t i = 0; status == TERN_OK && i < t->n_buckets; i++)
        for (tern__tuned_key *key = t->buckets[i]; key; key = key->chain)
            for (tern__tuned *w = key->ways; w; w = w->next)
                w->dirty = false;
}

/* ---- for people ---- */

static tern_status list(tern__store *store, tern_tune_report *report)
{
    tern__query *q = NULL;
    TERN_TRY(tern__query_make(store,
                              "SELECT " COLUMNS
                              " FROM timings ORDER BY version, cpu, threads, op, shapes, params, "
                              "status, median_ns, candidate",
                              &q));
    bool row = true;
    tern_status status = TERN_OK;
    while (status == TERN_OK && row) {
        status = tern__query_step(q, &row);
        if (status != TERN_OK || !row || !is_sane(q))
            continue;
        tern_tune_row r = {.op = tern__query_text(q, COLUMN_OP),
                           .shapes = tern__query_text(q, COLUMN_SHAPES),
                           .params = tern__query_text(q, COLUMN_PARAMS),
                           .candidate = tern__query_text(q, COLUMN_CANDIDATE),
                           .source = tern__query_text(q, COLUMN_SOURCE),
                           .cpu = tern__query_text(q, COLUMN_CPU),
                           .version = tern__query_text(q, COLUMN_VERSION),
                           .threads = (int)tern__query_int(q, COLUMN_THREADS),
                           .step = -1,
                           .median_ns = (uint64_t)tern__query_int(q, COLUMN_MEDIAN),
                           .min_ns = (uint64_t)tern__query_int(q, COLUMN_MIN),
                           .runs = (int)tern__query_int(q, COLUMN_RUNS),
                           .status = (tern_status)tern__query_int(q, COLUMN_STATUS),
                           .remembered = true};
        status = tern__tune_report_add(report, &r);
    }
    tern__query_free(q);
    return status;
}

tern_status tern_tune_list(tern_ctx *ctx, tern_tune_report **out)
{
    TERN__FAIL_IF(!ctx || !out, TERN_INVALID_ARGUMENT, "tune_list: needs a context and room for a report");
    tern__tuning *t = ctx->tuning;
    TERN__FAIL_IF(!tern__store_available(), TERN_UNAVAILABLE, "tune_list: this build of tern has no SQLite");
    TERN__FAIL_IF(!t->path, TERN_NOT_FOUND, "tune_list: this context keeps no tuning results");
    tern__tuning_save(t);
    tern__store *store = NULL;
    TERN_TRY(open_store(t, false, &store));
    tern_tune_report *report = NULL;
    tern_status status = tern__tune_report_create(&report);
    if (status == TERN_OK)
        status = list(store, report);
    tern__store_close(store);
    if (status != TERN_OK) {
        tern_tune_report_free(report);
        return status;
    }
    *out = report;
    return TERN_OK;
}

tern_status tern_tune_clear(tern_ctx *ctx)
{
    TERN__FAIL_IF(!ctx, TERN_INVALID_ARGUMENT, "tune_clear: the context is NULL");
    tern__tuning *t = ctx->tuning;
    if (t->n_buckets)
        memset(t->buckets, 0, t->n_buckets * sizeof *t->buckets);
    t->n_keys = 0;
    t->dirty = false;
    t->generation++;
    tern__arena_reset(&t->arena);
    tern__program_cache_clear(&ctx->cache);
    TERN__FAIL_IF(!t->path, TERN_NOT_FOUND, "tune_clear: this context keeps no tuning results");
    return tern__store_remove(t->path);
}

const char *tern_tune_path(tern_ctx *ctx)
{
    return ctx && ctx->tuning->path ? ctx->tuning->path : "";
}

const char *tern_tune_trouble(tern_ctx *ctx)
{
    return ctx ? ctx->tuning->trouble : "";
}
