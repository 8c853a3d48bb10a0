/* test_products.c - matrix products through the whole library: constants packed or not, any batch, any number of threads,
 * every level of instructions. */
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/cpu.h"
#include "base/random.h"
#include "caps.h"
#include "graph/node.h"
#include "harness.h"
#include "kernels/gemm/gemm.h"
#include "kernels/select.h"

static uint64_t rolls;

static int64_t roll(int64_t n)
{
    return (int64_t)(tern__random_uniform(harness_seed(), rolls++) * (double)n);
}

static tern_ctx *context(int threads, const char *cpu)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = threads;
    options.cpu = cpu;
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

/* Reference kernels fuse, too. */
static bool has_fused(const char *cpu)
{
    tern__isa cap = TERN__ISA_BASELINE;
    tern__isa_parse(cpu, &cap);
    const tern__kernel_row *row =
        tern__kernel_select(TERN__FAMILY_gemm_f32, tern__isa_mask_capped(tern__cpu(), cap));
    return !row || ((const tern__gemm_kernel *)row->kernel)->fused;
}

/* With full mantissas: products are rounded, so that every other order of sums has other bits. */
static float *random_floats(int64_t n)
{
    float *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(tern__random_uniform(harness_seed(), rolls++) * 4 - 2);
    return x;
}

/* y[m, n], with b[k, n] (or transposed) as a constant or not. */
static void product_f32(tern_ctx *ctx, const float *a, const float *b, int64_t m, int64_t n, int64_t k,
                        bool constant, bool transposed, float *y)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){m, k}, a);
        tern_tensor *w =
            tern_from_data(ctx, TERN_F32, 2, (int64_t[]){transposed ? n : k, transposed ? k : n}, b);
        if (constant)
            CHECK_OK(tern_freeze(w));
        const float *data = tern_data_f32(tern_matmul(x, w, false, transposed));
        CHECK(data != NULL);
        memcpy(y, data, (size_t)(m * n) * sizeof *y);
    }
}

/* Packed, in place, transposed, in any batch, on any threads: the same bits. At every level that computes alike. */
TEST(f32_products_do_not_depend_on_how)
{
    static const char *const levels[] = {"baseline", "sse4.2", "avx2", "avx512", "neon"};
    enum { M = 9, N = 70, K = 300 };
    float *a = random_floats(M * K), *b = random_floats(K * N), *t = malloc(sizeof(float) * K * N);
    float want[M * N], plain[M * N], got[M * N];
    for (int i = 0; i < K; i++)
        for (int j = 0; j < N; j++)
            t[j * K + i] = b[i * N + j];
    tern_ctx *first = context(1, "baseline");
    product_f32(first, a, b, M, N, K, false, false, want);
    tern_ctx_destroy(first);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (int threads = 1; threads <= 3; threads++) {
            tern_ctx *ctx = context(threads, levels[l]);
            CHECK(ctx != NULL);
            product_f32(ctx, a, b, M, N, K, false, false, plain);
            if (has_fused(levels[l]))
                CHECK(memcmp(want, plain, sizeof want) == 0);
            product_f32(ctx, a, b, M, N, K, true, false, got);
            CHECK(memcmp(plain, got, sizeof got) == 0);
            product_f32(ctx, a, t, M, N, K, true, true, got);
            CHECK(memcmp(plain, got, sizeof got) == 0);
            product_f32(ctx, a, t, M, N, K, false, true, got);
            CHECK(memcmp(plain, got, sizeof got) == 0);
            for (int i = 0; i < M; i++)
                product_f32(ctx, a + i * K, b, 1, N, K, true, false, got + i * N);
            CHECK(memcmp(plain, got, sizeof got) == 0);
            tern_ctx_destroy(ctx);
        }
    free(a);
    free(b);
    free(t);
}

/* Few rows go ways of their own, those with transposed weights that are no constants too: the bits of the reference kernel. */
TEST(few_rows_are_like_many)
{
    tern_ctx *plain = context(1, "baseline"), *fast = context(2, NULL);
    const bool comparable = tern__cpu()->best != TERN__ISA_SSE42;
    for (int64_t m = 1; m <= 8; m++)
        for (int round = 0; round < 4; round++) {
            const int64_t n = 1 + roll(150), k = 1 + roll(200);
            const bool transposed = round % 2 == 0, constant = round == 3;
            float *a = random_floats(m * k), *b = random_floats(k * n);
            float *want = random_floats(m * n), *got = random_floats(m * n);
            product_f32(plain, a, b, m, n, k, false, transposed, want);
            product_f32(fast, a, b, m, n, k, constant, transposed, got);
            if (comparable && memcmp(want, got, (size_t)(m * n) * sizeof *got) != 0)
                harness_fail(__FILE__, __LINE__, "%lld x %lld x %lld%s%s: other bits", (long long)m,
                             (long long)n, (long long)k, transposed ? " transposed" : "",
                             constant ? " constant" : "");
            free(a);
            free(b);
            free(want);
            free(got);
        }
    tern_ctx_destroy(plain);
    tern_ctx_destroy(fast);
}

