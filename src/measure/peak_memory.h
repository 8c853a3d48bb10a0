/* peak_memory.h - how much memory this process has had at most. */
#ifndef TERN_MEASURE_PEAK_MEMORY_H
#define TERN_MEASURE_PEAK_MEMORY_H

#include <stdint.h>

/* Bytes in physical memory, of the process's own and of files that it maps, since it started or tern__peak_memory_reset. 0: the
 * system does not tell. */
uint64_t tern__peak_memory(void);

/* Counts from what is in memory now, where the system can do that. */
void tern__peak_memory_reset(void);

#endif
