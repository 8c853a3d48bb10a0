/* baseline.c - baselines in a database: a session is one set of results that was written in one step; its rows have a column for
 * every field of TERN__RESULT_FIELDS. */
#include <tern/baseline.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/point.h"
#include "base/status.h"
#include "measure/results/results.h"
#include "store/store.h"

/* What an entry says never changes: a new field of results is a new entry, "ALTER TABLE result ADD COLUMN ...". */
static const char *const migrations[] = {
    "CREATE TABLE baseline("
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL, host TEXT NOT NULL,"
    "  at INTEGER NOT NULL);" /* seconds since 1970 */
    "CREATE TABLE session("
    "  id INTEGER PRIMARY KEY, baseline INTEGER NOT NULL, is_check INTEGER NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX session_of ON session(baseline);"
    "CREATE TABLE condition("
    "  session INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
    "  PRIMARY KEY(session, name)) WITHOUT ROWID;"
    "CREATE TABLE result("
    "  session INTEGER NOT NULL, suite TEXT NOT NULL, family TEXT NOT NULL, name TEXT NOT NULL,"
    "  op TEXT NOT NULL, kernel TEXT NOT NULL, isa TEXT NOT NULL, shape TEXT NOT NULL, dtype TEXT NOT NULL,"
    "  device TEXT NOT NULL, threads INTEGER NOT NULL, run INTEGER NOT NULL, copies INTEGER NOT NULL,"
    "  repeats INTEGER, rounds INTEGER NOT NULL, median_us REAL, mad_us REAL, min_us REAL, low_us REAL,"
    "  high_us REAL, outliers INTEGER NOT NULL, gflops REAL, gbytes_per_s REAL, limit_kind TEXT NOT NULL,"
    "  limit_share REAL, limit_share_mad REAL, limit_probe TEXT NOT NULL, allocations INTEGER,"
    "  peak_bytes INTEGER, accuracy_error REAL, error TEXT NOT NULL, samples_us TEXT NOT NULL);"
    "CREATE INDEX result_of ON result(session)",
};
static const tern__store_schema schema = {
    .name = "baselines",
    .remedy = "take another file",
    .application = 0x54524e42, /* TRNB */
    .n_migrations = (int)TERN__COUNT(migrations),
    .migrations = migrations,
};

enum { WAIT_MS = 10000, NAME_MOST = 100 };

struct tern_baselines {
    tern__store *store;
};

/* ---- opening ---- */

tern_status tern_baselines_open(const char *path, bool create, tern_baselines **out)
{
    TERN__FAIL_IF(!path || !out, TERN_INVALID_ARGUMENT, "baselines_open: an argument is NULL");
    const tern__store_options options = {.create = create, .busy_timeout_ms = WAIT_MS, .durable = true};
    tern_baselines *b = tern__alloc_zero(1, sizeof *b);
    if (!b)
        return tern__out_of_memory(sizeof *b);
    tern_status status = tern__store_open(path, &schema, &options, &b->store);
    if (status == TERN_OK)
        *out = b;
    else
        tern__free(b);
    return status;
}

void tern_baselines_close(tern_baselines *store)
{
    if (!store)
        return;
    tern__store_close(store->store);
    tern__free(store);
}

/* ---- names ---- */

static tern_status check_name(const char *name)
{
    const size_t length = strlen(name);
    bool fine = length > 0 && length <= NAME_MOST;
    for (size_t i = 0; i < length; i++)
        fine = fine && (unsigned char)name[i] >= ' ' && name[i] != 0x7f;
    TERN__FAIL_IF(!fine, TERN_INVALID_ARGUMENT,
                  "baseline: a name is 1 to %d bytes without control characters", NAME_MOST);
    return TERN_OK;
}

/* *id 0: there is none. */
static tern_status find_id(tern_baselines *b, const char *name, int64_t *id)
{
    tern__query *q;
    bool row = false;
    TERN_TRY(tern__query_make(b->store, "SELECT id FROM baseline WHERE name = ?1", &q));
    tern__query_bind_text(q, 1, name);
    tern_status status = tern__query_step(q, &row);
    *id = status == TERN_OK && row ? tern__query_int(q, 0) : 0;
    tern__query_free(q);
    return status;
}

