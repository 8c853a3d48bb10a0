/* sqlite.h - the inside of stores and queries, where there is SQLite. */
#ifndef TERN_STORE_SQLITE_H
#define TERN_STORE_SQLITE_H

#include <sqlite3.h>

#include "store/store.h"

struct tern__store {
    sqlite3 *db;
    const tern__store_schema *schema;
    bool durable; /* what is in it cannot be had again */
    bool intact;  /* its pages were looked at, and are whole */
    bool in_transaction;
    bool disk_full; /* something failed for that reason */
    char path[];
};

struct tern__query {
    tern__store *store;
    sqlite3_stmt *statement;
    int failed; /* SQLite's code of the first binding that failed */
};

/* What SQLite's result code means here, with a message that names the file. */
tern_status tern__store_fail(tern__store *store, int code);

#endif
