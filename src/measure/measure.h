/* measure.h - things and their limit, timed in turns: how long, how much it varies, what share of the limit.
 *
 * All ways of the limit are tried a few times, the fastest of them run in every round between the things, and the one with
 * the best median is the limit: the best single sample of each round would be luck that the things do not get. A share is
 * the median over the rounds of (limit for the thing's work / thing of the same round). A thing that seems faster than its limit is measured
 * again beside all ways. If its share stays above TERN__SHARE_MOST, the probes are wrong, and whoever asked must say so
 * instead of showing a number.
 *
 *     tern__limit_work work = {.kind = TERN_LIMIT_READ_BW, .read_bytes = bytes};
 *     tern__limit *limit;
 *     TERN_TRY(tern__limit_create(threads, 2, &work, &limit));
 *     tern__thing thing = {.run = run, .user = &job};
 *     tern__measurement m;
 *     TERN_TRY(tern__measure(&thing, 1, limit, &(tern__turns){.rounds = 9}, &m));
 *     printf("%.3f of the read bandwidth\n", m.share.median);
 *     tern__limit_destroy(limit);
 *
 * Without a limit (NULL) it is the one way to compare things: their samples alternate, and m[0].time.median /
 * m[1].time.median is a ratio from one run. */
#ifndef TERN_MEASURE_MEASURE_H
#define TERN_MEASURE_MEASURE_H

#include <stdbool.h>

#include "measure/limits.h"
#include "measure/timing.h"

#define TERN__SHARE_MOST 1.02

typedef struct tern__measurement {
    tern__stats time; /* seconds of a run */
    int64_t repeats;  /* runs in one sample */
    /* least seconds that the machine needs for the probe's work; n = 0: there is no limit */
    tern__stats limit_time;
    tern__stats share; /* of the limit, by tern__turns.work: 1 is all that the machine can do */
    char way[96];      /* how the limit is reached */
} tern__measurement;

/* `out` (n) is untouched on failure. All things are compared with the same limit. */
tern_status tern__measure(const tern__thing *things, int n, tern__limit *limit, const tern__turns *turns,
                          tern__measurement *out);

static inline bool tern__is_believable(const tern__measurement *m)
{
    return m->share.median <= TERN__SHARE_MOST;
}

#endif
