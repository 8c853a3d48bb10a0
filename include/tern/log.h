/* log.h - what the library has to say besides its results. Nothing is printed unless a callback prints it. */
#ifndef TERN_LOG_H
#define TERN_LOG_H

#include <tern/export.h>

/* X(enumerator, number, name), quietest first. */
#define TERN_LOG_LIST(X) X(ERROR, 0, "error") X(WARN, 1, "warn") X(INFO, 2, "info") X(DEBUG, 3, "debug")

typedef enum tern_log_level {
#define TERN_LOG_ENUM(id, number, name) TERN_LOG_##id = number,
    TERN_LOG_LIST(TERN_LOG_ENUM)
#undef TERN_LOG_ENUM
} tern_log_level;

/* Receives one message without a trailing newline. May be called from any thread, several at once; must not
 * call back into tern. `message` is valid during the call only. */
typedef void (*tern_log_fn)(void *user, tern_log_level level, const char *message);

#ifdef __cplusplus
extern "C" {
#endif

/* Installs the process-wide callback (NULL: silence, the default) for messages at `level` and quieter.
 * Not to be called while other threads are inside tern. */
TERN_API void tern_log_set(tern_log_level level, tern_log_fn fn, void *user);

/* "error", "warn", "info", "debug"; static. */
TERN_API const char *tern_log_level_name(tern_log_level level);

#ifdef __cplusplus
}
#endif
#endif
