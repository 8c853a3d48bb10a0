/* status.h - what every fallible call returns, and the sentence that explains a failure.
 *
 * A call that returns tern_status leaves its outputs untouched when it fails and stores one sentence,
 * readable with tern_last_error(), that says what was wrong. Nothing in libtern aborts or exits. */
#ifndef TERN_STATUS_H
#define TERN_STATUS_H

#include <tern/export.h>

/* The one list of status codes: X(enumerator, number, name, meaning). Numbers are part of the ABI. */
#define TERN_STATUS_LIST(X)                                                                    \
    X(OK, 0, "ok", "success")                                                                  \
    X(INVALID_ARGUMENT, 1, "invalid-argument", "an argument is outside what the call accepts") \
    X(SHAPE, 2, "shape", "shapes do not fit together")                                         \
    X(DTYPE, 3, "dtype", "an element type is not accepted here")                               \
    X(OUT_OF_MEMORY, 4, "out-of-memory", "an allocation failed")                               \
    X(OUT_OF_RANGE, 5, "out-of-range", "an index or position is outside its bounds")           \
    X(OVERFLOW, 6, "overflow", "a size does not fit the machine's integers")                   \
    X(NOT_FOUND, 7, "not-found", "a file, name or entry does not exist")                       \
    X(IO, 8, "io", "reading or writing failed")                                                \
    X(FORMAT, 9, "format", "a file or text is malformed")                                      \
    X(UNSUPPORTED, 10, "unsupported", "a valid request that this build does not carry out")    \
    X(UNAVAILABLE, 11, "unavailable", "something needed is absent on this machine")            \
    X(LIMIT, 12, "limit", "a configured limit would be exceeded")                              \
    X(STATE, 13, "state", "the object is not in a state that allows the call")                 \
    X(INTERNAL, 14, "internal", "a bug in tern: an invariant does not hold")                   \
    X(CANCELLED, 15, "cancelled", "the caller stopped it")

typedef enum tern_status {
#define TERN_STATUS_ENUM(id, number, name, meaning) TERN_##id = number,
    TERN_STATUS_LIST(TERN_STATUS_ENUM)
#undef TERN_STATUS_ENUM
} tern_status;

/* Returns its status from the enclosing function unless it is TERN_OK. */
#define TERN_TRY(expression)                        \
    do {                                            \
        tern_status tern_try_status = (expression); \
        if (tern_try_status != TERN_OK)             \
            return tern_try_status;                 \
    } while (0)

#ifdef __cplusplus
extern "C" {
#endif

/* Name ("shape") and meaning of a code; static strings, "unknown" for numbers that are not codes. */
TERN_API const char *tern_status_name(tern_status status);
TERN_API const char *tern_status_meaning(tern_status status);

/* The sentence for the last failure on this thread, "" if there was none: one line, in which control characters (of names
 * in files, say) are written as \n or \x1b. Valid until the next failing tern call on the same thread. A call that
 * succeeds does not clear it. */
TERN_API const char *tern_last_error(void);

/* Frees a text that a call has made for its caller (`char **out`). NULL is fine. Any thread. */
TERN_API void tern_string_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
