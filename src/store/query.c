/* query.c - statements, their parameters and their results. */
#include <math.h>

#include "base/alloc.h"
#include "base/status.h"
#include "store/store.h"

#if TERN_HAVE_SQLITE
#include "store/sqlite.h"

tern_status tern__query_make(tern__store *store, const char *sql, tern__query **out)
{
    tern__query *q = tern__alloc_zero(1, sizeof *q);
    if (!q)
        return tern__out_of_memory(sizeof *q);
    q->store = store;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &q->statement, NULL);
    if (code != SQLITE_OK) {
        tern__free(q);
        return tern__store_fail(store, code);
    }
    *out = q;
    return TERN_OK;
}

void tern__query_free(tern__query *query)
{
    if (!query)
        return;
    sqlite3_finalize(query->statement);
    tern__free(query);
}

static void note(tern__query *query, int code)
{
    if (code != SQLITE_OK && !query->failed)
        query->failed = code;
}

void tern__query_bind_text(tern__query *query, int parameter, const char *text)
{
    note(query, sqlite3_bind_text(query->statement, parameter, text, -1, SQLITE_TRANSIENT));
}

void tern__query_bind_int(tern__query *query, int parameter, int64_t value)
{
    note(query, sqlite3_bind_int64(query->statement, parameter, value));
}

void tern__query_bind_real(tern__query *query, int parameter, double value)
{
    note(query, sqlite3_bind_double(query->statement, parameter, value)); /* NaN becomes NULL */
}

void tern__query_bind_null(tern__query *query, int parameter)
{
    note(query, sqlite3_bind_null(query->statement, parameter));
}

tern_status tern__query_step(tern__query *query, bool *row)
{
    if (query->failed)
        return tern__store_fail(query->store, query->failed);
    int code = sqlite3_step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return tern__store_fail(query->store, code);
    *row = code == SQLITE_ROW;
    return TERN_OK;
}

tern_status tern__query_finish(tern__query *query)
{
    bool row = false;
    tern_status status = tern__query_step(query, &row);
    sqlite3_reset(query->statement);
    return status;
}

int64_t tern__query_int(const tern__query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

double tern__query_real(const tern__query *query, int column)
{
    return tern__query_is_null(query, column) ? NAN : sqlite3_column_double(query->statement, column);
}

bool tern__query_is_null(const tern__query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

const char *tern__query_text(const tern__query *query, int column)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);
    return text ? (const char *)text : "";
}
#endif
