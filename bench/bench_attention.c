/* bench_attention.c - attention against what the machine allows: generation against the bandwidth of reading, prompts against
 * the peak of multiply-adds.
 *
 * Shapes of BitNet 2B-4T: 20 heads, 5 heads of keys and values, 128 elements each; a context of 4096 positions. Keys and values
 * of all slots together are larger than any cache, and every run takes the next slots in turn, so that they come from memory, as
 * they do when a model's other layers and weights have passed in between.
 *
 * The limits: the fastest of loops that only read the same keys (one stream or four per thread, fetched ahead or not), and a loop
 * of independent multiply-adds. Rounds of all of them alternate, and medians are compared; a share above 1.02 means that a probe
 * was disturbed or is not the best.
 *
 * attention_decode_bw_share: bytes of f16 keys and values / time, as a share of the reading loop's, the lower of 1 and 8
 * sequences at a time. attention_prompt_peak_share: 512 rows of one sequence, as a share of the multiply-adds' peak. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#include <tern/tern.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threads.h"
#include "bench_json.h"

enum { HEADS = 20, KV_HEADS = 5, D = 128, CONTEXT = 4096, SLOTS = 32, ROUNDS = 15, PROMPT = 512 };

/* ---- probes ---- */

#if defined __x86_64__
#define READ(name, streams, ahead)                                                                          \
    __attribute__((target("avx2"))) static int64_t name(const char *x, int64_t bytes)                       \
    {                                                                                                       \
        const int64_t each = bytes / (streams) / 256 * 256;                                                 \
        __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),          \
                           _mm256_setzero_si256()};                                                         \
        for (int64_t i = 0; i < each; i += 256)                                                             \
            for (int s = 0; s < (streams); s++) {                                                           \
                const char *at = x + s * each + i;                                                          \
                for (int k = 0; k < 4; k++) {                                                               \
                    if (ahead)                                                                              \
                        __builtin_prefetch(at + (ahead) + 64 * k);                                          \
                    const __m256i *line = (const __m256i *)(const void *)(at + 64 * k);                     \
                    sums[k] = _mm256_add_epi64(                                                             \
                        sums[k], _mm256_add_epi64(_mm256_loadu_si256(line), _mm256_loadu_si256(line + 1))); \
                }                                                                                           \
            }                                                                                               \
        int64_t out[4];                                                                                     \
        sums[0] = _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3])); \
        memcpy(out, &sums[0], sizeof out);                                                                  \
        return out[0] + out[1] + out[2] + out[3];                                                           \
    }
#else
#define READ(name, streams, ahead)                                                     \
    static int64_t name(const char *x, int64_t bytes)                                  \
    {                                                                                  \
        const int64_t each = bytes / (streams) / 256 * 256;                            \
        int64_t sum = 0;                                                               \
        for (int64_t i = 0; i < each; i += 64)                                         \
            for (int s = 0; s < (streams); s++) {                                      \
                if (ahead)                                                             \
                    __builtin_prefetch(x + s * each + i + (ahead));                    \
                const int64_t *at = (const int64_t *)(const void *)(x + s * each + i); \
                sum += at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6] + at[7];  \
            }                                                                          \
        return sum;                                                                    \
    }
#endif
READ(read_plain, 1, 0)
READ(read_ahead, 1, 4096)
READ(read_four, 4, 0)
READ(read_four_ahead, 4, 2048)

typedef struct probe {
    const char *name;
    int64_t (*read)(const char *x, int64_t bytes);
    double ns[ROUNDS];
} probe;

static probe probes[] = {{.name = "one stream", .read = read_plain},
                         {.name = "one stream, fetched ahead", .read = read_ahead},
                         {.name = "four streams", .read = read_four},
                         {.name = "four streams, fetched ahead", .read = read_four_ahead}};
enum { PROBES = sizeof probes / sizeof *probes, PROBE_BYTES = 64 << 20 };

typedef struct reading {
    const probe *probe;
    const char *x;
    _Atomic(int64_t) sum; /* so that it has to be read */
} reading;

static void read_part(void *arg, int worker, int workers)
{
    reading *r = arg;
    const int64_t each = PROBE_BYTES / workers;
    r->sum += r->probe->read(r->x + each * worker, each);
}

