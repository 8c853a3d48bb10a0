/* bench_ops.c - `tern bench ops`: every case of cases.def with every number of threads, as rows. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tern/catalog.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/status.h"
#include "measure/cases.h"
#include "measure/measure.h"

enum { MEMORY_LEAST = 1 << 14, THREADS_MOST = 64 };
static const int64_t memory_usual = (int64_t)256 << 20, memory_most = (int64_t)1 << 34;
static const double budget_usual_s = 0.5;

typedef struct bench {
    tern_bench_options o; /* settled */
    int usual_threads[2];
    tern_ctx *ctx;
    tern__threads *pool; /* of the probes */
    tern_bench_visit visit;
    void *user;
    bool doubtful; /* a row cannot be right */
} bench;

/* ---- options ---- */

static bool has_family(const char *family)
{
    const tern__case *row;
    for (int i = 0; (row = tern__case_at(i)) != NULL; i++)
        if (strcmp(row->family, family) == 0)
            return true;
    return false;
}

static tern_status no_family(const char *family)
{
    char names[256] = "";
    const tern__case *row, *last = NULL;
    for (int i = 0; (row = tern__case_at(i)) != NULL; last = row, i++) {
        const size_t used = strlen(names);
        if (!last || strcmp(last->family, row->family) != 0)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->family);
    }
    return tern__fail(TERN_NOT_FOUND, "bench: there is no family '%s'; there are %s", family, names);
}

static tern_status settle(const tern_bench_options *options, bench *b)
{
    static const tern_bench_options none = {0};
    b->o = options ? *options : none;
    tern_bench_options *o = &b->o;
    if (o->family && !has_family(o->family))
        return no_family(o->family);
    TERN__FAIL_IF(!(o->budget_s >= 0), TERN_INVALID_ARGUMENT, "bench: a time budget below zero");
    TERN__FAIL_IF(o->memory < 0 || o->memory > memory_most, TERN_INVALID_ARGUMENT,
                  "bench: %lld bytes of memory; give at most %lld", (long long)o->memory,
                  (long long)memory_most);
    TERN__FAIL_IF(o->n_threads < 0 || o->n_threads > THREADS_MOST || (o->n_threads > 0 && !o->threads),
                  TERN_INVALID_ARGUMENT, "bench: %d numbers of threads", o->n_threads);
    for (int i = 0; i < o->n_threads; i++)
        TERN__FAIL_IF(o->threads[i] < 1 || o->threads[i] > THREADS_MOST, TERN_INVALID_ARGUMENT,
                      "bench: %d threads; give 1 to %d", o->threads[i], THREADS_MOST);
    const int64_t beyond = 4 * tern__cpu()->l3_bytes;
    o->budget_s = o->budget_s > 0 ? o->budget_s : budget_usual_s;
    o->memory = o->memory == 0 ? (beyond > memory_usual ? beyond : memory_usual) : o->memory;
    o->memory = o->memory < MEMORY_LEAST ? MEMORY_LEAST : o->memory;
    if (o->n_threads == 0) {
        const int all = tern__cpu()->cores_usable < THREADS_MOST ? tern__cpu()->cores_usable : THREADS_MOST;
        b->usual_threads[0] = 1;
        b->usual_threads[1] = all;
        o->threads = b->usual_threads;
        o->n_threads = all > 1 ? 2 : 1;
    }
    return TERN_OK;
}

tern_status tern_bench_case(const tern_bench_options *options, int i, tern_bench_visit visit, void *user)
{
    bench b = {0};
    TERN__FAIL_IF(!visit, TERN_INVALID_ARGUMENT, "bench_case: the visitor is NULL");
    TERN_TRY(settle(options, &b));
    const tern__case *row = tern__case_at(i);
    TERN__FAIL_IF(!row, TERN_OUT_OF_RANGE, "bench: there is no case %d", i);
    char shape[256];
    tern__case_shape(row, b.o.memory, shape, sizeof shape);
    visit(user, &(tern_bench_row){.family = row->family,
                                  .name = row->name,
                                  .op = row->op,
                                  .shape = shape,
                                  .kernel = "",
                                  .isa = "",
                                  .limit_kind = row->limit,
                                  .limit = "",
                                  .error = ""});
    return TERN_OK;
}

/* ---- one row ---- */

/* The step with the most work says which kernel it is that is measured. */
static void find_kernel(const tern_program *program, tern_bench_row *row)
{
    tern_step_info step;
    uint64_t most = 0;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        if (i == 0 || step.flops + step.bytes > most) {
            most = step.flops + step.bytes;
            row->kernel = step.kernel;
            row->isa = step.isa;
        }
}

static tern__limit_work work_of(const tern__prepared *p)
{
    return (tern__limit_work){.kind = p->row->limit,
                              .operations = p->row->operations * p->copies,
                              .read_bytes = p->read_bytes,
                              .write_bytes = p->write_bytes,
                              .share = p->copies > 1 ? p->read_bytes / p->copies : 0};
}