static tern_status find_existing(tern_baselines *b, const char *name, int64_t *id)
{
    TERN_TRY(find_id(b, name, id));
    TERN__FAIL_IF(*id == 0, TERN_NOT_FOUND, "there is no baseline '%s'", name);
    return TERN_OK;
}

/* ---- writing ---- */

static tern_status insert_conditions(tern_baselines *b, int64_t session, const tern_results *r)
{
    tern__query *q;
    tern_status status = TERN_OK;
    TERN_TRY(tern__query_make(
        b->store, "INSERT INTO condition(session, place, name, value) VALUES(?1, ?2, ?3, ?4)", &q));
    for (int i = 0; i < r->n_conditions && status == TERN_OK; i++) {
        tern__query_bind_int(q, 1, session);
        tern__query_bind_int(q, 2, i);
        tern__query_bind_text(q, 3, r->conditions[i].name);
        tern__query_bind_text(q, 4, r->conditions[i].value);
        status = tern__query_finish(q);
    }
    tern__query_free(q);
    return status;
}

/* "INSERT INTO result(session, suite, ..., samples_us) VALUES(?1, ?2, ...)" */
static tern_status insert_statement(char **out)
{
    tern__strbuf sql = TERN__STRBUF_EMPTY;
    const tern__field *field;
    int n = 1;
    tern__strbuf_add(&sql, "INSERT INTO result(session");
    for (; (field = tern__result_field(n - 1)) != NULL; n++)
        tern__strbuf_addf(&sql, ", %s", field->name);
    tern__strbuf_add(&sql, ", samples_us) VALUES(?1");
    for (int i = 2; i <= n + 1; i++)
        tern__strbuf_addf(&sql, ", ?%d", i);
    tern__strbuf_add(&sql, ")");
    return tern__strbuf_take(&sql, out);
}

static void bind_field(tern__query *q, int parameter, const tern__field *field, const tern_result *row)
{
    switch (field->kind) {
    case TERN__FIELD_TEXT:
    case TERN__FIELD_REASON:
        tern__query_bind_text(q, parameter, tern__field_text(field, row));
        return;
    case TERN__FIELD_LONG:
        if (tern__field_int(field, row) < 0) {
            tern__query_bind_null(q, parameter);
            return;
        }
        tern__query_bind_int(q, parameter, tern__field_int(field, row));
        return;
    case TERN__FIELD_INT:
        tern__query_bind_int(q, parameter, tern__field_int(field, row));
        return;
    case TERN__FIELD_REAL:
        tern__query_bind_real(q, parameter, tern__field_real(field, row));
        return;
    }
}

static tern_status insert_row(tern__query *q, int64_t session, const tern_result *row)
{
    tern__strbuf samples = TERN__STRBUF_EMPTY;
    const tern__field *field;
    int n = 1;
    tern__query_bind_int(q, 1, session);
    for (; (field = tern__result_field(n - 1)) != NULL; n++)
        bind_field(q, n + 1, field, row);
    for (int i = 0; i < row->rounds && row->samples_us; i++)
        tern__strbuf_addf(&samples, "%s%.17g", i ? " " : "", row->samples_us[i]);
    tern_status status = samples.failed ? tern__out_of_memory(samples.capacity) : TERN_OK;
    if (status == TERN_OK) {
        tern__query_bind_text(q, n + 1, samples.text ? samples.text : "");
        status = tern__query_finish(q);
    }
    tern__strbuf_free(&samples);
    return status;
}

static tern_status insert_session(tern_baselines *b, int64_t baseline, bool is_check, const tern_results *r)
{
    tern__query *q;
    char *sql;
    TERN_TRY(
        tern__query_make(b->store, "INSERT INTO session(baseline, is_check, at) VALUES(?1, ?2, ?3)", &q));
    tern__query_bind_int(q, 1, baseline);
    tern__query_bind_int(q, 2, is_check);
    tern__query_bind_int(q, 3, (int64_t)time(NULL));
    tern_status status = tern__query_finish(q);
    tern__query_free(q);
    TERN_TRY(status);
    const int64_t session = tern__store_last_row(b->store);
    TERN_TRY(insert_conditions(b, session, r));
    TERN_TRY(insert_statement(&sql));
    status = tern__query_make(b->store, sql, &q);
    tern__free(sql);
    TERN_TRY(status);
    for (int i = 0; i < r->n && status == TERN_OK; i++)
        status = insert_row(q, session, &r->rows[i]);
    tern__query_free(q);
    return status;
}

