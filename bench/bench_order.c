/* bench_order.c - topk of a vocabulary and sort of long lanes, as ratios to loops that any such work needs.
 *
 * topk_over_max: the 40 largest of 128,256 f32, as sampling wants them, over the time of a plain loop that finds the largest,
 * compiled for the baseline. sort_over_qsort: 1,000,000 f32 with their indices, libc's qsort of the same words over tern's time.
 * One thread; the median of the ratios of a round. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "bench_json.h"
#include "measure/timing.h"

enum { VOCABULARY = 128256, BEST = 40, LONG = 1000000, ROUNDS = 15 };

typedef struct bench_case {
    tern_program *program;
    tern_exec *exec;
    tern_tensor *x;
    uint64_t *words; /* for qsort */
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

static tern_status run(void *user)
{
    const bench_case *c = user;
    tern_tensor *out[2];
    TERN_TRY(tern_exec_run(c->exec, 1, &c->x, 2, out));
    tern_release(out[0]);
    tern_release(out[1]);
    return TERN_OK;
}

static tern_status plain_max(void *user)
{
    const float *x = tern_data_f32(((bench_case *)user)->x);
    float max = x[0];
    for (int64_t i = 1; i < VOCABULARY; i++)
        max = x[i] > max ? x[i] : max;
    __asm__ volatile("" : : "r"(&max) : "memory");
    return TERN_OK;
}

static int by_word(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static tern_status plain_sort(void *user)
{
    const float *x = tern_data_f32(((bench_case *)user)->x);
    uint64_t *words = ((bench_case *)user)->words;
    for (int64_t i = 0; i < LONG; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
        words[i] = (uint64_t)bits << 32 | (uint64_t)i;
    }
    qsort(words, LONG, sizeof *words, by_word);
    return TERN_OK;
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
    sort.words = malloc(LONG * sizeof *sort.words);
    if (sort.words == NULL)
        return TERN_OUT_OF_MEMORY;
    tern__thing things[] = {{.run = run, .user = &topk, .repeats = 1},
                            {.run = plain_max, .user = &topk, .repeats = 1},
                            {.run = run, .user = &sort, .repeats = 1},
                            {.run = plain_sort, .user = &sort, .repeats = 1}};
    enum { THINGS = sizeof things / sizeof things[0] };
    tern__turns turns = {.rounds = ROUNDS};
    double samples[THINGS * ROUNDS], median[THINGS];
    int rounds;
    TERN_TRY(tern__turns_settle(&turns));
    for (int i = 0; i < THINGS; i++)
        TERN_TRY(tern__thing_ready(&things[i], &turns));
    TERN_TRY(tern__time_turns(things, THINGS, &turns, samples, NULL, &rounds));
    for (int i = 0; i < THINGS; i++)
        median[i] = bench_median(samples + i * ROUNDS, rounds);
    free(sort.words);
    bench_row(out, "topk_over_max", tern__turns_ratio(samples, &turns, rounds, 0, 1), "ratio", "lower",
              "topk %.1f us, plain maximum %.1f us, %d f32, k %d", median[0] * 1e6, median[1] * 1e6,
              VOCABULARY, BEST);
    bench_row(out, "sort_over_qsort", tern__turns_ratio(samples, &turns, rounds, 3, 2), "ratio", "higher",
              "sort %.1f ms, qsort %.1f ms, %d f32", median[2] * 1e3, median[3] * 1e3, LONG);
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
