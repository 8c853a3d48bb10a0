/* clock.h - monotonic time, and that of the processor. */
#ifndef TERN_BASE_CLOCK_H
#define TERN_BASE_CLOCK_H

#include <stdint.h>

uint64_t tern__now_ns(void);
/* What all threads of this process have computed, added up. */
uint64_t tern__cpu_time_ns(void);

#endif
