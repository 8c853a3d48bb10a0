/* test_mlx.c - what the conformance suite does not see of the device `mlx`: ternary products on packed words, at the ends of int8 and
 * in blocks; bad indices; steps that read pieces of what earlier steps of the partition made; and what it says about itself. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tern/tern.h>

#include "devices.h"
#include "harness.h"
#include "runtime/context.h"
#include "tensor/dlpack_abi.h"

static tern_ctx *open_device(const char *device)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.tuning = "off";
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

/* A plugin that is not there is a reason to skip, a failure of one that is there is not. */
#define NEED_MLX(ctx)                                                          \
    if (HARNESS_ASAN || HARNESS_TSAN)                                          \
        SKIP("MLX was not built for sanitizers");                              \
    tern_ctx *ctx = open_device("mlx");                                        \
    if (!ctx) {                                                                \
        static char reason[600];                                               \
        snprintf(reason, sizeof reason, "unavailable: %s", tern_last_error()); \
        SKIP(reason);                                                          \
    }

enum { ROWS = 3, COLUMNS = 256, OUTPUTS = 21 };

/* x is all of int8, its ends above all; digits of every kind. */
static tern_tensor *ternary_product(tern_ctx *ctx, int blocks)
{
    static int8_t x[ROWS * COLUMNS];
    static uint8_t t[OUTPUTS * COLUMNS / 4];
    static float scales[OUTPUTS * 4];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (int8_t)(i < COLUMNS ? -128 : i < 2 * COLUMNS ? 127 : i * 37 % 256 - 128);
    for (int i = 0; i < OUTPUTS * COLUMNS / 4; i++) {
        const int a = i % 3, b = i / 3 % 3, c = i / 5 % 3, d = i / 7 % 3;
        t[i] = i < COLUMNS / 4 ? 0xaa : (uint8_t)(a | b << 2 | c << 4 | d << 6); /* the first row is all +1 */
    }
    for (int i = 0; i < OUTPUTS * 4; i++)
        scales[i] = (float)(1 << i % 5); /* powers of two: sums are exact */
    tern_tensor *q = tern_from_data(ctx, TERN_I8, 2, (int64_t[]){ROWS, COLUMNS}, x);
    tern_tensor *w = tern_from_data(ctx, TERN_T2, 2, (int64_t[]){OUTPUTS, COLUMNS}, t);
    tern_tensor *s = blocks ? tern_from_data(ctx, TERN_F32, 2, (int64_t[]){OUTPUTS, blocks}, scales) : NULL;
    return tern_ternary_matmul(q, w, s);
}

static void check_product(tern_ctx *mlx, int blocks)
{
    tern_ctx *cpu = open_device("cpu");
    tern_tensor *got = ternary_product(mlx, blocks), *want = ternary_product(cpu, blocks);
    CHECK_OK(tern_eval(got));
    CHECK_OK(tern_eval(want));
    CHECK_EQ(tern_numel(got), ROWS * OUTPUTS);
    CHECK(memcmp(tern_data(got), tern_data(want), ROWS * OUTPUTS * 4) == 0);
    tern_ctx_destroy(cpu);
}

TEST(ternary_products_on_packed_words_are_exact)
{
    NEED_MLX(mlx)
    check_product(mlx, 0);
    check_product(mlx, 2); /* blocks of 128 columns */
    check_product(mlx, 4);
    tern_ctx_stats stats;
    tern_ctx_get_stats(mlx, &stats);
    CHECK_EQ(stats.device_steps, 3);
    CHECK_EQ(stats.fallback_steps, 0);
    tern_ctx_destroy(mlx);
}

/* ---- compiled functions ---- */

static tern_tensor *chain(tern_ctx *ctx, int64_t n)
{
    tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, &n);
    tern_tensor *a = tern_add(tern_mul(x, tern_scalar(ctx, TERN_F32, 2)), tern_scalar(ctx, TERN_F32, 1));
    return tern_mul(tern_sub(tern_mul(tern_relu(a), x), tern_silu(x)), tern_exp(tern_neg(tern_square(x))));
}

