/* text.c - text that grows, and numbers as people read them. */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "term.h"

/* ---- memory ------------------------------------------------------------------------------------------------- */

static void *or_die(void *block)
{
    if (block)
        return block;
    fputs("tern: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

void *grab(size_t count, size_t bytes_each)
{
    return or_die(calloc(count ? count : 1, bytes_each ? bytes_each : 1));
}

void *grab_more(void *block, size_t count, size_t bytes_each)
{
    if (bytes_each && count > SIZE_MAX / bytes_each)
        return or_die(NULL);
    size_t bytes = count * bytes_each;
    return or_die(realloc(block, bytes > 0 ? bytes : 1));
}

char *grab_string(const char *string, size_t length)
{
    char *copy = grab(length + 1, 1);
    memcpy(copy, string, length);
    return copy;
}

/* ---- text --------------------------------------------------------------------------------------------------- */

static void make_room(text *t, size_t more)
{
    if (more >= SIZE_MAX / 2 - t->length)
        or_die(NULL);
    size_t need = t->length + more + 1;
    if (need <= t->capacity)
        return;
    t->capacity = need > 2 * t->capacity ? need : 2 * t->capacity;
    t->data = grab_more(t->data, t->capacity, 1);
}

void text_add_n(text *t, const char *string, size_t length)
{
    make_room(t, length);
    memcpy(t->data + t->length, string, length);
    t->length += length;
    t->data[t->length] = '\0';
}

void text_add(text *t, const char *string)
{
    text_add_n(t, string, strlen(string));
}

void text_addf(text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0)
        return; /* no format of ours can fail */
    make_room(t, (size_t)length);
    va_start(list, format);
    vsnprintf(t->data + t->length, (size_t)length + 1, format, list);
    va_end(list);
    t->length += (size_t)length;
}

void text_repeat(text *t, const char *string, int times)
{
    for (int i = 0; i < times; i++)
        text_add(t, string);
}

void text_clear(text *t)
{
    t->length = 0;
    if (t->data)
        t->data[0] = '\0';
}

void text_free(text *t)
{
    free(t->data);
    *t = (text){0};
}

const char *text_string(const text *t)
{
    return t->data ? t->data : "";
}

/* ---- UTF-8 -------------------------------------------------------------------------------------------------- */

/* Length of the character at `s`, and its number; 0 if the bytes are not UTF-8. */
static size_t decode(const char *s, uint32_t *out)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 0x80) {
        *out = u[0];
        return 1;
    }
    size_t n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4)
        return 0;
    uint32_t c = u[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (u[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *out = c;
    return n;
}

bool text_ends_in(const char *string, const char *ending)
{
    size_t length = strlen(string), n = strlen(ending);
    return length > n && strcmp(string + length - n, ending) == 0;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

void text_add_unescaped(text *t, const char *string)
{
    static const char letters[] = "nrt'\"\\", meanings[] = "\n\r\t'\"\\";
    while (*string) {
        size_t plain = strcspn(string, "\\");
        text_add_n(t, string, plain);
        string += plain;
        if (*string == '\0')
            break;
        const char *letter = string[1] ? strchr(letters, string[1]) : NULL;
        bool hex = string[1] == 'x' && digit_of(string[2]) >= 0 && digit_of(string[3]) >= 0;
        char byte = hex      ? (char)(digit_of(string[2]) * 16 + digit_of(string[3]))
                    : letter ? meanings[letter - letters]
                             : '\\';
        text_add_n(t, &byte, 1);
        string += hex ? 4 : letter ? 2 : 1;
    }
}

size_t text_character(const char *string)
{
    uint32_t c;
    return decode(string, &c);
}

void text_add_safe(text *t, const char *string)
{
    while (*string) {
        uint32_t c = 0;
        size_t n = decode(string, &c);
        bool plain = n == 1 ? c >= 0x20 && c != 0x7f : n > 1 && c >= 0xa0 && term_utf8();
        if (plain)
            text_add_n(t, string, n);
        else
            text_add(t, "?");
        string += n ? n : 1;
    }
}

void text_add_quoted(text *t, const char *word)
{
    text_add(t, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_add(t, "'\\''");
        else
            text_add_n(t, word, 1);
    text_add(t, "'");
}

void text_add_word(text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,+@%-";
    if (*word && strspn(word, plain) == strlen(word)) {
        text_add(t, word);
    } else {
        text_add_quoted(t, word);
    }
}

/* Of the character at `string`, and its bytes; what is none takes a column for each byte. */
static int columns_of(const char *string, size_t *bytes)
{
    uint32_t c = 0;
    size_t n = decode(string, &c);
    *bytes = n ? n : 1;
    int columns = n > 1 && term_utf8() ? wcwidth((wchar_t)c) : 1;
    return columns >= 0 ? columns : 1; /* one that the system does not know */
}

int text_columns(const char *string, size_t length)
{
    int columns = 0;
    size_t bytes;
    for (size_t at = 0; at < length && string[at]; at += bytes)
        columns += columns_of(string + at, &bytes);
    return columns;
}

int text_width(const char *string)
{
    return text_columns(string, strlen(string));
}

size_t text_cut(const char *string, int columns)
{
    size_t at = 0, bytes;
    for (; string[at]; at += bytes) {
        columns -= columns_of(string + at, &bytes);
        if (columns < 0)
            break;
    }
    return at;
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

char *format_bytes(char buffer[NUMBER_TEXT], uint64_t bytes)
{
    tern_bytes_text((double)bytes, buffer, NUMBER_TEXT);
    return buffer;
}

char *format_count(char buffer[NUMBER_TEXT], uint64_t count)
{
    tern_count_text((double)count, buffer, NUMBER_TEXT);
    return buffer;
}

char *format_time(char buffer[NUMBER_TEXT], uint64_t ns)
{
    tern_time_text((double)ns, buffer, NUMBER_TEXT);
    return buffer;
}

char *format_double(char buffer[NUMBER_TEXT], double value)
{
    /* whole numbers as such: readers that want integers do not take 1e+06 */
    if (value == rint(value) && fabs(value) < 1e15) {
        snprintf(buffer, NUMBER_TEXT, "%.0f", value);
        return buffer;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buffer, NUMBER_TEXT, "%.*g", digits, value);
        if (isnan(value) || strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

void text_add_plural(text *t, int64_t count, const char *noun)
{
    text_addf(t, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
}

void text_add_type(text *t, const char *dtype, int rank, const int64_t *shape)
{
    text_addf(t, "%s[", dtype);
    for (int i = 0; i < rank; i++)
        text_addf(t, "%s%" PRId64, i ? "," : "", shape[i]);
    text_add(t, "]");
}

void text_add_duration(text *t, double seconds)
{
    const int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        text_addf(t, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        text_addf(t, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
    else
        text_addf(t, "%" PRId64 " s", s);
}
