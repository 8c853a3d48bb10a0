/* log.c - hands formatted messages to the user's callback. The setting changes only while no other thread is
 * inside the library (see <tern/log.h>), so it needs no lock. */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

static struct {
    tern_log_level level;
    tern_log_fn fn;
    void *user;
} sink;

void tern_log_set(tern_log_level level, tern_log_fn fn, void *user)
{
    sink.level = level;
    sink.fn = fn;
    sink.user = user;
}

const char *tern_log_level_name(tern_log_level level)
{
    switch (level) {
#define NAME(id, number, name) \
    case TERN_LOG_##id:        \
        return name;
        TERN_LOG_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

void tern__log(tern_log_level level, const char *format, ...)
{
    if (sink.fn == NULL || level > sink.level)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return;
    if ((size_t)length >= sizeof text)
        tern__mark_cut(text, sizeof text);
    sink.fn(sink.user, level, text);
}