static tern_status run_with_id(tern_baselines *b, const char *sql, int64_t id)
{
    tern__query *q;
    TERN_TRY(tern__query_make(b->store, sql, &q));
    tern__query_bind_int(q, 1, id);
    tern_status status = tern__query_finish(q);
    tern__query_free(q);
    return status;
}

static tern_status remove_id(tern_baselines *b, int64_t id)
{
    static const char *const parts[] = {
        "DELETE FROM result WHERE session IN (SELECT id FROM session WHERE baseline = ?1)",
        "DELETE FROM condition WHERE session IN (SELECT id FROM session WHERE baseline = ?1)",
        "DELETE FROM session WHERE baseline = ?1",
        "DELETE FROM baseline WHERE id = ?1",
    };
    for (size_t i = 0; i < TERN__COUNT(parts); i++)
        TERN_TRY(run_with_id(b, parts[i], id));
    return TERN_OK;
}

static tern_status insert_baseline(tern_baselines *b, const char *name, const char *description,
                                   const char *host)
{
    tern__query *q;
    TERN_TRY(tern__query_make(
        b->store, "INSERT INTO baseline(name, description, host, at) VALUES(?1, ?2, ?3, ?4)", &q));
    tern__query_bind_text(q, 1, name);
    tern__query_bind_text(q, 2, description);
    tern__query_bind_text(q, 3, host);
    tern__query_bind_int(q, 4, (int64_t)time(NULL));
    tern_status status = tern__query_finish(q);
    tern__query_free(q);
    return status;
}

/* *old: the one that is to go; 0: none is. */
static tern_status find_replaced(tern_baselines *b, const char *name, bool replace, int64_t *old)
{
    TERN_TRY(find_id(b, name, old));
    TERN__FAIL_IF(*old != 0 && !replace, TERN_STATE, "there is a baseline '%s' already", name);
    return TERN_OK;
}

tern_status tern_baseline_check_name(tern_baselines *store, const char *name, bool replace)
{
    int64_t old;
    TERN__FAIL_IF(!store || !name, TERN_INVALID_ARGUMENT, "baseline_check_name: an argument is NULL");
    TERN_TRY(check_name(name));
    return find_replaced(store, name, replace, &old);
}

static tern_status create(tern_baselines *b, const char *name, const char *description, const tern_results *r,
                          bool replace)
{
    int64_t old;
    const char *host = tern_results_condition(r, "host");
    TERN_TRY(find_replaced(b, name, replace, &old));
    if (old != 0)
        TERN_TRY(remove_id(b, old));
    TERN_TRY(insert_baseline(b, name, description, host ? host : ""));
    return insert_session(b, tern__store_last_row(b->store), false, r);
}

tern_status tern_baseline_create(tern_baselines *store, const char *name, const char *description,
                                 const tern_results *results, bool replace)
{
    TERN__FAIL_IF(!store || !name || !results, TERN_INVALID_ARGUMENT, "baseline_create: an argument is NULL");
    TERN_TRY(check_name(name));
    TERN__FAIL_IF(results->n == 0, TERN_INVALID_ARGUMENT, "baseline: there are no results to keep");
    TERN_TRY(tern__store_begin(store->store));
    return tern__store_end(store->store,
                           create(store, name, description ? description : "", results, replace));
}

tern_status tern_baseline_add_check(tern_baselines *store, const char *name, const tern_results *results)
{
    int64_t id;
    TERN__FAIL_IF(!store || !name || !results, TERN_INVALID_ARGUMENT,
                  "baseline_add_check: an argument is NULL");
    TERN_TRY(tern__store_begin(store->store));
    tern_status status = find_existing(store, name, &id);
    if (status == TERN_OK)
        status = insert_session(store, id, true, results);
    return tern__store_end(store->store, status);
}