/* The chain on numbers from -2 to 2, in `steps` steps, twice. */
static void run_chain(tern_ctx *ctx, int64_t n, float *out, int *steps)
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    tern_program_info info;
    TERN_SCOPE(ctx) {
        tern_tensor *y = chain(ctx, n), *x, *got = NULL;
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)i * 4 / (float)n - 2;
        x = tern_from_data(ctx, TERN_F32, 1, &n, out);
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_program_get_info(program, &info);
        *steps = (int)info.steps;
        for (int times = 0; times < 2; times++)
            CHECK_OK(tern_exec_run(exec, 1, &x, 1, &got));
        memcpy(out, tern_data_f32(got), (size_t)n * sizeof *out);
    }
    tern_exec_free(exec);
    tern_program_free(program);
}

/* Asked for, a chain is one step, computed by a function that MLX compiled; or the log says why not, and it is computed all the same. */
TEST(chains_are_compiled_functions)
{
    enum { N = 1000 };
    static float plain[N], compiled[N], want[N];
    int steps[3];
    NEED_MLX(mlx)
    tern_ctx *cpu = open_device("cpu"), *with;
    run_chain(mlx, N, plain, &steps[0]);
    run_chain(cpu, N, want, &steps[2]);
    heard log = {0};
    tern_log_set(TERN_LOG_WARN, log_listen, &log);
    CHECK(setenv("TERN_MLX_COMPILE", "on", 1) == 0);
    with = open_device("mlx");
    CHECK(unsetenv("TERN_MLX_COMPILE") == 0);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK(with != NULL);
    run_chain(with, N, compiled, &steps[1]);
    if (strstr(log.last, "compiled functions are not used"))
        CHECK_EQ(steps[1], steps[0]);
    else
        CHECK_EQ(steps[1], 1);
    printf("mlx: the chain is %d steps, compiled %d; %s\n", steps[0], steps[1], log.n ? log.last : "");
    for (int i = 0; i < N; i++) {
        CHECK_NEAR((double)compiled[i], (double)want[i], 1e-5);
        CHECK_NEAR((double)plain[i], (double)want[i], 1e-5);
    }
    tern_ctx_destroy(with);
    tern_ctx_destroy(cpu);
    tern_ctx_destroy(mlx);
}

TEST(an_index_out_of_range_is_an_error_like_the_cpus)
{
    NEED_MLX(mlx)
    const float x[4] = {1, 2, 3, 4};
    const int64_t i[2] = {0, 4};
    tern_tensor *y = tern_gather(tern_from_data(mlx, TERN_F32, 1, (int64_t[]){4}, x),
                                 tern_from_data(mlx, TERN_I64, 1, (int64_t[]){2}, i), 0);
    CHECK_STATUS(tern_eval(y), TERN_OUT_OF_RANGE);
    CHECK(strstr(tern_last_error(), "gather: index 4 is outside [0, 4)") != NULL);
    /* The device goes on. */
    tern_tensor *z = tern_neg(tern_from_data(mlx, TERN_F32, 1, (int64_t[]){4}, x));
    CHECK_OK(tern_eval(z));
    CHECK(((const float *)tern_data(z))[3] == -4);
    tern_ctx_destroy(mlx);
}

/* Views of an intermediate, a broadcast, and a result of the whole: one partition. */
TEST(views_of_intermediates_are_read_without_memory_between)
{
    NEED_MLX(mlx)
    float x[12];
    for (int i = 0; i < 12; i++)
        x[i] = (float)i;
    tern_tensor *a = tern_neg(tern_from_data(mlx, TERN_F32, 2, (int64_t[]){3, 4}, x));
    tern_tensor *column = tern_slice(a, 2, (int64_t[]){0, 3}, (int64_t[]){3, 0}, (int64_t[]){1, -2});
    tern_tensor *sum = tern_sum(tern_mul(column, column), 1, (int64_t[]){1}, false);
    CHECK_OK(tern_eval(sum));
    for (int r = 0; r < 3; r++) {
        const float last = x[r * 4 + 3], second = x[r * 4 + 1];
        CHECK(((const float *)tern_data(sum))[r] == last * last + second * second);
    }
    tern_ctx_destroy(mlx);
}

