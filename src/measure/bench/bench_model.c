/* bench_model.c - prompts and generation of a model, timed in turns with what limits them. */
#include "measure/bench/bench_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/catalog.h>
#include <tern/generate.h>
#include <tern/memory.h>
#include <tern/model_convert.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/units.h"
#include "measure/deadline.h"
#include "measure/measure.h"
#include "measure/bench/model_steps.h"
#include "measure/bench/model_test.h"
#include "measure/memory/peak_memory.h"
#include "measure/profile/profile.h"

enum { THREADS_MOST = 64, REPETITIONS = 5, REPETITIONS_MOST = 1000, TOKENS_MOST = 1 << 24 };

/* Long enough for the clock and for the other threads to wake, short against a test. */
static const double probe_s = 0.05, probe_operations = 1e10, timeout_usual_s = 600;
static const int64_t probe_bytes = (int64_t)256 << 20, memory_most = (int64_t)1 << 34;

typedef struct bench {
    tern_bench_model_options o; /* settled */
    tern_bench_model_visit visit;
    void *user;
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    tern__threads *pool; /* of the probes */
    tern_model_info info;
    int threads, all;
    bool on_cpu; /* the device is the one that limits are measured on */
    double ready_s;
    uint64_t peak_memory;
    tern__deadline deadline; /* of what is under way: opening, or a test */
    bool depth_lost;         /* a run was cut short: what the context held is in no state to be read */
    int tests, measured;
    tern_session_row *rows; /* (most) tokens of the context */
    float *logits;          /* (vocabulary) */
} bench;

/* A test under way. */
typedef struct test {
    bench *b;
    bool prompt;
    char name[TERN__MODEL_TEST_NAME];
    double *seconds; /* (repetitions) of the last runs, in a ring */
    double *cpu;     /* likewise, the processor's time */
    int runs;
} test;

/* ---- options ---- */

tern_bench_model_options tern_bench_model_options_default(void)
{
    return (tern_bench_model_options){
        .n_prompt = 512, .n_gen = 128, .repetitions = REPETITIONS, .cache = TERN_F16};
}

/* One number, 0 for none, or several. */
static tern_status settle_sizes(const char *what, const int *one, int *n, const int **several)
{
    TERN__FAIL_IF(*n < 0 || (*n > 0 && !*several), TERN_INVALID_ARGUMENT,
                  "bench_model: %d numbers of %s tokens", *n, what);
    const int least = *n > 0 ? 1 : 0;
    if (*n == 0) {
        *several = one;
        *n = 1;
    }
    for (int i = 0; i < *n; i++)
        TERN__FAIL_IF((*several)[i] < least || (*several)[i] > TOKENS_MOST, TERN_INVALID_ARGUMENT,
                      "bench_model: %d tokens; %d to %d can be asked for", (*several)[i], least, TOKENS_MOST);
    *n = *n == 1 && **several == 0 ? 0 : *n;
    return TERN_OK;
}

