/* store.c - opening and migrating SQLite databases, transactions, and what result codes mean here. Queries are in query.c, and what
 * there is without SQLite in none.c. */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"

tern_status tern__store_remove(const char *path)
{
    char beside[4096];
    static const char *const suffixes[] = {"-journal", "-wal", "-shm"};
    for (size_t i = 0; i < TERN__COUNT(suffixes); i++)
        if (snprintf(beside, sizeof beside, "%s%s", path, suffixes[i]) < (int)sizeof beside)
            unlink(beside);
    if (unlink(path) == 0)
        return TERN_OK;
    return tern__fail(errno == ENOENT ? TERN_NOT_FOUND : TERN_IO, "%s: %s", path, strerror(errno));
}

#if TERN_HAVE_SQLITE
#include "store/sqlite.h"

bool tern__store_available(void)
{
    return true;
}

/* ---- what went wrong ---- */

static tern_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return TERN_UNAVAILABLE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: /* a table that should be there is not */
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return TERN_FORMAT;
    case SQLITE_NOMEM:
        return TERN_OUT_OF_MEMORY;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
        return TERN_INTERNAL;
    default:
        return TERN_IO;
    }
}

/* Is the file itself at fault? Then the schema says what is to be done; otherwise nothing helps but what SQLite says. */
static bool blames_file(int kind)
{
    return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_CANTOPEN;
}

/* May files be made where the database lies? Otherwise errno says why. */
static bool folder_is_ours(const tern__store *store)
{
    char folder[4096];
    const char *slash = strrchr(store->path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - store->path + 1) : 1,
             slash ? store->path : ".");
    return access(folder, W_OK | X_OK) == 0;
}

/* Why the file, or a new one in its folder, cannot be opened. SQLite tries twice, the second time only to read, and keeps what the system
 * said then: that there is no such file, where it was the folder that may not be written. */
static int why_not_open(const tern__store *store)
{
    if (access(store->path, F_OK) == 0)
        return access(store->path, R_OK) == 0 ? sqlite3_system_errno(store->db) : errno;
    return folder_is_ours(store) ? sqlite3_system_errno(store->db) : errno;
}

/* Of input and output SQLite only says that it failed; the system says why. */
tern_status tern__store_fail(tern__store *store, int code)
{
    const int kind = code & 0xff;
    const int why = !store->db                ? 0
                    : kind == SQLITE_CANTOPEN ? why_not_open(store)
                    : kind == SQLITE_IOERR    ? sqlite3_system_errno(store->db)
                                              : 0;
    store->disk_full = kind == SQLITE_FULL || why == ENOSPC;
    if (store->disk_full)
        return tern__fail(TERN_IO, "%s (%s): the disk is full", store->path, store->schema->name);
    return tern__fail(status_of(code), "%s (%s): %s%s%s%s%s", store->path, store->schema->name,
                      store->db && sqlite3_errcode(store->db) == code ? sqlite3_errmsg(store->db)
                                                                      : sqlite3_errstr(code),
                      why ? ": " : "", why ? strerror(why) : "",
                      kind == SQLITE_CORRUPT ? ": the file is damaged; move it away, or "
                      : blames_file(kind)    ? "; "
                                             : "",
                      blames_file(kind) ? store->schema->remedy : "");
}

tern_status tern__store_run(tern__store *store, const char *sql)
{
    int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? TERN_OK : tern__store_fail(store, code);
}

/* ---- transactions ---- */

/* SQLite notices a damaged page when it comes across it, and writes into the others until then. So all of them are looked at before the
 * first write, by the process that holds the right to write. On Zen 4, SQLite 3.40, in memory already: 60 ms for 20 MiB of benchmarks with
 * six samples each, 13 ms for 16 MiB of such with a thousand. quick_check takes 45 and 8 ms, but does not compare indexes with tables. */
static tern_status check_pages(tern__store *store)
{
    if (store->intact || !store->durable)
        return TERN_OK;
    tern__query *q = NULL;
    bool row = false;
    TERN_TRY(tern__query_make(store, "PRAGMA integrity_check(1)", &q));
    tern_status status = tern__query_step(q, &row);
    store->intact = status == TERN_OK && row && strcmp(tern__query_text(q, 0), "ok") == 0;
    if (status == TERN_OK && !store->intact)
        status = tern__store_fail(store, SQLITE_CORRUPT);
    tern__query_free(q);
    return status;
}

