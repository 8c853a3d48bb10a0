/* deadline.h - the one time-out of measurements: rows of suites and tests of models are given up when theirs has passed. */
#ifndef TERN_MEASURE_DEADLINE_H
#define TERN_MEASURE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/status.h>

typedef struct tern__deadline {
    uint64_t start, end; /* of tern__now_ns; end 0: never */
    double allowed_s;
    tern_stop_asked asked; /* somebody who may end it sooner; NULL: nobody */
    void *user;
} tern__deadline;

/* The time begins. */
tern__deadline tern__deadline_begin(double allowed_s);
/* Seconds, 0 when it has passed; INFINITY: never ends. */
double tern__deadline_left_s(const tern__deadline *deadline);
/* Fits tern_stop_asked; `deadline` is a tern__deadline. */
bool tern__deadline_passed(void *deadline);
/* Does a row's error say that it was given up? */
bool tern__deadline_says(const char *error);
/* TERN_CANCELLED if it has passed, "unavailable: given up after ...", or if somebody wants to stop. */
tern_status tern__deadline_check(const tern__deadline *deadline);

#endif
