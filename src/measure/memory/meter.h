/* meter.h - how much memory some work has at most, and how often it asks for some: counted, by the same calls that tell the memory
 * tracker. */
#ifndef TERN_MEASURE_METER_H
#define TERN_MEASURE_METER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tern__meter {
    int64_t blocks;     /* of the heap, of pools and of pages, that were asked for */
    int64_t peak_bytes; /* most in use beyond what was in use at the start */
} tern__meter;

/* false: somebody else listens (tern_memory_start), and nothing is counted. No tern call may be running on other threads, here and at
 * the end. */
bool tern__meter_start(void);
tern__meter tern__meter_stop(void);

#endif
