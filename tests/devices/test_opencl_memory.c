/* test_opencl_memory.c - memory of the OpenCL device: the host's in place, or its own, with what crosses the border counted in bytes; and
 * too little of it. */
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/opencl/opencl.h"
#include "devices.h"
#include "harness.h"
#include "own_memory.h"
#include "runtime/context.h"
#include "tensor/dlpack_abi.h"

#define NEEDS_OPENCL() NEEDS_DEVICE("opencl")

#if TERN_HAVE_OPENCL

/* ---- in place, and what is copied ---- */

/* Host memory in place: what the host writes into a tensor's memory is what the next run reads, what a run writes is there when
 * it is over, and nothing was copied. */
TEST(host_memory_is_used_in_place)
{
    NEEDS_OPENCL();
    enum { N = 1 << 16 };
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    const int64_t n = N;
    options.device = "opencl";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_device_info info;
    ctx->device_ops->describe((tern__isa_cap){.level = TERN__ISA_BASELINE}, &info);
    CHECK(ctx->device->in_place == (strcmp(info.memory_use, "unified: host memory is used in place") == 0));
    if (!ctx->device->in_place) {
        tern_ctx_destroy(ctx);
        SKIP("the device has memory of its own");
    }
    float *data = malloc(N * sizeof *data);
    for (int i = 0; i < N; i++)
        data[i] = (float)i;
    tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, &n), *y = tern_neg(x);
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_tensor *given = tern_from_data(ctx, TERN_F32, 1, &n, data), *got = NULL;
    free(data);
    CHECK_OK(tern_exec_run(exec, 1, &given, 1, &got));
    float *own = (float *)(uintptr_t)tern_data_f32(given);
    own[7] = 1234; /* the tensor's own memory, behind everybody's back */
    const uint64_t before = ctx->device->copied_bytes;
    CHECK_OK(tern_exec_run(exec, 1, &given, 1, &got));
    CHECK_NEAR((double)tern_data_f32(got)[7], -1234, 0);
    CHECK_NEAR((double)tern_data_f32(got)[N - 1], 1 - N, 0);
    CHECK_EQ(before, 0);
    CHECK_EQ(ctx->device->copied_bytes, 0);
    CHECK_EQ(ctx->device->used_bytes, 0);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

/* What a partition copies is told, with times of the device; where host memory is used in place, that is nothing. */
TEST(copies_across_borders_are_told)
{
    NEEDS_OPENCL();
    enum { N = 1 << 16 };
    static float ones[N];
    const int64_t n = N;
    for (int own = 0; own < 2; own++) {
        tern_ctx *ctx = with_own_memory(0);
        ctx->device->in_place = own == 0 && ctx->device->cpu;
        const bool copies = !ctx->device->in_place;
        tern_tensor *y = tern_neg(tern_input(ctx, "x", TERN_F32, 1, &n)), *got = NULL;
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, &n, ones);
        tern_program *program = NULL;
        tern_exec *exec = NULL;
        tern_transfer_time t;
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &got));
        CHECK_OK(tern_exec_partition_transfer(exec, 0, &t));
        CHECK(!t.told); /* nobody had asked */
        CHECK_OK(tern_exec_time_partitions(exec, true));
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &got));
        CHECK_OK(tern_exec_partition_transfer(exec, 0, &t));
        CHECK(t.told);
        CHECK_EQ(t.in_bytes, copies ? sizeof ones : 0);
        CHECK_EQ(t.out_bytes, copies ? sizeof ones : 0);
        CHECK((t.in_ns > 0) == copies && (t.out_ns > 0) == copies);
        CHECK_STATUS(tern_exec_partition_transfer(exec, 1, &t), TERN_OUT_OF_RANGE);
        tern_exec_free(exec);
        tern_program_free(program);
        tern_ctx_destroy(ctx);
    }
}

/* y = x times a constant weight, twice: what is copied a second time is x and y, not the weight; and another program has it too. */
TEST(constants_are_copied_once)
{
    NEEDS_OPENCL();
    enum { N = 64 };
    tern_ctx *ctx = with_own_memory(0);
    const int64_t shape[2] = {N, N}, row[2] = {1, N};
    static float ones[N * N];
    for (int i = 0; i < N * N; i++)
        ones[i] = 1;
    tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, shape, ones), *got = NULL;
    CHECK_OK(tern_eval(w));
    CHECK_OK(tern_freeze(w));
    tern_program *programs[2] = {NULL, NULL};
    tern_exec *execs[2] = {NULL, NULL};
    uint64_t copied[4];
    for (int i = 0; i < 2; i++) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, row), *y = tern_matmul(x, w, false, false);
        y = i ? tern_neg(y) : y;
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &programs[i]));
        CHECK_OK(tern_exec_create(ctx, programs[i], &execs[i]));
    }
    tern_tensor *given = tern_from_data(ctx, TERN_F32, 2, row, ones);
    for (int i = 0; i < 4; i++) {
        const uint64_t before = ctx->device->copied_bytes;
        CHECK_OK(tern_exec_run(execs[i / 2], 1, &given, 1, &got));
        CHECK_NEAR((double)tern_data_f32(got)[N - 1], i < 2 ? N : -N, 0);
        copied[i] = ctx->device->copied_bytes - before;
    }
    CHECK_EQ(copied[0], sizeof ones + 2 * N * sizeof(float));
    for (int i = 1; i < 4; i++)
        CHECK_EQ(copied[i], 2 * N * sizeof(float));
    for (int i = 0; i < 2; i++) {
        tern_exec_free(execs[i]);
        tern_program_free(programs[i]);
    }
    tern_ctx_trim(ctx);
    CHECK_EQ(ctx->device->used_bytes, 0); /* nothing is held for nobody */
    tern_ctx_destroy(ctx);
}

