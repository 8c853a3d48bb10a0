/* strbuf.h - text that grows. A failed allocation sticks: later appends do nothing and tern__strbuf_take
 * fails, so that printers need one check at the end. */
#ifndef TERN_BASE_STRBUF_H
#define TERN_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <tern/status.h>

typedef struct tern__strbuf {
    char *text; /* NUL-terminated once anything was appended */
    size_t length, capacity;
    bool failed;
} tern__strbuf;

#define TERN__STRBUF_EMPTY ((tern__strbuf){0})

void tern__strbuf_add(tern__strbuf *s, const char *text);
void tern__strbuf_add_n(tern__strbuf *s, const char *text, size_t length);
void tern__strbuf_addf(tern__strbuf *s, const char *format, ...) TERN_PRINTF(2, 3);
void tern__strbuf_add_v(tern__strbuf *s, const char *format, va_list args) TERN_PRINTF(2, 0);
void tern__strbuf_free(tern__strbuf *s);

/* Hands the text to the caller, who frees it with tern__free (or the public tern_string_free). */
tern_status tern__strbuf_take(tern__strbuf *s, char **out);

#endif
