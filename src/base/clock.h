/* clock.h - monotonic time, and that of the processor. */
#ifndef TERN_BASE_CLOCK_H
#define TERN_BASE_CLOCK_H

#include <stdint.h>

uint64_t tern__now_ns(void);
/* What all threads of this process have computed, added up. */
uint64_t tern__cpu_time_ns(void);
/* What the calling thread has computed. */
uint64_t tern__thread_cpu_time_ns(void);

/* From now on `source` tells the time; NULL: the system does. For tests, which no machine is then too slow for; not to be set while
 * other threads look at the clock. */
typedef uint64_t (*tern__clock_source)(void *user);
void tern__clock_set_source(tern__clock_source source, void *user);

#endif