/* ---- states on a device with memory of its own ---- */

enum { SEQUENCES = 2, POSITIONS = 64, WIDTH = 8, STATE_BYTES = SEQUENCES * POSITIONS * WIDTH * 4 };

/* The sum of a state after `rows` rows of it were written: one program for each number of rows, one state. */
typedef struct writer {
    tern_program *program;
    tern_exec *exec;
} writer;

static void make_writer(tern_ctx *ctx, tern_tensor *state, int64_t rows, writer *out)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){rows, WIDTH});
        tern_tensor *slots = tern_input(ctx, "slots", TERN_I32, 1, &rows);
        tern_tensor *positions = tern_input(ctx, "positions", TERN_I32, 1, &rows);
        tern_tensor *flat = tern_reshape(tern_write_rows(state, x, slots, positions), 2,
                                         (int64_t[]){1, SEQUENCES * POSITIONS * WIDTH});
        tern_tensor *y = tern_sum(flat, 1, (int64_t[]){1}, false);
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &out->program));
        CHECK_OK(tern_exec_create_in_place(ctx, out->program, &out->exec));
    }
}

/* Writes rows full of `value` and gives the sum of all; *copied: bytes between host and device. */
static tern_status write_some(tern_ctx *ctx, writer *w, int64_t rows, const int32_t *slots,
                              const int32_t *positions, float value, double *sum, uint64_t *copied)
{
    float x[4 * WIDTH];
    tern_status status = TERN_OK;
    const uint64_t before = ctx->device->copied_bytes;
    for (int64_t i = 0; i < rows * WIDTH; i++)
        x[i] = value;
    TERN_SCOPE(ctx) {
        tern_tensor *in[3] = {tern_from_data(ctx, TERN_F32, 2, (int64_t[]){rows, WIDTH}, x),
                              tern_from_data(ctx, TERN_I32, 1, &rows, slots),
                              tern_from_data(ctx, TERN_I32, 1, &rows, positions)},
                    *y = NULL;
        status = tern_exec_run(w->exec, 3, in, 1, &y);
        *sum = status == TERN_OK ? (double)tern_data_f32(y)[0] : 0;
    }
    *copied = ctx->device->copied_bytes - before;
    return status;
}

/* Of a state that programs share, only the rows that are written cross the border: until the host changes it, or a run fails. */
TEST(states_stay_on_the_device)
{
    NEEDS_OPENCL();
    tern_ctx *ctx = with_own_memory(0);
    tern_tensor *state = NULL;
    writer three, one;
    double sum;
    uint64_t copied;
    state = tern_state(ctx, "state", TERN_F32, 3, (int64_t[]){SEQUENCES, POSITIONS, WIDTH});
    CHECK_OK(tern_eval(state));
    make_writer(ctx, state, 3, &three);
    make_writer(ctx, state, 1, &one);
    CHECK_OK(write_some(ctx, &three, 3, (int32_t[]){0, 0, 1}, (int32_t[]){0, 1, 5}, 1, &sum, &copied));
    CHECK_NEAR(sum, 3 * WIDTH, 0);
    CHECK(copied >= STATE_BYTES && copied < 2 * STATE_BYTES); /* in once, as a whole; rows come back */

    /* Another program, and what the first one left. */
    CHECK_OK(write_some(ctx, &one, 1, (int32_t[]){1}, (int32_t[]){6}, 4, &sum, &copied));
    CHECK_NEAR(sum, 7 * WIDTH, 0);
    CHECK_EQ(copied, 2 * WIDTH * sizeof(float) + 2 * sizeof(int32_t) + sizeof(float));
    const float *seen = tern_data_f32(state);
    CHECK_NEAR((double)seen[(POSITIONS + 6) * WIDTH + 3], 4, 0);
    CHECK_NEAR((double)seen[1 * WIDTH], 1, 0);

    /* Rows that are nowhere are not written, nor read. */
    CHECK_OK(write_some(ctx, &three, 3, (int32_t[]){0, 0, 0}, (int32_t[]){-1, 7, -1}, 2, &sum, &copied));
    CHECK_NEAR(sum, 9 * WIDTH, 0);
    CHECK(copied < STATE_BYTES);

    /* A run that fails leaves nothing that is believed. */
    CHECK_STATUS(write_some(ctx, &one, 1, (int32_t[]){0}, (int32_t[]){POSITIONS}, 4, &sum, &copied),
                 TERN_OUT_OF_RANGE);
    CHECK_OK(write_some(ctx, &one, 1, (int32_t[]){0}, (int32_t[]){7}, 1, &sum, &copied));
    CHECK_NEAR(sum, 8 * WIDTH, 0);
    CHECK(copied >= STATE_BYTES);

    /* The host writes: everything is copied once more. */
    CHECK_OK(tern_fill_(state, 1));
    CHECK_OK(write_some(ctx, &one, 1, (int32_t[]){1}, (int32_t[]){63}, 4, &sum, &copied));
    CHECK_NEAR(sum, SEQUENCES * POSITIONS * WIDTH + 3 * WIDTH, 0);
    CHECK(copied >= STATE_BYTES);

    /* Who has its address may write at any time. */
    struct DLManagedTensorVersioned *shared = NULL;
    CHECK_OK(tern_to_dlpack(state, &shared));
    for (int i = 1; i < 3; i++) {
        ((float *)(uintptr_t)tern_data_f32(state))[0] = (float)(1 + i);
        CHECK_OK(write_some(ctx, &one, 1, (int32_t[]){1}, (int32_t[]){63}, 1, &sum, &copied));
        CHECK_NEAR(sum, SEQUENCES * POSITIONS * WIDTH + i, 0);
    }
    shared->deleter(shared);
    tern_exec_free(one.exec);
    tern_exec_free(three.exec);
    tern_program_free(one.program);
    tern_program_free(three.program);
    tern_ctx_trim(ctx);
    CHECK_EQ(ctx->device->used_bytes, 0);
    tern_ctx_destroy(ctx);
}

