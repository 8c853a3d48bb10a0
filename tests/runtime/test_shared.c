/* test_shared.c - how work is shared does not show: one table of ops, each with any number of threads and of rows in its batch. Every
 * case says whether threads share it, and the plan is looked at: a case that nobody shares would prove nothing. */
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "caps.h"
#include "harness.h"
#include "runtime/program.h"

enum { MOST_RANK = 4, MOST_THREADS = 5 };

typedef tern_tensor *(*build_fn)(tern_tensor *x);

/* ---- the ops ---- */

static tern_tensor *weights(tern_tensor *x, int rank, const int64_t *shape)
{
    return tern_randn(tern_ctx_of(x), TERN_F32, rank, shape, 5);
}

static tern_tensor *conv2d(tern_tensor *x)
{
    return tern_conv2d(x, weights(x, 4, (int64_t[]){24, 8, 3, 3}), NULL, 1, 1, 1, 1, 1, 1, 1, false);
}

static tern_tensor *max_pool(tern_tensor *x)
{
    return tern_max_pool2d(x, 3, 3, 2, 2, 1, 1, false);
}

static tern_tensor *avg_pool(tern_tensor *x)
{
    return tern_avg_pool2d(x, 2, 2, 2, 2, 0, 0, false, false);
}

static tern_tensor *sort(tern_tensor *x)
{
    tern_tensor *values, *places;
    tern_sort(x, -1, false, &values, &places);
    return tern_add(values, tern_cast(places, TERN_F32)); /* of equals, which */
}

static tern_tensor *topk(tern_tensor *x)
{
    tern_tensor *values, *places;
    tern_topk(x, 7, -1, true, &values, &places);
    return tern_add(values, tern_cast(places, TERN_F32));
}

static tern_tensor *cumsum(tern_tensor *x)
{
    return tern_cumsum(x, -1);
}

static tern_tensor *softmax(tern_tensor *x)
{
    return tern_softmax(x, -1);
}

static tern_tensor *softmax_of_columns(tern_tensor *x)
{
    return tern_softmax(x, 1);
}

static tern_tensor *gelu(tern_tensor *x)
{
    return tern_gelu(x);
}

static tern_tensor *rmsnorm(tern_tensor *x)
{
    return tern_rmsnorm(x, NULL, 1e-6);
}

static tern_tensor *variance(tern_tensor *x)
{
    return tern_var(x, 1, (int64_t[]){-1}, false, 0);
}

static tern_tensor *sums(tern_tensor *x)
{
    return tern_sum(x, 2, (int64_t[]){1, 2}, false);
}

static tern_tensor *sum_of_rows(tern_tensor *x)
{
    return tern_sum(x, 1, (int64_t[]){-1}, false);
}

static tern_tensor *mean_of_squares(tern_tensor *x)
{
    return tern_mean(tern_mul(x, x), 1, (int64_t[]){-1}, false);
}

static tern_tensor *max_of_rows(tern_tensor *x)
{
    return tern_max(x, 1, (int64_t[]){-1}, false);
}

static tern_tensor *argmax(tern_tensor *x)
{
    return tern_argmax(x, -1, false);
}

static tern_tensor *matmul(tern_tensor *x)
{
    return tern_matmul(x, weights(x, 2, (int64_t[]){300, 129}), false, false);
}

static tern_tensor *matmul_f64(tern_tensor *x)
{
    tern_tensor *w = tern_cast(weights(x, 2, (int64_t[]){300, 129}), TERN_F64);
    return tern_matmul(tern_cast(x, TERN_F64), w, false, false);
}

static tern_tensor *matmul_and_more(tern_tensor *x)
{
    return tern_softmax(tern_gelu(matmul(x)), -1);
}

static tern_tensor *linear_half(tern_tensor *x)
{
    return tern_linear(x, tern_cast(weights(x, 2, (int64_t[]){129, 300}), TERN_F16));
}

static tern_tensor *linear_of(tern_tensor *x, tern_dtype dtype)
{
    tern_tensor *w = tern_cast(weights(x, 2, (int64_t[]){129, 512}), dtype);
    return tern_freeze(w) == TERN_OK ? tern_linear(x, w) : NULL;
}

