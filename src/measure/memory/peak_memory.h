/* peak_memory.h - tern_memory_process_peak (<tern/memory.h>) from a moment on. */
#ifndef TERN_MEASURE_PEAK_MEMORY_H
#define TERN_MEASURE_PEAK_MEMORY_H

/* Counts from what is in memory now, where the system can do that. */
void tern__peak_memory_reset(void);

#endif