/* Batches with broadcast and permuted axes, against the baseline's reference kernel. */
TEST(batches_and_strides)
{
    tern_ctx *fast = context(2, NULL), *plain = context(1, "baseline");
    const bool comparable = tern__cpu()->best != TERN__ISA_SSE42;
    for (int round = 0; round < 40 && !harness_failed(); round++) {
        int64_t p = 1 + roll(3), q = 1 + roll(3), m = 1 + roll(20), n = 1 + roll(80), k = roll(30);
        float *a = random_floats(p * q * m * k), *b = random_floats(q * k * n);
        const bool across = roll(2), vector = roll(4) == 0, swapped = roll(2), constant = roll(2);
        float *results[2];
        int64_t count = 0;
        for (int which = 0; which < 2; which++) {
            tern_ctx *ctx = which ? fast : plain;
            TERN_SCOPE(ctx) {
                tern_tensor *x = tern_from_data(
                    ctx, TERN_F32, 4, across ? (int64_t[]){p, q, k, m} : (int64_t[]){p, q, m, k}, a);
                if (swapped) /* a view whose batches do not lie in order */
                    x = tern_permute(x, 4, (int64_t[]){1, 0, 2, 3});
                tern_tensor *w = vector    ? tern_from_data(ctx, TERN_F32, 1, (int64_t[]){k}, b)
                                 : swapped ? tern_from_data(ctx, TERN_F32, 4, (int64_t[]){q, 1, k, n}, b)
                                           : tern_from_data(ctx, TERN_F32, 3, (int64_t[]){q, k, n}, b);
                if (constant)
                    CHECK_OK(tern_freeze(w));
                tern_tensor *y = tern_matmul(x, w, across, false);
                const float *data = tern_data_f32(y);
                CHECK(data != NULL);
                count = tern_numel(y);
                results[which] = malloc((size_t)(count + 1) * sizeof(float));
                memcpy(results[which], data, (size_t)count * sizeof(float));
            }
        }
        if (comparable && memcmp(results[0], results[1], (size_t)count * sizeof(float)) != 0)
            harness_fail(__FILE__, __LINE__, "%lld %lld %lld %lld %lld%s%s%s%s: other bits", (long long)p,
                         (long long)q, (long long)m, (long long)n, (long long)k, across ? " across" : "",
                         vector ? " vector" : "", swapped ? " swapped" : "", constant ? " constant" : "");
        free(results[0]);
        free(results[1]);
        free(a);
        free(b);
    }
    tern_ctx_destroy(fast);
    tern_ctx_destroy(plain);
}

/* ---- ternary ---- */

static tern_tensor *ternary_weight(tern_ctx *ctx, tern_dtype dtype, int64_t n, int64_t k,
                                   const int8_t *values)
{
    return tern_cast(tern_from_data(ctx, TERN_I8, 2, (int64_t[]){n, k}, values), dtype);
}

TEST(ternary_products_are_exact)
{
    for (int round = 0; round < 3 * N_CAPS && !harness_failed(); round++) {
        const int64_t m = 1 + roll(30), n = 1 + roll(200), k = 1 + roll(300);
        const tern_dtype dtype = roll(2) ? TERN_T2 : TERN_T5;
        int8_t *x = malloc((size_t)(m * k)), *w = malloc((size_t)(n * k));
        for (int64_t i = 0; i < m * k; i++)
            x[i] = (int8_t)(roll(256) - 128);
        for (int64_t i = 0; i < n * k; i++)
            w[i] = (int8_t)(roll(3) - 1);
        tern_ctx *ctx = context(1 + (int)roll(3), caps[round % N_CAPS]);
        TERN_SCOPE(ctx) {
            tern_tensor *weight = ternary_weight(ctx, dtype, n, k, w);
            CHECK_OK(tern_eval(weight));
            if (roll(4))
                CHECK_OK(tern_freeze(weight));
            tern_tensor *q = roll(2) ? tern_from_data(ctx, TERN_I8, 2, (int64_t[]){m, k}, x)
                                     : tern_permute(tern_contiguous(tern_permute(
                                                        tern_from_data(ctx, TERN_I8, 2, (int64_t[]){m, k}, x),
                                                        2, (int64_t[]){1, 0})),
                                                    2, (int64_t[]){1, 0});
            const int32_t *y = tern_data(tern_ternary_matmul(q, weight, NULL));
            CHECK(y != NULL);
            int64_t wrong = 0;
            for (int64_t i = 0; i < m; i++)
                for (int64_t o = 0; o < n; o++) {
                    int32_t sum = 0;
                    for (int64_t c = 0; c < k; c++)
                        sum += x[i * k + c] * w[o * k + c];
                    wrong += sum != y[i * n + o];
                }
            CHECK_EQ(wrong, 0);
        }
        tern_ctx_destroy(ctx);
        free(x);
        free(w);
    }
}

