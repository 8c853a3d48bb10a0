/* table.c - rows in aligned columns. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, NARROWEST = 8 };

table table_make(const table_column *columns, int n_columns)
{
    return (table){.columns = columns, .n_columns = n_columns};
}

static void add_cell(table *t, char *owned)
{
    if (t->n_cells == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->cells = grab_more(t->cells, (size_t)t->capacity, sizeof *t->cells);
    }
    t->cells[t->n_cells++] = owned;
}

void table_add(table *t, const char *string)
{
    add_cell(t, grab_string(string, strlen(string)));
}

void table_add_safe(table *t, const char *string)
{
    text safe = {0};
    text_add_safe(&safe, string);
    table_add(t, text_string(&safe));
    text_free(&safe);
}

void table_addf(table *t, const char *format, ...)
{
    char buffer[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    table_add(t, buffer);
}

struct table_heading {
    char *text;
    int cell; /* the first of the row below it */
};

void table_add_heading(table *t, const char *string)
{
    t->headings = grab_more(t->headings, (size_t)t->n_headings + 1, sizeof *t->headings);
    t->headings[t->n_headings++] = (struct table_heading){grab_string(string, strlen(string)), t->n_cells};
}

static void measure(const table *t, bool titles, int *widths)
{
    for (int c = 0; c < t->n_columns; c++)
        widths[c] = titles ? text_width(t->columns[c].title) : 0;
    for (int i = 0; i < t->n_cells; i++) {
        int width = text_width(t->cells[i]);
        if (width > widths[i % t->n_columns])
            widths[i % t->n_columns] = width;
    }
}

/* Takes columns from the widest of those that may shrink until the table fits, or none is left to take from. */
static void fit(const table *t, int indent, int *widths)
{
    int last = t->n_columns - 1, total = indent + GAP * last;
    for (int c = 0; c < t->n_columns; c++)
        total += widths[c];
    int excess = total - term_width();
    if (term_is_wide() || excess <= 0)
        return;
    if (!t->columns[last].right) {
        int least = 20, spare = widths[last] - least;
        int take = spare <= 0 ? 0 : spare < excess ? spare : excess;
        widths[last] -= take;
        excess -= take;
    }
    for (; excess > 0; excess--) {
        int widest = -1;
        for (int c = 0; c < last; c++)
            if (t->columns[c].shrinks && widths[c] > NARROWEST && (widest < 0 || widths[c] > widths[widest]))
                widest = c;
        if (widest < 0)
            return;
        widths[widest]--;
    }
}

/* One line of a cell: its first `width` columns. Blanks behind it are left out if nothing follows. */
static void print_cell(const char *string, size_t length, int columns, const table_column *c, int width,
                       bool more)
{
    int blanks = width > columns ? width - columns : 0;
    if (c->right)
        printf("%*s", blanks, "");
    printf("%s%.*s%s", on(c->style), (int)length, string, off(c->style));
    if (!c->right && more)
        printf("%*s", blanks, "");
}

static void print_cut(const char *string, const table_column *c, int width, bool more)
{
    int columns = text_width(string);
    if (columns <= width) {
        print_cell(string, strlen(string), columns, c, width, more);
        return;
    }
    text t = {0};
    const char *ellipsis = glyph_of(GLYPH_ELLIPSIS);
    int keep = width - text_width(ellipsis);
    text_add_n(&t, string, text_cut(string, keep > 0 ? keep : 0));
    text_add(&t, ellipsis);
    print_cell(text_string(&t), t.length, width, c, width, more);
    text_free(&t);
}

/* How many bytes of `string` go on a line of `width` columns: up to the last blank that fits. */
static size_t line_bytes(const char *string, int width)
{
    size_t fits = text_cut(string, width);
    if (string[fits] == '\0' || string[fits] == ' ')
        return fits;
    for (size_t i = fits; i > 0; i--)
        if (string[i - 1] == ' ')
            return i - 1;
    return fits; /* a word longer than the line is broken */
}

static void print_wrapped(const char *string, const table_column *c, int width, int indent)
{
    for (bool first = true; first || *string; first = false) {
        size_t length = line_bytes(string, width);
        if (!first)
            printf("\n%*s", indent, "");
        print_cell(string, length, 0, c, 0, false);
        string += length;
        string += *string == ' ';
    }
}

static void print_row(const table *t, char *const *cells, const int *widths, int indent)
{
    int last = t->n_columns - 1, at = indent;
    while (last > 0 && cells[last][0] == '\0')
        last--;
    printf("%*s", indent, "");
    for (int c = 0; c <= last; c++) {
        bool more = c < last;
        if (more || t->columns[c].right || c < t->n_columns - 1)
            print_cut(cells[c], &t->columns[c], widths[c], more);
        else
            print_wrapped(cells[c], &t->columns[c], widths[c], at);
        at += widths[c] + GAP;
        if (more)
            printf("%*s", GAP, "");
    }
    putchar('\n');
}

static void print_titles(const table *t, const int *widths, int indent)
{
    int last = t->n_columns - 1;
    while (last > 0 && t->columns[last].title[0] == '\0')
        last--;
    printf("%*s", indent, "");
    for (int c = 0; c <= last; c++) {
        table_column column = t->columns[c];
        column.style = STYLE_DIM;
        bool more = c < last;
        print_cut(column.title, &column, widths[c], more);
        if (more)
            printf("%*s", GAP, "");
    }
    putchar('\n');
}

void table_print(table *t, int indent, bool titles)
{
    int *widths = grab((size_t)t->n_columns, sizeof *widths);
    measure(t, titles, widths);
    fit(t, indent, widths);
    if (titles)
        print_titles(t, widths, indent);
    for (int i = 0, h = 0; i + t->n_columns <= t->n_cells; i += t->n_columns) {
        for (; h < t->n_headings && t->headings[h].cell == i; h++)
            printf("\n%*s%s%s%s\n", indent, "", on(STYLE_DIM), t->headings[h].text, off(STYLE_DIM));
        print_row(t, t->cells + i, widths, indent);
    }
    free(widths);
    table_free(t);
}

void table_free(table *t)
{
    for (int i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    for (int i = 0; i < t->n_headings; i++)
        free(t->headings[i].text);
    free(t->headings);
    *t = (table){0};
}
