/* bench_order.c - topk of a vocabulary and sort of long lanes, as ratios to loops that any such work needs.
 *
 * topk_over_max: the 40 largest of 128,256 f32, as sampling wants them, over the time of a plain loop that finds the largest,
 * compiled for the baseline. sort_over_qsort: 1,000,000 f32 with their indices, libc's qsort of the same words over tern's time.
 * One thread; rounds alternate, medians are compared. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/clock.h"
#include "bench_json.h"

enum { VOCABULARY = 128256, BEST = 40, LONG = 1000000, ROUNDS = 15 };

typedef struct bench_case {
    tern_program *program;
    tern_exec *exec;
    tern_tensor *x;
    double ns[ROUNDS], plain_ns[ROUNDS];
} bench_case;

static tern_status prepare(tern_ctx *ctx, bench_case *c, int64_t n, bool sort)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){1, n}), *out[2];
        c->x = tern_keep(tern_randn(ctx, TERN_F32, 2, (int64_t[]){1, n}, 11));
        TERN_TRY(tern_eval(c->x));
        if (sort)
            tern_sort(x, -1, false, &out[0], &out[1]);
        else
            tern_topk(x, BEST, -1, true, &out[0], &out[1]);
        TERN_TRY(tern_compile(ctx, 2, out, NULL, NULL, &c->program));
    }
    return tern_exec_create(ctx, c->program, &c->exec);
}

static tern_status run(bench_case *c, double *ns)
{
    tern_tensor *out[2];
    const uint64_t start = tern__now_ns();
    TERN_TRY(tern_exec_run(c->exec, 1, &c->x, 2, out));
    *ns = (double)(tern__now_ns() - start);
    tern_release(out[0]);
    tern_release(out[1]);
    return TERN_OK;
}

static float plain_max(const float *x, int64_t n)
{
    float max = x[0];
    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

static int by_word(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void plain_sort(const float *x, uint64_t *words)
{
    for (int64_t i = 0; i < LONG; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
        words[i] = (uint64_t)bits << 32 | (uint64_t)i;
    }
    qsort(words, LONG, sizeof *words, by_word);
}

static tern_status run_all(bench_output *out)
{
    static bench_case topk, sort;
    tern_ctx *ctx;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    TERN_TRY(tern_ctx_create(&options, &ctx));
    TERN_TRY(prepare(ctx, &topk, VOCABULARY, false));
    TERN_TRY(prepare(ctx, &sort, LONG, true));
    uint64_t *words = malloc(LONG * sizeof *words);
    volatile float sink;
    if (words == NULL)
        return TERN_OUT_OF_MEMORY;
    for (int round = -1; round < ROUNDS; round++) {
        const int at = round < 0 ? 0 : round;
        TERN_TRY(run(&topk, &topk.ns[at]));
        uint64_t start = tern__now_ns();
        sink = plain_max(tern_data_f32(topk.x), VOCABULARY);
        topk.plain_ns[at] = (double)(tern__now_ns() - start);
        TERN_TRY(run(&sort, &sort.ns[at]));
        start = tern__now_ns();
        plain_sort(tern_data_f32(sort.x), words);
        sort.plain_ns[at] = (double)(tern__now_ns() - start);
    }
    (void)sink;
    free(words);
    const double t = bench_median(topk.ns, ROUNDS), p = bench_median(topk.plain_ns, ROUNDS);
    const double s = bench_median(sort.ns, ROUNDS), q = bench_median(sort.plain_ns, ROUNDS);
    bench_row(out, "topk_over_max", t / p, "ratio", "lower",
              "topk %.1f us, plain maximum %.1f us, %d f32, k %d", t / 1e3, p / 1e3, VOCABULARY, BEST);
    bench_row(out, "sort_over_qsort", q / s, "ratio", "higher", "sort %.1f ms, qsort %.1f ms, %d f32",
              s / 1e6, q / 1e6, LONG);
    for (int i = 0; i < 2; i++) {
        tern_exec_free((i ? &sort : &topk)->exec);
        tern_program_free((i ? &sort : &topk)->program);
    }
    tern_ctx_destroy(ctx);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (run_all(&out) != TERN_OK) {
        fprintf(stderr, "%s: %s\n", argv[0], tern_last_error());
        return 1;
    }
    return bench_close(&out) ? 0 : 1;
}