/* Blocks of columns with scales: exact sums of each, then one f32 addition after the other, for any instruction set, batch,
 * number of threads, weights packed or not, with something behind it or not. */
TEST(scales_of_blocks_are_applied_in_order)
{
    static const char *const levels[] = {"baseline", "sse4.2", "avx2", "avx512", "neon", NULL};
    for (int round = 0; round < 40 && !harness_failed(); round++) {
        const int64_t blocks = 1 + roll(5), width = blocks > 1 ? 4 * (1 + roll(70)) : 1 + roll(280),
                      k = blocks * width; /* one block may end anywhere */
        const int64_t m = roll(3) ? 1 + roll(12) : 60 + roll(80), n = 1 + roll(200);
        const tern_dtype dtype = roll(2) ? TERN_T2 : TERN_T5;
        const int8_t worst = (int8_t)(roll(4) ? 0 : roll(2) ? 127 : -128);
        int8_t *x = malloc((size_t)(m * k)), *w = malloc((size_t)(n * k));
        float *s = malloc((size_t)(n * blocks) * sizeof *s);
        for (int64_t i = 0; i < m * k; i++)
            x[i] = worst ? worst : (int8_t)(roll(256) - 128);
        for (int64_t i = 0; i < n * k; i++)
            w[i] = (int8_t)(roll(3) - 1);
        for (int64_t i = 0; i < n * blocks; i++)
            s[i] = (float)(roll(2000) - 1000) / 777;
        tern_ctx *ctx = context(1 + (int)roll(3), levels[round % 6]);
        if (!ctx) { /* a level of another architecture */
            free(x), free(w), free(s);
            continue;
        }
        TERN_SCOPE(ctx) {
            tern_tensor *weight = ternary_weight(ctx, dtype, n, k, w);
            tern_tensor *scales = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){n, blocks}, s);
            CHECK_OK(tern_eval(weight));
            if (roll(4))
                CHECK_OK(tern_freeze(weight));
            const bool behind = roll(2) != 0;
            tern_tensor *y =
                tern_ternary_matmul(tern_from_data(ctx, TERN_I8, 2, (int64_t[]){m, k}, x), weight, scales);
            const float *got = tern_data_f32(behind ? tern_neg(y) : y);
            CHECK(got != NULL);
            int64_t wrong = 0;
            for (int64_t i = 0; got && i < m; i++)
                for (int64_t o = 0; o < n; o++) {
                    float sum = 0;
                    for (int64_t b = 0; b < blocks; b++) {
                        int32_t exact = 0;
                        for (int64_t c = b * width; c < (b + 1) * width; c++)
                            exact += x[i * k + c] * w[o * k + c];
                        const float product = s[o * blocks + b] * (float)exact;
                        sum += product;
                    }
                    wrong += (behind ? -sum : sum) != got[i * n + o];
                }
            CHECK_EQ(wrong, 0);
        }
        tern_ctx_destroy(ctx);
        free(x);
        free(w);
        free(s);
    }
}

/* ---- packed constants ---- */

static int steps_called(const tern_program *program, const char *op)
{
    tern_step_info step;
    int n = 0;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        n += strcmp(step.op, op) == 0;
    return n;
}

/* Does the program, perhaps with something fused into it, have this op? */
static bool has_op(const tern_program *program, const char *op)
{
    char *text = NULL;
    bool found = tern_graph_print(tern_program_graph(program), &text) == TERN_OK && strstr(text, op) != NULL;
    tern_string_free(text);
    return found;
}

static size_t pool_bytes(tern_ctx *ctx)
{
    tern_pool_stats stats = {0};
    tern_pool_get_stats(tern__recorder_of(ctx)->pool, &stats);
    return (size_t)stats.current_bytes;
}

static tern_program *compile_product(tern_ctx *ctx, tern_tensor *weight, int64_t m, int64_t k,
                                     tern_level level)
{
    tern_program *program = NULL;
    tern_compile_options options = tern_compile_options_default();
    options.level = level;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_I8, 2, (int64_t[]){m, k});
        tern_tensor *y = tern_ternary_matmul(x, weight, NULL);
        if (tern_compile(ctx, 1, &y, NULL, &options, &program) != TERN_OK)
            harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    }
    return program;
}