tern_status tern_baseline_delete(tern_baselines *store, const char *name)
{
    int64_t id;
    TERN__FAIL_IF(!store || !name, TERN_INVALID_ARGUMENT, "baseline_delete: an argument is NULL");
    TERN_TRY(tern__store_begin(store->store));
    tern_status status = find_existing(store, name, &id);
    if (status == TERN_OK)
        status = remove_id(store, id);
    return tern__store_end(store->store, status);
}

/* ---- lists ---- */

#define NOTED(name)                                              \
    "coalesce((SELECT value FROM condition c WHERE c.session = " \
    "(SELECT min(id) FROM session WHERE baseline = b.id) AND c.name = '" name "'), '')"
#define KEY "r.suite, r.family, r.name, r.shape, r.dtype, r.device, r.threads" /* of tern_result_same */
#define INFO                                                                                              \
    "SELECT name, description, host, at, " NOTED("cpu_model") ", " NOTED("version") ", " NOTED(           \
        "build_commit") ","                                                                               \
                        " (SELECT count(DISTINCT r.run) FROM result r JOIN session s ON r.session = s.id" \
                        "  WHERE s.baseline = b.id AND NOT s.is_check),"                                  \
                        " (SELECT count(*) FROM session WHERE baseline = b.id AND is_check),"             \
                        " (SELECT count(*) FROM result r JOIN session s ON r.session = s.id"              \
                        "  WHERE s.baseline = b.id AND NOT s.is_check), "                                 \
                        " (SELECT count(*) FROM (SELECT DISTINCT " KEY " FROM result r JOIN session s"    \
                        "  ON r.session = s.id WHERE s.baseline = b.id AND NOT s.is_check))"              \
                        " FROM baseline b "

static tern_status visit_all(tern__query *q, tern_baseline_visit visit, void *user)
{
    bool row = false;
    tern_status status;
    while ((status = tern__query_step(q, &row)) == TERN_OK && row)
        visit(user, &(tern_baseline_info){.name = tern__query_text(q, 0),
                                          .description = tern__query_text(q, 1),
                                          .host = tern__query_text(q, 2),
                                          .created_at = tern__query_int(q, 3),
                                          .cpu_model = tern__query_text(q, 4),
                                          .version = tern__query_text(q, 5),
                                          .commit = tern__query_text(q, 6),
                                          .runs = (int)tern__query_int(q, 7),
                                          .checks = (int)tern__query_int(q, 8),
                                          .rows = (int)tern__query_int(q, 9),
                                          .benchmarks = (int)tern__query_int(q, 10)});
    return status;
}

tern_status tern_baseline_list(tern_baselines *store, tern_baseline_visit visit, void *user)
{
    tern__query *q;
    TERN__FAIL_IF(!store || !visit, TERN_INVALID_ARGUMENT, "baseline_list: an argument is NULL");
    TERN_TRY(tern__query_make(store->store, INFO "ORDER BY name", &q));
    tern_status status = visit_all(q, visit, user);
    tern__query_free(q);
    return status;
}

tern_status tern_baseline_find(tern_baselines *store, const char *name, tern_baseline_visit visit, void *user)
{
    tern__query *q;
    int64_t id;
    TERN__FAIL_IF(!store || !name || !visit, TERN_INVALID_ARGUMENT, "baseline_find: an argument is NULL");
    TERN_TRY(find_existing(store, name, &id));
    TERN_TRY(tern__query_make(store->store, INFO "WHERE id = ?1", &q));
    tern__query_bind_int(q, 1, id);
    tern_status status = visit_all(q, visit, user);
    tern__query_free(q);
    return status;
}

/* ---- reading ---- */

/* Numbers with blanks between them; at most TERN__RESULT_SAMPLES. */
static tern_status parse_samples(const char *text, double **out, int *n)
{
    size_t most = 1;
    for (const char *at = text; *at; at++)
        most += *at == ' ';
    TERN__FAIL_IF(most > TERN__RESULT_SAMPLES, TERN_FORMAT, "baseline: a row has %zu samples", most);
    double *samples = tern__alloc_zero(most, sizeof *samples);
    if (!samples)
        return tern__out_of_memory(most * sizeof *samples);
    *n = 0;
    for (char *end; *text && *n < (int)most; text = end) {
        samples[*n] = tern__point_strtod(text, &end);
        if (end == text) {
            tern__free(samples);
            return tern__fail(TERN_FORMAT, "baseline: samples are not numbers");
        }
        ++*n;
    }
    *out = samples;
    return TERN_OK;
}