/* Independent chains of multiply-adds; gives flops of one thread. */
enum { CHAINS = 12, LINKS = 200000 };
#if defined __x86_64__
#define PEAK(name, isa, type, width, set1, fmadd)                                                     \
    __attribute__((target(isa))) static double name(float x, float *out)                              \
    {                                                                                                 \
        type sums[CHAINS];                                                                            \
        const type a = set1(x), b = set1(1e-9f);                                                      \
        for (int i = 0; i < CHAINS; i++)                                                              \
            sums[i] = set1((float)i);                                                                 \
        for (int n = 0; n < LINKS; n++) {                                                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) sums[i] = fmadd(sums[i], a, b); \
        }                                                                                             \
        for (int i = 0; i < CHAINS; i++) {                                                            \
            float lanes[width];                                                                       \
            memcpy(lanes, &sums[i], sizeof lanes);                                                    \
            *out += lanes[0];                                                                         \
        }                                                                                             \
        return 2.0 * (width)*CHAINS * LINKS;                                                          \
    }
PEAK(peak_avx2, "avx2,fma", __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps)
PEAK(peak_avx512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps)
#endif

typedef struct peak {
    double flops[256]; /* by worker */
    float sink[256];
} peak;

static void peak_part(void *arg, int worker, int workers)
{
    peak *p = arg;
    (void)workers;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        p->flops[worker] = peak_avx512(0.999f, &p->sink[worker]);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        p->flops[worker] = peak_avx2(0.999f, &p->sink[worker]);
#else
    p->flops[worker] = 0;
#endif
}

/* ---- cases ---- */

typedef struct state {
    tern_dtype dtype;
    tern_tensor *k, *v, *k_scale, *v_scale;
} state;

typedef struct bench_case {
    const char *name;
    int state;
    int rows;     /* 1 or several sequences at CONTEXT, or PROMPT of one */
    double bytes; /* of keys and values */
    double flops;
    tern_program *program;
    tern_exec *exec;
    tern_tensor *q, *positions;
    tern_tensor *slots[SLOTS];
    double ns[ROUNDS];
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
    const int64_t shape[] = {c->rows, HEADS, D}, rows = c->rows;
    const double keys = c->rows == PROMPT ? PROMPT * (PROMPT + 1) / 2.0 : (double)c->rows * CONTEXT;
    c->flops = keys * HEADS * D * 4;
    c->bytes = keys * KV_HEADS * 2 * (s->dtype == TERN_I8 ? D + 4 : 2 * D);
    TERN_TRY(make_indices(ctx, c));
    TERN_SCOPE(ctx) {
        c->q = tern_keep(tern_randn(ctx, TERN_F32, 3, shape, 5));
        TERN_TRY(tern_eval(c->q));
        tern_tensor *y = tern_attention(
            input_like(ctx, "q", c->q), input_like(ctx, "k", s->k), input_like(ctx, "v", s->v),
            tern_input(ctx, "slots", TERN_I32, 1, &rows), tern_input(ctx, "positions", TERN_I32, 1, &rows),
            input_like(ctx, "k_scale", s->k_scale), input_like(ctx, "v_scale", s->v_scale), 0);
        TERN_TRY(tern_compile(ctx, 1, &y, NULL, NULL, &c->program));
    }
    return tern_exec_create(ctx, c->program, &c->exec);
}

static tern_status run_case(bench_case *c, const state *s, int turn, double *ns)
{
    tern_tensor *in[] = {c->q, s->k, s->v, c->slots[turn % SLOTS], c->positions, s->k_scale, s->v_scale},
                *out;
    const uint64_t start = tern__now_ns();
    TERN_TRY(tern_exec_run(c->exec, s->k_scale ? 7 : 5, in, 1, &out));
    *ns = (double)(tern__now_ns() - start);
    tern_release(out);
    return TERN_OK;
}

/* As many runs as pass over all slots. */
static tern_status measure_case(bench_case *c, const state *s, int round)
{
    const int runs = c->rows == PROMPT ? 1 : c->rows == 1 ? 8 : SLOTS / c->rows;
    double sum = 0, ns;
    for (int i = 0; i < runs; i++) {
        TERN_TRY(run_case(c, s, round * runs + i, &ns));
        sum += ns;
    }
    c->ns[round] = sum / runs;
    return TERN_OK;
}

