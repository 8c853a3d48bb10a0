/* catalog.h - the library's tables (<tern/catalog.h>, <tern/dtype.h>, <tern/metrics.h>) behind one face: each is a list of
 * fields, which say where in an entry they are, and a function that reads an entry. Tables, details and JSON are printed from
 * the fields. */
#ifndef TERN_CLI_CATALOG_H
#define TERN_CLI_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/catalog.h>
#include <tern/dtype.h>
#include <tern/metrics.h>

#include "json.h"

/* What the library tells of an entry, and what is made of it here. Texts are static. */
typedef union entry {
    tern_op_info op;
    tern_kernel_info kernel;
    struct {
        tern_pass_info info;
        const char *level;
    } pass;
    struct {
        tern_dtype_info info;
        const char *kind;
        double bits;
    } dtype;
    struct {
        tern_device_info info;
        const char *libraries; /* of the first device only */
    } device;
    struct {
        tern_metric_info info;
        const char *kind;
    } metric;
} entry;

typedef enum field_kind {
    FIELD_TEXT,
    FIELD_INT,
    FIELD_ANY,   /* an int; -1 means "any number" */
    FIELD_COUNT, /* an int; 0 means "unknown" */
    FIELD_BYTES, /* int64_t; likewise */
    FIELD_BOOL,
    FIELD_REAL,
} field_kind;

/* Where a field appears; each includes those before it. */
typedef enum field_use {
    IN_JSON,
    IN_NOTE,    /* in details behind the field before it: "avx2 (limited by $TERN_CPU)", "1 (affinity)" */
    IN_HEADING, /* stands above the rows of a table that have it in common */
    IN_DETAILS,
    IN_TABLE,
} field_use;

typedef struct field {
    const char *key;   /* in JSON; NULL ends the list */
    const char *title; /* for people */
    field_kind kind;
    field_use use;
    size_t offset; /* in an entry */
} field;

/* Of a field of that kind: `text` of TEXT (NULL: none), `number` of INT, ANY, COUNT and BYTES. */
const char *field_text(const field *f, const entry *e);
int64_t field_number(const field *f, const entry *e);
double field_real(const field *f, const entry *e);
bool field_yes(const field *f, const entry *e);

typedef struct catalog {
    const char *name; /* "ops" */
    const char *one;  /* "op" */
    const char *description;
    const field *fields;                   /* the first is the name */
    const char *group;                     /* key of a field that `list KIND NAME` matches too; NULL: none */
    bool (*read)(int i, entry *out);       /* false past the last */
    void (*more)(json *j, const entry *e); /* further members of its JSON; NULL: none */
} catalog;

extern const catalog *const catalogs[]; /* ends with NULL */
const catalog *catalog_find(const char *name);

/* Can it be listed here and now? An exit code, after saying why not. */
int catalog_check(const catalog *c);

const char *catalog_name(const catalog *c, int i); /* NULL past the last */
int catalog_count(const catalog *c);
/* Does an entry answer to `name`, its own or that of its group? Everything does to NULL. */
bool catalog_matches(const catalog *c, const entry *e, const char *name);
bool catalog_has(const catalog *c, const char *name);

/* On stdout (catalog_print.c). */
void catalog_print_table(const catalog *c);
void catalog_print_json(const catalog *c, const char *name); /* all, or those that match `name` */
void catalog_print_details(const catalog *c, const char *name);

#endif