static tern_status add_row(const tern__query *q, int first_run, tern_results *to)
{
    tern_result row = tern_result_default();
    const tern__field *field;
    double *samples = NULL;
    int n = 0, i = 0;
    for (; (field = tern__result_field(i)) != NULL; i++) {
        if (field->kind == TERN__FIELD_TEXT || field->kind == TERN__FIELD_REASON)
            tern__field_set_text(field, &row, tern__query_text(q, i));
        else if (field->kind == TERN__FIELD_REAL)
            tern__field_set_real(field, &row, tern__query_real(q, i));
        else if (!tern__query_is_null(q, i))
            TERN__FAIL_IF(!tern__field_set_int(field, &row, tern__query_int(q, i)), TERN_FORMAT,
                          "baseline: a row's %s is too large", field->name);
    }
    TERN__FAIL_IF(row.run < 0 || row.run > TERN__RESULT_ROWS || row.rounds < 0 ||
                      row.rounds > TERN__RESULT_SAMPLES,
                  TERN_FORMAT, "baseline: a row has %d samples of run %d", row.rounds, row.run);
    row.run += first_run;
    TERN_TRY(parse_samples(tern__query_text(q, i), &samples, &n));
    if (n > 0) {
        row.samples_us = samples;
        row.rounds = n;
    }
    tern_status status = tern__results_add_again(to, &row);
    tern__free(samples);
    /* What no measurement gives was written by something else. */
    return status == TERN_INVALID_ARGUMENT ? TERN_FORMAT : status;
}

static tern_status select_statement(char **out)
{
    tern__strbuf sql = TERN__STRBUF_EMPTY;
    const tern__field *field;
    tern__strbuf_add(&sql, "SELECT ");
    for (int i = 0; (field = tern__result_field(i)) != NULL; i++)
        tern__strbuf_addf(&sql, "%s, ", field->name);
    tern__strbuf_add(&sql, "samples_us FROM result WHERE session = ?1 ORDER BY rowid");
    return tern__strbuf_take(&sql, out);
}

/* Says where what add_row has said is: rows are those of a session in the order of the file. */
static tern_status fail_in_row(const tern_baselines *b, int64_t session, int n)
{
    char place[4200];
    snprintf(place, sizeof place, "%s: row %d of session %" PRId64, tern__store_path(b->store), n, session);
    return tern__fail_in(TERN_FORMAT, place);
}

/* *runs: sessions so far; those of this one are added. */
static tern_status load_rows(tern_baselines *b, const char *sql, int64_t session, int *runs, tern_results *to)
{
    tern__query *q;
    bool row = false;
    int n = 0;
    const int first = *runs;
    TERN_TRY(tern__query_make(b->store, sql, &q));
    tern__query_bind_int(q, 1, session);
    tern_status status = tern__query_step(q, &row);
    while (status == TERN_OK && row) {
        status = add_row(q, first, to);
        n++;
        if (status == TERN_FORMAT)
            status = fail_in_row(b, session, n);
        if (status == TERN_OK && to->rows[to->n - 1].run + 1 > *runs)
            *runs = to->rows[to->n - 1].run + 1;
        if (status == TERN_OK)
            status = tern__query_step(q, &row);
    }
    tern__query_free(q);
    return status;
}

static tern_status load_conditions(tern_baselines *b, int64_t session, tern_results *to)
{
    tern__query *q;
    bool row = false;
    TERN_TRY(tern__query_make(b->store, "SELECT name, value FROM condition WHERE session = ?1 ORDER BY place",
                              &q));
    tern__query_bind_int(q, 1, session);
    tern_status status = tern__query_step(q, &row);
    while (status == TERN_OK && row) {
        status = tern_results_set_condition(to, tern__query_text(q, 0), tern__query_text(q, 1));
        if (status == TERN_OK)
            status = tern__query_step(q, &row);
    }
    tern__query_free(q);
    return status;
}

/* A history grows with every check, for years. The latest checks are what is told of it: as many as a set of results has room for beside
 * the baseline's own rows, and no more than this; what is older says little about today. */