static double best_read(int threads)
{
    double best = 0;
    for (int i = 0; i < PROBES; i++) {
        const double rate = PROBE_BYTES / bench_median(probes[i].ns, ROUNDS);
        printf("  reading, %s: %.1f GB/s\n", probes[i].name, rate);
        best = rate > best ? rate : best;
    }
    printf("  (%d threads)\n", threads);
    return best;
}

static bool report(bench_output *out, int threads, double peak_flops)
{
    const double read = best_read(threads);
    double share[CASES];
    for (int i = 0; i < CASES; i++) {
        const bench_case *c = &cases[i];
        const double ns = bench_median(c->ns, ROUNDS);
        const bool prompt = i == PROMPT_F16;
        share[i] = prompt ? c->flops / ns / peak_flops : c->bytes / ns / read;
        printf("  %-20s %9.1f us %7.1f GB/s %7.1f GFLOPS  %.3f of %s\n", c->name, ns / 1e3, c->bytes / ns,
               c->flops / ns, share[i], prompt ? "the multiply-add peak" : "read bandwidth");
    }
    bench_row(
        out, "attention_decode_bw_share", share[ONE] < share[EIGHT] ? share[ONE] : share[EIGHT], "share",
        "higher",
        "context 4096, f16: 1 sequence %.3f, 8 sequences %.3f, 1 with int8 %.3f; %.1f GB/s read, %d threads",
        share[ONE], share[EIGHT], share[ONE_I8], read, threads);
    if (peak_flops > 0)
        bench_row(out, "attention_prompt_peak_share", share[PROMPT_F16], "share", "higher",
                  "512 rows of one sequence, f16; peak %.0f GFLOPS, %d threads", peak_flops, threads);
    else
        printf("attention_prompt_peak_share unavailable: no probe of the peak for this processor\n");
    for (int i = 0; i < CASES; i++)
        if (share[i] > 1.02) {
            fprintf(stderr, "%s: a share of %.3f: the probe was disturbed, or is not the best\n",
                    cases[i].name, share[i]);
            return false;
        }
    return true;
}

static tern_status run_all(bench_output *out, bool *sound)
{
    static state states[STATES] = {{.dtype = TERN_F16}, {.dtype = TERN_I8}};
    tern_ctx *ctx;
    tern__threads *threads;
    double peaks[ROUNDS];
    TERN_TRY(tern_ctx_create(NULL, &ctx));
    const int workers = tern_ctx_threads(ctx) < 256 ? tern_ctx_threads(ctx) : 256;
    TERN_TRY(tern__threads_create(workers, &threads));
    for (int i = 0; i < STATES; i++)
        TERN_TRY(make_state(ctx, &states[i]));
    for (int i = 0; i < CASES; i++)
        TERN_TRY(prepare(ctx, &cases[i], &states[cases[i].state]));
    for (int round = -1; round < ROUNDS; round++) {
        const int at = round < 0 ? 0 : round;
        for (int i = 0; i < PROBES; i++) {
            const char *x = tern_data(states[F16_STATE].k);
            reading r = {.probe = &probes[i], .x = x + (int64_t)(at + i) % 2 * PROBE_BYTES};
            const uint64_t start = tern__now_ns();
            tern__threads_run(threads, workers, read_part, &r);
            probes[i].ns[at] = (double)(tern__now_ns() - start);
        }
        peak p = {.flops = {0}};
        const uint64_t start = tern__now_ns();
        tern__threads_run(threads, workers, peak_part, &p);
        const double ns = (double)(tern__now_ns() - start);
        peaks[at] = 0;
        for (int i = 0; i < workers; i++)
            peaks[at] += p.flops[i] / ns;
        for (int i = 0; i < CASES; i++)
            TERN_TRY(measure_case(&cases[i], &states[cases[i].state], at));
    }
    *sound = report(out, workers, bench_median(peaks, ROUNDS));
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
    bool sound = false;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (run_all(&out, &sound) != TERN_OK) {
        fprintf(stderr, "%s: %s\n", argv[0], tern_last_error());
        return 1;
    }
    return bench_close(&out) && sound ? 0 : 1;
}
