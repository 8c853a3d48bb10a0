/* test_linear.c - products with weights of 16 bits, in blocks and of 8 bits through the whole library: equal to the product with
 * the converted matrix, bit for bit, in any batch, on any threads, at every level of instructions, constant or not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/random.h"
#include "caps.h"
#include "harness.h"

static const char *const LEVELS[] = {"baseline", "sse4.2", "avx2", "avx512", "neon", NULL};
static const tern_dtype DTYPES[] = {TERN_F16,  TERN_BF16, TERN_F32, TERN_Q8_0,
                                    TERN_Q6_K, TERN_Q4_0, TERN_Q4_K};
enum { N_LEVELS = 6, N_DTYPES = 7, BATCH = 37, N = 70, K = 300 };

static float x_data[BATCH * K], w_data[N * K];

static tern_ctx *context(int threads, const char *cpu)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = threads;
    options.cpu = cpu;
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

static void fill(void)
{
    for (int i = 0; i < BATCH * K; i++)
        x_data[i] = (float)tern__random_normal(harness_seed(), (uint64_t)i);
    for (int i = 0; i < N * K; i++)
        w_data[i] = (float)tern__random_normal(harness_seed() + 1, (uint64_t)i);
}

static tern_tensor *weight(tern_ctx *ctx, tern_dtype dtype, bool constant)
{
    tern_tensor *w = tern_cast(tern_from_data(ctx, TERN_F32, 2, (int64_t[]){N, K}, w_data), dtype);
    if ((constant ? tern_freeze(w) : tern_eval(w)) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    return w;
}

/* `rows` rows of y = x times the weights, by linear or by matmul with converted weights. */
static void product(tern_ctx *ctx, tern_dtype dtype, bool constant, bool converted, int first, int rows,
                    float *y)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){rows, K}, x_data + first * K);
        tern_tensor *w = weight(ctx, dtype, constant), *wide = tern_cast(w, TERN_F32);
        tern_tensor *result = converted ? tern_matmul(x, wide, false, true) : tern_linear(x, w);
        const float *data = tern_data_f32(result);
        CHECK(data != NULL);
        memcpy(y, data, (size_t)(rows * N) * sizeof *y);
    }
}

TEST(linear_is_matmul_of_what_weights_stand_for)
{
    static float want[BATCH * N], got[BATCH * N];
    static const int groups[] = {1, 2, 5, 8, BATCH};
    fill();
    for (int level = 0; level < N_LEVELS; level++)
        for (int d = 0; d < N_DTYPES && !harness_failed(); d++) {
            tern_ctx *ctx = context(1 + d % 3, LEVELS[level]);
            CHECK(ctx != NULL);
            product(ctx, DTYPES[d], false, true, 0, BATCH, want);
            product(ctx, DTYPES[d], false, false, 0, BATCH, got);
            CHECK(memcmp(want, got, sizeof got) == 0);
            for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
                memset(got, 0, sizeof got);
                for (int row = 0; row < BATCH; row += groups[g])
                    product(ctx, DTYPES[d], true, false, row,
                            BATCH - row < groups[g] ? BATCH - row : groups[g], got + row * N);
                if (memcmp(want, got, sizeof got) != 0)
                    harness_fail(__FILE__, __LINE__, "%s, %s, %d rows at a time",
                                 LEVELS[level] ? LEVELS[level] : "best", tern_dtype_name(DTYPES[d]),
                                 groups[g]);
            }
            tern_ctx_destroy(ctx);
        }
}

TEST(bytes_are_exact)
{
    int8_t x[5 * K], w[N * K];
    for (int i = 0; i < 5 * K; i++)
        x[i] = i < K ? -128 : (int8_t)(tern__random_uniform(harness_seed(), (uint64_t)i) * 256 - 128);
    for (int i = 0; i < N * K; i++)
        w[i] = i < K ? -128 : (int8_t)(tern__random_uniform(harness_seed() + 1, (uint64_t)i) * 256 - 128);
    for (int cap = 0; cap < N_CAPS; cap++)
        for (int constant = 0; constant < 2; constant++) {
            tern_ctx *ctx = context(2, caps[cap]);
            TERN_SCOPE(ctx) {
                tern_tensor *b = tern_from_data(ctx, TERN_I8, 2, (int64_t[]){N, K}, w);
                if (constant)
                    CHECK_OK(tern_freeze(b));
                tern_tensor *a = tern_from_data(ctx, TERN_I8, 2, (int64_t[]){5, K}, x);
                const int32_t *y = tern_data_i32(tern_linear(a, b));
                CHECK(y != NULL);
                for (int i = 0; i < 5; i++)
                    for (int o = 0; o < N; o++) {
                        int32_t sum = 0;
                        for (int k = 0; k < K; k++)
                            sum += x[i * K + k] * w[o * K + k];
                        CHECK_EQ(y[i * N + o], sum);
                    }
            }
            tern_ctx_destroy(ctx);
        }
}

