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

#include "base/clock.h"
#include "base/status.h"
#include "bench_json.h"

enum { ROUNDS = 31 };

typedef struct layer {
    int64_t m, k, n;
    int runs; /* in a round: small ones are over too soon for the clock */
} layer;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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

static tern_status time_runs(tern_exec *exec, tern_tensor *x, int runs, double *ns)
{
    const uint64_t start = tern__now_ns();
    for (int i = 0; i < runs; i++) {
        tern_tensor *y;
        TERN_TRY(tern_exec_run(exec, 1, &x, 1, &y));
        tern_release(y);
    }
    *ns = (double)(tern__now_ns() - start) / runs;
    return TERN_OK;
}

static tern_status measure(tern_ctx *ctx, const layer *l, double *speedup, double *us)
{
    tern_program *programs[2];
    tern_exec *execs[2];
    double ratios[ROUNDS], ns[2];
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){l->m, l->k}, 3);
    TERN_TRY(tern_eval(x));
    for (int i = 0; i < 2; i++)
        TERN_TRY(prepare(ctx, l, i == 1, &programs[i], &execs[i]));
    *us = 1e30;
    for (int round = -2; round < ROUNDS; round++) { /* two rounds to warm up */
        for (int i = 0; i < 2; i++)
            TERN_TRY(time_runs(execs[i], x, l->runs, &ns[i]));
        ratios[round < 0 ? 0 : round] = ns[1] / ns[0];
        *us = ns[0] / 1e3 < *us ? ns[0] / 1e3 : *us;
    }
    qsort(ratios, ROUNDS, sizeof *ratios, by_value);
    *speedup = ratios[ROUNDS / 2];
    for (int i = 0; i < 2; i++) {
        tern_exec_free(execs[i]);
        tern_program_free(programs[i]);
    }
    tern_release(x);
    return TERN_OK;
}

static tern_status run(bench_output *rows)
{
    static const layer LAYERS[] = {
        {2048, 256, 1024, 1}, {2048, 64, 4096, 1}, {512, 1024, 1024, 1}, {1, 512, 2048, 50}};
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
