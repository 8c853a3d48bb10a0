/* log.h - messages for the user's callback; formatted only when somebody listens. */
#ifndef TERN_BASE_LOG_H
#define TERN_BASE_LOG_H

#include <tern/log.h>

void tern__log(tern_log_level level, const char *format, ...) TERN_PRINTF(2, 3);

#endif
