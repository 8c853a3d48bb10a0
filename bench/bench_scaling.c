/* bench_scaling.c - what a second thread gives to what is bound by the cores: f32 squares, prompts of 512 tokens with ternary, f16 and
 * q8_0 weights (the shapes of BitNet b1.58 2B-4T), int8 products, convolutions and attention of prompts, each as a program for one
 * thread and for two, in turns.
 *
 * Two cores of a shared machine are seldom twice one: probes on registers run in the same rounds, and the row's detail has
 * what a second thread gives to them.
 *
 *     bench_scaling [--rows FILE | --json FILE] [--rounds N] [--largest N] [--only KIND] */
#include <inttypes.h>
#include <stdlib.h>

#include <tern/tern.h>

#include "base/cpu.h"
#include "base/status.h"
#include "base/threads.h"
#include "bench_json.h"
#include "measure/bench/cases.h"
#include "measure/limits.h"
#include "measure/timing.h"

enum { BATCH = 512, THREADS = 2, PROBE = THREADS, THINGS = 2 * THREADS };

typedef enum kind { F32, TERNARY, INT8, F16, Q8, CONV, ATTENTION, KINDS } kind;
static const struct {
    const char *name, *title;
} kinds[KINDS] = {{"f32", "f32 squares"},
                  {"ternary", "ternary prompts"},
                  {"int8", "int8 products"},
                  {"f16", "f16 prompts"},
                  {"q8", "q8_0 prompts"},
                  {"conv", "convolutions"},
                  {"attention", "attention of prompts"}};

/* One thing to be measured: x is given, w constant. */
typedef struct subject {
    kind of;
    int x_rank, w_rank;
    int64_t x[4]; /* (m, k), images, queries */
    int64_t w[4]; /* (n, k), filters, keys and values */
} subject;

typedef struct bench {
    tern_ctx *ctx;
    tern__threads *pool; /* of the probes */
    int rounds;
    const char *only; /* a kind; NULL: all */
    double worst[KINDS],
        probe[KINDS]; /* two threads / one: of the programs, of the probe in the round of each worst */
} bench;

typedef struct job {
    tern_program *program;
    tern_exec *exec;
    tern_tensor *x;
    tern__limit *limit;
} job;

static tern_status run_program(void *user)
{
    job *j = user;
    tern_tensor *y;
    TERN_TRY(tern_exec_run(j->exec, 1, &j->x, 1, &y));
    tern_release(y);
    return TERN_OK;
}

static tern_status run_probe(void *user)
{
    tern__limit_run(((job *)user)->limit, 0);
    return TERN_OK;
}

/* Of one run, two for each multiply-add. */
static double operations_of(const subject *s)
{
    if (s->of == CONV) /* of as many pixels as the image has */
        return 2.0 * (double)(s->x[2] * s->x[3]) * (double)(s->w[0] * s->w[1] * s->w[2] * s->w[3]);
    if (s->of == ATTENTION) /* q k and p v, of as many keys as lie before each query */
        return 2.0 * (double)(s->x[0] * (s->x[0] + 1)) * (double)(s->x[1] * s->x[2]);
    return 2.0 * (double)(s->x[0] * s->x[1]) * (double)s->w[0];
}

static bool is_int8(kind of)
{
    return of == TERNARY || of == INT8;
}

/* Random, as the kind has it. An error tensor says why it is none. */
static tern_tensor *weights_of(tern_ctx *ctx, const subject *s, int64_t seed)
{
    tern_tensor *w = tern_randn(ctx, TERN_F32, s->w_rank, s->w, seed), *scale;
    if (s->of == TERNARY)
        tern_ternary_quantise(w, NULL, TERN_T2, &w, &scale);
    else if (s->of == INT8)
        w = tern_cast(tern_mul(w, tern_scalar(ctx, TERN_F32, 50)), TERN_I8);
    else if (s->of == Q8)
        w = tern_cast(w, TERN_Q8_0);
    else if (s->of == F16 || s->of == ATTENTION)
        w = tern_cast(w, TERN_F16);
    if (tern_eval(w) == TERN_OK)
        tern_freeze(w);
    return w;
}

static tern_tensor *attention_of(tern_ctx *ctx, const subject *s, tern_tensor *x, tern_tensor *keys)
{
    tern_tensor *values = weights_of(ctx, s, 3), *zeros = tern_zeros(ctx, TERN_I32, 1, s->x),
                *places = tern_cast(tern_arange(ctx, TERN_F32, 0, (double)s->x[0], 1), TERN_I32);
    if (tern_eval(zeros) != TERN_OK || tern_freeze(zeros) != TERN_OK)
        return zeros;
    if (tern_eval(places) != TERN_OK || tern_freeze(places) != TERN_OK)
        return places;
    return tern_attention(x, keys, values, zeros, places, NULL, NULL, 0);
}

