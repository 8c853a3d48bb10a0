/* signpost.h - trace events as events of os_signpost, which Instruments shows on a Mac; nothing elsewhere. They appear where they
 * ended, with how long they took: os_signpost cannot be told of an interval when it is over. Private to base/trace. */
#ifndef TERN_BASE_SIGNPOST_H
#define TERN_BASE_SIGNPOST_H

#include <stdint.h>

#ifdef __APPLE__

/* Either text may be NULL. Any thread. */
void tern__signpost(const char *name, const char *kernel, uint64_t duration_ns);

#else

static inline void tern__signpost(const char *name, const char *kernel, uint64_t duration_ns)
{
    (void)name;
    (void)kernel;
    (void)duration_ns;
}

#endif
#endif