static tern_tensor *linear_q8(tern_tensor *x)
{
    return linear_of(x, TERN_Q8_0);
}

static tern_tensor *linear_q6(tern_tensor *x)
{
    return linear_of(x, TERN_Q6_K);
}

static tern_tensor *codes_of(tern_tensor *x)
{
    tern_tensor *codes, *scale;
    tern_quantise_rows(x, &codes, &scale);
    return codes;
}

static tern_tensor *quantised(tern_tensor *x)
{
    tern_tensor *codes, *scale;
    tern_quantise_rows(x, &codes, &scale);
    return tern_dequantise(codes, scale);
}

static tern_tensor *linear_i8(tern_tensor *x)
{
    tern_tensor *w =
        tern_mul(weights(x, 2, (int64_t[]){129, 512}), tern_scalar(tern_ctx_of(x), TERN_F32, 30));
    w = tern_cast(w, TERN_I8);
    return tern_freeze(w) == TERN_OK ? tern_linear(codes_of(x), w) : NULL;
}

static tern_tensor *ternary(tern_tensor *x)
{
    tern_tensor *w, *scale;
    tern_ternary_quantise(weights(x, 2, (int64_t[]){300, 512}), NULL, TERN_T2, &w, &scale);
    return tern_freeze(w) == TERN_OK ? tern_ternary_matmul(codes_of(x), w, NULL) : NULL;
}

static tern_tensor *layernorm(tern_tensor *x)
{
    return tern_layernorm(x, NULL, NULL, 1e-6);
}

static tern_tensor *logsumexp(tern_tensor *x)
{
    return tern_logsumexp(x, 1, (int64_t[]){-1}, false);
}

static tern_tensor *argmax_of_columns(tern_tensor *x)
{
    return tern_argmax(x, 1, false);
}

/* Every row at one position of the one sequence there is, in the fourth chunk of keys. */
static tern_tensor *attention(tern_tensor *x)
{
    tern_ctx *ctx = tern_ctx_of(x);
    const int64_t rows = tern_shape(x)[0], keys[] = {1, 500, 2, 64};
    tern_tensor *k = tern_cast(weights(x, 4, keys), TERN_F16), *v = tern_cast(weights(x, 4, keys), TERN_F16);
    return tern_attention(x, k, v, tern_full(ctx, TERN_I32, 1, &rows, 0),
                          tern_full(ctx, TERN_I32, 1, &rows, 430), NULL, NULL, 0);
}

static tern_tensor *turned(tern_tensor *x)
{
    return tern_contiguous(tern_permute(x, 3, (int64_t[]){0, 2, 1}));
}

/* No view can do these. */
static tern_tensor *reshape_turned(tern_tensor *x)
{
    return tern_reshape(tern_permute(x, 3, (int64_t[]){0, 2, 1}), 2, (int64_t[]){tern_shape(x)[0], -1});
}

static tern_tensor *reshape_sliced(tern_tensor *x)
{
    return tern_reshape(tern_narrow(x, 2, 1, 150), 2, (int64_t[]){tern_shape(x)[0], -1});
}

static tern_tensor *concat(tern_tensor *x)
{
    return tern_concat(2, (tern_tensor *[]){x, tern_permute(x, 3, (int64_t[]){0, 2, 1})}, -1);
}

static tern_tensor *stack(tern_tensor *x)
{
    return tern_stack(2, (tern_tensor *[]){x, tern_permute(x, 3, (int64_t[]){0, 2, 1})}, 1);
}

static tern_tensor *split(tern_tensor *x)
{
    tern_tensor *parts[2];
    tern_split(x, 2, (int64_t[]){90, 100}, -1, parts);
    return parts[1];
}

/* Updates meet in rows: added in order, by one worker. */
static tern_tensor *scatter_add(tern_tensor *x)
{
    tern_ctx *ctx = tern_ctx_of(x);
    tern_tensor *at = tern_cast(
        tern_mul(tern_rand(ctx, TERN_F32, 1, (int64_t[]){200}, 9), tern_scalar(ctx, TERN_F32, 8)), TERN_I32);
    return tern_scatter_add(x, at, weights(x, 2, (int64_t[]){200, 300}));
}