static tern_status settle(const tern_bench_model_options *options, bench *b)
{
    b->o = *options;
    tern_bench_model_options *o = &b->o;
    o->repetitions = o->repetitions ? o->repetitions : REPETITIONS;
    o->cache = o->cache ? o->cache : TERN_F16;
    TERN__FAIL_IF(o->memory < 0 || o->memory > memory_most, TERN_INVALID_ARGUMENT,
                  "bench_model: probes of %lld bytes; give at most %lld", (long long)o->memory,
                  (long long)memory_most);
    o->memory = o->memory ? o->memory : probe_bytes;
    TERN__FAIL_IF(!(o->timeout_s >= 0), TERN_INVALID_ARGUMENT, "bench_model: a time-out below zero");
    o->timeout_s = o->timeout_s > 0 ? o->timeout_s : timeout_usual_s;
    TERN_TRY(settle_sizes("prompt", &o->n_prompt, &o->n_prompt_sizes, &o->prompt_sizes));
    TERN_TRY(settle_sizes("generated", &o->n_gen, &o->n_gen_sizes, &o->gen_sizes));
    TERN_TRY(settle_sizes("depth", &o->n_depth, &(int){0}, &(const int *){NULL}));
    TERN__FAIL_IF(o->n_prompt_sizes + o->n_gen_sizes == 0, TERN_INVALID_ARGUMENT,
                  "bench_model: neither a prompt nor tokens to generate are asked for");
    TERN__FAIL_IF(o->repetitions < 1 || o->repetitions > REPETITIONS_MOST, TERN_INVALID_ARGUMENT,
                  "bench_model: %d repetitions; 1 to %d can be made", o->repetitions, REPETITIONS_MOST);
    TERN__FAIL_IF(o->n_threads < 0 || o->n_threads > THREADS_MOST || (o->n_threads > 0 && !o->threads),
                  TERN_INVALID_ARGUMENT, "bench_model: %d numbers of threads", o->n_threads);
    for (int i = 0; i < o->n_threads; i++)
        TERN__FAIL_IF(o->threads[i] < 1 || o->threads[i] > THREADS_MOST, TERN_INVALID_ARGUMENT,
                      "bench_model: %d threads; give 1 to %d", o->threads[i], THREADS_MOST);
    if (o->n_threads == 0) {
        b->all = tern__cpu()->cores_usable < THREADS_MOST ? tern__cpu()->cores_usable : THREADS_MOST;
        o->threads = &b->all;
        o->n_threads = 1;
    }
    o->device = o->device ? o->device : "cpu";
    b->on_cpu = strcmp(o->device, "cpu") == 0;
    return TERN_OK;
}

static tern_status tell(const bench *b, const char *what, int done, int total)
{
    if (b->o.progress && !b->o.progress(b->o.progress_user, what, done, total))
        return tern__fail(TERN_CANCELLED, "bench_model: it was stopped");
    return TERN_OK;
}

/* ---- the model ---- */

static int largest(const int *numbers, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most = numbers[i] > most ? numbers[i] : most;
    return most;
}

static int64_t tokens_needed(const tern_bench_model_options *o)
{
    const int prompt = largest(o->prompt_sizes, o->n_prompt_sizes),
              gen = largest(o->gen_sizes, o->n_gen_sizes);
    return o->n_depth + (prompt > gen ? prompt : gen);
}

/* The likeliest token, as a greedy user has it. */
static tern_status choose(bench *b)
{
    tern_sampling greedy = tern_sampling_default();
    greedy.temperature = 0;
    int32_t token;
    return tern_sample(&greedy, b->info.vocabulary, b->logits, 0, NULL, 0, &token);
}

/* TERN_CANCELLED past the deadline. */
static tern_status feed(bench *b, int64_t first, int n)
{
    tern_status status = tern_session_feed(b->session, n, b->rows + first, 1, (int[]){n - 1}, b->logits);
    if (status == TERN_OK || status == TERN_CANCELLED)
        TERN_TRY(tern__deadline_check(&b->deadline));
    return status;
}

/* The same, cut short in the middle of a run if need be. Runs that are timed are not: being asked costs some steps time. */
static tern_status feed_watched(bench *b, int64_t first, int n)
{
    tern_ctx_set_stop(b->ctx, tern__deadline_passed, &b->deadline);
    tern_status status = feed(b, first, n);
    tern_ctx_set_stop(b->ctx, NULL, NULL);
    return status;
}

static tern_status fill_depth(bench *b)
{
    if (b->o.n_depth > 0)
        TERN_TRY(feed_watched(b, 0, b->o.n_depth));
    b->depth_lost = false;
    return TERN_OK;
}

static tern_status make_rows(bench *b)
{
    const int64_t n = tokens_needed(&b->o);
    b->rows = tern__alloc_zero((size_t)n, sizeof *b->rows);
    b->logits = tern__alloc_zero((size_t)b->info.vocabulary, sizeof *b->logits);
    if (!b->rows || !b->logits)
        return tern__out_of_memory((size_t)n * sizeof *b->rows);
    for (int64_t i = 0; i < n; i++)
        b->rows[i] = (tern_session_row){
            .token = (int32_t)((uint64_t)(i + 1) * 7919u % (uint64_t)b->info.vocabulary), .position = i};
    return TERN_OK;
}