/* More than the device may have is an error that names it, and the device goes on. */
TEST(too_little_device_memory_is_an_error)
{
    NEEDS_OPENCL();
    tern_ctx *ctx = with_own_memory(4096);
    const int64_t large = 4096, small = 16;
    static const float twos[4096] = {2, 2, 2};
    tern_tensor *y = tern_neg(tern_from_data(ctx, TERN_F32, 1, &large, twos));
    CHECK_STATUS(tern_eval(y), TERN_OUT_OF_MEMORY);
    CHECK(strstr(tern_last_error(), "device 'opencl': ") == tern_last_error());
    tern_ctx_trim(ctx);
    y = tern_neg(tern_from_data(ctx, TERN_F32, 1, &small, twos));
    CHECK_OK(tern_eval(y));
    CHECK_NEAR((double)tern_data_f32(y)[2], -2, 0);
    tern__block block = {0};
    CHECK_STATUS(ctx->device_ops->allocate(ctx->device, 8192, &block), TERN_OUT_OF_MEMORY);
    tern_ctx_destroy(ctx);
}

/* A program that found no memory once runs when there is some: kernels are told of memory that the failed run had found, too. */
TEST(a_program_runs_after_it_found_no_memory)
{
    NEEDS_OPENCL();
    tern_ctx *ctx = with_own_memory(0);
    const int64_t n = 1024;
    float x[1024];
    for (int i = 0; i < 1024; i++)
        x[i] = (float)(i % 7);
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *y = tern_neg(tern_abs(tern_input(ctx, "x", TERN_F32, 1, &n)));
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
    }
    /* Room for nothing, for one of the two slots, for less than that one has, for both. */
    static const struct {
        size_t most;
        tern_status status;
    } runs[] = {{100, TERN_OUT_OF_MEMORY},
                {5000, TERN_OUT_OF_MEMORY},
                {100, TERN_OUT_OF_MEMORY},
                {0, TERN_OK},
                {0, TERN_OK}};
    for (size_t r = 0; r < TERN__COUNT(runs); r++)
        TERN_SCOPE(ctx) {
            tern_tensor *in = tern_from_data(ctx, TERN_F32, 1, &n, x), *y = NULL;
            ctx->device->most_bytes = runs[r].most;
            CHECK_STATUS(tern_exec_run(exec, 1, &in, 1, &y), runs[r].status);
            if (runs[r].status == TERN_OK)
                CHECK_NEAR((double)tern_data_f32(y)[6], -6, 0);
        }
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

/* The same results whether the device uses the host's pages or copies. */
TEST(memory_in_place_and_copied)
{
    NEEDS_OPENCL();
    for (int in_place = 0; in_place < 2; in_place++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        const float x[4] = {1, 2, 3, 4};
        options.device = "opencl";
        CHECK_OK(tern_ctx_create(&options, &ctx));
        CHECK(ctx->device->in_place || !ctx->device->cpu); /* PoCL: asked of the memory itself */
        ctx->device->in_place = ctx->device->in_place && in_place;
        for (int i = 0; i < 3; i++) {
            tern_tensor *t = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x), *y = tern_add(t, t);
            CHECK_OK(tern_eval(y));
            CHECK_NEAR((double)tern_data_f32(y)[3], 8, 0);
        }
        tern_ctx_destroy(ctx);
    }
}

#else

TEST(opencl_is_not_built)
{
    SKIP(device_missing("opencl"));
}

#endif
