/* status.h - how the inside of the library reports failure: set the sentence, return the code. */
#ifndef TERN_BASE_STATUS_H
#define TERN_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <tern/status.h>

#define TERN__LIKELY(x) __builtin_expect(!!(x), 1)
#define TERN__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TERN__COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Longest message kept, terminator included; longer ones are cut and end in "...". */
enum { TERN__MESSAGE_MAX = 512 };

/* Formats the thread's last error and returns `status`, so that a failing function ends in
 * `return tern__fail(TERN_SHAPE, "matmul: ...", ...)`. Allocates nothing. */
tern_status tern__fail(tern_status status, const char *format, ...) TERN_PRINTF(2, 3);
tern_status tern__fail_v(tern_status status, const char *format, va_list args);

/* Puts "context: " in front of the thread's message and returns `status` unchanged. */
tern_status tern__fail_in(tern_status status, const char *context);
/* The same with a file's path, unless the message starts with it already or there is none (TERN_OK). */
tern_status tern__fail_of(tern_status status, const char *path);

/* The common case of an allocation that failed. */
tern_status tern__out_of_memory(size_t bytes);

/* Is it what a device fails with (of which runtime/recover.c makes these), and not the caller, the data or a file? Who measures devices tells it
 * of that device, and goes on with the others. */
bool tern__status_of_device(tern_status status);

/* Makes the end of a cut text of `capacity` bytes, terminator included, say so: "...". */
void tern__mark_cut(char *text, size_t capacity);

#define TERN__FAIL_IF(condition, status, ...)         \
    do {                                              \
        if (TERN__UNLIKELY(condition))                \
            return tern__fail((status), __VA_ARGS__); \
    } while (0)

#endif
