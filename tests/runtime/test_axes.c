/* test_axes.c - what works along an axis, through the whole library: no bit of a result depends on the number of threads or on
 * the level of optimisation, nor, for softmax, on which axis it is. */
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "runtime/program.h"

typedef tern_tensor *(*build_fn)(tern_tensor *x);

/* Its results' bytes, to be freed. *parts: the most workers that share a step. */
static void *run(int threads, tern_level level, tern_dtype dtype, int rank, const int64_t *shape,
                 build_fn build, size_t *bytes, int *parts)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    tern_compile_options compile = tern_compile_options_default();
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    void *out = NULL;
    options.threads = threads;
    compile.level = level;
    if (tern_ctx_create(&options, &ctx) != TERN_OK)
        return NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", dtype, rank, shape), *y = build(x), *result = NULL;
        tern_tensor *data = tern_cast(tern_randn(ctx, TERN_F32, rank, shape, 7), dtype);
        if (tern_compile(ctx, 1, &y, NULL, &compile, &program) == TERN_OK &&
            tern_exec_create(ctx, program, &exec) == TERN_OK && tern_eval(data) == TERN_OK &&
            tern_exec_run(exec, 1, &data, 1, &result) == TERN_OK) {
            *bytes = tern_nbytes(result);
            out = malloc(*bytes);
            memcpy(out, tern_data(result), *bytes);
        }
    }
    *parts = program ? program->compiled->plan.workers : 0;
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
    return out;
}

/* `other`: the same by another way, or NULL. */
static void check(tern_dtype dtype, int rank, const int64_t *shape, build_fn build, build_fn other)
{
    static const tern_level levels[] = {TERN_LEVEL_NONE, TERN_LEVEL_MEDIUM, TERN_LEVEL_HIGH};
    static int way; /* nine of each; slow builds go on where they stopped */
    size_t bytes = 0, others = 0;
    int parts;
    void *want = run(1, TERN_LEVEL_MEDIUM, dtype, rank, shape, other ? other : build, &bytes, &parts);
    CHECK(want != NULL);
    for (int threads = 1; threads <= 3; threads++)
        for (int l = 0; l < 3; l++) {
            if (way++ % harness_every() != 0)
                continue;
            void *got = run(threads, levels[l], dtype, rank, shape, build, &others, &parts);
            CHECK(got != NULL);
            CHECK_EQ(others, bytes);
            CHECK_EQ(parts > 1, threads > 1); /* else there is nothing to compare */
            if (memcmp(got, want, bytes) != 0)
                harness_fail(__FILE__, __LINE__, "%d threads, level %s: other bits", threads,
                             tern_level_name(levels[l]));
            free(got);
        }
    free(want);
}

static tern_tensor *softmax_0(tern_tensor *x)
{
    return tern_softmax(x, 0);
}

static tern_tensor *softmax_0_as_rows(tern_tensor *x)
{
    const int64_t turned[] = {1, 2, 0}, back[] = {2, 0, 1};
    return tern_contiguous(
        tern_permute(tern_softmax(tern_contiguous(tern_permute(x, 3, turned)), -1), 3, back));
}

static tern_tensor *log_softmax_1(tern_tensor *x)
{
    return tern_log_softmax(x, 1);
}

static tern_tensor *log_softmax_1_as_rows(tern_tensor *x)
{
    const int64_t turned[] = {0, 2, 1};
    return tern_contiguous(
        tern_permute(tern_log_softmax(tern_contiguous(tern_permute(x, 3, turned)), -1), 3, turned));
}

TEST(softmax_is_the_same_along_any_axis)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F16, TERN_BF16};
    for (int d = 0; d < 3; d++) {
        check(dtypes[d], 3, (int64_t[]){70, 9, 133}, softmax_0, softmax_0_as_rows);
        check(dtypes[d], 3, (int64_t[]){4, 501, 37}, log_softmax_1, log_softmax_1_as_rows);
    }
}

static tern_tensor *sum_all(tern_tensor *x)
{
    return tern_sum(x, 0, NULL, false);
}

static tern_tensor *mean_around(tern_tensor *x)
{
    return tern_mean(tern_square(x), 2, (int64_t[]){0, 2}, true);
}

static tern_tensor *sum_columns(tern_tensor *x)
{
    return tern_sum(x, 2, (int64_t[]){0, 1}, false);
}

static tern_tensor *argmax_0(tern_tensor *x)
{
    return tern_argmax(x, 0, false);
}

static tern_tensor *argmin_2(tern_tensor *x)
{
    return tern_argmin(x, 2, true);
}

TEST(reductions_do_not_depend_on_how_they_are_shared)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F16, TERN_BF16};
    static const build_fn ops[] = {sum_all, mean_around, sum_columns, argmax_0, argmin_2};
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            check(dtypes[d], 3, (int64_t[]){90, 17, 130}, ops[i], NULL);
            check(dtypes[d], 3, (int64_t[]){90, 900, 3}, ops[i], NULL); /* few columns, many rows */
        }
}
