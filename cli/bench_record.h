/* bench_record.h - a result of a benchmark as named cells, so that each format prints every field from one list. */
#ifndef TERN_CLI_BENCH_RECORD_H
#define TERN_CLI_BENCH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

typedef enum cell_kind { CELL_TEXT, CELL_INT, CELL_REAL, CELL_BOOL, CELL_REALS } cell_kind;

typedef struct cell {
    const char *name;
    cell_kind kind;
    const char *string;
    int64_t i; /* of CELL_REALS: how many */
    double real;
    const double *reals;
} cell;

enum { MOST_CELLS = 64 };

typedef struct record {
    cell cells[MOST_CELLS];
    int n;
} record;

/* What they point at must outlive the record. */
void record_text(record *r, const char *name, const char *value);
void record_int(record *r, const char *name, int64_t value);
void record_no_int(record *r, const char *name);             /* a whole number that is not known: null */
void record_real(record *r, const char *name, double value); /* not a number: there is none */
void record_bool(record *r, const char *name, bool value);
void record_reals(record *r, const char *name, int n, const double *values); /* in JSON only */

void record_add_json(const record *r, json *j);
/* Lines on stdout; the first record also brings the line of names, or the statement that makes the table. */
void record_print_csv(const record *r, bool first);
void record_print_sql(const record *r, const char *table, bool first);

#endif