/* One pack for all programs and batch sizes; it goes with the weight and the programs. */
TEST(a_constant_is_packed_once)
{
    enum { N = 640, K = 2560 };
    const size_t packed = N / 80 * (K / 4) * 64 < N / 64 * (K / 4) * 64 ? N / 80 * (K / 4) * 64 : 0;
    tern_ctx *ctx = context(2, NULL);
    int8_t *w = calloc(N, K);
    tern_tensor *weight = ternary_weight(ctx, TERN_T2, N, K, w);
    CHECK_OK(tern_eval(weight));
    CHECK_OK(tern_freeze(weight));
    const size_t before = pool_bytes(ctx);
    tern_program *one = compile_product(ctx, weight, 1, K, TERN_LEVEL_MEDIUM);
    const size_t after_one = pool_bytes(ctx);
    tern_program *eight = compile_product(ctx, weight, 8, K, TERN_LEVEL_MEDIUM);
    tern_program *many = compile_product(ctx, weight, 100, K, TERN_LEVEL_HIGH);
    const size_t after_all = pool_bytes(ctx);
    CHECK_EQ(steps_called(one, "packed_ternary_matmul"), 1);
    CHECK_EQ(steps_called(eight, "packed_ternary_matmul"), 1);
    CHECK_EQ(steps_called(many, "packed_ternary_matmul"), 1);
    CHECK(after_one >= before + packed);
    CHECK(after_all < after_one + packed);
    tern_program *recorded = compile_product(ctx, weight, 8, K, TERN_LEVEL_NONE);
    CHECK_EQ(steps_called(recorded, "ternary_matmul"), 1);
    tern_program_free(recorded);
    tern_program_free(one);
    tern_program_free(eight);
    tern_program_free(many);
    tern_release(weight);
    tern_ctx_destroy(ctx);
    free(w);
}

/* relu(x * w) of 16-bit numbers; w a constant or not. */
static tern_status half_product(tern_ctx *ctx, tern_dtype dtype, int64_t m, int64_t n, int64_t k,
                                bool constant, bool turned, int *packed, uint16_t *y)
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, dtype, 2, (int64_t[]){m, k}, 1), *out = NULL;
        tern_tensor *w = tern_randn(ctx, dtype, 2, (int64_t[]){turned ? n : k, turned ? k : n}, 2);
        TERN_TRY(tern_eval(x));
        TERN_TRY(tern_eval(w));
        if (constant)
            TERN_TRY(tern_freeze(w));
        tern_tensor *in = tern_input(ctx, "x", dtype, 2, (int64_t[]){m, k});
        tern_tensor *r = tern_relu(tern_matmul(in, w, false, turned));
        TERN_TRY(tern_compile(ctx, 1, &r, NULL, NULL, &program));
        *packed = has_op(program, "packed_matmul");
        TERN_TRY(tern_exec_create(ctx, program, &exec));
        TERN_TRY(tern_exec_run(exec, 1, &x, 1, &out));
        memcpy(y, tern_data(out), (size_t)(m * n) * sizeof *y);
        tern_release(out);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    return TERN_OK;
}

/* Constants of 16 bits are packed once, and stay 16 bits wide: the same bits as from where they lie. */
TEST(constants_of_16_bits_are_packed)
{
    static const struct {
        int64_t m, n, k;
    } shapes[] = {{1, 70, 300}, {9, 70, 300}, {65, 130, 600}, {3, 64, 17}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int turned = 0; turned < 2; turned++)
            for (tern_dtype dtype = TERN_F16; dtype <= TERN_BF16; dtype++) {
                const int64_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
                tern_ctx *ctx = context(1 + (int)roll(3), NULL);
                uint16_t *want = malloc((size_t)(m * n) * sizeof *want),
                         *got = malloc((size_t)(m * n) * sizeof *got);
                int packed = -1;
                CHECK(ctx && want && got);
                CHECK_OK(half_product(ctx, dtype, m, n, k, false, turned, &packed, want));
                CHECK_EQ(packed, 0);
                CHECK_OK(half_product(ctx, dtype, m, n, k, true, turned, &packed, got));
                CHECK_EQ(packed, tern__cpu()->best == TERN__ISA_BASELINE ? 0 : 1);
                CHECK(memcmp(want, got, (size_t)(m * n) * sizeof *want) == 0);
                free(want);
                free(got);
                tern_ctx_destroy(ctx);
            }
}
