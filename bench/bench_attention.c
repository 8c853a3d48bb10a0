/* bench_attention.c - attention against what the machine allows: generation against the bandwidth of reading, prompts against
 * the peak of multiply-adds.
 *
 * Shapes of BitNet 2B-4T: 20 heads, 5 heads of keys and values, 128 elements each; a context of 4096 positions. A run of
 * generation takes all slots in turn, whose keys and values together are larger than any cache, so that they come from memory, as
 * they do when a model's other layers and weights have passed in between. The limit reads as many bytes as a run does. Both are
 * timed in turns (measure/measure.h). A share above 1.02 has no row, and the program fails when the others are written. How far apart
 * the cores are is shown with each: two that share a cache may have to share its way to memory as well.
 *
 * attention_decode_bw_share: f16 keys and values, the lower of 1 and 8 sequences at a time. attention_decode_i8_bw_share: int8
 * and their scales. attention_prompt_peak_share: 512 rows of one sequence, causal work only.
 *
 *     bench_attention [--rows FILE | --json FILE] [--rounds N] */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/status.h"
#include "base/threads.h"
#include "bench_json.h"
#include "measure/measure.h"
#include "measure/bench/threads_cost.h"

enum { HEADS = 20, KV_HEADS = 5, D = 128, CONTEXT = 4096, SLOTS = 128, PROMPT = 512 };

/* ---- cases ---- */

typedef struct state {
    tern_dtype dtype;
    tern_tensor *k, *v, *k_scale, *v_scale;
} state;

typedef struct bench_case {
    const char *name;
    int state;
    int rows;     /* 1 or several sequences at CONTEXT, or PROMPT of one */
    int turns;    /* in which a run passes over all slots */
    double bytes; /* of keys and values, of all turns */
    double flops;
    tern_program *program;
    tern_exec *exec;
    tern_tensor *q, *positions;
    tern_tensor *slots[SLOTS];
    const state *s;
} bench_case;

enum { F16_STATE, I8_STATE, STATES };
enum { ONE, EIGHT, ONE_I8, PROMPT_F16, CASES };
static bench_case cases[CASES] = {
    [ONE] = {.name = "1 sequence, f16", .state = F16_STATE, .rows = 1},
    [EIGHT] = {.name = "8 sequences, f16", .state = F16_STATE, .rows = 8},
    [ONE_I8] = {.name = "1 sequence, int8", .state = I8_STATE, .rows = 1},
    [PROMPT_F16] = {.name = "prompt of 512, f16", .state = F16_STATE, .rows = PROMPT},
};

static tern_status make_state(tern_ctx *ctx, state *s)
{
    const int64_t shape[] = {SLOTS, CONTEXT, KV_HEADS, D}, scales[] = {SLOTS, CONTEXT, KV_HEADS, 1};
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_rand(ctx, TERN_F32, 4, (int64_t[]){1, CONTEXT, KV_HEADS, D}, 3);
        x = tern_mul(x, tern_scalar(ctx, TERN_F32, s->dtype == TERN_I8 ? 100 : 1));
        x = tern_contiguous(tern_broadcast(tern_cast(x, s->dtype), 4, shape));
        s->k = tern_keep(x);
        s->v = tern_keep(tern_neg(x));
        TERN_TRY(tern_eval(s->k));
        TERN_TRY(tern_eval(s->v));
        if (s->dtype == TERN_I8) {
            s->k_scale = tern_keep(tern_full(ctx, TERN_F32, 4, scales, 100));
            s->v_scale = tern_keep(tern_full(ctx, TERN_F32, 4, scales, 100));
            TERN_TRY(tern_eval(s->k_scale));
            TERN_TRY(tern_eval(s->v_scale));
        }
    }
    return TERN_OK;
}

static tern_tensor *input_like(tern_ctx *ctx, const char *name, tern_tensor *x)
{
    return x ? tern_input(ctx, name, tern_dtype_of(x), tern_rank(x), tern_shape(x)) : NULL;
}

