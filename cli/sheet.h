/* sheet.h - rows that are a table on a terminal, and Markdown where another program or a page takes them. */
#ifndef TERN_CLI_SHEET_H
#define TERN_CLI_SHEET_H

#include "table.h"

typedef struct sheet {
    bool markdown; /* else a table, which is printed at its end: columns are as wide as their widest cell */
    int at;        /* cells of the row that is begun */
    table t;
} sheet;

/* Markdown: prints the titles. */
sheet sheet_begin(const table_column *columns, int n_columns, bool markdown);

/* The next cell, from left to right, then the next row, as in a table. */
void sheet_add(sheet *s, const char *string); /* text from files may be in it */
void sheet_addf(sheet *s, const char *format, ...) TERN_PRINTF(2, 3);

/* Prints what is not printed yet, and frees it. A sheet without rows prints nothing more. */
void sheet_end(sheet *s);

#endif
