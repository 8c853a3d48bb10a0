/* model_results.c - tests of models as rows of results, so that baselines keep them; and the same tests from such rows again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/bench_model.h>

#include "base/alloc.h"
#include "base/status.h"
#include "measure/bench/bench_model.h"
#include "measure/results/model_test.h"
#include "measure/results/results.h"
#include "measure/bench/settings.h"

enum { TESTS_MOST = 64, WORDS = 64 };

/* ---- to rows ---- */

tern_status tern_bench_model_add(const tern_bench_model_row *row, tern_results *results)
{
    char name[TERN__MODEL_TEST_NAME], shape[WORDS];
    TERN__FAIL_IF(!row || !results, TERN_INVALID_ARGUMENT, "bench_model_add: an argument is NULL");
    TERN__FAIL_IF(row->rounds > 0 && !row->seconds, TERN_INVALID_ARGUMENT,
                  "bench_model_add: the row has no seconds");
    snprintf(shape, sizeof shape, "batch %lld", (long long)row->batch);
    tern_result r = tern_result_default();
    r.suite = "model";
    r.family = row->model_type;
    r.name = tern__model_test_name(&(tern__model_test){row->n_prompt, row->n_gen, row->n_depth}, name);
    r.shape = shape;
    r.dtype = tern_dtype_name(row->cache);
    r.device = row->device ? row->device : "cpu";
    r.isa = row->isa;
    r.threads = row->threads;
    r.repeats = 1;
    r.rounds = row->rounds > 0 ? row->rounds : 0;
    if (r.rounds > 0) {
        r.limit_kind = tern_limit_name(row->limit_kind);
        r.limit_share = row->share;
        r.limit_mad = isnan(row->share) || r.rounds < 2 ? NAN : row->share_mad;
        r.limit = row->limit;
    }
    r.error = row->error;
    double *samples = tern__alloc_zero(2 * (size_t)r.rounds + 1, sizeof *samples), *cpu = samples + r.rounds;
    if (!samples)
        return tern__out_of_memory(2 * (size_t)r.rounds * sizeof *samples);
    for (int i = 0; i < r.rounds; i++) {
        samples[i] = row->seconds[i] * 1e6;
        cpu[i] = row->cpu_seconds ? row->cpu_seconds[i] * 1e6 : 0;
    }
    r.samples_us = samples;
    r.cpu_samples_us = row->cpu_seconds ? cpu : NULL;
    tern_status status = tern_results_add(results, &r);
    tern__free(samples);
    return status;
}

/* ---- from rows ---- */

/* What one call of tern_bench_model measures: tests that agree in all but tokens and threads. */
typedef struct tests {
    int prompt_sizes[TESTS_MOST], gen_sizes[TESTS_MOST], threads[TESTS_MOST];
    int n_prompt_sizes, n_gen_sizes, n_threads;
    tern__model_test test; /* its prompt and gen are those of one row */
    long long batch;
    tern_dtype cache;
    const char *device;
} tests;

static bool read_row(const tern_result *r, tests *of)
{
    tern__model_row row;
    if (!tern__model_row_read(r, &row))
        return false;
    of->device = r->device;
    of->test = row.test;
    of->batch = row.batch;
    of->cache = row.cache;
    return true;
}

static void add_once(int *numbers, int *n, int number)
{
    for (int i = 0; i < *n; i++)
        if (numbers[i] == number)
            return;
    if (number > 0 && *n < TESTS_MOST)
        numbers[(*n)++] = number;
}

/* Is it a test of a model of the family? */
static bool is_test(const tern_result *r, const char *family, tests *of)
{
    return strcmp(r->suite, "model") == 0 && (!family || strcmp(r->family, family) == 0) && read_row(r, of);
}

/* Row i and all that agree with it. false: it is no such row, or was measured with one before it. */
static bool gather(const tern_results *base, const char *family, int i, tests *out)
{
    tests one = {0};
    *out = (tests){0};
    if (!is_test(&base->rows[i], family, out))
        return false;
    for (int k = 0; k < base->n; k++) {
        if (!is_test(&base->rows[k], family, &one) || one.test.depth != out->test.depth ||
            one.batch != out->batch || one.cache != out->cache || strcmp(one.device, out->device) != 0)
            continue;
        if (k < i)
            return false;
        add_once(out->prompt_sizes, &out->n_prompt_sizes, one.test.prompt);
        add_once(out->gen_sizes, &out->n_gen_sizes, one.test.gen);
        add_once(out->threads, &out->n_threads, base->rows[k].threads);
    }
    return true;
}

typedef struct taking {
    tern_results *to;
    int rows;
    tern_status status;
} taking;

static void take(void *user, const tern_bench_model_row *row)
{
    taking *t = user;
    t->rows++;
    if (t->status == TERN_OK)
        t->status = tern_bench_model_add(row, t->to);
}

/* Nobody is told how far it is; somebody may want to stop. */
static bool go_on(void *user, const char *what, int done, int total)
{
    const tern_bench_options *o = user;
    (void)what, (void)done, (void)total;
    return !o->stop || !o->stop(o->stop_user);
}

tern_status tern__model_measure_again(const tern_results *base, const tern_bench_options *wanted,
                                      int repetitions, tern_results *to)
{
    const char *path = tern__settings_model(base);
    TERN__FAIL_IF(!path, TERN_STATE, "the baseline does not say which model's file it was (setting_model)");
    for (int i = 0; i < base->n; i++) {
        tests t;
        taking taken = {.to = to};
        if (!gather(base, wanted->family, i, &t))
            continue;
        tern_model_options model = tern_model_options_default();
        model.guard = wanted->guard;
        const tern_bench_model_options o = {.path = path,
                                            .model = &model,
                                            .cpu = wanted->cpu,
                                            .device = t.device,
                                            .fallback = tern__settings_fallback(base),
                                            .n_threads = t.n_threads,
                                            .threads = t.threads,
                                            .n_prompt_sizes = t.n_prompt_sizes,
                                            .prompt_sizes = t.prompt_sizes,
                                            .n_gen_sizes = t.n_gen_sizes,
                                            .gen_sizes = t.gen_sizes,
                                            .n_depth = t.test.depth,
                                            .repetitions = repetitions,
                                            .batch = t.batch,
                                            .cache = t.cache,
                                            .timeout_s = wanted->timeout_s,
                                            .progress = go_on,
                                            .progress_user = (void *)wanted};
        tern_status status = tern_bench_model(&o, take, &taken);
        TERN_TRY(taken.status);
        if (status != TERN_STATE ||
            taken.rows == 0) /* of rows that say themselves why they have no samples */
            TERN_TRY(status);
    }
    return TERN_OK;
}
