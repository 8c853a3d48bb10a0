/* measure.c - the rounds of things and the probes of their limit. */
#include "measure/measure.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

enum {
    CALIBRATIONS = 2, /* tries of each way before the choice */
    KEPT = 4,         /* ways that run in every round */
    TRIES = 2,        /* further measurements of what seems too good */
    WAYS_MOST = 64,
};

typedef struct probe {
    tern__limit *limit;
    int way;
} probe;

typedef struct measuring {
    tern__thing *things; /* (n) */
    tern__thing *ways;   /* (n_ways): the limit's probes */
    tern__thing *order;  /* (n + n_ways): those of a round */
    double *samples;     /* (n + n_ways, rounds) */
    double *cpu;         /* likewise, the processor's time; NULL: nobody wants it */
    double *row;         /* (rounds) */
    probe probes[WAYS_MOST];
    int n, n_ways;
    tern__limit *limit;
    tern__turns turns;
} measuring;

static tern_status run_probe(void *user)
{
    const probe *p = user;
    tern__limit_run(p->limit, p->way);
    return TERN_OK;
}

static tern_status allocate(measuring *m)
{
    const size_t all = (size_t)(m->n + m->n_ways), rounds = (size_t)m->turns.rounds;
    size_t samples;
    if (!tern__size_mul(all, rounds, &samples))
        return tern__out_of_memory(SIZE_MAX);
    m->things = tern__alloc_zero(all, sizeof *m->things);
    m->order = tern__alloc_zero(all, sizeof *m->order);
    m->samples = tern__alloc_zero(samples, sizeof *m->samples);
    m->row = tern__alloc_zero(rounds, sizeof *m->row);
    if (m->turns.cpu_samples)
        m->cpu = tern__alloc_zero(samples, sizeof *m->cpu);
    if (!m->things || !m->order || !m->samples || !m->row || (m->turns.cpu_samples && !m->cpu))
        return tern__out_of_memory(samples * sizeof *m->samples);
    m->ways = m->things + m->n;
    return TERN_OK;
}

static tern_status prepare(measuring *m, const tern__thing *things)
{
    TERN_TRY(tern__turns_settle(&m->turns));
    TERN_TRY(allocate(m));
    memcpy(m->things, things, (size_t)m->n * sizeof *things);
    for (int w = 0; w < m->n_ways; w++) {
        m->probes[w] = (probe){m->limit, w};
        m->ways[w] = (tern__thing){.run = run_probe, .user = &m->probes[w]};
    }
    for (int i = 0; i < m->n + m->n_ways; i++) {
        if (i > m->n) /* all ways take about as long as the first */
            m->things[i].repeats = m->ways[0].repeats;
        else
            TERN_TRY(tern__thing_ready(&m->things[i], &m->turns));
    }
    return TERN_OK;
}

/* Ways that were chosen before, for limits alike: trying all of them on hundreds of megabytes takes longer than most budgets. Which of the
 * chosen is the limit is found in every measurement. */
enum { REMEMBERED = 32 };
static struct chosen {
    tern__limit_likeness of;
    int n, kept[KEPT];
} chosen[REMEMBERED];
static int n_chosen;

static const struct chosen *find_chosen(const tern__limit_likeness *of)
{
    for (int i = 0; i < n_chosen && i < REMEMBERED; i++)
        if (memcmp(&chosen[i].of, of, sizeof *of) == 0)
            return &chosen[i];
    return NULL;
}

/* The numbers of the fastest ways, in `kept`; all if there are few. */
static tern_status choose_ways(const measuring *m, int kept[KEPT], int *n_kept)
{
    double best[WAYS_MOST];
    tern__limit_likeness of = {0};
    if (m->n_ways > KEPT) {
        of = tern__limit_likeness_of(m->limit);
        const struct chosen *before = find_chosen(&of);
        if (before) {
            memcpy(kept, before->kept, sizeof before->kept);
            *n_kept = before->n;
            return TERN_OK;
        }
    }
    for (int w = 0; w < m->n_ways; w++)
        best[w] = INFINITY;
    for (int turn = 0; turn < CALIBRATIONS && m->n_ways > KEPT; turn++)
        for (int w = 0; w < m->n_ways; w++) {
            double seconds;
            TERN_TRY(tern__thing_time(&m->ways[w], &seconds));
            best[w] = fmin(best[w], seconds);
        }
    *n_kept = m->n_ways < KEPT ? m->n_ways : KEPT;
    for (int k = 0; k < *n_kept; k++) {
        int fastest = -1;
        for (int w = 0; w < m->n_ways; w++)
            if (!isnan(best[w]) && (fastest < 0 || best[w] < best[fastest]))
                fastest = w;
        kept[k] = fastest;
        best[fastest] = NAN; /* taken */
    }
    if (m->n_ways > KEPT) {
        struct chosen *c = &chosen[n_chosen++ % REMEMBERED];
        *c = (struct chosen){.of = of, .n = *n_kept};
        memcpy(c->kept, kept, sizeof c->kept);
    }
    return TERN_OK;
}