/* A column of a result, which does not lie densely, seen again through another view. */
TEST(views_of_results_that_are_not_dense)
{
    NEED_MLX(mlx)
    const float x[4] = {1, 2, 3, 4};
    tern_tensor *a = tern_neg(tern_from_data(mlx, TERN_F32, 2, (int64_t[]){2, 2}, x));
    tern_tensor *column =
        tern_contiguous(tern_slice(a, 2, (int64_t[]){0, 0}, (int64_t[]){2, 1}, (int64_t[]){1, 1}));
    tern_tensor *wide = tern_exp(tern_broadcast(column, 2, (int64_t[]){2, 3}));
    CHECK_OK(tern_eval(wide));
    CHECK_NEAR((double)tern_data_f32(wide)[2], exp(-1), 1e-6);
    CHECK_NEAR((double)tern_data_f32(wide)[3], exp(-3), 1e-6);
    tern_ctx_destroy(mlx);
}

/* What a row does not see yet, it does not add up, not even as 0 times infinity. */
TEST(attention_ignores_what_is_not_seen)
{
    NEED_MLX(mlx)
    const float q[2] = {1, 1}, k[3] = {1, 2, 0}, v[3] = {5, INFINITY, 0};
    const int32_t slots[2] = {0, 0}, positions[2] = {0, 1};
    const int64_t state[4] = {1, 3, 1, 1};
    tern_tensor *y = tern_attention(
        tern_from_data(mlx, TERN_F32, 3, (int64_t[]){2, 1, 1}, q), tern_from_data(mlx, TERN_F32, 4, state, k),
        tern_from_data(mlx, TERN_F32, 4, state, v), tern_from_data(mlx, TERN_I32, 1, (int64_t[]){2}, slots),
        tern_from_data(mlx, TERN_I32, 1, (int64_t[]){2}, positions), NULL, NULL, 0);
    CHECK_OK(tern_eval(y));
    CHECK_NEAR((double)tern_data_f32(y)[0], 5, 0);
    CHECK(isinf(tern_data_f32(y)[1]));
    tern_ctx_destroy(mlx);
}

TEST(what_it_cannot_run_is_named)
{
    NEED_MLX(mlx)
    const float x[4] = {4, 2, 3, 1};
    tern_tensor *values, *indices;
    tern_sort(tern_from_data(mlx, TERN_F32, 1, (int64_t[]){4}, x), 0, false, &values, &indices);
    CHECK_STATUS(tern_eval(values), TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "sort: device 'mlx' cannot run it") != NULL);
    tern_ctx_destroy(mlx);
}

/* A sum of 16 MiB under a limit of 1 MiB: the operand is read where it lies, or it would not fit. What the host writes there is what
 * the next run reads. An intermediate of 16 MiB does not fit, and the device goes on. */