static const struct op_case {
    const char *name;
    build_fn build;
    int rank;
    int64_t shape[MOST_RANK]; /* the first axis is the batch */
    bool split;               /* several workers share it */
    bool rows;                /* of the result depend on those of x alone */
} cases[] = {
    {"conv2d", conv2d, 4, {6, 8, 30, 34}, true, true},
    {"max_pool2d", max_pool, 4, {6, 8, 60, 62}, true, true},
    {"avg_pool2d", avg_pool, 4, {6, 8, 60, 62}, true, true},
    {"sort", sort, 2, {70, 1200}, true, true},
    {"topk", topk, 2, {70, 3000}, true, true},
    {"cumsum", cumsum, 2, {130, 3000}, true, true},
    {"softmax", softmax, 2, {130, 1100}, true, true},
    {"softmax of columns", softmax_of_columns, 3, {6, 90, 300}, true, true},
    {"gelu", gelu, 2, {130, 1100}, true, true},
    {"rmsnorm", rmsnorm, 2, {130, 1100}, true, true},
    {"var", variance, 2, {130, 1100}, true, true},
    {"sum", sums, 3, {7, 300, 130}, true, true},
    {"sum of long rows", sum_of_rows, 2, {6, (1 << 20) + 77}, true, true},
    {"mean of squares of long rows", mean_of_squares, 2, {6, (1 << 20) + 77}, true, true},
    {"max of long rows", max_of_rows, 2, {6, (1 << 20) + 77}, true, true},
    {"argmax", argmax, 2, {130, 1100}, true, true},
    {"matmul", matmul, 2, {257, 300}, true, true},
    {"matmul f64", matmul_f64, 2, {257, 300}, true, true},
    {"matmul, gelu and softmax", matmul_and_more, 2, {257, 300}, true, true},
    {"linear f16", linear_half, 2, {37, 300}, true, true},
    {"linear q8_0", linear_q8, 2, {37, 512}, true, true},
    {"linear q6_k", linear_q6, 2, {37, 512}, true, true},
    {"linear i8", linear_i8, 2, {37, 512}, true, true},
    {"ternary_matmul", ternary, 2, {37, 512}, true, true},
    {"quantise_rows", quantised, 2, {130, 1100}, true, true},
    {"layernorm", layernorm, 2, {130, 1100}, true, true},
    {"logsumexp", logsumexp, 2, {130, 1100}, true, true},
    {"argmax of columns", argmax_of_columns, 3, {6, 90, 300}, true, true},
    {"attention", attention, 3, {20, 8, 64}, true, true},
    {"contiguous", turned, 3, {6, 170, 190}, true, true},
    {"reshape of a permutation", reshape_turned, 3, {6, 170, 190}, true, true},
    {"reshape of a slice", reshape_sliced, 3, {6, 170, 190}, true, true},
    {"concat", concat, 3, {6, 180, 180}, true, true},
    {"stack", stack, 3, {6, 180, 180}, true, true},
    {"split", split, 3, {6, 170, 190}, true, true},
    {"scatter_add", scatter_add, 2, {8, 300}, false, false},
};

/* ---- running them ---- */

/* Rows [first, first + count) of the case's data; the result's bytes, to be freed. *parts: the most workers that share a step of
 * what the case is about, not of what makes its data. `cap`: on instruction sets; NULL: none. */