static void fill(const tern__prepared *p, const tern__measurement *m, tern_bench_row *row)
{
    const double bytes = (double)(p->read_bytes + p->write_bytes);
    row->rounds = m->time.n;
    row->median_us = m->time.median * 1e6;
    row->mad_us = m->time.mad * 1e6;
    row->min_us = m->time.min * 1e6;
    row->gflops = p->row->operations * p->copies / m->time.median * 1e-9;
    if (p->row->operations == 0)
        row->gbytes_s = bytes / m->time.median * 1e-9;
    if (m->share.n > 0) {
        row->limit_share = m->share.median;
        row->limit_mad = m->share.mad;
    }
}

/* What takes longer than its row may is run once more, or a few times. */
static tern__turns turns_for(const bench *b, double first_s)
{
    const double budget = b->o.budget_s;
    tern__turns turns = {.rounds = 100, .budget_s = budget, .sample_s = budget / 200};
    if (first_s > budget) {
        turns.warmups = -1;
        turns.rounds = first_s > 4 * budget ? 1 : TERN__ROUNDS_LEAST;
    }
    return turns;
}

static tern_status time_case(bench *b, tern__prepared *p, int threads, double first_s, tern_bench_row *row,
                             tern__measurement *m)
{
    const tern__limit_work work = work_of(p);
    const tern__turns turns = turns_for(b, first_s);
    tern__limit *limit = NULL;
    tern_status missing = tern__limit_create(b->pool, threads, &work, &limit);
    if (missing != TERN_OK && missing != TERN_UNAVAILABLE)
        return missing;
    tern_status status =
        tern__measure(&(tern__thing){.run = tern__case_run, .user = p, .repeats = first_s > turns.sample_s},
                      1, limit, &turns, m);
    tern__limit_destroy(limit);
    TERN_TRY(status);
    fill(p, m, row);
    return missing;
}

static tern_status measure_row(bench *b, tern__prepared *p, int threads, tern_bench_row *row,
                               tern__measurement *m)
{
    tern_compile_options options = tern_compile_options_default();
    options.threads = threads;
    TERN_TRY(tern__case_compile(p, &options));
    find_kernel(p->program, row);
    double first_s = 0;
    tern_status status = tern__case_check(p, &first_s);
    b->doubtful |= status == TERN_INTERNAL;
    TERN_TRY(status);
    TERN_TRY(time_case(b, p, threads, first_s, row, m));
    if (tern__is_believable(m))
        return TERN_OK;
    b->doubtful = true;
    row->limit_share = NAN;
    return tern__fail(TERN_STATE, "unavailable: %.3f of the limit, so the limit's probes are too slow",
                      m->share.median);
}

static void visit_row(bench *b, const tern__case *c, tern__prepared *p, tern_status prepared, int threads)
{
    char shape[256], error[TERN__MESSAGE_MAX] = "";
    tern__measurement m = {0};
    tern_bench_row row = {.family = c->family,
                          .name = c->name,
                          .op = c->op,
                          .shape = shape,
                          .kernel = "",
                          .isa = "",
                          .threads = threads,
                          .copies = p->copies,
                          .limit_kind = c->limit,
                          .limit_share = NAN,
                          .limit = m.way,
                          .error = error};
    tern__case_shape(c, b->o.memory, shape, sizeof shape);
    tern_status status = prepared == TERN_OK ? measure_row(b, p, threads, &row, &m) : prepared;
    if (status != TERN_OK)
        snprintf(error, sizeof error, "%s", tern_last_error());
    b->visit(b->user, &row);
}

/* ---- all rows ---- */

static tern_status run_cases(bench *b)
{
    const tern__case *c;
    for (int i = 0; (c = tern__case_at(i)) != NULL; i++) {
        if (b->o.family && strcmp(c->family, b->o.family) != 0)
            continue;
        tern__prepared p = {0};
        tern_status status = tern__case_prepare(b->ctx, c, b->o.memory, &p);
        for (int t = 0; t < b->o.n_threads; t++)
            visit_row(b, c, &p, status, b->o.threads[t]);
        tern__case_free(&p);
        tern_ctx_trim(b->ctx);
    }
    return TERN_OK;
}

tern_status tern_bench_ops(const tern_bench_options *options, tern_bench_visit visit, void *user)
{
    bench b = {.visit = visit, .user = user};
    tern_ctx_options context = tern_ctx_options_default();
    int most = 1;
    TERN__FAIL_IF(!visit, TERN_INVALID_ARGUMENT, "bench_ops: the visitor is NULL");
    TERN_TRY(settle(options, &b));
    for (int i = 0; i < b.o.n_threads; i++)
        most = b.o.threads[i] > most ? b.o.threads[i] : most;
    context.threads = most;
    context.cpu = b.o.cpu;
    context.tuning = "off"; /* what was measured before must not change what is measured now */
    TERN_TRY(tern_ctx_create(&context, &b.ctx));
    tern_status status = tern__threads_create(most, &b.pool);
    if (status == TERN_OK)
        status = run_cases(&b);
    tern__threads_destroy(b.pool);
    tern_ctx_destroy(b.ctx);
    TERN_TRY(status);
    TERN__FAIL_IF(b.doubtful, TERN_STATE, "bench: not all rows can be right; see their errors");
    return TERN_OK;
}