TEST(operands_are_read_in_place_within_the_limit_of_memory)
{
    enum { N = 1 << 22 };
    if (HARNESS_ASAN || HARNESS_TSAN)
        SKIP("MLX was not built for sanitizers");
    tern_ctx *mlx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "mlx";
    options.tuning = "off";
    options.device_memory = 1 << 20;
    if (tern_ctx_create(&options, &mlx) != TERN_OK) {
        static char reason[600];
        snprintf(reason, sizeof reason, "unavailable: %s", tern_last_error());
        SKIP(reason);
    }
    const int64_t n = N;
    float *ones = malloc(N * sizeof *ones);
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    tern_tensor *x = tern_from_data(mlx, TERN_F32, 1, &n, ones);
    free(ones);
    tern_tensor *y = tern_sum(x, 0, NULL, false);
    CHECK_OK(tern_eval(y));
    CHECK(tern_data_f32(y)[0] == N);
    ((float *)(uintptr_t)tern_data_f32(x))[N / 2] = 3;
    y = tern_sum(x, 0, NULL, false);
    CHECK_OK(tern_eval(y));
    CHECK(tern_data_f32(y)[0] == N + 2);
    y = tern_sum(tern_neg(x), 0, NULL, false);
    CHECK_STATUS(tern_eval(y), TERN_OUT_OF_MEMORY);
    CHECK(strstr(tern_last_error(), "may use 1048576") != NULL);
    y = tern_sum(x, 0, NULL, false);
    CHECK_OK(tern_eval(y));
    tern_ctx_destroy(mlx);
}

static tern_ctx *open_limited(size_t most)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "mlx";
    options.tuning = "off";
    options.device_memory = most;
    options.retries = -1;
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

/* MLX's limit of memory, asked of the library that the plugin loaded; 0: it cannot be asked. */
static size_t limit_of_mlx(void)
{
#ifdef __APPLE__
    void *library = dlopen("libmlx.dylib", RTLD_NOW | RTLD_NOLOAD);
#else
    void *library = dlopen("libmlx.so", RTLD_NOW | RTLD_NOLOAD);
#endif
    size_t (*get)(void) = NULL;
    if (library)
        *(void **)&get = dlsym(library, "_ZN3mlx4core16get_memory_limitEv");
    const size_t limit = get ? get() : 0;
    if (library)
        dlclose(library);
    return limit;
}

/* MLX has one limit for the process: what the living contexts may use together. */
TEST(limits_of_contexts_add_up_and_end_with_them)
{
    NEED_MLX(plain)
    const size_t own = limit_of_mlx(), gib = (size_t)1 << 30;
    if (!own)
        SKIP("MLX's library is under another name");
    tern_ctx *a = open_limited(gib);
    CHECK(a && limit_of_mlx() == own); /* one without a limit lives */
    tern_ctx_destroy(plain);
    CHECK_EQ(limit_of_mlx(), gib);
    tern_ctx *b = open_limited(2 * gib);
    CHECK_EQ(limit_of_mlx(), 3 * gib);
    tern_ctx_destroy(a); /* in the order of opening */
    CHECK_EQ(limit_of_mlx(), 2 * gib);
    tern_ctx *most = open_limited(SIZE_MAX);
    CHECK_EQ(limit_of_mlx(), SIZE_MAX);
    tern_ctx_destroy(most);
    tern_ctx_destroy(b);
    CHECK_EQ(limit_of_mlx(), own);
}

static atomic_bool enough;

/* Makes and drops 16 MiB until it is enough. */
static void *use_memory(void *user)
{
    tern_ctx *ctx = user;
    while (!atomic_load(&enough))
        TERN_SCOPE(ctx) {
            if (tern_eval(tern_sum(tern_neg(tern_ones(ctx, TERN_F32, 1, (int64_t[]){1 << 22})), 0, NULL,
                                   false)) != TERN_OK)
                return ctx;
        }
    return NULL;
}