static tern_status make_indices(tern_ctx *ctx, bench_case *c)
{
    int32_t slots[PROMPT], positions[PROMPT];
    const int64_t rows = c->rows;
    for (int turn = 0; turn < SLOTS; turn++) {
        for (int i = 0; i < c->rows; i++) {
            slots[i] = c->rows == PROMPT ? turn : (turn * c->rows + i) % SLOTS;
            positions[i] = c->rows == PROMPT ? i : CONTEXT - 1;
        }
        c->slots[turn] = tern_keep(tern_from_data(ctx, TERN_I32, 1, &rows, slots));
    }
    c->positions = tern_keep(tern_from_data(ctx, TERN_I32, 1, &rows, positions));
    return TERN_OK;
}

static tern_status prepare(tern_ctx *ctx, bench_case *c, const state *s)
{
    const int64_t shape[] = {c->rows, HEADS, D};
    const double keys = c->rows == PROMPT ? PROMPT * (PROMPT + 1) / 2.0 : (double)c->rows * CONTEXT;
    c->s = s;
    c->turns = c->rows == PROMPT ? 1 : SLOTS / c->rows;
    c->flops = c->turns * keys * HEADS * D * 4;
    c->bytes = c->turns * keys * KV_HEADS * 2 * (s->dtype == TERN_I8 ? D + 4 : 2 * D);
    TERN_TRY(make_indices(ctx, c));
    TERN_SCOPE(ctx) {
        c->q = tern_keep(tern_randn(ctx, TERN_F32, 3, shape, 5));
        TERN_TRY(tern_eval(c->q));
        /* One after the other: inputs have the numbers of their making, and run_case gives them in this order. */
        tern_tensor *q = input_like(ctx, "q", c->q), *k = input_like(ctx, "k", s->k);
        tern_tensor *v = input_like(ctx, "v", s->v), *slots = input_like(ctx, "slots", c->slots[0]);
        tern_tensor *positions = input_like(ctx, "positions", c->positions);
        tern_tensor *k_scale = input_like(ctx, "k_scale", s->k_scale);
        tern_tensor *v_scale = input_like(ctx, "v_scale", s->v_scale);
        tern_tensor *y = tern_attention(q, k, v, slots, positions, k_scale, v_scale, 0);
        TERN_TRY(tern_compile(ctx, 1, &y, NULL, NULL, &c->program));
    }
    return tern_exec_create(ctx, c->program, &c->exec);
}

/* ---- measuring ---- */

static tern_status run_case(void *user)
{
    const bench_case *c = user;
    const state *s = c->s;
    for (int turn = 0; turn < c->turns; turn++) {
        tern_tensor *in[] = {c->q, s->k, s->v, c->slots[turn], c->positions, s->k_scale, s->v_scale}, *out;
        TERN_TRY(tern_exec_run(c->exec, s->k_scale ? 7 : 5, in, 1, &out));
        tern_release(out);
    }
    return TERN_OK;
}

/* TERN_UNAVAILABLE: the machine has no probe of the limit. */
static tern_status measure(bench_case *c, tern__threads *threads, int workers, int rounds,
                           tern__measurement *m)
{
    const bool prompt = c->rows == PROMPT;
    const tern__limit_work work = {.kind = prompt ? TERN_LIMIT_FMA : TERN_LIMIT_READ_BW,
                                   .operations = c->flops,
                                   .read_bytes = (int64_t)c->bytes,
                                   .share = (int64_t)c->bytes / c->turns / 64 * 64};
    tern__limit *limit;
    TERN_TRY(tern__limit_create(threads, workers, &work, &limit));
    tern_status status = tern__measure(&(tern__thing){.run = run_case, .user = c}, 1, limit,
                                       &(tern__turns){.rounds = rounds, .sample_s = 5e-3}, m);
    tern__limit_destroy(limit);
    return status;
}

