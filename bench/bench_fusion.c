/* bench_fusion.c - what fusion gains: ops one by one, the same ops as one row program, and the best plain loop that a person
 * would write, all on the same threads.
 *
 * The limit is the fastest of plain loops that move the same bytes in the same proportion: with 32- or 64-byte vectors, with or
 * without non-temporal stores, with or without fetching ahead. One reads and writes f32 (the chain itself; softmax and layernorm read and write as much), one
 * reads f32 and writes i8 (rmsnorm with quantisation). Rounds of all candidates alternate, and medians are compared, so that a
 * busy machine slows them all; a share above 1.02 means that the loop was disturbed, or is not the best.
 *
 * The last column is what a program costs apart from memory: one thread, rows that lie in the second cache, the fastest of many
 * runs. It is to be compared with the time that memory gives each thread for an element.
 *
 * --clock cpu: one thread, and processor time instead of wall time: for machines that others use as well.
 *
 * fused_chain_bw_share: six elementwise ops on 16 M f32, bytes moved / time, as a share of the loop's. fused_chain_speedup:
 * level none's time / level medium's. fused_softmax_bw_share: softmax of rows. elementwise_bw_share: the slowest of single ops
 * that read and write as much. transpose_bw_share: a matrix, turned. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined __linux__
#include <sys/mman.h>
#endif
#if defined __x86_64__
#include <immintrin.h>
#endif

#include <tern/tern.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threads.h"
#include "bench_json.h"

enum { ELEMENTS = 1 << 24, COLUMNS = 1024, ROUNDS = 15, FEW_ROWS = 64, CACHED_RUNS = 300 };

static bool cpu_clock; /* --clock cpu */

static uint64_t now_ns(void)
{
    struct timespec t;
    if (!cpu_clock || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return tern__now_ns();
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- plain loops ---- */

typedef void (*loop_fn)(const float *x, void *y, int64_t n);

static void chain_plain(const float *x, void *y_, int64_t n)
{
    float *y = y_;
    for (int64_t i = 0; i < n; i++) {
        float t = x[i] * 1.5f + 0.25f;
        t = t <= 0 ? 0 : t;
        t = (t - 0.5f) * t;
        y[i] = t < -1 ? -1 : t > 4 ? 4 : t;
    }
}

static void bytes_plain(const float *x, void *y_, int64_t n)
{
    int8_t *y = y_;
    for (int64_t i = 0; i < n; i++) {
        float t = x[i] * 20;
        y[i] = (int8_t)(int)(t < -128 ? -128 : t > 127 ? 127 : t);
    }
}

#if defined __x86_64__
#define CHAIN(name, isa, width, bits, store, ahead)                                                  \
    __attribute__((target(isa))) static void name(const float *x, void *y_, int64_t n)               \
    {                                                                                                \
        float *y = y_;                                                                               \
        const __m##bits a = _mm##bits##_set1_ps(1.5f), b = _mm##bits##_set1_ps(0.25f);               \
        const __m##bits zero = _mm##bits##_setzero_ps(), half = _mm##bits##_set1_ps(0.5f);           \
        const __m##bits low = _mm##bits##_set1_ps(-1), high = _mm##bits##_set1_ps(4);                \
        for (int64_t i = 0; i + (width) <= n; i += (width)) {                                        \
            __m##bits t = _mm##bits##_add_ps(_mm##bits##_mul_ps(_mm##bits##_loadu_ps(x + i), a), b); \
            t = _mm##bits##_max_ps(t, zero);                                                         \
            t = _mm##bits##_mul_ps(_mm##bits##_sub_ps(t, half), t);                                  \
            _mm##bits##_##store##_ps(y + i, _mm##bits##_min_ps(_mm##bits##_max_ps(t, low), high));   \
        }                                                                                            \
        _mm_sfence();                                                                                \
    }
CHAIN(chain_avx2, "avx2", 8, 256, store, 0)
CHAIN(chain_avx2_past, "avx2", 8, 256, stream, 0)
CHAIN(chain_avx512, "avx512f", 16, 512, store, 0)
CHAIN(chain_avx512_past, "avx512f", 16, 512, stream, 0)
CHAIN(chain_avx512_ahead, "avx512f", 16, 512, stream, 512)

__attribute__((target("avx2"))) static __m128i bytes_of_16(const float *x)
{
    const __m256 scale = _mm256_set1_ps(20);
    __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), scale));
    __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), scale));
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

__attribute__((target("avx2"))) static void bytes_avx2(const float *x, void *y, int64_t n)
{
    for (int64_t i = 0; i + 16 <= n; i += 16)
        _mm_store_si128((__m128i *)(void *)((char *)y + i), bytes_of_16(x + i));
}

