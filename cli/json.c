/* json.c - writes JSON into text. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "term.h"

/* `string` has a zero behind its length, too, so that no character is looked for past its end. */
static void add_quoted(text *t, const char *string, size_t length)
{
    text_add(t, "\"");
    for (const char *end = string + length; string < end;) {
        unsigned char c = (unsigned char)*string;
        size_t n = text_character(string);
        if (c == '"' || c == '\\')
            text_addf(t, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            text_add(t, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (c < 0x20 || c == 0x7f)
            text_addf(t, "\\u%04x", c);
        else if (n == 0)
            text_add(t, "\\ufffd");
        else
            text_add_n(t, string, n);
        string += n ? n : 1;
    }
    text_add(t, "\"");
}

/* The comma, line, indentation and key that come before a value. */
static void begin(json *j, const char *key)
{
    if (j->depth == 0)
        return;
    text_addf(&j->out, "%s\n%*s", j->has_members ? "," : "", 2 * j->depth, "");
    j->has_members = true;
    if (key) {
        add_quoted(&j->out, key, strlen(key));
        text_add(&j->out, ": ");
    }
}

static void open_with(json *j, const char *key, const char *opening, char closing)
{
    begin(j, key);
    text_add(&j->out, opening);
    j->closing[j->depth++] = closing; /* nothing here nests deeper than a few levels */
    j->has_members = false;
}

void json_object(json *j, const char *key)
{
    open_with(j, key, "{", '}');
}

void json_array(json *j, const char *key)
{
    open_with(j, key, "[", ']');
}

void json_end(json *j)
{
    j->depth--;
    if (j->has_members)
        text_addf(&j->out, "\n%*s", 2 * j->depth, "");
    text_addf(&j->out, "%c", j->closing[j->depth]);
    j->has_members = true;
}

void json_string(json *j, const char *key, const char *value)
{
    if (value)
        json_string_n(j, key, value, strlen(value));
    else
        json_null(j, key);
}

void json_string_n(json *j, const char *key, const char *value, size_t length)
{
    begin(j, key);
    add_quoted(&j->out, value, length);
}

void json_int(json *j, const char *key, int64_t value)
{
    begin(j, key);
    text_addf(&j->out, "%" PRId64, value);
}

void json_uint(json *j, const char *key, uint64_t value)
{
    begin(j, key);
    text_addf(&j->out, "%" PRIu64, value);
}

void json_double(json *j, const char *key, double value)
{
    char number[NUMBER_TEXT];
    begin(j, key);
    text_add(&j->out, isfinite(value) ? format_double(number, value) : "null");
}

void json_bool(json *j, const char *key, bool value)
{
    begin(j, key);
    text_add(&j->out, value ? "true" : "false");
}

void json_null(json *j, const char *key)
{
    begin(j, key);
    text_add(&j->out, "null");
}

void json_ints(json *j, const char *key, int n, const int64_t *values)
{
    begin(j, key);
    text_add(&j->out, "[");
    for (int i = 0; i < n; i++)
        text_addf(&j->out, "%s%" PRId64, i ? ", " : "", values[i]);
    text_add(&j->out, "]");
}

void json_print(json *j)
{
    text_add(&j->out, "\n");
    term_put(text_string(&j->out));
    text_free(&j->out);
}