/* The share, or NaN, which has no row, if it cannot be. */
static double show(const bench_case *c, const tern__measurement *m, double line_ns, bool *sound)
{
    const bool prompt = c->rows == PROMPT;
    const double work = prompt ? c->flops : c->bytes;
    printf("  %-20s %9.1f us +- %4.1f%% %7.1f %s of %7.1f (%s)  share %.3f", c->name,
           m->time.median / c->turns * 1e6, m->time.mad / m->time.median * 100, work / m->time.median * 1e-9,
           prompt ? "GFLOPS" : "GB/s", work / m->limit_time.median * 1e-9, m->way, m->share.median);
    if (!isnan(line_ns))
        printf("; cores %.0f ns apart", line_ns);
    printf("\n");
    if (tern__is_believable(m))
        return m->share.median;
    fprintf(stderr, "bench_attention: %s: %.3f of its limit, so the probes of the limit are wrong\n", c->name,
            m->share.median);
    *sound = false;
    return NAN;
}

static tern_status measure_all(bench_output *out, tern__threads *threads, int workers, int rounds,
                               bool *sound)
{
    double share[CASES];
    printf("%d threads\n", workers);
    for (int i = 0; i < CASES; i++) {
        tern__measurement m;
        const tern_status status = measure(&cases[i], threads, workers, rounds, &m);
        const double line_ns = tern__threads_line_ns(threads);
        share[i] = status == TERN_OK ? show(&cases[i], &m, line_ns, sound) : NAN;
        if (status == TERN_UNAVAILABLE)
            printf("  %-20s unavailable: %s\n", cases[i].name, tern_last_error());
        else
            TERN_TRY(status);
    }
    bench_row(out, "attention_decode_bw_share", bench_worse(share[ONE], share[EIGHT]), "of read bandwidth",
              "higher", "context 4096, f16: 1 sequence %.3f, 8 sequences %.3f, 1 with int8 %.3f; %d threads",
              share[ONE], share[EIGHT], share[ONE_I8], workers);
    bench_row(out, "attention_decode_i8_bw_share", share[ONE_I8], "of read bandwidth", "higher",
              "context 4096, int8 with a scale for each row and head, 1 sequence; %d threads", workers);
    bench_row(out, "attention_prompt_peak_share", share[PROMPT_F16], "of the FMA peak", "higher",
              "512 rows of one sequence, f16; %d threads", workers);
    return TERN_OK;
}

static tern_status run_all(bench_output *out, int rounds, bool *sound)
{
    static state states[STATES] = {{.dtype = TERN_F16}, {.dtype = TERN_I8}};
    tern_ctx *ctx;
    tern__threads *threads;
    TERN_TRY(tern_ctx_create(NULL, &ctx));
    const int workers = tern_ctx_threads(ctx);
    TERN_TRY(tern__threads_create(workers, &threads));
    for (int i = 0; i < STATES; i++)
        TERN_TRY(make_state(ctx, &states[i]));
    for (int i = 0; i < CASES; i++)
        TERN_TRY(prepare(ctx, &cases[i], &states[cases[i].state]));
    TERN_TRY(measure_all(out, threads, workers, rounds, sound));
    tern__threads_destroy(threads);
    for (int i = 0; i < CASES; i++) {
        tern_exec_free(cases[i].exec);
        tern_program_free(cases[i].program);
    }
    tern_ctx_destroy(ctx);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    bool sound = true;
    int rounds = 9;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0)
        rounds = atoi(argv[2]);
    if (argc == 2 || argc > 3 || rounds < 1 || rounds > TERN__ROUNDS_MOST) {
        fprintf(stderr, "usage: bench_attention [--rows FILE | --json FILE] [--rounds N]\n");
        return 2;
    }
    const tern_status status = run_all(&out, rounds, &sound);
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", argv[0], tern_last_error());
    return bench_close(&out) && sound && status == TERN_OK ? 0 : 1;
}
