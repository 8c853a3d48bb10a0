/* bench_record.c - see bench_record.h. */
#include "bench_record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static cell *next(record *r, const char *name, cell_kind kind)
{
    cell *c = &r->cells[r->n < MOST_CELLS - 1 ? r->n++ : r->n];
    *c = (cell){.name = name, .kind = kind};
    return c;
}

void record_text(record *r, const char *name, const char *value)
{
    next(r, name, CELL_TEXT)->string = value;
}

void record_int(record *r, const char *name, int64_t value)
{
    next(r, name, CELL_INT)->i = value;
}

void record_no_int(record *r, const char *name)
{
    next(r, name, CELL_INT)->i = INT64_MIN;
}

void record_real(record *r, const char *name, double value)
{
    next(r, name, CELL_REAL)->real = value;
}

void record_bool(record *r, const char *name, bool value)
{
    next(r, name, CELL_BOOL)->i = value;
}

void record_reals(record *r, const char *name, int n, const double *values)
{
    cell *c = next(r, name, CELL_REALS);
    c->i = n;
    c->reals = values;
}

void record_add_json(const record *r, json *j)
{
    json_object(j, NULL);
    for (int k = 0; k < r->n; k++) {
        const cell *c = &r->cells[k];
        switch (c->kind) {
        case CELL_TEXT:
            json_string(j, c->name, c->string);
            break;
        case CELL_INT:
            if (c->i == INT64_MIN)
                json_null(j, c->name);
            else
                json_int(j, c->name, c->i);
            break;
        case CELL_REAL:
            json_double(j, c->name, c->real);
            break;
        case CELL_BOOL:
            json_bool(j, c->name, c->i != 0);
            break;
        case CELL_REALS:
            json_array(j, c->name);
            for (int64_t i = 0; i < c->i; i++)
                json_double(j, NULL, c->reals[i]);
            json_end(j);
            break;
        }
    }
    json_end(j);
}

/* Text between quotes, which are doubled inside. */
static void print_quoted(const char *string, char quote)
{
    putchar(quote);
    for (; *string; string++) {
        if (*string == quote)
            putchar(quote);
        putchar(*string);
    }
    putchar(quote);
}

static void print_value(const cell *c, char quote, const char *none)
{
    char number[NUMBER_TEXT];
    if (c->kind == CELL_TEXT)
        print_quoted(c->string, quote);
    else if ((c->kind == CELL_REAL && !isfinite(c->real)) || (c->kind == CELL_INT && c->i == INT64_MIN))
        fputs(none, stdout);
    else if (c->kind == CELL_REAL)
        fputs(format_double(number, c->real), stdout);
    else
        printf("%" PRId64, c->i);
}

/* Every cell that is one value, `between` them. Names are quoted for databases: some of them are words of SQL. */
static void print_cells(const record *r, bool names, char quote, const char *none, const char *between)
{
    bool any = false;
    for (int k = 0; k < r->n; k++) {
        if (r->cells[k].kind == CELL_REALS)
            continue;
        fputs(any ? between : "", stdout);
        any = true;
        if (names && quote == '\'')
            print_quoted(r->cells[k].name, '"');
        else if (names)
            fputs(r->cells[k].name, stdout);
        else
            print_value(&r->cells[k], quote, none);
    }
}

void record_print_csv(const record *r, bool first)
{
    if (first) {
        print_cells(r, true, '"', "", ",");
        putchar('\n');
    }
    print_cells(r, false, '"', "", ",");
    putchar('\n');
}

void record_print_sql(const record *r, const char *table, bool first)
{
    static const char *const types[] = {"TEXT", "INTEGER", "REAL", "INTEGER", ""};
    if (first) {
        printf("CREATE TABLE IF NOT EXISTS %s (", table);
        const char *between = "\n  ";
        for (int k = 0; k < r->n; k++)
            if (r->cells[k].kind != CELL_REALS) {
                printf("%s\"%s\" %s", between, r->cells[k].name, types[r->cells[k].kind]);
                between = ",\n  ";
            }
        puts("\n);\n");
    }
    printf("INSERT INTO %s (", table);
    print_cells(r, true, '\'', "NULL", ", ");
    fputs(") VALUES (", stdout);
    print_cells(r, false, '\'', "NULL", ", ");
    puts(");");
}
