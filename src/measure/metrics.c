/* metrics.c - a collector of metrics: spans read counters and add what has changed to the set of their operation, under one lock. */
#include "measure/metrics.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/status.h"
#include "base/utf8.h"

/* ---- the table ---- */

typedef enum source { SOURCE_CALLER, SOURCE_SPAN, SOURCE_COUNTED, SOURCE_EVENT, SOURCE_SHARE } source;

/* What is read at once, as numbers that only the table tells apart. */
typedef struct plan_numbers {
    uint64_t plans, steps, arena_bytes, compile_ns;
} plan_numbers;

typedef struct counted {
    tern_ctx_stats ctx;
    tern_pool_stats pool;
    tern_cache_stats cache;
    plan_numbers plan;
    bool has_ctx, has_cache, has_plan;
} counted;

typedef struct row {
    tern_metric_info info;
    source source;
    size_t offset, has;     /* COUNTED: of a uint64_t, and of what says that it is there */
    const char *category;   /* EVENT */
    tern_metric part, rest; /* SHARE */
} row;

#define FROM_CALLER .source = SOURCE_CALLER
#define FROM_SPAN .source = SOURCE_SPAN
#define FROM_FIELD(field, flag) \
    .source = SOURCE_COUNTED, .offset = offsetof(counted, field), .has = offsetof(counted, flag)
#define FROM_CTX(field) FROM_FIELD(ctx.field, has_ctx)
#define FROM_POOL(field) FROM_FIELD(pool.field, has_ctx)
#define FROM_CACHE(field) FROM_FIELD(cache.field, has_cache)
#define FROM_PLAN(field) FROM_FIELD(plan.field, has_plan)
#define FROM_EVENT(name) .source = SOURCE_EVENT, .category = name
#define FROM_SHARE(a, b) .source = SOURCE_SHARE, .part = TERN_METRIC_##a, .rest = TERN_METRIC_##b

#define UNIT_NONE ""
#define UNIT_SECONDS "seconds"
#define UNIT_BYTES "bytes"
#define UNIT_RATIO "ratio"
#define SUFFIX_NONE ""
#define SUFFIX_SECONDS "_seconds"
#define SUFFIX_BYTES "_bytes"
#define SUFFIX_RATIO "_ratio"
#define END_COUNTER "_total"
#define END_GAUGE ""
#define END_PEAK ""
#define END_HISTOGRAM ""
#define END_SERIES ""

static const row rows[] = {
#define ROW(id, number, name, kind, unit, from, help) \
    [number] = {{"tern_" name SUFFIX_##unit END_##kind, TERN_METRIC_##kind, UNIT_##unit, help}, FROM_##from},
    TERN_METRIC_LIST(ROW)
#undef ROW
};
_Static_assert(TERN__COUNT(rows) == TERN__METRICS, "metrics are numbered from 0 without gaps");

static bool is_metric(tern_metric metric)
{
    return (int)metric >= 0 && (int)metric < TERN__METRICS;
}

tern_status tern_metric_at(int i, tern_metric_info *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "metric: where should it go? give `out`");
    TERN__FAIL_IF(i < 0 || i >= TERN__METRICS, TERN_OUT_OF_RANGE, "metric %d: there are %d", i,
                  TERN__METRICS);
    *out = rows[i].info;
    return TERN_OK;
}

const char *tern_metric_kind_name(tern_metric_kind kind)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_METRIC_KIND_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)kind);
}

double tern__metric_bound(int i)
{
    static const double bounds[TERN__METRIC_BOUNDS] = {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                       5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,
                                                       0.2,  0.5,  1,    2,    5,    10,   20,   50};
    return bounds[i];
}

/* ---- the collector ---- */

double tern__metrics_seconds(const tern_metrics *m)
{
    return (double)(tern__now_ns() - m->start_ns) * 1e-9;
}

tern_metrics_options tern_metrics_options_default(void)
{
    return (tern_metrics_options){0};
}