tern_status tern__store_begin(tern__store *store)
{
    /* Asking for the right to write at once: two readers that both want to write later would wait for each other. */
    TERN_TRY(tern__store_run(store, "BEGIN IMMEDIATE"));
    store->in_transaction = true;
    tern_status status = check_pages(store);
    return status == TERN_OK ? TERN_OK : tern__store_end(store, status);
}

tern_status tern__store_begin_view(tern__store *store)
{
    TERN_TRY(tern__store_run(store, "BEGIN"));
    store->in_transaction = true;
    return TERN_OK;
}

/* Some errors, a full disk among them, end the transaction by themselves. To commit or roll back then is one more error, whose words
 * would hide the first one's. */
tern_status tern__store_end(tern__store *store, tern_status status)
{
    if (!store->in_transaction)
        return status;
    if (status == TERN_OK)
        status = tern__store_run(store, "COMMIT");
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    store->in_transaction = false;
    return status;
}

/* ---- asked of a store ---- */

const char *tern__store_path(const tern__store *store)
{
    return store->path;
}

int64_t tern__store_last_row(const tern__store *store)
{
    return sqlite3_last_insert_rowid(store->db);
}

int64_t tern__store_changes(const tern__store *store)
{
    return sqlite3_changes(store->db);
}

/* ---- opening ---- */

static tern_status pragma(tern__store *store, const char *name, int64_t *out)
{
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA %s", name);
    tern__query *q = NULL;
    TERN_TRY(tern__query_make(store, sql, &q));
    bool row = false;
    tern_status status = tern__query_step(q, &row);
    if (status == TERN_OK)
        *out = row ? tern__query_int(q, 0) : 0;
    tern__query_free(q);
    return status;
}

static tern_status apply_migrations(tern__store *store, int from)
{
    const tern__store_schema *schema = store->schema;
    char stamp[96];
    for (int i = from; i < schema->n_migrations; i++)
        TERN_TRY(tern__store_run(store, schema->migrations[i]));
    snprintf(stamp, sizeof stamp, "PRAGMA application_id=%u; PRAGMA user_version=%d", schema->application,
             schema->n_migrations);
    return tern__store_run(store, stamp);
}

/* The version of the tables in the file; an empty file has version 0. */
static tern_status read_version(tern__store *store, int64_t *version)
{
    int64_t application = 0, tables = 0;
    TERN_TRY(pragma(store, "application_id", &application));
    TERN_TRY(pragma(store, "user_version", version));
    TERN_TRY(pragma(store, "schema_version", &tables));
    TERN__FAIL_IF(application != (int64_t)store->schema->application && (application || tables), TERN_FORMAT,
                  "%s: a database of something else, not of %s; %s", store->path, store->schema->name,
                  store->schema->remedy);
    TERN__FAIL_IF(*version > store->schema->n_migrations, TERN_UNSUPPORTED,
                  "%s: a newer version of tern wrote these %s (form %lld, this one knows %d)", store->path,
                  store->schema->name, (long long)*version, store->schema->n_migrations);
    return TERN_OK;
}

/* One look, without a trace in the file: it may be somebody else's, or being made. */
static tern_status look(tern__store *store, int64_t *version)
{
    TERN_TRY(tern__store_begin_view(store));
    return tern__store_end(store, read_version(store, version));
}

static tern_status migrate(tern__store *store)
{
    int64_t version = 0;
    TERN_TRY(tern__store_begin(store));
    tern_status status = read_version(store, &version); /* somebody else may have been first */
    if (status == TERN_OK)
        status = apply_migrations(store, (int)version);
    return tern__store_end(store, status);
}

/* Changing the kind of journal needs the file alone, and SQLite does not wait for that by itself. Where there can be no write-ahead
 * log (some network disks) the old journal stays, which is as safe. */
static tern_status make_durable(tern__store *store, const tern__store_options *options)
{
    int code = SQLITE_BUSY;
    for (int waited = 0; code == SQLITE_BUSY && waited <= options->busy_timeout_ms; waited += 2) {
        if (waited > 0)
            sqlite3_sleep(2);
        code = sqlite3_exec(store->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) & 0xff;
    }
    if (code != SQLITE_OK)
        return tern__store_fail(store, code);
    return tern__store_run(store, "PRAGMA synchronous=FULL");
}