static tern_status open_session(bench *b)
{
    const int64_t needed = tokens_needed(&b->o);
    tern_session_options options = tern_session_options_default();
    TERN__FAIL_IF(needed > b->info.context, TERN_OUT_OF_RANGE,
                  "bench_model: %lld tokens are needed, the model was trained for %lld", (long long)needed,
                  (long long)b->info.context);
    options.context = needed;
    options.batch = b->o.batch;
    options.cache = b->o.cache;
    options.time_steps = b->o.steps;
    return tern_session_create(b->model, &options, &b->session);
}

/* From the file to the first token; then everything that memory is needed for, once. */
static tern_status open_model(bench *b)
{
    tern_ctx_options context = tern_ctx_options_default();
    context.threads = b->threads;
    context.cpu = b->o.cpu;
    context.device = b->o.device;
    context.fallback = b->o.fallback;
    TERN_TRY(tern_ctx_create(&context, &b->ctx));
    TERN_TRY(tell(b, "loading", 0, 1));
    b->deadline = tern__deadline_begin(b->o.timeout_s);
    tern__peak_memory_reset();
    const uint64_t start = tern__now_ns();
    TERN_TRY(b->o.file ? tern_model_load_file(b->ctx, b->o.file, b->o.model, &b->model)
                       : tern_model_load(b->ctx, b->o.path, b->o.model, &b->model));
    tern_model_get_info(b->model, &b->info);
    TERN_TRY(open_session(b));
    TERN_TRY(make_rows(b));
    TERN_TRY(tern__deadline_check(&b->deadline));
    TERN_TRY(feed(b, 0, 1));
    TERN_TRY(choose(b));
    b->ready_s = (double)(tern__now_ns() - start) * 1e-9;
    TERN_TRY(fill_depth(b));
    if (b->o.n_prompt_sizes > 0)
        TERN_TRY(feed_watched(b, b->o.n_depth, largest(b->o.prompt_sizes, b->o.n_prompt_sizes)));
    b->peak_memory = tern_memory_process_peak();
    return tern__threads_create(b->threads, &b->pool);
}

static void close_model(bench *b)
{
    tern__threads_destroy(b->pool);
    tern_session_free(b->session);
    tern_model_free(b->model);
    tern_ctx_destroy(b->ctx);
    tern__free(b->rows);
    tern__free(b->logits);
    b->pool = NULL;
    b->session = NULL;
    b->model = NULL;
    b->ctx = NULL;
    b->rows = NULL;
    b->logits = NULL;
}

/* How most of its weights are stored, by bytes. */
static const char *main_type(const tern_model_file *file)
{
    uint64_t bytes[TERN_STORED_COUNT] = {0};
    int best = TERN_STORED_F32;
    tern_file_tensor t;
    for (int i = 0; tern_model_file_tensor(file, i, &t) == TERN_OK; i++)
        if (strncmp(t.name, "blk.", 4) == 0)
            bytes[t.stored] += t.bytes;
    for (int k = TERN_STORED_AS_IS + 1; k < TERN_STORED_COUNT; k++)
        best = bytes[k] > bytes[best] ? k : best;
    return tern_stored_get((tern_stored)best)->name;
}

static void name_model(const bench *b, char *out, size_t room)
{
    const double n = (double)b->info.parameters;
    snprintf(out, room, n >= 1e9 ? "%s %.2f B %s" : "%s %.2f M %s", b->info.architecture,
             n >= 1e9 ? n * 1e-9 : n * 1e-6, main_type(tern_model_get_file(b->model)));
}

/* ---- limits ---- */

/* Weights of BitNet 2B-4T in 2 bits, and its head in 6. */
static const uint64_t bytes_2b_4t = 790000000;

