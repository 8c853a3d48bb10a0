/* strbuf.c - text that grows. */
#include "base/point.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

/* Room for `extra` more bytes and the terminator; false once anything has failed. */
static bool reserve(tern__strbuf *s, size_t extra)
{
    size_t need;
    if (s->failed)
        return false;
    if (!tern__size_add(s->length, extra, &need) || !tern__size_add(need, 1, &need)) {
        s->failed = true;
        return false;
    }
    if (need <= s->capacity)
        return true;
    void *text = s->text;
    s->failed = !tern__grow(&text, &s->capacity, need < 64 ? 64 : need, 1);
    s->text = text;
    return !s->failed;
}

void tern__strbuf_add_n(tern__strbuf *s, const char *text, size_t length)
{
    if (!reserve(s, length))
        return;
    if (length > 0)
        memcpy(s->text + s->length, text, length);
    s->length += length;
    s->text[s->length] = '\0';
}

void tern__strbuf_add(tern__strbuf *s, const char *text)
{
    tern__strbuf_add_n(s, text, strlen(text));
}

void tern__strbuf_add_v(tern__strbuf *s, const char *format, va_list args)
{
    if (!reserve(s, 0))
        return;
    va_list again;
    va_copy(again, args);
    int length = tern__point_vsnprintf(s->text + s->length, s->capacity - s->length, format, args);
    if (length < 0)
        s->failed = true;
    else if ((size_t)length >= s->capacity - s->length && reserve(s, (size_t)length))
        tern__point_vsnprintf(s->text + s->length, s->capacity - s->length, format, again);
    if (!s->failed)
        s->length += (size_t)length;
    else
        s->text[s->length] = '\0'; /* what the first attempt wrote is not part of the text */
    va_end(again);
}

void tern__strbuf_addf(tern__strbuf *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tern__strbuf_add_v(s, format, args);
    va_end(args);
}

void tern__strbuf_free(tern__strbuf *s)
{
    tern__free(s->text);
    *s = TERN__STRBUF_EMPTY;
}

tern_status tern__strbuf_take(tern__strbuf *s, char **out)
{
    if (!reserve(s, 0)) {
        size_t bytes = s->length;
        tern__strbuf_free(s);
        return tern__out_of_memory(bytes);
    }
    s->text[s->length] = '\0';
    *out = s->text;
    *s = TERN__STRBUF_EMPTY;
    return TERN_OK;
}

void tern_string_free(char *text)
{
    tern__free(text);
}