/* Opens the file and looks at it. The index of a write-ahead log is a file that others share, for which a full disk has no room; who has
 * the database `alone` keeps the index in memory, and can read what is there. */
static tern_status connect(tern__store *store, const tern__store_options *options, int flags, bool alone,
                           int64_t *version)
{
    int code = sqlite3_open_v2(store->path, &store->db, flags, NULL);
    if (code != SQLITE_OK)
        return tern__store_fail(store, code);
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, options->busy_timeout_ms);
    if (alone)
        TERN_TRY(tern__store_run(store, "PRAGMA locking_mode=EXCLUSIVE"));
    return look(store, version);
}

/* A write-ahead log needs a file beside it, even to read. Where the folder may not be written, and there is no log, nobody is writing:
 * the file is read as it stands. (Who begins to write in the meantime may make this reader fail, and takes no harm.) */
static tern_status connect_immutable(tern__store *store, const tern__store_options *options, int64_t *version)
{
    static const char hex[] = "0123456789ABCDEF";
    char uri[3 * 4096 + 32] = "file:";
    size_t used = 5;
    for (const char *at = store->path; *at && used + 32 < sizeof uri; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c > ' ' && c < 127 && !strchr("%?#", c)) {
            uri[used++] = *at;
        } else {
            uri[used++] = '%';
            uri[used++] = hex[c >> 4];
            uri[used++] = hex[c & 15];
        }
    }
    snprintf(uri + used, sizeof uri - used, "?immutable=1");
    int code =
        sqlite3_open_v2(uri, &store->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return tern__store_fail(store, code);
    sqlite3_busy_timeout(store->db, options->busy_timeout_ms);
    return look(store, version);
}

/* May the file be read, but neither it nor what SQLite keeps beside it be written, and has it no log that would have to be read? */
static bool stands_still(const tern__store *store)
{
    char log[4096];
    struct stat about;
    if (folder_is_ours(store) || access(store->path, R_OK) != 0)
        return false;
    snprintf(log, sizeof log, "%s-wal", store->path);
    return stat(log, &about) != 0 || about.st_size == 0;
}

static tern_status open_file(tern__store *store, const tern__store_options *options)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (options->create) {
        tern__file_make_folders(store->path);
        flags |= SQLITE_OPEN_CREATE;
    } else {
        struct stat about;
        TERN__FAIL_IF(stat(store->path, &about) != 0 && errno == ENOENT, TERN_NOT_FOUND,
                      "%s: there is no such file", store->path);
        /* Who only reads makes no database of it. */
        TERN__FAIL_IF(access(store->path, F_OK) == 0 && S_ISREG(about.st_mode) && about.st_size == 0,
                      TERN_NOT_FOUND, "%s: the file is empty", store->path);
    }
    int64_t version = 0;
    store->durable = options->durable;
    tern_status status = connect(store, options, flags, false, &version);
    const bool alone = store->disk_full;
    if (status != TERN_OK && (alone || stands_still(store))) {
        sqlite3_close_v2(store->db);
        store->db = NULL;
        status = alone ? connect(store, options, flags, true, &version)
                       : connect_immutable(store, options, &version);
    }
    TERN_TRY(status);
    if (sqlite3_db_readonly(store->db, "main") == 1) /* what wants to write is told so by SQLite */
        return TERN_OK;
    TERN_TRY(options->durable ? make_durable(store, options)
                              : tern__store_run(store, "PRAGMA synchronous=OFF"));
    return version == store->schema->n_migrations ? TERN_OK : migrate(store);
}

tern_status tern__store_open(const char *path, const tern__store_schema *schema,
                             const tern__store_options *options, tern__store **out)
{
    size_t length = strlen(path) + 1;
    tern__store *store = tern__alloc_zero(1, sizeof *store + length);
    if (!store)
        return tern__out_of_memory(sizeof *store + length);
    memcpy(store->path, path, length);
    store->schema = schema;
    tern_status status = open_file(store, options);
    if (status != TERN_OK) {
        tern__store_close(store);
        return status;
    }
    *out = store;
    return TERN_OK;
}

void tern__store_close(tern__store *store)
{
    if (!store)
        return;
    tern__store_end(store, TERN_CANCELLED);
    sqlite3_close_v2(store->db);
    tern__free(store);
}

#endif
