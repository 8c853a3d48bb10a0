/* bench_fusion.c - what fusion gains: ops one by one, the same ops as one row program, and the best plain loop that a person
 * would write for them, all on the same threads.
 *
 * fused_chain_bw_share: six elementwise ops on 16 M f32, bytes moved / time, as a share of the plain loop's (with or without
 * non-temporal stores, whichever is faster). fused_chain_speedup: level none's time / level medium's. fused_softmax_bw_share:
 * softmax of rows, against the same loop: it reads and writes as much. Details: layernorm, and rmsnorm with quantisation, which
 * writes a quarter. Rounds of all candidates alternate, and medians are compared, so that a busy machine slows them all. */
#include <stdint.h>
#include <stdlib.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#include <tern/tern.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threads.h"
#include "bench_json.h"

enum { ELEMENTS = 1 << 24, COLUMNS = 1024, ROUNDS = 15 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

/* ---- plain loops ---- */

typedef struct loop {
    const float *x;
    float *y;
    bool streams;
} loop;

static float chain_of(float x)
{
    float t = x * 1.5f + 0.25f;
    t = t <= 0 ? 0 : t;
    t = (t - 0.5f) * t;
    return t < -1 ? -1 : t > 4 ? 4 : t;
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void chain_avx2(const float *x, float *y, int64_t n, bool streams)
{
    const __m256 a = _mm256_set1_ps(1.5f), b = _mm256_set1_ps(0.25f), zero = _mm256_setzero_ps();
    const __m256 half = _mm256_set1_ps(0.5f), low = _mm256_set1_ps(-1), high = _mm256_set1_ps(4);
    for (int64_t i = 0; i + 8 <= n; i += 8) {
        __m256 t = _mm256_max_ps(_mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), a), b), zero);
        t = _mm256_mul_ps(_mm256_sub_ps(t, half), t);
        t = _mm256_min_ps(_mm256_max_ps(t, low), high);
        if (streams)
            _mm256_stream_ps(y + i, t);
        else
            _mm256_storeu_ps(y + i, t);
    }
    _mm_sfence();
}
#endif

static void run_loop(void *arg, int worker, int workers)
{
    const loop *l = arg;
    int64_t begin = ELEMENTS / 64 * worker / workers * 64, end = ELEMENTS / 64 * (worker + 1) / workers * 64;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        chain_avx2(l->x + begin, l->y + begin, end - begin, l->streams);
        return;
    }
#endif
    for (int64_t i = begin; i < end; i++)
        l->y[i] = chain_of(l->x[i]);
}

/* ---- programs ---- */

typedef tern_tensor *(*build_fn)(tern_ctx *ctx, tern_tensor *x, tern_tensor **second);

static tern_tensor *number(tern_ctx *ctx, double x)
{
    return tern_scalar(ctx, TERN_F32, x);
}

static tern_tensor *chain(tern_ctx *ctx, tern_tensor *x, tern_tensor **second)
{
    (void)second;
    tern_tensor *t = tern_relu(tern_add(tern_mul(x, number(ctx, 1.5)), number(ctx, 0.25)));
    return tern_clamp(tern_mul(tern_sub(t, number(ctx, 0.5)), t), -1, 4);
}

static tern_tensor *softmax(tern_ctx *ctx, tern_tensor *x, tern_tensor **second)
{
    (void)ctx, (void)second;
    return tern_softmax(x, -1);
}

static tern_tensor *layernorm(tern_ctx *ctx, tern_tensor *x, tern_tensor **second)
{
    (void)ctx, (void)second;
    return tern_layernorm(x, NULL, NULL, 1e-5);
}

static tern_tensor *norm_quantise(tern_ctx *ctx, tern_tensor *x, tern_tensor **second)
{
    (void)ctx;
    tern_tensor *q;
    tern_quantise_rows(tern_rmsnorm(x, NULL, 1e-5), &q, second);
    return q;
}

typedef struct candidate {
    const char *name;
    build_fn build;
    tern_level level;
    double bytes; /* that it has to move, at least */
    tern_program *program;
    tern_exec *exec;
    int outputs;
    double ns[ROUNDS];
} candidate;

static tern_status prepare(tern_ctx *ctx, candidate *c)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){ELEMENTS / COLUMNS, COLUMNS});
        tern_tensor *out[2] = {NULL, NULL};
        tern_compile_options options = tern_compile_options_default();
        options.level = c->level;
        out[0] = c->build(ctx, x, &out[1]);
        c->outputs = out[1] ? 2 : 1;
        TERN_TRY(tern_compile(ctx, c->outputs, out, NULL, &options, &c->program));
    }
    return tern_exec_create(ctx, c->program, &c->exec);
}

