/* catalog.h - the library's tables (<tern/catalog.h>, <tern/dtype.h>) behind one face: each is a list of fields and a
 * function that fills a row. Tables, details and JSON are printed from the fields. */
#ifndef TERN_CLI_CATALOG_H
#define TERN_CLI_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

enum { MOST_FIELDS = 24 };

typedef enum field_kind {
    FIELD_TEXT,
    FIELD_INT,
    FIELD_ANY,   /* an int; -1 means "any number" */
    FIELD_BYTES, /* 0 means "unknown" */
    FIELD_COUNT, /* likewise */
    FIELD_BOOL,
    FIELD_REAL,
} field_kind;

/* Where a field appears; each includes those before it. */
typedef enum field_use {
    IN_JSON,
    IN_NOTE,    /* in details behind the field before it: "avx2 (limited by $TERN_CPU)" */
    IN_HEADING, /* stands above the rows of a table that have it in common */
    IN_DETAILS,
    IN_TABLE,
} field_use;

typedef struct field {
    const char *key;   /* in JSON; NULL ends the list */
    const char *title; /* for people */
    field_kind kind;
    field_use use;
} field;

typedef union field_value {
    const char *text; /* NULL: none */
    int64_t number;
    bool yes;
    double real;
} field_value;

typedef struct catalog {
    const char *name; /* "ops" */
    const char *one;  /* "op" */
    const char *description;
    const field *fields;                  /* the first is the name */
    const char *group;                    /* key of a field that `list KIND NAME` matches too; NULL: none */
    bool (*row)(int i, field_value *out); /* false past the last */
    void (*more)(json *j, const field_value *row); /* further members of its JSON; NULL: none */
} catalog;

extern const catalog *const catalogs[]; /* ends with NULL */
const catalog *catalog_find(const char *name);

/* Can it be listed here and now? An exit code, after saying why not. */
int catalog_check(const catalog *c);

int catalog_count(const catalog *c);
void catalog_print_table(const catalog *c);
void catalog_print_json(const catalog *c, const char *name); /* all, or those that match `name` */
void catalog_print_details(const catalog *c, const char *name);
bool catalog_has(const catalog *c, const char *name);

#endif
