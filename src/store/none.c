/* none.c - without SQLite nothing can be kept; whoever asks is told. */
#include <math.h>

#include "base/status.h"
#include "store/store.h"

#if !TERN_HAVE_SQLITE

bool tern__store_available(void)
{
    return false;
}

static tern_status missing(void)
{
    return tern__fail(TERN_UNAVAILABLE, "unavailable: built without SQLite");
}

tern_status tern__store_open(const char *path, const tern__store_schema *schema,
                             const tern__store_options *options, tern__store **out)
{
    (void)path, (void)schema, (void)options, (void)out;
    return missing();
}

void tern__store_close(tern__store *store)
{
    (void)store;
}

tern_status tern__store_run(tern__store *store, const char *sql)
{
    (void)store, (void)sql;
    return missing();
}

tern_status tern__store_begin(tern__store *store)
{
    (void)store;
    return missing();
}

tern_status tern__store_begin_view(tern__store *store)
{
    (void)store;
    return missing();
}

tern_status tern__store_end(tern__store *store, tern_status status)
{
    (void)store, (void)status;
    return missing();
}

tern_status tern__query_make(tern__store *store, const char *sql, tern__query **out)
{
    (void)store, (void)sql, (void)out;
    return missing();
}

void tern__query_free(tern__query *query)
{
    (void)query;
}

void tern__query_bind_text(tern__query *query, int parameter, const char *text)
{
    (void)query, (void)parameter, (void)text;
}

void tern__query_bind_int(tern__query *query, int parameter, int64_t value)
{
    (void)query, (void)parameter, (void)value;
}

void tern__query_bind_real(tern__query *query, int parameter, double value)
{
    (void)query, (void)parameter, (void)value;
}

void tern__query_bind_null(tern__query *query, int parameter)
{
    (void)query, (void)parameter;
}

tern_status tern__query_step(tern__query *query, bool *row)
{
    (void)query, (void)row;
    return missing();
}

tern_status tern__query_finish(tern__query *query)
{
    (void)query;
    return missing();
}

int64_t tern__query_int(const tern__query *query, int column)
{
    (void)query, (void)column;
    return 0;
}

double tern__query_real(const tern__query *query, int column)
{
    (void)query, (void)column;
    return NAN;
}

bool tern__query_is_null(const tern__query *query, int column)
{
    (void)query, (void)column;
    return true;
}

const char *tern__store_path(const tern__store *store)
{
    (void)store;
    return "";
}

int64_t tern__store_last_row(const tern__store *store)
{
    (void)store;
    return 0;
}

int64_t tern__store_changes(const tern__store *store)
{
    (void)store;
    return 0;
}

const char *tern__query_text(const tern__query *query, int column)
{
    (void)query, (void)column;
    return "";
}
#endif
