/* deadline.h - the one time-out of measurements: rows of suites and tests of models are given up when theirs has passed. */
#ifndef TERN_MEASURE_DEADLINE_H
#define TERN_MEASURE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/status.h>

typedef struct tern__deadline {
    uint64_t start, end; /* of tern__now_ns; end 0: never */
    double allowed_s;
} tern__deadline;

/* The time begins. */
tern__deadline tern__deadline_begin(double allowed_s);
/* Fits tern_stop_asked; `deadline` is a tern__deadline. */
bool tern__deadline_passed(void *deadline);
/* TERN_CANCELLED, "unavailable: given up after ...", if it has passed. */
tern_status tern__deadline_check(const tern__deadline *deadline);

#endif