static bool is_2b_4t(const tern_model_info *m)
{
    tern_model_shape s;
    return tern_model_shape_find("bitnet-2b-4t", &s) == TERN_OK && m->ternary && m->layers == s.layers &&
           m->width == s.width && m->feed_forward == s.feed_forward && m->heads == s.heads &&
           m->kv_heads == s.kv_heads && m->vocabulary == s.vocabulary;
}

void tern__bench_model_bytes(const tern_model_info *m, tern_bench_model_row *row)
{
    const bool known = is_2b_4t(m);
    row->bytes_per_token = known ? bytes_2b_4t : m->token_bytes;
    row->bytes_rule =
        known        ? "BitNet 2B-4T: 2 bits a ternary weight and a head of 6 bits, whatever the file has"
        : m->ternary ? "2 bits a ternary weight, others as they are kept; all that one token needs"
                     : "weights as they are kept; all that one token needs";
}

/* Probes that read less are shorter in all, for those who want an answer and no limit. */
static double probe_part(const bench *b)
{
    return fmin(1, (double)b->o.memory / (double)probe_bytes);
}

/* What one run of the test asks of the machine, and what a probe is made for. */
static double work_of(const test *t, const tern_bench_model_row *row, tern__limit_work *probe)
{
    const tern_model_info *m = &t->b->info;
    if (!t->prompt) {
        *probe = (tern__limit_work){.kind = TERN_LIMIT_READ_BW, .read_bytes = t->b->o.memory};
        return (double)row->bytes_per_token * row->n_gen;
    }
    const double weights = m->ternary ? (double)m->ternary_weights : (double)m->product_weights;
    *probe = (tern__limit_work){.kind = m->ternary ? TERN_LIMIT_INT8_DOT : TERN_LIMIT_FMA,
                                .operations = probe_operations * probe_part(t->b)};
    return 2 * weights * row->n_prompt;
}

/* ---- tests ---- */

static tern_status run_test(void *user)
{
    test *t = user;
    bench *b = t->b;
    TERN_TRY(tell(b, t->name, t->runs < b->o.repetitions ? t->runs : b->o.repetitions, b->o.repetitions + 1));
    /* The first run does not count. */
    tern_status (*const feed_one)(bench *, int64_t, int) = t->runs == 0 ? feed_watched : feed;
    const uint64_t cpu = tern__cpu_time_ns(), start = tern__now_ns();
    if (t->prompt) {
        TERN_TRY(feed_one(b, b->o.n_depth, b->o.n_prompt));
        TERN_TRY(choose(b));
    }
    for (int i = 0; !t->prompt && i < b->o.n_gen; i++)
        TERN_TRY(feed_one(b, b->o.n_depth + i, 1));
    const int place = t->runs++ % b->o.repetitions;
    t->seconds[place] = (double)(tern__now_ns() - start) * 1e-9;
    t->cpu[place] = (double)(tern__cpu_time_ns() - cpu) * 1e-9;
    return TERN_OK;
}

/* Mean and standard deviation of a sample. */
static void spread(const double *values, int n, double *average, double *deviation)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    *average = sum / n;
    for (int i = 0; i < n; i++)
        squares += (values[i] - *average) * (values[i] - *average);
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

static void summarise(const test *t, tern_bench_model_row *row, double *rates)
{
    const int n = t->b->o.repetitions;
    row->rounds = n;
    row->seconds = t->seconds;
    row->cpu_seconds = t->cpu;
    for (int i = 0; i < n; i++)
        rates[i] = (t->prompt ? row->n_prompt : row->n_gen) / t->seconds[i];
    spread(t->seconds, n, &row->average_s, &row->deviation_s);
    spread(rates, n, &row->average_rate, &row->deviation_rate);
    if (t->prompt && t->b->o.n_depth == 0)
        row->first_token_s = row->average_s;
}