static tern_tensor *result_of(tern_ctx *ctx, const subject *s, tern_tensor *x)
{
    tern_tensor *w = weights_of(ctx, s, 2);
    switch (s->of) {
    case F32:
        return tern_matmul(x, w, false, true);
    case TERNARY:
        return tern_ternary_matmul(x, w, NULL);
    case CONV:
        return tern_conv2d(x, w, NULL, 1, 1, s->w[2] / 2, s->w[3] / 2, 1, 1, 1, false);
    case ATTENTION:
        return attention_of(ctx, s, x, w);
    default:
        return tern_linear(x, w);
    }
}

/* To be called in a scope. x is kept: runs are made outside of it, since a result that belongs to a scope lives as long, and each
 * run would touch new memory. */
static tern_status make_jobs(const bench *b, const subject *s, job jobs[THINGS])
{
    const tern_dtype dtype = is_int8(s->of) ? TERN_I8 : TERN_F32;
    const tern__limit_work work = {.kind = is_int8(s->of) ? TERN_LIMIT_INT8_DOT : TERN_LIMIT_FMA,
                                   .operations = operations_of(s),
                                   /* ternary products alone run on tiles */
                                   .isa_mask = s->of == TERNARY
                                                   ? tern__cpu()->isa_mask
                                                   : tern__isa_without_tiles(tern__cpu()->isa_mask)};
    tern_tensor *data = tern_mul(tern_randn(b->ctx, TERN_F32, s->x_rank, s->x, 1),
                                 tern_scalar(b->ctx, TERN_F32, is_int8(s->of) ? 50 : 1));
    data = tern_cast(data, dtype);
    TERN_TRY(tern_eval(data));
    tern_tensor *x = tern_input(b->ctx, "x", dtype, s->x_rank, s->x), *y = result_of(b->ctx, s, x);
    for (int t = 0; t < THREADS; t++) {
        tern_compile_options options = tern_compile_options_default();
        options.threads = t + 1;
        jobs[t].x = tern_keep(data);
        TERN_TRY(tern_compile(b->ctx, 1, &y, NULL, &options, &jobs[t].program));
        TERN_TRY(tern_exec_create(b->ctx, jobs[t].program, &jobs[t].exec));
        TERN_TRY(tern__limit_create(b->pool, t + 1, &work, &jobs[PROBE + t].limit));
    }
    return TERN_OK;
}

static void free_jobs(job jobs[THINGS])
{
    for (int i = 0; i < THINGS; i++) {
        tern_exec_free(jobs[i].exec);
        tern_program_free(jobs[i].program);
        tern_release(jobs[i].x);
        tern__limit_destroy(jobs[i].limit);
    }
}

/* Two threads / one: of the programs, and of the probe in the same rounds. */
static tern_status time_jobs(const bench *b, job jobs[THINGS], double *scaling, double *probe)
{
    static double samples[THINGS * TERN__ROUNDS_MOST];
    tern__thing things[THINGS];
    tern__turns turns = {.rounds = b->rounds, .budget_s = 6, .sample_s = 5e-3};
    int done;
    for (int i = 0; i < THINGS; i++)
        things[i] = (tern__thing){.run = i < PROBE ? run_program : run_probe, .user = &jobs[i]};
    TERN_TRY(tern__turns_settle(&turns));
    for (int i = 0; i < THINGS; i++)
        TERN_TRY(tern__thing_ready(&things[i], &turns));
    TERN_TRY(tern__time_turns(things, THINGS, &turns, samples, NULL, &done));
    *scaling = tern__turns_ratio(samples, &turns, done, 0, 1);
    *probe = tern__turns_ratio(samples, &turns, done, PROBE, PROBE + 1) *
             tern__limit_scale(jobs[PROBE].limit) / tern__limit_scale(jobs[PROBE + 1].limit);
    return TERN_OK;
}

typedef struct scaling {
    const bench *b;
    job *jobs;
    double program, probe; /* two threads / one */
} scaling;

static tern_status run_rounds(void *user, double *probe)
{
    scaling *s = user;
    TERN_TRY(time_jobs(s->b, s->jobs, &s->program, &s->probe));
    *probe = s->probe;
    return TERN_OK;
}