static void *run(const struct op_case *c, const char *cap, const float *data, int threads, int64_t first,
                 int64_t count, size_t *bytes, int *parts)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    int64_t shape[MOST_RANK], row = 1;
    void *out = NULL;
    memcpy(shape, c->shape, sizeof shape);
    for (int d = 1; d < c->rank; d++)
        row *= shape[d];
    shape[0] = count;
    options.threads = threads;
    options.cpu = cap;
    *parts = 0;
    if (tern_ctx_create(&options, &ctx) != TERN_OK)
        return NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, c->rank, shape), *y = c->build(x), *result = NULL;
        tern_tensor *given = tern_from_data(ctx, TERN_F32, c->rank, shape, data + first * row);
        if (tern_compile(ctx, 1, &y, NULL, NULL, &program) == TERN_OK &&
            tern_exec_create(ctx, program, &exec) == TERN_OK &&
            tern_exec_run(exec, 1, &given, 1, &result) == TERN_OK) {
            *bytes = tern_nbytes(result);
            out = malloc(*bytes);
            memcpy(out, tern_data(result), *bytes);
        }
    }
    for (uint32_t i = 0; program && i < program->compiled->plan.n_steps; i++) {
        const tern__step *step = &program->compiled->plan.steps[i];
        if (!(tern__ops[step->op].flags & TERN__SOURCE) && step->op != TERN__OP_cast && step->parts > *parts)
            *parts = step->parts;
    }
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
    return out;
}

static float *data_of(const struct op_case *c)
{
    int64_t n = 1;
    for (int d = 0; d < c->rank; d++)
        n *= c->shape[d];
    float *data = malloc((size_t)n * sizeof *data);
    uint64_t next = harness_seed();
    for (int64_t i = 0; i < n; i++) {
        next = next * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)((double)(next >> 40) * 0x1p-21 - 4);
    }
    return data;
}

TEST(neither_threads_nor_batches_change_a_bit)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct op_case *c = &cases[i];
        float *data = data_of(c);
        size_t bytes = 0, others = 0;
        int parts;
        char *want = run(c, NULL, data, 1, 0, c->shape[0], &bytes, &parts);
        CHECK(want != NULL);
        CHECK_EQ(parts, 1);
        for (int threads = 2; threads <= MOST_THREADS; threads++) {
            void *got = run(c, NULL, data, threads, 0, c->shape[0], &others, &parts);
            if ((parts > 1) != c->split)
                harness_fail(__FILE__, __LINE__, "%s: %d of %d workers share it", c->name, parts, threads);
            if (!got || others != bytes || memcmp(got, want, bytes) != 0)
                harness_fail(__FILE__, __LINE__, "%s: other bits with %d threads", c->name, threads);
            free(got);
        }
        /* One row, and a few, with one thread and with several. */
        const size_t row = bytes / (size_t)c->shape[0];
        for (int way = 0; way < 4 && c->rows; way++) {
            const int64_t first = way == 0 ? 0 : c->shape[0] / 2, count = way % 2 ? 3 : 1;
            void *got = run(c, NULL, data, 1 + way, first, count, &others, &parts);
            if (!got || others != row * (size_t)count || memcmp(got, want + (size_t)first * row, others) != 0)
                harness_fail(__FILE__, __LINE__, "%s: other bits for %d rows from %d on", c->name, (int)count,
                             (int)first);
            free(got);
        }
        free(want);
        free(data);
    }
}

/* The same on the kernels of other instruction sets: all rows on one thread beside three threads, and beside three rows alone. */
TEST(nor_do_they_below_a_cap)
{
    for (int cap = 0; cap < N_CAPS; cap++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const struct op_case *c = &cases[i];
            const int64_t first = c->shape[0] / 2, count = 3;
            float *data = data_of(c);
            size_t bytes = 0, others = 0, few = 0;
            int parts;
            char *want = run(c, caps[cap], data, 1, 0, c->shape[0], &bytes, &parts);
            char *shared = run(c, caps[cap], data, 3, 0, c->shape[0], &others, &parts);
            char *alone = c->rows ? run(c, caps[cap], data, 2, first, count, &few, &parts) : NULL;
            CHECK(want && shared && others == bytes && (alone || !c->rows));
            if (want && shared && memcmp(want, shared, bytes) != 0)
                harness_fail(__FILE__, __LINE__, "%s: other bits with 3 threads of %s", c->name, caps[cap]);
            if (want && alone &&
                memcmp(want + (size_t)first * (bytes / (size_t)c->shape[0]), alone, few) != 0)
                harness_fail(__FILE__, __LINE__, "%s: other bits for 3 rows of %s", c->name, caps[cap]);
            free(want);
            free(shared);
            free(alone);
            free(data);
        }
}