/* Probes run on the CPU, and say nothing of other devices; nor does memory's bandwidth of weights that are not read from there. */
static tern_status check_limited(const test *t)
{
    const bench *b = t->b;
    char weights[TERN_UNIT_TEXT];
    if (!b->on_cpu)
        return tern__fail(TERN_UNAVAILABLE, "unavailable: limits are the CPU's, it ran on '%s'", b->o.device);
    if (t->prompt || tern__place_in_caches((double)b->info.token_bytes, b->threads) == TERN__IN_MEMORY)
        return TERN_OK;
    tern_bytes_text((double)b->info.token_bytes, weights, sizeof weights);
    return tern__fail(TERN_UNAVAILABLE, "unavailable: the weights stay in the caches, %s for a token%s",
                      weights, b->info.ternary ? ", 2 bits a ternary weight" : "");
}

static tern_status run_probe(void *limit)
{
    tern__limit_run(limit, 0);
    return TERN_OK;
}

static tern_status measure_test(test *t, tern_bench_model_row *row, tern__measurement *m, double *rates)
{
    tern__limit_work probe;
    const double work = work_of(t, row, &probe);
    const double probe_work = probe.kind == TERN_LIMIT_READ_BW ? (double)probe.read_bytes : probe.operations;
    row->limit_kind = probe.kind;
    tern__limit *limit = NULL;
    tern_status missing = check_limited(t);
    if (missing == TERN_OK)
        missing = tern__limit_create(t->b->pool, t->b->threads, &probe, &limit);
    if (missing != TERN_OK && missing != TERN_UNAVAILABLE)
        return missing;
    /* Dot products of vectors run in the same turns. */
    tern__limit *dot = NULL;
    probe.isa_mask = tern__isa_without_tiles(tern__cpu()->isa_mask);
    if (missing == TERN_OK && probe.kind == TERN_LIMIT_INT8_DOT &&
        tern__limit_create(t->b->pool, t->b->threads, &probe, &dot) != TERN_OK)
        dot = NULL;
    const tern__thing things[] = {{.run = run_test, .user = t, .repeats = 1},
                                  {.run = run_probe, .user = dot}};
    const double asked[] = {work / probe_work, 1};
    tern__measurement both[2];
    tern_status status = tern__measure(
        things, dot ? 2 : 1, limit,
        &(tern__turns){.rounds = t->b->o.repetitions, .sample_s = probe_s * probe_part(t->b), .work = asked},
        both);
    if (status == TERN_OK && dot)
        row->dot_rate = probe_work / (both[1].time.median * tern__limit_scale(dot));
    tern__limit_destroy(dot);
    tern__limit_destroy(limit);
    TERN_TRY(status);
    *m = both[0];
    summarise(t, row, rates);
    TERN_TRY(missing);
    if (row->dot_rate > 0)
        row->dot_share = work / m->time.median / row->dot_rate;
    row->limit_rate = probe_work / m->limit_time.median;
    row->share = m->share.median;
    row->share_mad = m->share.n > 1 ? m->share.mad : NAN;
    const double share = row->share;
    if (share <= TERN__SHARE_MOST || (!t->prompt && is_2b_4t(&t->b->info))) /* whose bytes are a definition */
        return TERN_OK;
    row->share = NAN;
    return tern__fail(TERN_UNAVAILABLE, "unavailable: %.3f of %s, which cannot be: %s", share,
                      tern_limit_name(row->limit_kind),
                      t->prompt ? "the limit's probes are too slow" : "the weights fit into the caches");
}