__attribute__((target("avx2"))) static void bytes_avx2_past(const float *x, void *y, int64_t n)
{
    for (int64_t i = 0; i + 16 <= n; i += 16)
        _mm_stream_si128((__m128i *)(void *)((char *)y + i), bytes_of_16(x + i));
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void bytes_avx512_ahead(const float *x, void *y, int64_t n)
{
    const __m512 scale = _mm512_set1_ps(20);
    for (int64_t i = 0; i + 16 <= n; i += 16) {
        __builtin_prefetch(x + i + 512);
        __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), scale));
        _mm_stream_si128((__m128i *)(void *)((char *)y + i), _mm512_cvtsepi32_epi8(whole));
    }
    _mm_sfence();
}
#endif

typedef enum moves { F32_TO_F32, F32_TO_I8, MOVES } moves;

typedef struct probe {
    const char *name;
    const char *isa; /* NULL: any */
    moves moves;
    bool past;
    loop_fn run;
    double ns[ROUNDS];
} probe;

static const double bytes_per_element[MOVES] = {8, 5};

static probe probes[] = {
    {.name = "f32 to f32", .moves = F32_TO_F32, .run = chain_plain},
    {.name = "f32 to i8", .moves = F32_TO_I8, .run = bytes_plain},
#if defined __x86_64__
    {.name = "f32 to f32", .isa = "avx2", .moves = F32_TO_F32, .run = chain_avx2},
    {.name = "f32 to f32", .isa = "avx2", .moves = F32_TO_F32, .past = true, .run = chain_avx2_past},
    {.name = "f32 to f32", .isa = "avx512f", .moves = F32_TO_F32, .run = chain_avx512},
    {.name = "f32 to f32", .isa = "avx512f", .moves = F32_TO_F32, .past = true, .run = chain_avx512_past},
    {.name = "f32 to f32, fetched ahead",
     .isa = "avx512f",
     .moves = F32_TO_F32,
     .past = true,
     .run = chain_avx512_ahead},
    {.name = "f32 to i8", .isa = "avx2", .moves = F32_TO_I8, .run = bytes_avx2},
    {.name = "f32 to i8", .isa = "avx2", .moves = F32_TO_I8, .past = true, .run = bytes_avx2_past},
    {.name = "f32 to i8, fetched ahead",
     .isa = "avx512f",
     .moves = F32_TO_I8,
     .past = true,
     .run = bytes_avx512_ahead},
#endif
};
enum { PROBES = sizeof probes / sizeof *probes };

static bool is_there(const probe *p)
{
#if defined __x86_64__
    const bool avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512f");
    return !p->isa ? !avx2 : p->isa[3] == '2' ? avx2 : avx512;
#else
    return !p->isa;
#endif
}

typedef struct loop {
    const probe *probe;
    const float *x;
    char *y;
} loop;

static void run_loop(void *arg, int worker, int workers)
{
    const loop *l = arg;
    int64_t begin = ELEMENTS / 64 * worker / workers * 64, end = ELEMENTS / 64 * (worker + 1) / workers * 64;
    int64_t bytes = l->probe->moves == F32_TO_F32 ? 4 : 1;
    l->probe->run(l->x + begin, l->y + begin * bytes, end - begin);
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

#define ELEMENTWISE(name, ...)                                                           \
    static tern_tensor *each_##name(tern_ctx *ctx, tern_tensor *x, tern_tensor **second) \
    {                                                                                    \
        (void)ctx, (void)second;                                                         \
        return __VA_ARGS__;                                                              \
    }
/* clang-format off */
ELEMENTWISE(add, tern_add(x, number(ctx, 0.5))) ELEMENTWISE(mul, tern_mul(x, number(ctx, 1.5)))
ELEMENTWISE(exp, tern_exp(x)) ELEMENTWISE(tanh, tern_tanh(x)) ELEMENTWISE(erf, tern_erf(x))
ELEMENTWISE(sigmoid, tern_sigmoid(x)) ELEMENTWISE(silu, tern_silu(x)) ELEMENTWISE(gelu, tern_gelu(x))
    /* clang-format on */

    static tern_tensor *transpose(tern_ctx *ctx, tern_tensor *x, tern_tensor **second)
{
    (void)ctx, (void)second;
    return tern_contiguous(tern_permute(x, 2, (int64_t[]){1, 0}));
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
    moves moves; /* what it has to move, at least */
    tern_program *program;
    tern_exec *exec;
    int outputs;
    double ns[ROUNDS];
    double cached_ns; /* per element, one thread, in cache */
} candidate;

static tern_status prepare(tern_ctx *ctx, candidate *c, int64_t rows)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){rows, COLUMNS});
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
    uint64_t start = now_ns();
    TERN_TRY(tern_exec_run(c->exec, 1, &x, c->outputs, out));
    c->ns[round] = (double)(now_ns() - start);
    for (int i = 0; i < c->outputs; i++)
        tern_release(out[i]);
    return TERN_OK;
}

