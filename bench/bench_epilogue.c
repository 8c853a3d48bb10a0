/* bench_epilogue.c - what it gains that a product hands its result on tile by tile: matmul + bias + relu with pass `epilogue`
 * and without it (a product, then a row program), on the same threads, in turns. Ratios are medians over the rounds of
 * (without / with of the same round); the weights are constants, as in a layer.
 *
 * epilogue_speedup: 2048 rows, 256 to 1024 columns. The detail has a wider, a deeper and a single-row layer.
 *
 *     bench_epilogue [--rows FILE | --json FILE] */
#include <stdint.h>
#include <stdlib.h>

#include <tern/tern.h>

#include "base/status.h"
#include "bench_json.h"
#include "measure/timing.h"

enum { ROUNDS = 31 };

typedef struct layer {
    int64_t m, k, n;
} layer;

typedef struct job {
    tern_program *program;
    tern_exec *exec;
    tern_tensor *x;
} job;

static tern_status prepare(tern_ctx *ctx, const layer *l, bool without, tern_program **program,
                           tern_exec **exec)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){l->m, l->k});
        tern_tensor *w = tern_randn(ctx, TERN_F32, 2, (int64_t[]){l->k, l->n}, 1);
        tern_tensor *b = tern_randn(ctx, TERN_F32, 1, (int64_t[]){l->n}, 2);
        tern_compile_options options = tern_compile_options_default();
        options.disabled = (const char *const[]){"epilogue"};
        options.n_disabled = without;
        TERN_TRY(tern_freeze(w));
        TERN_TRY(tern_freeze(b));
        tern_tensor *y = tern_relu(tern_add(tern_matmul(x, w, false, false), b));
        TERN_TRY(tern_compile(ctx, 1, &y, NULL, &options, program));
    }
    return tern_exec_create(ctx, *program, exec);
}

static tern_status run_job(void *user)
{
    job *j = user;
    tern_tensor *y;
    TERN_TRY(tern_exec_run(j->exec, 1, &j->x, 1, &y));
    tern_release(y);
    return TERN_OK;
}

static tern_status measure(tern_ctx *ctx, const layer *l, double *speedup, double *us)
{
    job jobs[2];
    tern__thing things[2];
    tern__turns turns = {.rounds = ROUNDS, .warmups = 2};
    double samples[2 * ROUNDS];
    int rounds;
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){l->m, l->k}, 3);
    TERN_TRY(tern_eval(x));
    TERN_TRY(tern__turns_settle(&turns));
    for (int i = 0; i < 2; i++) {
        jobs[i].x = x;
        TERN_TRY(prepare(ctx, l, i == 1, &jobs[i].program, &jobs[i].exec));
        things[i] = (tern__thing){.run = run_job, .user = &jobs[i]};
        TERN_TRY(tern__thing_ready(&things[i], &turns));
    }
    TERN_TRY(tern__time_turns(things, 2, &turns, samples, NULL, &rounds));
    *speedup = tern__turns_ratio(samples, &turns, rounds, 1, 0);
    *us = tern__stats_of(samples, rounds).median * 1e6;
    for (int i = 0; i < 2; i++) {
        tern_exec_free(jobs[i].exec);
        tern_program_free(jobs[i].program);
    }
    tern_release(x);
    return TERN_OK;
}

static tern_status run(bench_output *rows)
{
    static const layer LAYERS[] = {{2048, 256, 1024}, {2048, 64, 4096}, {512, 1024, 1024}, {1, 512, 2048}};
    enum { COUNT = sizeof LAYERS / sizeof *LAYERS };
    double speedup[COUNT], us[COUNT];
    tern_ctx *ctx;
    TERN_TRY(tern_ctx_create(NULL, &ctx));
    for (int i = 0; i < COUNT; i++) {
        const layer *l = &LAYERS[i];
        TERN_TRY(measure(ctx, l, &speedup[i], &us[i]));
        printf("  matmul + bias + relu, %4d x %4d x %4d  %8.1f us, %.2fx\n", (int)l->m, (int)l->k, (int)l->n,
               us[i], speedup[i]);
    }
    bench_row(rows, "epilogue_speedup", speedup[0], "x", "higher",
              "matmul + bias + relu, 2048 x 256 x 1024, as one step against two, %d threads: %.0f us; 2048 x "
              "64 x 4096 "
              "%.2fx, 512 x 1024 x 1024 %.2fx, 1 x 512 x 2048 %.2fx",
              tern_ctx_threads(ctx), us[0], speedup[1], speedup[2], speedup[3]);
    tern_ctx_destroy(ctx);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output rows;
    if (!bench_open(&rows, &argc, argv))
        return 2;
    if (argc > 1) {
        fprintf(stderr, "usage: bench_epilogue [--rows FILE | --json FILE]\n");
        return 2;
    }
    tern_status status = run(&rows);
    if (status != TERN_OK)
        fprintf(stderr, "bench_epilogue: %s\n", tern_last_error());
    return bench_close(&rows) && status == TERN_OK ? 0 : 1;
}