/* The aim is 1.8, so the probe is to have as much. A figure without is shown all the same, with the probe's beside it. */
static tern_status time_again(bench *b, const subject *of, job jobs[THINGS])
{
    scaling s = {.b = b, .jobs = jobs};
    bool undisturbed;
    TERN_TRY(tern__time_undisturbed(run_rounds, &s, 1.8, &undisturbed));
    printf("%-20s", kinds[of->of].title);
    for (int i = 0; i < of->x_rank; i++)
        printf("%s%" PRId64, i ? "," : " x[", of->x[i]);
    for (int i = 0; i < of->w_rank; i++)
        printf("%s%" PRId64, i ? "," : "] w[", of->w[i]);
    printf("]  two threads / one: %.2f; registers alone %.2f%s\n", s.program, s.probe,
           s.probe < TERN__TWO_CORES ? ", which lost a core" : "");
    if (s.program < b->worst[of->of]) {
        b->worst[of->of] = s.program;
        b->probe[of->of] = s.probe;
    }
    return TERN_OK;
}

static tern_status measure(bench *b, const subject *s)
{
    job jobs[THINGS] = {{.x = NULL}};
    tern_status status = TERN_OK;
    if (b->only && strcmp(b->only, kinds[s->of].name) != 0)
        return TERN_OK;
    TERN_SCOPE(b->ctx) {
        status = make_jobs(b, s, jobs);
    }
    if (status == TERN_OK)
        status = time_again(b, s, jobs);
    free_jobs(jobs);
    return status;
}

static tern_status measure_product(bench *b, kind of, int64_t m, int64_t n, int64_t k)
{
    return measure(b, &(subject){.of = of, .x_rank = 2, .w_rank = 2, .x = {m, k}, .w = {n, k}});
}

static tern_status measure_all(bench *b, int largest)
{
#define SHAPE(unused, none, rows, columns) {rows, columns},
    static const int64_t shapes[][2] = {TERN__2B4T_SHAPES(SHAPE, , )};
#undef SHAPE
    static const subject others[] = {
        {CONV, 4, 4, {1, 64, 56, 56}, {64, 64, 3, 3}},
        {CONV, 4, 4, {1, 512, 7, 7}, {512, 512, 3, 3}},
        {ATTENTION, 3, 4, {256, 20, 128}, {1, 256, 5, 128}},
    };
    for (int64_t size = 512; size <= largest; size *= 2)
        TERN_TRY(measure_product(b, F32, size, size, size));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        TERN_TRY(measure_product(b, TERNARY, BATCH, shapes[i][0], shapes[i][1]));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        TERN_TRY(measure_product(b, INT8, BATCH, shapes[i][0], shapes[i][1]));
    for (kind of = F16; of <= Q8; of++)
        TERN_TRY(measure_product(b, of, BATCH, 2560, 2560));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        TERN_TRY(measure(b, &others[i]));
    return TERN_OK;
}

static void write_row(const bench *b, bench_output *out, int largest)
{
    double least = INFINITY;
    char detail[512] = "";
    for (int i = 0; i < KINDS; i++) {
        const size_t used = strlen(detail);
        if (b->worst[i] == INFINITY)
            continue;
        least = b->worst[i] < least ? b->worst[i] : least;
        snprintf(detail + used, sizeof detail - used, "%s%s %.2f (%.2f)", used ? ", " : "", kinds[i].title,
                 b->worst[i], b->probe[i]);
    }
    bench_row(out, "scaling_2t_min", least, "times one thread", "higher",
              "2 threads / 1 in the same rounds, worst of each, and of registers alone beside it, f32 "
              "squares up to %d: %s",
              largest, detail);
}

static bool is_kind(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return true;
    return false;
}

static bool parse(bench *b, int *largest, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const int value = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--rounds") == 0 && value > 0 && value <= TERN__ROUNDS_MOST)
            b->rounds = value;
        else if (strcmp(argv[i], "--largest") == 0 && value >= 512)
            *largest = value;
        else if (strcmp(argv[i], "--only") == 0 && is_kind(argv[i + 1]))
            b->only = argv[i + 1];
        else
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    bench_output out;
    bench b = {.rounds = 9};
    int largest = 2048;
    for (int i = 0; i < KINDS; i++)
        b.worst[i] = INFINITY;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(&b, &largest, argc, argv)) {
        fprintf(
            stderr,
            "usage: bench_scaling [--rows FILE | --json FILE] [--rounds N] [--largest N] [--only KIND]\n");
        return 2;
    }
    if (tern__cpu()->cores_usable < THREADS) {
        printf("scaling_2t_min: unavailable: one core is usable\n");
        return bench_close(&out) ? 0 : 1;
    }
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = THREADS;
    options.tuning = "off";
    tern_status status = tern_ctx_create(&options, &b.ctx);
    if (status == TERN_OK)
        status = tern__threads_create(THREADS, &b.pool);
    if (status == TERN_OK)
        status = measure_all(&b, largest);
    if (status == TERN_OK)
        write_row(&b, &out, largest);
    else
        fprintf(stderr, "bench_scaling: %s\n", tern_last_error());
    tern__threads_destroy(b.pool);
    tern_ctx_destroy(b.ctx);
    return bench_close(&out) && status == TERN_OK ? 0 : 1;
}