/* What others use is not held against a context. */
TEST(memory_of_other_contexts_does_not_count)
{
    NEED_MLX(other)
    tern_ctx *ctx = open_limited(1 << 20);
    pthread_t thread;
    void *failed = NULL;
    CHECK(ctx != NULL);
    atomic_store(&enough, false);
    CHECK(pthread_create(&thread, NULL, use_memory, other) == 0);
    tern_status status = TERN_OK;
    for (int i = 0; i < 300 && status == TERN_OK; i++)
        TERN_SCOPE(ctx) {
            status = tern_eval(tern_neg(tern_ones(ctx, TERN_F32, 1, (int64_t[]){1024})));
        }
    atomic_store(&enough, true);
    pthread_join(thread, &failed);
    CHECK(!failed);
    CHECK_OK(status);
    tern_ctx_destroy(ctx);
    tern_ctx_destroy(other);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

/* Whoever may stop a run has its steps computed one by one: what they hold together is looked at all the same. */
TEST(a_run_that_may_be_stopped_keeps_to_its_limit)
{
    enum { N = 1 << 18 }; /* 1 MiB */
    NEED_MLX(plain)
    tern_ctx_destroy(plain);
    for (int fits = 0; fits < 2; fits++) {
        tern_ctx *ctx = open_limited(fits ? 16 << 20 : 5 << 19);
        CHECK(ctx != NULL);
        tern_ctx_set_stop(ctx, never, NULL);
        TERN_SCOPE(ctx) {
            float *data = calloc(N, sizeof *data);
            tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){N}, data);
            free(data);
            tern_tensor *a = tern_neg(x), *b = tern_abs(a),
                        *c = tern_exp(b); /* 1 MiB each, all read at the end */
            tern_tensor *y = tern_sum(tern_add(tern_add(a, b), c), 0, NULL, false);
            CHECK_STATUS(tern_eval(y), fits ? TERN_OK : TERN_OUT_OF_MEMORY);
            if (fits)
                CHECK(tern_data_f32(y)[0] == N);
        }
        tern_ctx_destroy(ctx);
    }
}

/* What MLX keeps of freed memory goes under moderate pressure already. */
TEST(memory_that_is_kept_is_given_back)
{
    NEED_MLX(mlx)
    for (int level = 1; level < 3; level++) {
        TERN_SCOPE(mlx) {
            CHECK_OK(tern_eval(
                tern_sum(tern_neg(tern_ones(mlx, TERN_F32, 1, (int64_t[]){1 << 18})), 0, NULL, false)));
        }
        CHECK(mlx->device_ops->trim(mlx->device, level) > 0);
        CHECK_EQ(mlx->device_ops->trim(mlx->device, level), 0);
    }
    tern_ctx_destroy(mlx);
}

/* What a run makes lies where MLX made it: the storage is memory of MLX's, kept until its last tensor goes, also past the context. What
 * lies in an operand's memory, or is the result twice, is copied: tensors that are not views share nothing. */