static tern_status measure(candidate *c, tern_tensor *x, int round)
{
    tern_tensor *out[2];
    uint64_t start = tern__now_ns();
    TERN_TRY(tern_exec_run(c->exec, 1, &x, c->outputs, out));
    c->ns[round] = (double)(tern__now_ns() - start);
    for (int i = 0; i < c->outputs; i++)
        tern_release(out[i]);
    return TERN_OK;
}

static tern_status run(bench_output *rows)
{
    enum { CHAIN_FUSED, CHAIN_ALONE, SOFTMAX, LAYERNORM, QUANTISE, COUNT };
    const double full = 8.0 * ELEMENTS;
#define CANDIDATE(label, function, of_level, moved) \
    {.name = label, .build = function, .level = TERN_LEVEL_##of_level, .bytes = moved}
    candidate c[COUNT] = {
        CANDIDATE("chain, fused", chain, MEDIUM, full), CANDIDATE("chain, one by one", chain, NONE, full),
        CANDIDATE("softmax", softmax, MEDIUM, full), CANDIDATE("layernorm", layernorm, MEDIUM, full),
        CANDIDATE("rmsnorm, quantise_rows", norm_quantise, MEDIUM, 5.0 * ELEMENTS)};
    double plain[ROUNDS], streamed[ROUNDS];
    tern_ctx *ctx;
    tern__threads *threads;
    TERN_TRY(tern_ctx_create(NULL, &ctx));
    TERN_TRY(tern__threads_create(tern_ctx_threads(ctx), &threads));
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){ELEMENTS / COLUMNS, COLUMNS}, 7);
    TERN_TRY(tern_eval(x));
    float *y = tern__alloc_aligned(sizeof(float) * ELEMENTS, 4096);
    if (!y)
        return TERN_OUT_OF_MEMORY;
    for (int i = 0; i < COUNT; i++)
        TERN_TRY(prepare(ctx, &c[i]));
    for (int round = -2; round < ROUNDS; round++) { /* two rounds to warm up */
        int at = round < 0 ? 0 : round;
        for (int s = 0; s < 2; s++) {
            loop l = {.x = tern_data_f32(x), .y = y, .streams = s};
            uint64_t start = tern__now_ns();
            tern__threads_run(threads, tern_ctx_threads(ctx), run_loop, &l);
            (s ? streamed : plain)[at] = (double)(tern__now_ns() - start);
        }
        for (int i = 0; i < COUNT; i++)
            TERN_TRY(measure(&c[i], x, at));
    }
    double cached = full / median(plain, ROUNDS), past = full / median(streamed, ROUNDS);
    double best = cached > past ? cached : past, rate[COUNT];
    printf("%d threads; plain loop %.1f GB/s, with non-temporal stores %.1f GB/s\n", tern_ctx_threads(ctx),
           cached, past);
    for (int i = 0; i < COUNT; i++) {
        rate[i] = c[i].bytes / median(c[i].ns, ROUNDS);
        printf("  %-24s %6.1f GB/s, %.2f of the loop\n", c[i].name, rate[i], rate[i] / best);
    }
    bench_row(rows, "fused_chain_bw_share", rate[CHAIN_FUSED] / best, "ratio", "higher",
              "six ops on 16 M f32: %.1f GB/s; plain loop %.1f GB/s, with non-temporal stores %.1f GB/s",
              rate[CHAIN_FUSED], cached, past);
    bench_row(rows, "fused_chain_speedup", rate[CHAIN_FUSED] / rate[CHAIN_ALONE], "x", "higher",
              "six ops on 16 M f32, level medium against none: %.1f and %.1f GB/s", rate[CHAIN_FUSED],
              rate[CHAIN_ALONE]);
    bench_row(rows, "fused_softmax_bw_share", rate[SOFTMAX] / best, "ratio", "higher",
              "rows of %d f32: %.1f GB/s; layernorm %.2f, rmsnorm + quantise_rows %.2f of the loop", COLUMNS,
              rate[SOFTMAX], rate[LAYERNORM] / best, rate[QUANTISE] / best);
    for (int i = 0; i < COUNT; i++) {
        tern_exec_free(c[i].exec);
        tern_program_free(c[i].program);
    }
    tern__free(y);
    tern__threads_destroy(threads);
    tern_ctx_destroy(ctx);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output rows;
    if (!bench_open(&rows, &argc, argv))
        return 2;
    tern_status status = run(&rows);
    if (status != TERN_OK)
        fprintf(stderr, "bench_fusion: %s\n", tern_last_error());
    return bench_close(&rows) && status == TERN_OK ? 0 : 1;
}
