/* bench_mlx.c - a matrix product by the device `mlx` and by MLX called directly, in turns in one run: what the plugin costs.
 *
 *     bench_mlx [--rows FILE | --json FILE] [--rounds N] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "bench_json.h"
#include "measure/timing.h"

enum { MOST_ROUNDS = 101, N = 256 };

int direct_matmul(const float *a, const float *b, int n, float *corner);

typedef struct product {
    tern_ctx *ctx;
    tern_program *program;
    tern_exec *exec;
    tern_tensor *in[2];
    float corner, direct_corner; /* element [0, 0] of the last result, and of MLX's own */
} product;

static tern_status prepare(product *p)
{
    const int64_t shape[2] = {N, N};
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "mlx";
    options.tuning = "off";
    TERN_TRY(tern_ctx_create(&options, &p->ctx));
    float *data = malloc(N * N * sizeof *data);
    for (int k = 0; k < 2 && data; k++) {
        for (int i = 0; i < N * N; i++)
            data[i] = (float)((i * (7 + k) + k) % 17) / 8 - 1;
        p->in[k] = tern_from_data(p->ctx, TERN_F32, 2, shape, data);
    }
    free(data);
    tern_tensor *y = tern_matmul(tern_input(p->ctx, "a", TERN_F32, 2, shape),
                                 tern_input(p->ctx, "b", TERN_F32, 2, shape), false, false);
    TERN_TRY(tern_compile(p->ctx, 1, &y, NULL, NULL, &p->program));
    return tern_exec_create(p->ctx, p->program, &p->exec);
}

static tern_status run_plugin(void *user)
{
    product *p = user;
    tern_tensor *y;
    TERN_TRY(tern_exec_run(p->exec, 2, p->in, 1, &y));
    p->corner = *(const float *)tern_data(y);
    tern_release(y);
    return TERN_OK;
}

static tern_status run_direct(void *user)
{
    product *p = user;
    return direct_matmul(tern_data(p->in[0]), tern_data(p->in[1]), N, &p->direct_corner) ? TERN_OK
                                                                                         : TERN_UNAVAILABLE;
}

static tern_status measure(bench_output *out, product *p, int rounds)
{
    double samples[2 * MOST_ROUNDS];
    tern__thing things[] = {{.run = run_direct, .user = p, .repeats = 1},
                            {.run = run_plugin, .user = p, .repeats = 1}};
    tern__turns turns = {.rounds = rounds};
    int done;
    TERN_TRY(tern__turns_settle(&turns));
    tern_status status = tern__thing_ready(&things[0], &turns);
    if (status == TERN_OK)
        status = tern__thing_ready(&things[1], &turns);
    if (status == TERN_OK)
        status = tern__time_turns(things, 2, &turns, samples, NULL, &done);
    if (status != TERN_OK || p->corner != p->direct_corner) {
        fprintf(stderr, "bench_mlx: status %d; MLX alone gives %g, the device %g\n", (int)status,
                (double)p->direct_corner, (double)p->corner);
        return TERN_OK; /* nothing was measured */
    }
    /* Of neighbours, before the samples are put in order. */
    const double in_turns = tern__turns_ratio(samples, &turns, done, 0, 1);
    const double a = tern__stats_of(samples, done).median * 1e9,
                 b = tern__stats_of(samples + rounds, done).median * 1e9;
    bench_row(out, "mlx_matmul_vs_direct_mlx", in_turns, "", "higher",
              "f32 product of %d x %d: MLX alone %.0f us over the device's %.0f us", N, N, a / 1e3, b / 1e3);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    product p = {0};
    int rounds = 9;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0)
        rounds = atoi(argv[2]);
    if (rounds < 1 || rounds > MOST_ROUNDS || (argc != 1 && argc != 3)) {
        fprintf(stderr, "usage: bench_mlx [--rows FILE | --json FILE] [--rounds 1..%d]\n", MOST_ROUNDS);
        return 2;
    }
    tern_status status = prepare(&p);
    if (status == TERN_OK)
        status = measure(&out, &p, rounds);
    if (status == TERN_UNAVAILABLE)
        printf("unavailable: %s\n", tern_last_error());
    else if (status != TERN_OK)
        fprintf(stderr, "bench_mlx: %s\n", tern_last_error());
    tern_exec_free(p.exec);
    tern_program_free(p.program);
    tern_ctx_destroy(p.ctx);
    return bench_close(&out) && (status == TERN_OK || status == TERN_UNAVAILABLE) ? 0 : 1;
}