/* What reads a product of packed weights gets it tile by tile, and nothing changes. */
TEST(epilogues_change_no_bit)
{
    static float want[BATCH * N];
    fill();
    tern_ctx *ctx = context(2, NULL);
    for (int d = 0; d < N_DTYPES; d++)
        TERN_SCOPE(ctx) {
            tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){BATCH, K}, x_data);
            tern_tensor *y = tern_linear(x, weight(ctx, DTYPES[d], true));
            const float *plain = tern_data_f32(y);
            CHECK(plain != NULL);
            for (int i = 0; i < BATCH * N; i++)
                want[i] = plain[i] > 0 ? plain[i] : 0;
            const float *fused = tern_data_f32(tern_relu(tern_linear(x, weight(ctx, DTYPES[d], true))));
            CHECK(fused != NULL && memcmp(want, fused, sizeof want) == 0);
        }
    tern_ctx_destroy(ctx);
}

/* Operands and results that do not lie in one piece. */
TEST(strides)
{
    fill();
    tern_ctx *ctx = context(2, NULL);
    for (int d = 0; d < N_DTYPES; d++)
        TERN_SCOPE(ctx) {
            tern_tensor *w = weight(ctx, DTYPES[d], true);
            tern_tensor *x = tern_from_data(ctx, TERN_F32, 3, (int64_t[]){3, K, 4}, x_data);
            tern_tensor *moved = tern_permute(x, 3, (int64_t[]){2, 0, 1}); /* [4, 3, K] */
            tern_tensor *apart = tern_linear(moved, w), *dense = tern_linear(tern_contiguous(moved), w);
            const float *a = tern_data_f32(apart), *b = tern_data_f32(dense);
            CHECK(a != NULL && b != NULL && memcmp(a, b, sizeof(float) * 12 * N) == 0);
        }
    tern_ctx_destroy(ctx);
}

/* More rows than are taken at a time, as they lie and if they must be copied. */
TEST(many_rows)
{
    enum { MANY = 530 };
    static float rows[MANY * K], columns[K * MANY];
    fill();
    for (int i = 0; i < MANY * K; i++)
        columns[i % K * MANY + i / K] = rows[i] = (float)tern__random_normal(harness_seed(), (uint64_t)i);
    tern_ctx *ctx = context(2, NULL);
    for (int d = 0; d < N_DTYPES; d++)
        TERN_SCOPE(ctx) {
            tern_tensor *w = weight(ctx, DTYPES[d], true);
            tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){MANY, K}, rows);
            tern_tensor *moved = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){K, MANY}, columns);
            tern_tensor *apart = tern_linear(tern_permute(moved, 2, (int64_t[]){1, 0}), w);
            const float *want = tern_data_f32(tern_matmul(x, tern_cast(w, TERN_F32), false, true));
            const float *a = tern_data_f32(tern_linear(x, w)), *b = tern_data_f32(apart);
            CHECK(want != NULL && a != NULL && memcmp(a, want, sizeof(float) * MANY * N) == 0);
            CHECK(b != NULL && memcmp(b, want, sizeof(float) * MANY * N) == 0);
        }
    tern_ctx_destroy(ctx);
}

/* A decoder finds its tokens in the matrix that is its head. */
TEST(rows_of_blocks_can_be_gathered)
{
    static const int32_t tokens[] = {3, 0, N - 1, -1, 3};
    fill();
    tern_ctx *ctx = context(2, NULL);
    for (int d = 0; d < N_DTYPES; d++)
        TERN_SCOPE(ctx) {
            tern_tensor *w = weight(ctx, DTYPES[d], true);
            tern_tensor *at = tern_from_data(ctx, TERN_I32, 1, (int64_t[]){5}, tokens);
            const float *rows = tern_data_f32(tern_cast(tern_gather(w, at, 0), TERN_F32));
            const float *all = tern_data_f32(tern_cast(w, TERN_F32));
            CHECK(rows != NULL && all != NULL);
            for (int i = 0; i < 5; i++) {
                const int token = tokens[i] < 0 ? tokens[i] + N : tokens[i];
                CHECK(memcmp(rows + i * K, all + token * K, K * sizeof *rows) == 0);
            }
        }
    tern_ctx_destroy(ctx);
}

static bool has_step(const tern_program *program, const char *op)
{
    tern_step_info step;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        for (int k = 0; k < step.n_ops; k++)
            if (strcmp(step.ops[k], op) == 0)
                return true;
    return false;
}

/* Compiles a program of rows that are gathered and, if `head`, of their products with all rows; does it read the packed table,
 * and is what it gathers right? */