static const double *samples_of(const measuring *m, int row)
{
    return m->samples + (size_t)row * (size_t)m->turns.rounds;
}

static tern__stats stats_of(const measuring *m, int row, int rounds)
{
    memcpy(m->row, samples_of(m, row), (size_t)rounds * sizeof *m->row);
    return tern__stats_of(m->row, rounds);
}

static void set_limit(const measuring *m, int thing, int thing_row, int limit_row, int way, int rounds,
                      tern__measurement *out)
{
    const double scale = tern__limit_scale(m->limit);
    const double work = m->turns.work ? m->turns.work[thing] : 1;
    const double *time = samples_of(m, thing_row), *limit = samples_of(m, limit_row);
    out->limit_time = stats_of(m, limit_row, rounds);
    out->limit_time.median *= scale;
    out->limit_time.mad *= scale;
    out->limit_time.min *= scale;
    for (int r = 0; r < rounds; r++)
        m->row[r] = work * limit[r] * scale / time[r];
    out->share = tern__stats_of(m->row, rounds);
    const char *name = tern__limit_way_name(m->limit, way);
    memcpy(out->way, name, strlen(name) + 1);
}

/* Rounds of things [first, first + n) with the ways that `ways` lists; the two alternate as long as there are both. */
static tern_status measure_with(const measuring *m, int first, int n, const int *ways, int n_ways,
                                tern__measurement *out)
{
    int way_rows[WAYS_MOST], total = 0, rounds, best = 0;
    int thing_row = n_ways > 0 ? 1 : 0; /* of the first; see the order below */
    for (int slot = 0; slot < n || slot < n_ways; slot++) {
        if (slot < n_ways) {
            way_rows[slot] = total;
            m->order[total++] = m->ways[ways[slot]];
        }
        if (slot < n)
            m->order[total++] = m->things[first + slot];
    }
    TERN_TRY(tern__time_turns(m->order, total, &m->turns, m->samples, m->cpu, &rounds));
    for (int k = 1; k < n_ways; k++)
        if (stats_of(m, way_rows[k], rounds).median < stats_of(m, way_rows[best], rounds).median)
            best = k;
    for (int i = 0; i < n; i++) {
        out[i].time = stats_of(m, thing_row, rounds);
        out[i].repeats = m->things[first + i].repeats;
        if (m->turns.samples)
            memcpy(m->turns.samples + (size_t)(first + i) * (size_t)m->turns.rounds, samples_of(m, thing_row),
                   (size_t)rounds * sizeof *m->row);
        if (m->cpu)
            memcpy(m->turns.cpu_samples + (size_t)(first + i) * (size_t)m->turns.rounds,
                   m->cpu + (size_t)thing_row * (size_t)m->turns.rounds, (size_t)rounds * sizeof *m->cpu);
        if (n_ways > 0)
            set_limit(m, first + i, thing_row, way_rows[best], ways[best], rounds, &out[i]);
        thing_row += i + 1 < n_ways ? 2 : 1;
    }
    return TERN_OK;
}

static tern_status measure(const measuring *m, tern__measurement *out)
{
    int kept[KEPT] = {0}, n_kept = 0, all[WAYS_MOST];
    for (int w = 0; w < m->n_ways; w++)
        all[w] = w;
    TERN_TRY(choose_ways(m, kept, &n_kept));
    TERN_TRY(measure_with(m, 0, m->n, kept, n_kept, out));
    for (int i = 0; i < m->n; i++)
        for (int t = 0; t < TRIES && out[i].share.median > 1; t++)
            TERN_TRY(measure_with(m, i, 1, all, m->n_ways, &out[i]));
    return TERN_OK;
}

tern_status tern__measure(const tern__thing *things, int n, tern__limit *limit, const tern__turns *turns,
                          tern__measurement *out)
{
    measuring m = {.n = n, .limit = limit, .turns = *turns, .n_ways = limit ? tern__limit_ways(limit) : 0};
    TERN__FAIL_IF(n < 1, TERN_INVALID_ARGUMENT, "measure: nothing to measure");
    TERN__FAIL_IF(m.n_ways > WAYS_MOST, TERN_INTERNAL, "measure: a limit has %d ways", m.n_ways);
    tern__measurement *results = tern__alloc_zero((size_t)n, sizeof *results);
    tern_status status = results ? prepare(&m, things) : tern__out_of_memory((size_t)n * sizeof *results);
    if (status == TERN_OK)
        status = measure(&m, results);
    if (status == TERN_OK)
        memcpy(out, results, (size_t)n * sizeof *out);
    tern__free(results);
    tern__free(m.things);
    tern__free(m.order);
    tern__free(m.samples);
    tern__free(m.cpu);
    tern__free(m.row);
    return status;
}