tern_status tern_metrics_create(const tern_metrics_options *options, tern_metrics **out)
{
    tern_metrics_options o = options ? *options : tern_metrics_options_default();
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "metrics: where should they go? give `out`");
    TERN__FAIL_IF(o.operations < 0 || o.operations > 65536, TERN_INVALID_ARGUMENT,
                  "metrics: %d operations: give 1 to 65536, or 0", o.operations);
    TERN__FAIL_IF(o.points != 0 && (o.points < 2 || o.points > 65536 || o.points % 2 != 0),
                  TERN_INVALID_ARGUMENT, "metrics: %d points: give an even number from 2 to 65536, or 0",
                  o.points);
    o.operations = o.operations ? o.operations : 64;
    o.points = o.points ? o.points : 512;
    o.period_ns = o.period_ns ? o.period_ns : 100000000;
    const size_t room = ((size_t)o.operations + 1) * sizeof(tern__metric_set *);
    tern_metrics *m = tern__alloc_zero(1, sizeof *m);
    tern__metric_set **sets = tern__alloc_zero(1, room);
    if (!m || !sets || pthread_mutex_init(&m->lock, NULL) != 0) {
        tern__free(m);
        tern__free(sets);
        return tern__out_of_memory(room);
    }
    m->o = o;
    m->sets = sets;
    m->start_ns = tern__now_ns();
    m->started_at = (int64_t)time(NULL);
    *out = m;
    return TERN_OK;
}

static void free_set(tern__metric_set *set)
{
    for (int i = 0; i < TERN__METRICS; i++) {
        tern__free(set->cells[i].histogram);
        if (set->cells[i].series)
            tern__free(set->cells[i].series->points);
        tern__free(set->cells[i].series);
    }
    tern__free(set);
}

void tern_metrics_free(tern_metrics *metrics)
{
    if (!metrics)
        return;
    for (int i = 0; i < metrics->n; i++)
        free_set(metrics->sets[i]);
    tern__free(metrics->sets);
    pthread_mutex_destroy(&metrics->lock);
    tern__free(metrics);
}

static bool same_operation(const tern_operation *a, const tern_operation *b)
{
    return strcmp(a->name, b->name) == 0 && a->batch == b->batch && a->sequence == b->sequence &&
           a->parameters == b->parameters && a->precision == b->precision && a->level == b->level &&
           a->threads == b->threads;
}

