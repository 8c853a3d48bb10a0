/* table.h - rows in aligned columns, fitted to the terminal. */
#ifndef TERN_CLI_TABLE_H
#define TERN_CLI_TABLE_H

#include <stdbool.h>

#include "term.h"
#include "text.h"

typedef struct table_column {
    const char *title;
    bool right;   /* numbers: aligned at the right */
    bool shrinks; /* may be cut when the terminal is narrow; the last column is wrapped instead */
    style style;
} table_column;

typedef struct table {
    const table_column *columns;
    int n_columns;
    char **cells; /* row by row */
    int n_cells, capacity;
    struct table_heading *headings;
    int n_headings;
} table;

table table_make(const table_column *columns, int n_columns);

/* The next cell, from left to right, then the next row. Text from files is for table_add_safe (text_add_safe). */
void table_add(table *t, const char *string);
void table_add_safe(table *t, const char *string);
void table_addf(table *t, const char *format, ...) TERN_PRINTF(2, 3);

/* A line of its own above the next row, with an empty one before it. */
void table_add_heading(table *t, const char *string);

/* Prints it to stdout, `indent` columns from the left, with or without the titles; frees it. */
void table_print(table *t, int indent, bool titles);
void table_free(table *t);

#endif