static void check_gather(tern_ctx *ctx, tern_tensor *w, const float *all, bool head, bool packed)
{
    static const int64_t tokens[] = {3, 0, N - 1, -1, -N, 33}, wrong[] = {0, 1, N, 2, 3, 4};
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *at = tern_input(ctx, "tokens", TERN_I64, 2, (int64_t[]){2, 3});
        tern_tensor *rows = tern_cast(tern_gather(w, at, 0), TERN_F32), *results[2];
        tern_tensor *out[] = {rows, tern_linear(rows, w)};
        tern_tensor *bound = tern_from_data(ctx, TERN_I64, 2, (int64_t[]){2, 3}, tokens);
        CHECK_OK(tern_compile(ctx, head ? 2 : 1, out, NULL, NULL, &program));
        CHECK_EQ(has_step(program, "packed_gather"), packed);
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        CHECK_OK(tern_exec_run(exec, 1, &bound, head ? 2 : 1, results));
        const float *got = tern_data_f32(results[0]);
        CHECK(got != NULL);
        for (int i = 0; i < 6; i++)
            CHECK(memcmp(got + i * K, all + (tokens[i] < 0 ? tokens[i] + N : tokens[i]) * K,
                         K * sizeof *got) == 0);
        bound = tern_from_data(ctx, TERN_I64, 2, (int64_t[]){2, 3}, wrong);
        CHECK_STATUS(tern_exec_run(exec, 1, &bound, head ? 2 : 1, results), TERN_OUT_OF_RANGE);
    }
    tern_exec_free(exec);
    tern_program_free(program);
}

/* A table that is packed for products is not kept a second time for tokens, also in programs without products that come later;
 * one that is not packed stays as it is. */
TEST(a_table_that_is_a_head_is_read_packed)
{
    fill();
    tern_ctx *ctx = context(2, NULL);
    for (int d = 0; d < N_DTYPES; d++)
        TERN_SCOPE(ctx) {
            const bool tiles = DTYPES[d] != TERN_F32;
            tern_tensor *w = weight(ctx, DTYPES[d], true);
            const float *all = tern_data_f32(tern_cast(w, TERN_F32));
            CHECK(all != NULL);
            check_gather(ctx, weight(ctx, DTYPES[d], true), all, false, false);
            check_gather(ctx, w, all, true, tiles);
            check_gather(ctx, w, all, false, tiles);
        }
    tern_ctx_destroy(ctx);
}

static tern_status copy_bytes(void *user, size_t offset, void *data, size_t bytes)
{
    memcpy(data, (const char *)tern_data(user) + offset, bytes);
    return TERN_OK;
}

static void keep_all(void *user)
{
    (void)user;
}

/* Nothing of a table that has yet to be made is there as it is: whoever needs it first, packs it. */
TEST(a_table_that_is_made_later_is_packed_for_tokens)
{
    fill();
    tern_ctx *ctx = context(2, NULL);
    for (int d = 0; d < N_DTYPES; d++)
        TERN_SCOPE(ctx) {
            const bool tiles = DTYPES[d] != TERN_F32;
            tern_tensor *w = weight(ctx, DTYPES[d], true);
            const float *all = tern_data_f32(tern_cast(w, TERN_F32));
            tern_tensor *later = tern_constant(ctx, DTYPES[d], 2, (int64_t[]){N, K},
                                               &(tern_constant_source){copy_bytes, keep_all, w, 0});
            CHECK(all != NULL && tern_data(w) != NULL);
            check_gather(ctx, later, all, false, tiles);
            check_gather(ctx, later, all, true, tiles);
        }
    tern_ctx_destroy(ctx);
}

/* The bytes of a file are a tensor, without a copy, and so are rows of it. */
TEST(blocks_can_be_borrowed_and_sliced)
{
    tern_ctx *ctx = context(1, NULL);
    uint8_t bytes[4 * 2 * 34];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 34 == 0 ? 0 : i % 34 == 1 ? 0x3c : (uint8_t)(i * 7); /* every scale is 1 */
    TERN_SCOPE(ctx) {
        tern_tensor *t = tern_borrow(ctx, TERN_Q8_0, 2, (int64_t[]){4, 64}, NULL, bytes, NULL, NULL);
        const int64_t start[] = {1, 0}, stop[] = {4, 64}, step[] = {2, 1};
        const float *odd = tern_data_f32(tern_cast(tern_slice(t, 2, start, stop, step), TERN_F32));
        CHECK(odd != NULL);
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 64; c++)
                CHECK(odd[r * 64 + c] == (float)(int8_t)bytes[((2 * r + 1) * 2 + c / 32) * 34 + 2 + c % 32]);
    }
    tern_ctx_destroy(ctx);
}