/* As much of the text as there is room for, in whole characters; what is no UTF-8 becomes U+FFFD, once for all formats. */
static void copy_name(char to[TERN__OPERATION_NAME], const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t used = 0, left = strlen(text);
    while (left > 0) {
        const size_t n = tern__utf8_length(text, left), length = n ? n : strlen(replacement);
        if (used + length >= TERN__OPERATION_NAME)
            break;
        memcpy(to + used, n ? text : replacement, length);
        used += length;
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    to[used] = '\0';
}

/* The set of the operation, made if it is new; NULL: out of memory. */
static tern__metric_set *find_set(tern_metrics *m, const tern_operation *what)
{
    const tern_operation other = {.name = "other"};
    for (int i = 0; i < m->n; i++)
        if (same_operation(&m->sets[i]->what, what))
            return m->sets[i];
    if (m->n > m->o.operations)
        return m->sets[m->o.operations];
    tern__metric_set *set = tern__alloc_zero(1, sizeof *set);
    if (!set)
        return NULL;
    set->what = m->n < m->o.operations ? *what : other;
    memcpy(set->name, set->what.name, strlen(set->what.name) + 1);
    set->what.name = set->name;
    m->sets[m->n++] = set;
    return set;
}

/* ---- cells ---- */

static void add(tern__metric_set *set, tern_metric metric, double amount)
{
    set->cells[metric].told = true;
    set->cells[metric].value += amount;
}

static tern_status record_time(tern__metric_set *set, tern_metric metric, double seconds)
{
    tern__metric_cell *cell = &set->cells[metric];
    if (!cell->histogram && !(cell->histogram = tern__alloc_zero(1, sizeof *cell->histogram)))
        return tern__out_of_memory(sizeof *cell->histogram);
    tern__histogram *h = cell->histogram;
    int i = 0;
    while (i < TERN__METRIC_BOUNDS && seconds > tern__metric_bound(i))
        i++;
    h->buckets[i]++;
    h->min = h->count == 0 ? seconds : fmin(h->min, seconds);
    h->max = h->count == 0 ? seconds : fmax(h->max, seconds);
    h->sum += seconds;
    h->count++;
    cell->told = true;
    return TERN_OK;
}

/* Neighbours become one point, and the next ones are as far apart: a series tells the whole life of its collector. */
static void halve(tern__metric_series *s)
{
    for (int i = 0; i < s->n / 2; i++) {
        tern_metric_point a = s->points[2 * i], b = s->points[2 * i + 1];
        const double part = a.part + b.part, whole = a.whole + b.whole;
        s->points[i] = (tern_metric_point){b.seconds, part / whole, part, whole};
    }
    s->n /= 2;
    s->period *= 2;
}

static tern_status add_point(tern_metrics *m, tern__metric_cell *cell, double part, double whole, bool last)
{
    const double now = tern__metrics_seconds(m);
    const size_t room = (size_t)m->o.points * sizeof(tern_metric_point);
    tern__metric_series *s = cell->series;
    if (!s) {
        s = tern__alloc_zero(1, sizeof *s);
        tern_metric_point *points = s ? tern__alloc(room) : NULL;
        if (!points) {
            tern__free(s);
            return tern__out_of_memory(room);
        }
        *s = (tern__metric_series){.points = points, .period = (double)m->o.period_ns * 1e-9};
        cell->series = s;
    }
    if (whole <= s->whole || (!last && s->n > 0 && now - s->last < s->period))
        return TERN_OK;
    if (s->n == m->o.points)
        halve(s);
    const double some = part - s->part, all = whole - s->whole;
    s->points[s->n++] = (tern_metric_point){now, some / all, some, all};
    s->part = part;
    s->whole = whole;
    s->last = now;
    return TERN_OK;
}

static tern_status add_points(tern_metrics *m, tern__metric_set *set, bool last)
{
    tern_status status = TERN_OK;
    for (int i = 0; i < TERN__METRICS && status == TERN_OK; i++) {
        if (rows[i].source != SOURCE_SHARE || !set->cells[rows[i].part].told)
            continue;
        tern__metric_cell *cell = &set->cells[i];
        const double part = set->cells[rows[i].part].value, whole = part + set->cells[rows[i].rest].value;
        if (whole <= 0)
            continue;
        cell->told = true;
        cell->value = part / whole;
        status = add_point(m, cell, part, whole, last);
    }
    return status;
}

/* ---- spans ---- */

struct tern_metrics_span {
    tern_metrics *metrics;
    tern__metric_set *set;
    tern_ctx *ctx;
    tern_cache *cache;
    uint64_t start_ns;
    counted before;
};

static void count(const tern_metrics_span *span, counted *out)
{
    *out = (counted){.has_ctx = span->ctx != NULL, .has_cache = span->cache != NULL};
    if (span->ctx) {
        tern_ctx_get_stats(span->ctx, &out->ctx);
        tern_pool_get_stats(tern_ctx_pool(span->ctx), &out->pool);
    }
    if (span->cache)
        tern_cache_get_stats(span->cache, &out->cache);
}

static uint64_t number_at(const counted *c, size_t offset)
{
    return *(const uint64_t *)((const char *)c + offset);
}

/* Adds what counters have grown by, and takes over gauges. */
static void add_counted(tern__metric_set *set, const counted *before, const counted *now)
{
    for (int i = 0; i < TERN__METRICS; i++) {
        const row *r = &rows[i];
        if (r->source != SOURCE_COUNTED || !*(const bool *)((const char *)now + r->has))
            continue;
        const uint64_t value = number_at(now, r->offset), old = number_at(before, r->offset);
        const double scale = r->info.unit[0] == 's' ? 1e-9 : 1; /* times are counted in ns */
        if (r->info.kind == TERN_METRIC_COUNTER) {
            add(set, (tern_metric)i, (double)(value - old) * scale);
        } else {
            tern__metric_cell *cell = &set->cells[i];
            const bool keeps = r->info.kind == TERN_METRIC_PEAK && cell->told;
            cell->value = keeps ? fmax(cell->value, (double)value * scale) : (double)value * scale;
            cell->told = true;
        }
    }
}

tern_status tern_metrics_start(tern_metrics *metrics, const tern_operation *operation,
                               tern_metrics_span **out)
{
    TERN__FAIL_IF(!metrics || !operation || !out, TERN_INVALID_ARGUMENT,
                  "metrics: a span needs a collector, an operation and a place to go");
    char name[TERN__OPERATION_NAME];
    tern_operation what = *operation;
    copy_name(name, what.name ? what.name : "");
    what.name = name;
    what.ctx = NULL;
    what.cache = NULL;
    tern_metrics_span *span = tern__alloc_zero(1, sizeof *span);
    if (!span)
        return tern__out_of_memory(sizeof *span);
    pthread_mutex_lock(&metrics->lock);
    tern__metric_set *set = find_set(metrics, &what);
    if (set)
        add(set, TERN_METRIC_RUNNING, 1);
    pthread_mutex_unlock(&metrics->lock);
    if (!set) {
        tern__free(span);
        return tern__out_of_memory(sizeof *set);
    }
    *span =
        (tern_metrics_span){.metrics = metrics, .set = set, .ctx = operation->ctx, .cache = operation->cache};
    count(span, &span->before);
    span->start_ns = tern__now_ns();
    *out = span;
    return TERN_OK;
}

static tern_status observe(tern_metrics_span *span, bool last)
{
    counted now;
    count(span, &now);
    pthread_mutex_lock(&span->metrics->lock);
    add_counted(span->set, &span->before, &now);
    tern_status status = add_points(span->metrics, span->set, last);
    pthread_mutex_unlock(&span->metrics->lock);
    span->before = now;
    return status;
}

tern_status tern_metrics_observe(tern_metrics_span *span)
{
    TERN__FAIL_IF(!span, TERN_INVALID_ARGUMENT, "metrics: which span? give one that has started");
    return observe(span, false);
}

tern_status tern_metrics_stop(tern_metrics_span *span, tern_status status)
{
    TERN__FAIL_IF(!span, TERN_INVALID_ARGUMENT, "metrics: which span? give one that has started");
    const double seconds = (double)(tern__now_ns() - span->start_ns) * 1e-9;
    tern_status observed = observe(span, true);
    pthread_mutex_lock(&span->metrics->lock);
    add(span->set, TERN_METRIC_RUNNING, -1);
    add(span->set, TERN_METRIC_OPERATIONS, 1);
    add(span->set, TERN_METRIC_FAILURES, status != TERN_OK);
    tern_status recorded = record_time(span->set, TERN_METRIC_OPERATION_TIME, seconds);
    pthread_mutex_unlock(&span->metrics->lock);
    tern__free(span);
    return observed != TERN_OK ? observed : recorded;
}

tern_status tern_metrics_record(tern_metrics_span *span, tern_metric metric, double value)
{
    TERN__FAIL_IF(!span, TERN_INVALID_ARGUMENT, "metrics: which span? give one that has started");
    TERN__FAIL_IF(!is_metric(metric), TERN_INVALID_ARGUMENT, "metrics: there is no metric %d", (int)metric);
    const tern_metric_info *info = &rows[metric].info;
    TERN__FAIL_IF(rows[metric].source != SOURCE_CALLER, TERN_INVALID_ARGUMENT,
                  "metrics: %s is read where it is counted, and cannot be recorded", info->name);
    TERN__FAIL_IF(!(isfinite(value) && value >= 0), TERN_INVALID_ARGUMENT,
                  "metrics: %s: %g is no finite number from 0 on", info->name, value);
    tern_status status = TERN_OK;
    pthread_mutex_lock(&span->metrics->lock);
    if (info->kind == TERN_METRIC_HISTOGRAM)
        status = record_time(span->set, metric, value);
    else if (info->kind == TERN_METRIC_COUNTER)
        add(span->set, metric, value);
    else
        add(span->set, metric, value - span->set->cells[metric].value);
    pthread_mutex_unlock(&span->metrics->lock);
    return status;
}

tern_status tern_metrics_take_program(tern_metrics_span *span, const tern_program *program)
{
    TERN__FAIL_IF(!span || !program, TERN_INVALID_ARGUMENT, "metrics: give a span and a program");
    tern_program_info info;
    tern_program_get_info(program, &info);
    const counted none = {0};
    const counted now = {.has_plan = true,
                         .plan = {.plans = 1,
                                  .steps = (uint64_t)info.steps,
                                  .arena_bytes = info.arena_bytes,
                                  .compile_ns = info.compile_ns}};
    pthread_mutex_lock(&span->metrics->lock);
    add_counted(span->set, &none, &now);
    pthread_mutex_unlock(&span->metrics->lock);
    return TERN_OK;
}

void tern_metrics_take_event(void *user, const tern_trace_event *event)
{
    tern_metrics_span *span = user;
    if (!span || !event || !event->category)
        return;
    for (int i = 0; i < TERN__METRICS; i++)
        if (rows[i].source == SOURCE_EVENT && strcmp(rows[i].category, event->category) == 0) {
            pthread_mutex_lock(&span->metrics->lock);
            if (record_time(span->set, (tern_metric)i, (double)event->duration_ns * 1e-9) != TERN_OK)
                add(span->set, TERN_METRIC_LOST_EVENTS, 1);
            pthread_mutex_unlock(&span->metrics->lock);
            return;
        }
}

/* ---- reading ---- */

tern_status tern_metrics_operation(tern_metrics *metrics, int i, tern_operation *out)
{
    TERN__FAIL_IF(!metrics || !out, TERN_INVALID_ARGUMENT, "metrics: give a collector and `out`");
    pthread_mutex_lock(&metrics->lock);
    const bool there = i >= 0 && i < metrics->n;
    if (there)
        *out = metrics->sets[i]->what;
    pthread_mutex_unlock(&metrics->lock);
    return there ? TERN_OK : tern__fail(TERN_OUT_OF_RANGE, "metrics: there is no operation %d", i);
}

/* The cell, with the collector locked; NULL, unlocked, with the status in *status: there is none. */
static const tern__metric_cell *lock_cell(tern_metrics *m, int i, tern_metric metric, tern_status *status)
{
    *status = TERN_OK;
    if (!is_metric(metric))
        *status = tern__fail(TERN_INVALID_ARGUMENT, "metrics: there is no metric %d", (int)metric);
    if (*status != TERN_OK)
        return NULL;
    pthread_mutex_lock(&m->lock);
    if (i < 0 || i >= m->n)
        *status = tern__fail(TERN_OUT_OF_RANGE, "metrics: there is no operation %d", i);
    else if (!m->sets[i]->cells[metric].told)
        *status = tern__fail(TERN_NOT_FOUND, "metrics: nobody told %s", rows[metric].info.name);
    if (*status == TERN_OK)
        return &m->sets[i]->cells[metric];
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

tern_status tern_metrics_value(tern_metrics *metrics, int i, tern_metric metric, tern_metric_value *out)
{
    tern_status status;
    TERN__FAIL_IF(!metrics || !out, TERN_INVALID_ARGUMENT, "metrics: give a collector and `out`");
    const tern__metric_cell *cell = lock_cell(metrics, i, metric, &status);
    if (!cell)
        return status;
    const tern__histogram *h = cell->histogram;
    *out = (tern_metric_value){.value = h ? h->sum : cell->value,
                               .count = h              ? h->count
                                        : cell->series ? (uint64_t)cell->series->n
                                                       : 0,
                               .min = h ? h->min : NAN,
                               .max = h ? h->max : NAN};
    pthread_mutex_unlock(&metrics->lock);
    return TERN_OK;
}

tern_status tern_metrics_point(tern_metrics *metrics, int i, tern_metric metric, int k,
                               tern_metric_point *out)
{
    tern_status status;
    TERN__FAIL_IF(!metrics || !out, TERN_INVALID_ARGUMENT, "metrics: give a collector and `out`");
    const tern__metric_cell *cell = lock_cell(metrics, i, metric, &status);
    if (!cell)
        return status;
    const bool there = cell->series && k >= 0 && k < cell->series->n;
    if (there)
        *out = cell->series->points[k];
    pthread_mutex_unlock(&metrics->lock);
    return there ? TERN_OK : tern__fail(TERN_OUT_OF_RANGE, "metrics: there is no point %d", k);
}