enum { CHECKS_MOST = 1000 };

typedef struct chosen_checks {
    int64_t first; /* the id of the oldest that is told */
    int told, all;
} chosen_checks;

static tern_status choose_checks(tern_baselines *b, int64_t id, chosen_checks *out)
{
    tern__query *q;
    bool row = false;
    int64_t room = TERN__RESULT_ROWS;
    *out = (chosen_checks){.first = INT64_MAX};
    TERN_TRY(
        tern__query_make(b->store,
                         "SELECT s.id, s.is_check, (SELECT count(*) FROM result r WHERE r.session = s.id)"
                         " FROM session s WHERE s.baseline = ?1 ORDER BY s.is_check, s.id DESC",
                         &q));
    tern__query_bind_int(q, 1, id);
    tern_status status = tern__query_step(q, &row);
    for (bool open = true; status == TERN_OK && row; status = tern__query_step(q, &row)) {
        const bool check = tern__query_int(q, 1) != 0;
        room -= tern__query_int(q, 2);
        out->all += check;
        open = open && out->told < CHECKS_MOST && room >= 0;
        if (check && open) {
            out->first = tern__query_int(q, 0);
            out->told++;
        }
    }
    tern__query_free(q);
    return status;
}

/* What a history leaves out is a condition of it. */
static tern_status note_checks(const chosen_checks *c, tern_results *to)
{
    char text[96];
    if (c->told == c->all)
        return TERN_OK;
    snprintf(text, sizeof text, "the latest %d of %d", c->told, c->all);
    return tern_results_set_condition(to, "checks", text);
}

static tern_status load_sessions(tern_baselines *b, int64_t id, bool with_checks, tern_results *to)
{
    tern__query *q;
    char *sql;
    bool row = false;
    int sessions = 0, runs = 0;
    chosen_checks c = {.first = INT64_MAX};
    if (with_checks)
        TERN_TRY(choose_checks(b, id, &c));
    TERN_TRY(select_statement(&sql));
    tern_status status = tern__query_make(
        b->store,
        "SELECT id FROM session WHERE baseline = ?1 AND (NOT is_check OR id >= ?2) ORDER BY is_check, id",
        &q);
    if (status == TERN_OK) {
        tern__query_bind_int(q, 1, id);
        tern__query_bind_int(q, 2, c.first);
        status = tern__query_step(q, &row);
        while (status == TERN_OK && row) {
            const int64_t session = tern__query_int(q, 0);
            if (sessions++ == 0)
                status = load_conditions(b, session, to);
            if (status == TERN_OK)
                status = load_rows(b, sql, session, &runs, to);
            if (status == TERN_OK)
                status = tern__query_step(q, &row);
        }
        tern__query_free(q);
    }
    tern__free(sql);
    return status == TERN_OK ? note_checks(&c, to) : status;
}

static void note_description(void *user, const tern_baseline_info *info)
{
    tern_results *to = user;
    tern_results_set_condition(to, "baseline", info->name);
    tern_results_set_condition(to, "description", info->description);
}

static tern_status load(tern_baselines *b, const char *name, bool checks, tern_results **out)
{
    int64_t id;
    tern_results *r;
    TERN_TRY(tern_results_create(&r));
    tern_status status = tern__store_begin_view(b->store);
    if (status == TERN_OK)
        status = find_existing(b, name, &id);
    if (status == TERN_OK)
        status = load_sessions(b, id, checks, r);
    if (status == TERN_OK)
        status = tern_baseline_find(b, name, note_description, r);
    status = tern__store_end(b->store, status);
    if (status == TERN_OK)
        *out = r;
    else
        tern_results_free(r);
    return status;
}

tern_status tern_baseline_load(tern_baselines *store, const char *name, tern_results **out)
{
    TERN__FAIL_IF(!store || !name || !out, TERN_INVALID_ARGUMENT, "baseline_load: an argument is NULL");
    return load(store, name, false, out);
}

tern_status tern_baseline_history(tern_baselines *store, const char *name, tern_results **out)
{
    TERN__FAIL_IF(!store || !name || !out, TERN_INVALID_ARGUMENT, "baseline_history: an argument is NULL");
    return load(store, name, true, out);
}