enum {
    CHAIN_FUSED,
    CHAIN_ALONE,
    SOFTMAX,
    LAYERNORM,
    QUANTISE,
    TRANSPOSE,
    FIRST_EACH,
    COUNT = FIRST_EACH + 8
};
#define CANDIDATE(label, function, of_level, moved)                                      \
    {                                                                                    \
        .name = label, .build = function, .level = TERN_LEVEL_##of_level, .moves = moved \
    }
static candidate candidates[COUNT] = {CANDIDATE("chain, fused", chain, MEDIUM, F32_TO_F32),
                                      CANDIDATE("chain, one by one", chain, NONE, F32_TO_F32),
                                      CANDIDATE("softmax", softmax, MEDIUM, F32_TO_F32),
                                      CANDIDATE("layernorm", layernorm, MEDIUM, F32_TO_F32),
                                      CANDIDATE("rmsnorm, quantise_rows", norm_quantise, MEDIUM, F32_TO_I8),
                                      CANDIDATE("transpose", transpose, MEDIUM, F32_TO_F32),
                                      CANDIDATE("add", each_add, MEDIUM, F32_TO_F32),
                                      CANDIDATE("mul", each_mul, MEDIUM, F32_TO_F32),
                                      CANDIDATE("exp", each_exp, MEDIUM, F32_TO_F32),
                                      CANDIDATE("tanh", each_tanh, MEDIUM, F32_TO_F32),
                                      CANDIDATE("erf", each_erf, MEDIUM, F32_TO_F32),
                                      CANDIDATE("sigmoid", each_sigmoid, MEDIUM, F32_TO_F32),
                                      CANDIDATE("silu", each_silu, MEDIUM, F32_TO_F32),
                                      CANDIDATE("gelu", each_gelu, MEDIUM, F32_TO_F32)};

static tern_status measure_cached(void)
{
    tern_ctx *ctx;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    TERN_TRY(tern_ctx_create(&options, &ctx));
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){FEW_ROWS, COLUMNS}, 7);
    TERN_TRY(tern_eval(x));
    for (int i = 0; i < COUNT; i++) {
        candidate c = candidates[i];
        TERN_TRY(prepare(ctx, &c, FEW_ROWS));
        double best = 1e30;
        for (int k = 0; k < CACHED_RUNS; k++) {
            TERN_TRY(measure(&c, x, 0));
            best = c.ns[0] < best ? c.ns[0] : best;
        }
        candidates[i].cached_ns = best / (FEW_ROWS * COLUMNS);
        tern_exec_free(c.exec);
        tern_program_free(c.program);
    }
    tern_ctx_destroy(ctx);
    return TERN_OK;
}

static tern_status run_round(tern_ctx *ctx, tern__threads *threads, tern_tensor *x, char *y, int at)
{
    for (int k = 0; k < PROBES; k++) {
        if (!is_there(&probes[k]))
            continue;
        loop l = {.probe = &probes[k], .x = tern_data_f32(x), .y = y};
        uint64_t start = now_ns();
        tern__threads_run(threads, tern_ctx_threads(ctx), run_loop, &l);
        probes[k].ns[at] = (double)(now_ns() - start);
    }
    for (int i = 0; i < COUNT; i++)
        TERN_TRY(measure(&candidates[i], x, at));
    return TERN_OK;
}

/* GB/s of the best loop of each kind; of f32 to f32 also with and without non-temporal stores. */
static void find_limits(double best[MOVES], double *cached, double *past)
{
    best[F32_TO_F32] = best[F32_TO_I8] = *cached = *past = 0;
    for (int k = 0; k < PROBES; k++) {
        const probe *p = &probes[k];
        if (!is_there(p))
            continue;
        double rate = bytes_per_element[p->moves] * ELEMENTS / bench_median(probes[k].ns, ROUNDS);
        best[p->moves] = rate > best[p->moves] ? rate : best[p->moves];
        if (p->moves == F32_TO_F32 && rate > *(p->past ? past : cached))
            *(p->past ? past : cached) = rate;
        printf("  loop, %s%s%s%s: %.1f GB/s\n", p->name, p->isa ? ", " : "", p->isa ? p->isa : "",
               p->past ? ", past the caches" : "", rate);
    }
}

