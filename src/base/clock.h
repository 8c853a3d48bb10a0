/* clock.h - monotonic time. */
#ifndef TERN_BASE_CLOCK_H
#define TERN_BASE_CLOCK_H

#include <stdint.h>

uint64_t tern__now_ns(void);

#endif
