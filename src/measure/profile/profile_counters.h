/* profile_counters.h - the processor's own counters, where the system lets a program have them. */
#ifndef TERN_MEASURE_PROFILE_COUNTERS_H
#define TERN_MEASURE_PROFILE_COUNTERS_H

#include <tern/profile.h>

enum { TERN__COUNTERS = 7 };

typedef struct tern__counter {
    int file; /* -1: there is none, and `why` says why */
    char why[160];
    double value, running;
} tern__counter;

/* Starts them for this thread and those that it will make. */
void tern__counters_open(tern__counter counters[TERN__COUNTERS]);
/* Reads and ends them. */
void tern__counters_close(tern__counter counters[TERN__COUNTERS]);
const char *tern__counter_name(int i);

#endif
