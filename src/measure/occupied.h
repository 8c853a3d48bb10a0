/* occupied.h - was the machine one's own while something was measured?
 *
 * Two readings, before and after, say what others had of it in between: how long threads of this process could have run and had no
 * core, how much the host of a virtual machine took away, and on how many cores other processes computed. Times that were taken on a
 * machine that others had are no proof that something became slower.
 *
 *     const tern_moment before = tern_moment_now();
 *     ...
 *     const tern__occupancy o = tern__occupancy_between(before, tern_moment_now());
 *     if (tern__is_occupied(&o, threshold)) ... */
#ifndef TERN_MEASURE_OCCUPIED_H
#define TERN_MEASURE_OCCUPIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/measure.h>

typedef struct tern__occupancy {
    /* threads' worth: share of the time, added up over threads; NaN: the system does not tell */
    double waited;
    double stolen; /* cores' worth; NaN likewise */
    double others; /* cores' worth */
    double hidden; /* that these two may lack: the system counts in ticks; 0: it does not tell them */
    int cores;
} tern__occupancy;

/* tern_moment_now of what lies below `proc` instead of /proc. */
tern_moment tern__moment_read(const char *proc);

/* Ticks are coarse: one of each core is not held against anybody, so that short times are not called occupied by rounding. */
tern__occupancy tern__occupancy_between(tern_moment before, tern_moment after);

/* Can others explain a change beyond `threshold`? They can if they had more than half of it (at most 5 %) of the time in which this
 * process could have run: a disturbance may hit the median as hard as the mean. And if they computed on more than an eighth of the
 * cores: what they do to caches, memory and the other half of a core shows in no clock. What is not known is not held against anybody. */
bool tern__is_occupied(const tern__occupancy *o, double threshold);

/* Was it long enough for that answer? Ticks hide little of a second, and all of a twentieth: what was so short that others could have had
 * more than they may, unseen, proves nothing. True where the system does not tell. */
bool tern__occupancy_is_sure(const tern__occupancy *o);

/* Is it worth a warning? The same rule, for no threshold; but threads that waited are left out of it: there may be more of one's own than
 * cores. */
bool tern__occupancy_is_worth_telling(const tern__occupancy *o);

/* "0.41 of its threads waited for a core, others computed on 2.0 of 2 cores": how many at a time, in the mean. */
void tern__occupancy_text(const tern__occupancy *o, char *text, size_t room);

/* From now on `source` tells the moments; NULL: the system does. For tests, whose machine may be occupied or not. */
typedef tern_moment (*tern__moment_source)(void *user);
void tern__moment_set_source(tern__moment_source source, void *user);

#endif
