/* signpost.h - trace events as intervals of os_signpost, which Instruments shows on a Mac; nothing elsewhere. An interval is known by
 * the time at which it began. Private to base/trace. */
#ifndef TERN_BASE_SIGNPOST_H
#define TERN_BASE_SIGNPOST_H

#include <stdint.h>

#ifdef __APPLE__

/* Begins an interval; gives its name back. */
uint64_t tern__signpost_begin(uint64_t start_ns);
/* Ends it, and says what it was; either text may be NULL. */
void tern__signpost_end(uint64_t start_ns, const char *name, const char *kernel);

#else

static inline uint64_t tern__signpost_begin(uint64_t start_ns)
{
    return start_ns;
}

static inline void tern__signpost_end(uint64_t start_ns, const char *name, const char *kernel)
{
    (void)start_ns;
    (void)name;
    (void)kernel;
}

#endif
#endif
