/* bench_scaling.c - what a second thread gives to products that are bound by the cores: f32 squares, prompts of ternary weights
 * (batch 512, the shapes of BitNet b1.58 2B-4T) and int8 products, each as a program for one thread and for two, in turns.
 *
 * Two cores of a shared machine are seldom twice one: probes on registers run in the same rounds, and the row's detail has
 * what a second thread gives to them.
 *
 *     bench_scaling [--rows FILE | --json FILE] [--rounds N] [--largest N] */
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

typedef enum kind { F32, TERNARY, INT8, KINDS } kind;
static const char *const names[KINDS] = {"f32 squares", "ternary prompts", "int8 products"};

typedef struct bench {
    tern_ctx *ctx;
    tern__threads *pool; /* of the probes */
    int rounds;
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

/* x[m, k] times a constant of n rows, as the kind has it. */
static tern_tensor *product_of(tern_ctx *ctx, kind of, tern_tensor *x, int64_t n, int64_t k)
{
    tern_tensor *w = tern_randn(ctx, TERN_F32, 2, (int64_t[]){n, k}, 2), *scale;
    if (of == TERNARY)
        tern_ternary_quantise(w, NULL, TERN_T2, &w, &scale);
    else if (of == INT8)
        w = tern_cast(tern_mul(w, tern_scalar(ctx, TERN_F32, 50)), TERN_I8);
    if (tern_eval(w) != TERN_OK || tern_freeze(w) != TERN_OK)
        return w; /* an error tensor, which says why */
    return of == F32       ? tern_matmul(x, w, false, true)
           : of == TERNARY ? tern_ternary_matmul(x, w, NULL)
                           : tern_linear(x, w);
}

/* To be called in a scope. x is kept: runs are made outside of it, since a result that belongs to a scope lives as long, and each
 * run would touch new memory. */
static tern_status make_jobs(const bench *b, kind of, int64_t m, int64_t n, int64_t k, job jobs[THINGS])
{
    const tern_dtype dtype = of == F32 ? TERN_F32 : TERN_I8;
    const tern__limit_work work = {
        .kind = of == F32 ? TERN_LIMIT_FMA : TERN_LIMIT_INT8_DOT,
        .operations = 2.0 * (double)m * (double)n * (double)k,
        /* ternary products alone run on tiles */
        .isa_mask = of == TERNARY ? tern__cpu()->isa_mask : tern__isa_without_tiles(tern__cpu()->isa_mask)};
    tern_tensor *data = tern_mul(tern_randn(b->ctx, TERN_F32, 2, (int64_t[]){m, k}, 1),
                                 tern_scalar(b->ctx, TERN_F32, of == F32 ? 1 : 50));
    data = tern_cast(data, dtype);
    TERN_TRY(tern_eval(data));
    tern_tensor *x = tern_input(b->ctx, "x", dtype, 2, (int64_t[]){m, k}),
                *y = product_of(b->ctx, of, x, n, k);
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
static tern_status time_again(bench *b, kind of, int64_t m, int64_t n, int64_t k, job jobs[THINGS])
{
    scaling s = {.b = b, .jobs = jobs};
    bool undisturbed;
    TERN_TRY(tern__time_undisturbed(run_rounds, &s, 1.8, &undisturbed));
    printf("%-16s %5lld x %5lld x %5lld  two threads / one: %.2f; registers alone %.2f%s\n", names[of],
           (long long)m, (long long)n, (long long)k, s.program, s.probe,
           s.probe < TERN__TWO_CORES ? ", which lost a core" : "");
    if (s.program < b->worst[of]) {
        b->worst[of] = s.program;
        b->probe[of] = s.probe;
    }
    return TERN_OK;
}

static tern_status measure(bench *b, kind of, int64_t m, int64_t n, int64_t k)
{
    job jobs[THINGS] = {{.x = NULL}};
    tern_status status = TERN_OK;
    TERN_SCOPE(b->ctx) {
        status = make_jobs(b, of, m, n, k, jobs);
    }
    if (status == TERN_OK)
        status = time_again(b, of, m, n, k, jobs);
    free_jobs(jobs);
    return status;
}

static tern_status measure_all(bench *b, int largest)
{
#define SHAPE(unused, none, rows, columns) {rows, columns},
    static const int64_t shapes[][2] = {TERN__2B4T_SHAPES(SHAPE, , )};
#undef SHAPE
    for (int64_t size = 512; size <= largest; size *= 2)
        TERN_TRY(measure(b, F32, size, size, size));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        TERN_TRY(measure(b, TERNARY, BATCH, shapes[i][0], shapes[i][1]));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        TERN_TRY(measure(b, INT8, BATCH, shapes[i][0], shapes[i][1]));
    return TERN_OK;
}

static void write_row(const bench *b, bench_output *out, int largest)
{
    double least = INFINITY;
    for (int i = 0; i < KINDS; i++)
        least = b->worst[i] < least ? b->worst[i] : least;
    bench_row(
        out, "scaling_2t_min", least, "times one thread", "higher",
        "2 threads / 1 in the same rounds, worst of each, and of registers alone beside it: f32 squares of "
        "512 to %d %.2f (%.2f), ternary prompts of 512 %.2f (%.2f), int8 products of 512 %.2f (%.2f)",
        largest, b->worst[F32], b->probe[F32], b->worst[TERNARY], b->probe[TERNARY], b->worst[INT8],
        b->probe[INT8]);
}

static bool parse(bench *b, int *largest, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const int value = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--rounds") == 0 && value > 0 && value <= TERN__ROUNDS_MOST)
            b->rounds = value;
        else if (strcmp(argv[i], "--largest") == 0 && value >= 512)
            *largest = value;
        else
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    bench_output out;
    bench b = {.rounds = 9, .worst = {INFINITY, INFINITY, INFINITY}};
    int largest = 2048;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(&b, &largest, argc, argv)) {
        fprintf(stderr, "usage: bench_scaling [--rows FILE | --json FILE] [--rounds N] [--largest N]\n");
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
