/* priority.h - threads that make way for others. */
#ifndef TERN_BASE_PRIORITY_H
#define TERN_BASE_PRIORITY_H

#include <tern/status.h>

enum { TERN__BACKGROUND_NICE = 10 };

/* Lowers the priority of the calling thread, for good: a niceness of 10 and Linux's batch scheduling, on macOS the class of background
 * work. TERN_UNSUPPORTED where there is no such thing. */
tern_status tern__thread_background(void);

#endif