static tern_status visit_test(bench *b, bool prompt)
{
    char type[96], error[TERN__MESSAGE_MAX] = "";
    tern__measurement m = {0};
    test t = {.b = b, .prompt = prompt};
    tern__model_test_name(
        &(tern__model_test){prompt ? b->o.n_prompt : 0, prompt ? 0 : b->o.n_gen, b->o.n_depth}, t.name);
    name_model(b, type, sizeof type);
    tern_device_info device = {0};
    tern_catalog_device(0, &device);
    tern_bench_model_row row = {.model_type = type,
                                .test = t.name,
                                .device = b->o.device,
                                .isa = !b->on_cpu ? ""
                                       : b->o.cpu ? b->o.cpu
                                                  : device.isa,
                                .model_bytes = tern_model_file_bytes(tern_model_get_file(b->model)),
                                .parameters = b->info.parameters,
                                .threads = b->threads,
                                .n_prompt = prompt ? b->o.n_prompt : 0,
                                .n_gen = prompt ? 0 : b->o.n_gen,
                                .n_depth = b->o.n_depth,
                                .batch = tern_session_batch(b->session),
                                .cache = b->o.cache,
                                .cache_bytes = tern_session_cache_bytes(b->session),
                                .share = NAN,
                                .limit = m.way,
                                .first_token_s = NAN,
                                .ready_s = b->ready_s,
                                .peak_memory = b->peak_memory,
                                .error = error};
    tern_bench_step *steps = NULL;
    tern__model_run_counts before = {0};
    tern__bench_model_bytes(&b->info, &row);
    b->tests++;
    b->deadline = tern__deadline_begin(b->o.timeout_s);
    double *rates = tern__alloc_zero((size_t)b->o.repetitions, sizeof *rates);
    t.seconds = tern__alloc_zero((size_t)b->o.repetitions, sizeof *t.seconds);
    t.cpu = tern__alloc_zero((size_t)b->o.repetitions, sizeof *t.cpu);
    tern_status status = rates && t.seconds && t.cpu
                             ? tern__model_runs(b->session, &before)
                             : tern__out_of_memory((size_t)b->o.repetitions * sizeof *rates);
    if (status == TERN_OK && b->depth_lost)
        status = fill_depth(b);
    if (status == TERN_OK)
        status = measure_test(&t, &row, &m, rates);
    const bool late = status == TERN_CANCELLED && tern__deadline_passed(&b->deadline);
    b->depth_lost |= late;
    b->measured += row.rounds > 0;
    if (status != TERN_OK)
        snprintf(error, sizeof error, "%s", tern_last_error());
    /* Without a limit there are steps all the same. */
    const int runs = t.runs * (prompt ? 1 : b->o.n_gen);
    const tern_status listed = row.rounds > 0 && b->o.steps
                                   ? tern__model_steps(b->session, &before, runs, &steps, &row.n_steps)
                                   : TERN_OK;
    row.steps = steps;
    if (listed != TERN_OK) {
        snprintf(error, sizeof error, "%s", tern_last_error());
        status = listed;
    }
    if (status == TERN_OK || status == TERN_UNAVAILABLE || late) /* else only the status is to be told */
        b->visit(b->user, &row);
    tern__free(steps);
    tern__free(before.runs);
    tern__free(rates);
    tern__free(t.seconds);
    tern__free(t.cpu);
    return status == TERN_UNAVAILABLE || late ? TERN_OK : status;
}

static tern_status run_all(bench *b)
{
    tern_status opened = open_model(b);
    if (opened == TERN_CANCELLED && tern__deadline_passed(&b->deadline))
        return tern__fail_in(opened, "opening the model");
    TERN_TRY(opened);
    for (int i = 0; i < b->o.n_prompt_sizes; i++) {
        b->o.n_prompt = b->o.prompt_sizes[i];
        TERN_TRY(visit_test(b, true));
    }
    for (int i = 0; i < b->o.n_gen_sizes; i++) {
        b->o.n_gen = b->o.gen_sizes[i];
        TERN_TRY(visit_test(b, false));
    }
    return TERN_OK;
}

tern_status tern_bench_model(const tern_bench_model_options *options, tern_bench_model_visit visit,
                             void *user)
{
    TERN__FAIL_IF(!options || (!options->path && !options->file) || !visit, TERN_INVALID_ARGUMENT,
                  "bench_model: an argument is NULL");
    bench b = {.visit = visit, .user = user};
    TERN_TRY(settle(options, &b));
    tern_status status = TERN_OK;
    for (int i = 0; i < b.o.n_threads && status == TERN_OK; i++) {
        b.threads = b.o.threads[i];
        status = run_all(&b);
        close_model(&b);
    }
    TERN_TRY(status);
    TERN__FAIL_IF(b.measured == 0, TERN_STATE, "bench_model: no test could be measured; see their errors");
    return TERN_OK;
}