static void report(bench_output *rows, int threads)
{
    double best[MOVES], cached, past, rate[COUNT], share[COUNT];
    printf("%d threads, %d f32, %s time\n", threads, ELEMENTS, cpu_clock ? "processor" : "wall");
    find_limits(best, &cached, &past);
    for (int i = 0; i < COUNT; i++) {
        candidate *c = &candidates[i];
        rate[i] = bytes_per_element[c->moves] * ELEMENTS / bench_median(c->ns, ROUNDS);
        share[i] = rate[i] / best[c->moves];
        printf("  %-24s %6.1f GB/s, %.2f of the best loop; in cache %.3f ns per element, memory %.3f\n",
               c->name, rate[i], share[i], c->cached_ns,
               bytes_per_element[c->moves] * threads / best[c->moves]);
    }
    bench_row(rows, "fused_chain_bw_share", share[CHAIN_FUSED], "ratio", "higher",
              "six ops on 16 M f32: %.1f GB/s; plain loop %.1f GB/s, with non-temporal stores %.1f GB/s",
              rate[CHAIN_FUSED], cached, past);
    bench_row(rows, "fused_chain_speedup", rate[CHAIN_FUSED] / rate[CHAIN_ALONE], "x", "higher",
              "six ops on 16 M f32, level medium against none: %.1f and %.1f GB/s", rate[CHAIN_FUSED],
              rate[CHAIN_ALONE]);
    bench_row(
        rows, "fused_softmax_bw_share", share[SOFTMAX], "ratio", "higher",
        "rows of %d f32: %.1f GB/s; layernorm %.2f, rmsnorm + quantise_rows %.2f of loops that move the same",
        COLUMNS, rate[SOFTMAX], share[LAYERNORM], share[QUANTISE]);
    int worst = FIRST_EACH;
    for (int i = FIRST_EACH; i < COUNT; i++)
        worst = share[i] < share[worst] ? i : worst;
    bench_row(rows, "elementwise_bw_share", share[worst], "ratio", "higher",
              "16 M f32, %s, the slowest of %d elementwise ops: %.1f GB/s of the best loop's %.1f",
              candidates[worst].name, COUNT - FIRST_EACH, rate[worst], best[F32_TO_F32]);
    bench_row(rows, "transpose_bw_share", share[TRANSPOSE], "ratio", "higher",
              "f32 [%d,%d]: %.1f GB/s of the best loop's %.1f", ELEMENTS / COLUMNS, COLUMNS, rate[TRANSPOSE],
              best[F32_TO_F32]);
}

static tern_status run(bench_output *rows)
{
    tern_ctx *ctx;
    tern__threads *threads;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = cpu_clock ? 1 : options.threads;
    TERN_TRY(tern_ctx_create(&options, &ctx));
    TERN_TRY(tern__threads_create(tern_ctx_threads(ctx), &threads));
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){ELEMENTS / COLUMNS, COLUMNS}, 7);
    TERN_TRY(tern_eval(x));
    char *y = tern__alloc_aligned(sizeof(float) * ELEMENTS, 2 << 20);
    if (!y)
        return TERN_OUT_OF_MEMORY;
#if defined MADV_HUGEPAGE
    madvise(y, sizeof(float) * ELEMENTS, MADV_HUGEPAGE); /* like the library's own results */
#endif
    for (int i = 0; i < COUNT; i++)
        TERN_TRY(prepare(ctx, &candidates[i], ELEMENTS / COLUMNS));
    for (int round = -2; round < ROUNDS; round++) /* two rounds to warm up */
        TERN_TRY(run_round(ctx, threads, x, y, round < 0 ? 0 : round));
    TERN_TRY(measure_cached());
    report(rows, tern_ctx_threads(ctx));
    for (int i = 0; i < COUNT; i++) {
        tern_exec_free(candidates[i].exec);
        tern_program_free(candidates[i].program);
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
    if (argc == 3 && strcmp(argv[1], "--clock") == 0 && strcmp(argv[2], "cpu") == 0) {
        cpu_clock = true;
    } else if (argc > 1) {
        fprintf(stderr, "usage: bench_fusion [--rows FILE | --json FILE] [--clock cpu]\n");
        return 2;
    }
    tern_status status = run(&rows);
    if (status != TERN_OK)
        fprintf(stderr, "bench_fusion: %s\n", tern_last_error());
    return bench_close(&rows) && status == TERN_OK ? 0 : 1;
}
