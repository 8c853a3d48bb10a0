/* sheet.c - rows as a table or as Markdown. */
#include "sheet.h"

#include <stdarg.h>
#include <stdio.h>

sheet sheet_begin(const table_column *columns, int n_columns, bool markdown)
{
    if (markdown) {
        for (int i = 0; i < n_columns; i++)
            printf("| %s ", columns[i].title);
        puts("|");
        for (int i = 0; i < n_columns; i++)
            printf(columns[i].right ? "|---:" : "|---");
        puts("|");
    }
    return (sheet){.markdown = markdown, .t = table_make(columns, n_columns)};
}

void sheet_add(sheet *s, const char *string)
{
    if (!s->markdown) {
        table_add_safe(&s->t, string);
        return;
    }
    printf("| %s%s", string, string[0] ? " " : "");
    s->at = (s->at + 1) % s->t.n_columns;
    if (s->at == 0)
        puts("|");
}

void sheet_addf(sheet *s, const char *format, ...)
{
    char buffer[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    sheet_add(s, buffer);
}

void sheet_end(sheet *s)
{
    if (s->t.n_cells > 0)
        table_print(&s->t, 0, true);
    else
        table_free(&s->t);
}
