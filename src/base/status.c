/* status.c - names of the codes, and the thread's last message. The buffer is part of the thread, so
 * reporting a failure never allocates and works when memory has run out. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[TERN__MESSAGE_MAX];

const char *tern_status_name(tern_status status)
{
    switch (status) {
#define NAME(id, number, name, meaning) \
    case TERN_##id:                     \
        return name;
        TERN_STATUS_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

const char *tern_status_meaning(tern_status status)
{
    switch (status) {
#define MEANING(id, number, name, meaning) \
    case TERN_##id:                        \
        return meaning;
        TERN_STATUS_LIST(MEANING)
#undef MEANING
    }
    return "unknown";
}

const char *tern_last_error(void)
{
    return last_error;
}

bool tern__status_of_device(tern_status status)
{
    return status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE || status == TERN_INTERNAL ||
           status == TERN_OUT_OF_MEMORY || status == TERN_LIMIT;
}

void tern__mark_cut(char *text, size_t capacity)
{
    size_t at = capacity - sizeof "...";
    /* Not in the middle of a UTF-8 sequence: a name from a file may stand here. */
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    memcpy(text + at, "...", sizeof "...");
}

/* Copies a message as one line that a terminal shows as it is: names from files stand in it, and a line feed or an
 * escape sequence of theirs must not pass for ours. */
static void copy_line(char *out, size_t capacity, const char *text)
{
    size_t used = 0;
    for (const char *p = text; *p; p++) {
        bool control = (unsigned char)*p < 0x20 || *p == 0x7f;
        char escape[5] = {*p, '\0'};
        if (control)
            snprintf(escape, sizeof escape, *p == '\n' ? "\\n" : "\\x%02x", (unsigned)(unsigned char)*p);
        size_t length = strlen(escape);
        if (used + length >= capacity) {
            memset(out + used, '.', capacity - used); /* where it is cut, no byte is left from before */
            tern__mark_cut(out, capacity);
            return;
        }
        memcpy(out + used, escape, length);
        used += length;
    }
    out[used] = '\0';
}

tern_status tern__fail_v(tern_status status, const char *format, va_list args)
{
    /* Formatted aside, because an argument may be the last message itself. */
    char text[TERN__MESSAGE_MAX];
    int length = vsnprintf(text, sizeof text, format, args);
    if (length < 0)
        snprintf(text, sizeof text, "%s (the message could not be formatted)", tern_status_meaning(status));
    else if ((size_t)length >= sizeof text)
        tern__mark_cut(text, sizeof text);
    copy_line(last_error, sizeof last_error, text);
    return status;
}

tern_status tern__fail(tern_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tern__fail_v(status, format, args);
    va_end(args);
    return status;
}

tern_status tern__fail_in(tern_status status, const char *context)
{
    return tern__fail(status, "%s: %s", context, last_error);
}

tern_status tern__fail_of(tern_status status, const char *path)
{
    if (status == TERN_OK || strncmp(last_error, path, strlen(path)) == 0)
        return status;
    return tern__fail_in(status, path);
}

tern_status tern__out_of_memory(size_t bytes)
{
    return tern__fail(TERN_OUT_OF_MEMORY, "out of memory: %zu bytes were refused", bytes);
}
