/* catalog_print.c - entries of a catalog as a table, in full, or as JSON: all from its fields. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "table.h"
#include "term.h"

/* Does a number stand for "nobody knows", or "any"? */
static bool is_unknown(const field *f, const entry *e)
{
    switch (f->kind) {
    case FIELD_ANY:
        return field_number(f, e) < 0;
    case FIELD_COUNT:
    case FIELD_BYTES:
        return field_number(f, e) <= 0;
    default:
        return false;
    }
}

static void add_value(text *t, const field *f, const entry *e)
{
    char number[NUMBER_TEXT];
    switch (f->kind) {
    case FIELD_TEXT:
        text_add_safe(t, field_text(f, e) ? field_text(f, e) : "");
        break;
    case FIELD_REAL:
        text_add(t, format_double(number, field_real(f, e)));
        break;
    case FIELD_BOOL:
        text_add(t, field_yes(f, e) ? "yes" : "no");
        break;
    case FIELD_INT:
    case FIELD_ANY:
    case FIELD_COUNT:
    case FIELD_BYTES:
        if (is_unknown(f, e))
            text_add(t, f->kind == FIELD_ANY ? "any number" : "unknown");
        else if (f->kind == FIELD_BYTES)
            text_add(t, format_bytes(number, (uint64_t)field_number(f, e)));
        else
            text_addf(t, "%" PRId64, field_number(f, e));
        break;
    }
}

void catalog_print_table(const catalog *c)
{
    table_column *columns = NULL;
    int n = 0;
    const char *heading = "";
    for (const field *f = c->fields; f->key; f++) {
        if (f->use != IN_TABLE)
            continue;
        columns = grab_more(columns, (size_t)n + 1, sizeof *columns);
        columns[n] = (table_column){f->title, f->kind == FIELD_INT || f->kind == FIELD_REAL, false,
                                    n == 0 ? STYLE_NAME : STYLE_NONE};
        n++;
    }
    table t = table_make(columns, n);
    entry e;
    text cell = {0};
    for (int i = 0; c->read(i, &e); i++) {
        for (const field *f = c->fields; f->key; f++) {
            if (f->use == IN_HEADING && field_text(f, &e) && strcmp(field_text(f, &e), heading) != 0)
                table_add_heading(&t, heading = field_text(f, &e));
        }
        for (const field *f = c->fields; f->key; f++) {
            if (f->use != IN_TABLE)
                continue;
            text_clear(&cell);
            add_value(&cell, f, &e);
            table_add(&t, text_string(&cell));
        }
    }
    text_free(&cell);
    table_print(&t, 0, true);
    free(columns);
}

/* Why the entry is not there at all; NULL: it is. */
static const char *why_unavailable(const catalog *c, const entry *e)
{
    for (const field *f = c->fields; f->key; f++)
        if (strcmp(f->key, "unavailable") == 0)
            return field_text(f, e);
    return NULL;
}

static void print_fields(const catalog *c, const entry *e, text *cell)
{
    static const table_column columns[] = {{"", false, false, STYLE_DIM}, {"", false, false, STYLE_NONE}};
    table t = table_make(columns, 2);
    for (const field *f = c->fields + 1; f->key; f++) {
        text_clear(cell);
        add_value(cell, f, e);
        if (cell->length == 0 || f->use < IN_DETAILS)
            continue;
        const field *note = f + 1;
        if (note->key && note->use == IN_NOTE && field_text(note, e))
            text_addf(cell, " (%s%s%s)", note->title, note->title[0] ? " " : "", field_text(note, e));
        table_add(&t, f->title);
        table_add(&t, text_string(cell));
    }
    table_print(&t, 2, false);
}

void catalog_print_details(const catalog *c, const char *name)
{
    entry e;
    text cell = {0};
    bool first = true;
    for (int i = 0; c->read(i, &e); i++) {
        if (!catalog_matches(c, &e, name))
            continue;
        printf("%s%s%s%s\n", first ? "" : "\n", on(STYLE_NAME), field_text(c->fields, &e), off(STYLE_NAME));
        first = false;
        const char *why = why_unavailable(c, &e);
        if (why) { /* what is not there has nothing else to tell */
            text_clear(&cell);
            text_add_safe(&cell, why);
            printf("  unavailable: %s\n", text_string(&cell));
        } else {
            print_fields(c, &e, &cell);
        }
    }
    text_free(&cell);
}

static void add_member(json *j, const field *f, const entry *e)
{
    if (f->kind == FIELD_TEXT)
        json_string(j, f->key, field_text(f, e));
    else if (f->kind == FIELD_REAL)
        json_double(j, f->key, field_real(f, e));
    else if (f->kind == FIELD_BOOL)
        json_bool(j, f->key, field_yes(f, e));
    else if (is_unknown(f, e))
        json_null(j, f->key);
    else
        json_int(j, f->key, field_number(f, e));
}

void catalog_print_json(const catalog *c, const char *name)
{
    json j = {0};
    entry e;
    json_array(&j, NULL);
    for (int i = 0; c->read(i, &e); i++) {
        if (!catalog_matches(c, &e, name))
            continue;
        json_object(&j, NULL);
        for (const field *f = c->fields; f->key; f++)
            add_member(&j, f, &e);
        if (c->more)
            c->more(&j, &e);
        json_end(&j);
    }
    json_end(&j);
    json_print(&j);
}
