/* metrics.h - the inside of a collector of metrics: what is known of each operation, and where a metric comes from. */
#ifndef TERN_MEASURE_METRICS_H
#define TERN_MEASURE_METRICS_H

#include <pthread.h>
#include <stdbool.h>

#include <tern/metrics.h>

#define TERN__METRIC_ONE(id, number, name, kind, unit, source, help) +1
enum {
    TERN__METRICS = 0 TERN_METRIC_LIST(TERN__METRIC_ONE),
    TERN__METRIC_BOUNDS = 24, /* of histograms: 1, 2 and 5 us, ... 10, 20 and 50 s */
    TERN__OPERATION_NAME = 128,
};
#undef TERN__METRIC_ONE

typedef struct tern__histogram {
    uint64_t count, buckets[TERN__METRIC_BOUNDS + 1]; /* the last: beyond all bounds */
    double sum, min, max;
} tern__histogram;

typedef struct tern__metric_series {
    tern_metric_point *points; /* (n of capacity) */
    int n;
    double part, whole;  /* counted until the last point */
    double last, period; /* seconds: of the last point, and to the next at least */
} tern__metric_series;

/* One metric of one operation. */
typedef struct tern__metric_cell {
    bool told;
    double value;
    tern__histogram *histogram; /* NULL: of another kind, or not told */
    tern__metric_series *series;
} tern__metric_cell;

typedef struct tern__metric_set {
    tern_operation what; /* `name` is below; nothing is watched */
    char name[TERN__OPERATION_NAME];
    tern__metric_cell cells[TERN__METRICS];
} tern__metric_set;

struct tern_metrics {
    pthread_mutex_t lock; /* of all below */
    tern_metrics_options o;
    int64_t started_at; /* seconds since 1970 */
    uint64_t start_ns;
    tern__metric_set **sets; /* (n of o.operations + 1), "other" is the last */
    int n;
};

/* The upper end of bucket i, seconds. */
double tern__metric_bound(int i);

double tern__metrics_seconds(const tern_metrics *m); /* since it was made */

#endif