TEST(results_are_handed_out_where_they_lie)
{
    NEED_MLX(mlx)
    enum { N = 1 << 16, RUNS = 8 };
    const int64_t n = N, square[2] = {256, 256};
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    int handed = 0;
    TERN_SCOPE(mlx) {
        tern_tensor *x = tern_input(mlx, "x", TERN_F32, 1, &n);
        tern_tensor *m = tern_reshape(x, 2, square);
        tern_tensor *y[4] = {tern_add(x, x), tern_matmul(m, m, false, false), tern_contiguous(x),
                             tern_neg(x)};
        tern_tensor *out[4], *next[4];
        float *ones = malloc(N * sizeof *ones);
        for (int i = 0; i < N; i++)
            ones[i] = 1;
        tern_tensor *given = tern_from_data(mlx, TERN_F32, 1, &n, ones);
        free(ones);
        CHECK_OK(tern_compile(mlx, 4, y, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(mlx, program, &exec));
        for (int run = 0; run < RUNS; run++) {
            CHECK_OK(tern_exec_run(exec, 1, &given, 4, out));
            handed += out[0]->storage->borrowed && out[1]->storage->borrowed && out[3]->storage->borrowed;
            CHECK(tern_data_f32(out[0])[N - 1] == 2 && tern_data_f32(out[1])[N - 1] == 256);
            CHECK(tern_data_f32(out[2])[N - 1] == 1 && tern_data_f32(out[3])[N - 1] == -1);
            for (int i = 0; i < 4; i++)
                for (int k = 0; k < i; k++)
                    CHECK(out[i]->storage->host != out[k]->storage->host);
            CHECK(out[2]->storage->host != given->storage->host);
            /* It is an operand like others, in place, and may be written. */
            CHECK_OK(tern_exec_run(exec, 1, &out[0], 4, next));
            CHECK(tern_data_f32(next[0])[7] == 4 && tern_data_f32(out[0])[7] == 2);
            CHECK_OK(tern_fill_(out[0], 5));
            CHECK(tern_data_f32(out[0])[7] == 5 && tern_data_f32(next[0])[7] == 4);
        }
        CHECK_EQ(handed, RUNS);
        struct DLManagedTensorVersioned *kept = NULL;
        CHECK_OK(tern_to_dlpack(out[1], &kept));
        tern_exec_free(exec);
        tern_program_free(program);
        exec = NULL;
        program = NULL;
        for (int i = 0; i < 4; i++)
            tern_release(out[i]);
        CHECK(((const float *)kept->dl_tensor.data)[N - 1] == 256);
        kept->deleter(kept);
    }
    tern_ctx_destroy(mlx);
}

/* MLX looks in front of the memory that it is given, where its own blocks have their size: memory that begins with a page behind one that
 * cannot be read, and memory behind zeros, which as a size would let MLX write its result over the operand. */
TEST(what_lies_before_an_operand_is_nobodys_business)
{
    NEED_MLX(mlx)
    enum { N = 1024, PAGE = 4096 };
    const int64_t n = N;
    char *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_EQ(mprotect(pages, PAGE, PROT_NONE), 0);
    for (int behind = 0; behind < 2; behind++) {
        float *x = (float *)(void *)(pages + PAGE + (behind ? 64 : 0));
        memset(pages + PAGE, 0, 3 * PAGE);
        for (int i = 0; i < N; i++)
            x[i] = 1;
        TERN_SCOPE(mlx) {
            tern_tensor *t = tern_borrow(mlx, TERN_F32, 1, &n, NULL, x, NULL, NULL);
            tern_tensor *y[3] = {tern_neg(t), tern_contiguous(t), tern_exp(tern_neg(tern_abs(t)))};
            for (int i = 0; i < 3; i++)
                CHECK_OK(tern_eval(y[i]));
            CHECK(tern_data_f32(y[0])[N - 1] == -1 && tern_data_f32(y[1])[N - 1] == 1);
            for (int i = 0; i < N; i++)
                CHECK(x[i] == 1);
        }
    }
    tern_ctx_destroy(mlx);
    munmap(pages, 4 * PAGE);
}

/* With a trace each step is an event, computed by itself. */
static void count_steps(void *user, const tern_trace_event *e)
{
    *(int *)user += strcmp(e->category, "step") == 0 && e->duration_ns > 0 && strcmp(e->kernel, "mlx") == 0;
}

TEST(steps_are_traced)
{
    NEED_MLX(mlx)
    int steps = 0;
    const float x[4] = {1, 2, 3, 4};
    tern_tensor *y = tern_sum(tern_neg(tern_from_data(mlx, TERN_F32, 1, (int64_t[]){4}, x)), 0, NULL, false);
    CHECK_OK(tern_trace_start(NULL));
    const tern_status status = tern_eval(y);
    CHECK_OK(tern_trace_stop(count_steps, &steps, NULL));
    CHECK_OK(status);
    CHECK_NEAR((double)tern_data_f32(y)[0], -10, 0);
    CHECK_EQ(steps, 2);
    tern_ctx_destroy(mlx);
}

/* Absent or not, it has a row that says what it is or why it is not. */
TEST(the_catalog_tells_its_version_or_what_is_missing)
{
    tern_device_info info = {0};
    int i = 0;
    while (tern_catalog_device(i, &info) == TERN_OK && strcmp(info.name, "mlx") != 0)
        i++;
    CHECK_STR(info.name, "mlx");
    if (info.unavailable)
        CHECK(info.unavailable[0] != '\0');
    else
        CHECK(strncmp(info.driver, "MLX 0.32.", 9) == 0 && info.memory_use && info.precision);
}
