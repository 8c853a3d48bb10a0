/* test_opencl.c - what conformance does not see of the OpenCL device, beside its kernels on disk (test_opencl_kernels.c) and its memory
 * (test_opencl_memory.c): large results, pressure, what drivers say of themselves, bad data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/bounds.h"
#include "devices/opencl/opencl.h"
#include "devices.h"
#include "harness.h"
#include "kernels/row/program.h"
#include "runtime/context.h"

#define NEEDS_OPENCL() NEEDS_DEVICE("opencl")

#if TERN_HAVE_OPENCL

/* ---- runs ---- */

/* Results that go past the caches, with an odd end. */
TEST(large_results_are_whole)
{
    NEEDS_OPENCL();
    enum { N = (1 << 23) + 5 };
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    const int64_t n = N;
    float *x = malloc(N * sizeof *x);
    options.device = "opencl";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1000003);
    tern_tensor *y = tern_neg(tern_from_data(ctx, TERN_F32, 1, &n, x));
    CHECK_OK(tern_eval(y));
    const float *got = tern_data_f32(y);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += got[i] != -x[i];
    CHECK_EQ(wrong, 0);
    free(x);
    tern_ctx_destroy(ctx);
}

/* Pressure takes programs that were built, half of them or all; what was compiled of them runs on. */
TEST(pressure_takes_programs)
{
    NEEDS_OPENCL();
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "opencl";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    for (int round = 0; round < 3; round++) {
        const size_t left = round == 0 ? 4 : round == 1 ? 2 : 0;
        for (int i = 0; i < 4; i++)
            TERN_SCOPE(ctx) {
                tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, (float[]){1, 4, 9});
                tern_tensor *y = i == 0   ? tern_neg(x)
                                 : i == 1 ? tern_sqrt(x)
                                 : i == 2 ? tern_exp(x)
                                          : tern_square(x);
                CHECK_OK(tern_eval(y));
            }
        CHECK_EQ(ctx->device->n_built, left);
        CHECK_EQ(ctx->device->compiled + ctx->device->loaded, 4);
        tern_pressure_relieve(round == 0 ? TERN_PRESSURE_MODERATE : TERN_PRESSURE_CRITICAL, NULL);
    }
    tern_ctx_destroy(ctx);
}

/* A product with an epilogue: the CPU has none of that shape, and must be able to compute what it is asked to compare or take over. */
TEST(the_cpu_can_take_over_every_step)
{
    NEEDS_OPENCL();
    static const char text[] =
        "graph { %x = input \"x\" f32[3,5] %w = constant \"w\" f32[1,5] {1, 2, 3, 4, 5} %b = constant \"b\" "
        "f32[3,1] {1, 2, 3}\n%0 = matmul(%x, %w) {transpose_b=true} %1 = add(%0, %b) %2 = square(%1)\n"
        "return %2 }";
    const float x[15] = {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    for (int check = 0; check < 2; check++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        tern_graph *graph = NULL;
        tern_program *program = NULL;
        tern_exec *exec = NULL;
        tern_ctx_stats stats;
        options.device = "opencl";
        options.check = check;
        options.fallback = !check;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        CHECK_OK(tern_graph_parse(ctx, text, sizeof text - 1, &graph));
        CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_tensor *in = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){3, 5}, x), *y = NULL;
        ctx->device->least_room = check ? 0 : UINT64_MAX - 1; /* it cannot be built: the CPU takes over */
        CHECK_OK(tern_exec_run(exec, 1, &in, 1, &y));
        for (int i = 0; i < 3; i++)
            CHECK_NEAR((double)tern_data_f32(y)[i], (2 + 2 * i) * (2 + 2 * i), 0);
        tern_ctx_get_stats(ctx, &stats);
        CHECK(check ? stats.checked_steps > 0 : stats.device_moves == 1 || !ctx->device->driver_files);
        tern_exec_free(exec);
        tern_program_free(program);
        tern_graph_free(graph);
        tern_ctx_destroy(ctx);
    }
}

/* ---- what drivers say late, or in other words ---- */

static cl_int aborted; /* what the next command that is asked about ended with */

static cl_int CL_API_CALL tell_event(cl_event event, cl_event_info what, size_t size, void *out,
                                     size_t *needed)
{
    const cl_int status = aborted ? aborted : CL_COMPLETE;
    (void)event;
    (void)needed;
    aborted = 0;
    if (what != CL_EVENT_COMMAND_EXECUTION_STATUS || size != sizeof status)
        return CL_INVALID_VALUE;
    memcpy(out, &status, size);
    return CL_SUCCESS;
}

/* Waiting for a queue succeeds though a command in it was given up: what it was to write is no result. */
TEST(commands_that_were_not_carried_out_are_failures)
{
    NEEDS_OPENCL();
    static const struct {
        cl_int error;
        int retries;
        bool lost;
    } cases[] = {{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, 1, false},
                 {CL_OUT_OF_RESOURCES, 1, false},
                 {CL_INVALID_COMMAND_QUEUE, 0, true},
                 {CL_DEVICE_NOT_AVAILABLE, 0, true}};
    for (size_t i = 0; i < TERN__COUNT(cases); i++) {
        tern_ctx_options options = tern_ctx_options_default();
        tern_ctx *ctx = NULL;
        tern_ctx_stats stats;
        options.device = "opencl";
        options.fallback = true;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        tern__cl late = *ctx->device->cl;
        late.GetEventInfo = tell_event;
        ctx->device->cl = &late;
        ctx->device->in_place = false; /* results are copied back, by commands */
        tern_tensor *y = tern_neg(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4}));
        aborted = cases[i].error;
        CHECK_OK(tern_eval(y));
        CHECK_NEAR((double)tern_data_f32(y)[3], -4, 0);
        tern_ctx_get_stats(ctx, &stats);
        CHECK(stats.device_failures == 1 && (int)stats.device_retries == cases[i].retries);
        CHECK_EQ(ctx->lost, cases[i].lost);
        tern_ctx_destroy(ctx);
    }
}

static bool say_yes(void *user)
{
    return ++*(int *)user > 1;
}

/* Kernels take seconds to build: whoever stops a run is asked between two of them. */
TEST(a_stop_is_heard_while_kernels_are_built)
{
    NEEDS_OPENCL();
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    int asked = 0;
    options.device = "opencl";
    options.kernels = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4});
    tern_tensor *y = tern_cumsum(tern_matmul(x, x, false, false), 1);
    tern_ctx_set_stop(ctx, say_yes, &asked);
    CHECK_STATUS(tern_eval(y), TERN_CANCELLED);
    CHECK(strstr(tern_last_error(), "compile: stopped at ") != NULL);
    CHECK_EQ(ctx->device->compiled, 1);
    tern_ctx_set_stop(ctx, NULL, NULL);
    CHECK_OK(tern_eval(y));
    CHECK_EQ(ctx->device->compiled, 2); /* the first is there */
    CHECK_NEAR((double)tern_data_f32(y)[1], 17, 0);
    tern_ctx_destroy(ctx);
}

/* ---- what the driver says ---- */

/* A driver with long answers: `changed` is a text that ends otherwise. */
static cl_uint changed;
static cl_device_fp_config single;
static bool no_f64;

static cl_int answer(cl_uint what, size_t size, void *out, size_t *needed)
{
    char text[6000];
    const size_t length = what == CL_DEVICE_EXTENSIONS ? 5000 : 200;
    memset(text, 'x', sizeof text);
    snprintf(text + length, sizeof text - length, "%s",
             what == CL_DEVICE_EXTENSIONS ? (no_f64 ? "" : " cl_khr_fp64")
             : what == changed            ? "2"
                                          : "1");
    const size_t bytes = strlen(text) + 1;
    if (needed)
        *needed = bytes;
    if (out && size < bytes)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, text, bytes);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL answer_device(cl_device_id device, cl_device_info what, size_t size, void *out,
                                        size_t *needed)
{
    (void)device;
    switch (what) {
    case CL_DEVICE_NAME:
    case CL_DEVICE_VERSION:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_EXTENSIONS:
        return answer(what, size, out, needed);
    case CL_DEVICE_SINGLE_FP_CONFIG:
        if (size != sizeof single)
            return CL_INVALID_VALUE;
        memcpy(out, &single, size);
        return CL_SUCCESS;
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL answer_platform(cl_platform_id platform, cl_platform_info what, size_t size,
                                          void *out, size_t *needed)
{
    (void)platform;
    return answer(what, size, out, needed);
}

/* Kernels that are kept are for one device and one driver, however late their names differ. */
TEST(drivers_are_told_apart_by_all_they_say)
{
    static const cl_uint texts[] = {
        0, CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION, CL_PLATFORM_NAME, CL_PLATFORM_VERSION};
    const tern__cl fake = {.GetDeviceInfo = answer_device, .GetPlatformInfo = answer_platform};
    uint64_t seen[TERN__COUNT(texts)];
    for (size_t i = 0; i < TERN__COUNT(texts); i++) {
        tern__ocl_facts facts;
        changed = texts[i];
        tern__ocl_learn(&fake, &facts);
        seen[i] = facts.identity;
        for (size_t j = 0; j < i; j++)
            CHECK(seen[j] != seen[i]);
        CHECK_EQ(strlen(facts.model), sizeof facts.model - 1); /* cut, not lost */
        CHECK(strncmp(facts.features, "f32 f64", 7) == 0);
        CHECK_EQ(facts.memory_bytes, 0);
        tern__ocl_learn(&fake, &facts);
        CHECK_EQ(facts.identity, seen[i]);
    }
}

/* ---- quotients and roots ---- */

TEST(who_rounds_is_asked_of_the_driver)
{
    const tern__cl fake = {.GetDeviceInfo = answer_device, .GetPlatformInfo = answer_platform};
    tern__ocl_facts facts;
    for (int i = 0; i < 4; i++) {
        no_f64 = i % 2 != 0;
        single = i / 2 ? CL_FP_FMA | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT : CL_FP_FMA;
        tern__ocl_learn(&fake, &facts);
        CHECK(facts.rounding == (i / 2    ? TERN__OCL_ROUNDS_DRIVER
                                 : no_f64 ? TERN__OCL_ROUNDS_NOBODY
                                          : TERN__OCL_ROUNDS_F64));
        CHECK_STR(facts.features, i == 0 ? "f32 f64 (f16 is stored, not computed), quotients and roots in f64"
                                  : i == 1 ? "f32 (f16 is stored, not computed), no exact quotients and roots"
                                  : i == 2 ? "f32 f64 (f16 is stored, not computed)"
                                           : "f32 (f16 is stored, not computed)");
    }
    no_f64 = false;
    single = 0;
}

/* Numbers of all sizes, subnormal quotients among them, divided by others; and roots. */
static void check_rounding(tern_ctx *ctx)
{
    enum { N = 4096 };
    float x[N], y[N];
    uint32_t bits = 12345;
    for (int i = 0; i < 2 * N; i++) {
        bits = bits * 1664525 + 1013904223;
        const uint32_t number = (bits >> 1 & 0x7fffff) | (bits % 160 + 47) << 23 | (bits & 1) << 31;
        memcpy(i < N ? &x[i] : &y[i - N], &number, sizeof number);
    }
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){N}, x),
                    *b = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){N}, y);
        tern_tensor *results[] = {tern_div(a, b), tern_reciprocal(b), tern_sqrt(tern_abs(a))};
        int wrong = 0;
        for (int r = 0; r < 3; r++) {
            CHECK_OK(tern_eval(results[r]));
            const float *got = tern_data_f32(results[r]);
            for (int i = 0; i < N; i++) {
                const float want = r == 0 ? x[i] / y[i] : r == 1 ? 1 / y[i] : sqrtf(fabsf(x[i]));
                wrong += memcmp(&got[i], &want, sizeof want) != 0;
            }
        }
        CHECK_EQ(wrong, 0);
    }
}

/* The instructions that rowops.def says have to be rounded correctly are those that exact ops are made of and that divide or take roots
 * here: one that divides without the flag would be run by drivers that round as they like. */
TEST(what_is_exact_and_divides_has_the_flag)
{
#define TERN__ROWOP_none TERN__ROWOP_COUNT
    static const struct {
        tern__opcode op;
        tern__rowop as;
    } ops[] = {
#define TERN_ROWMAP(op, floats, whole, i32) {TERN__OP_##op, TERN__ROWOP_##floats},
#include "devices/rows/rowmaps.def"
#undef TERN_ROWMAP
    };
    int flagged = 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ops[i].as == TERN__ROWOP_none)
            continue;
        const char *text = tern__ocl_map_text(ops[i].as);
        const bool divides = strchr(text, '/') || strstr(text, "sqrt(") || strstr(text, "quotient(") ||
                             strstr(text, "root(") == text;
        CHECK_EQ(tern__row_rounds(ops[i].as), divides && tern__bound_is_exact(ops[i].op));
        flagged += tern__row_rounds(ops[i].as);
    }
    int all = 0;
    for (int op = 0; op < TERN__ROWOP_COUNT; op++)
        all += tern__row_rounds((tern__rowop)op);
    CHECK(flagged > 0 && flagged == all);
}

/* By the driver or in f64 they have the CPU's bits; where neither can be had they are refused, and so is nothing else. */
TEST(quotients_and_roots_are_rounded_correctly)
{
    NEEDS_OPENCL();
    for (int i = TERN__OCL_ROUNDS_NOBODY; i <= TERN__OCL_ROUNDS_DRIVER; i++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        options.device = "opencl";
        options.kernels = "off";
        options.tuning = "off";
        CHECK_OK(tern_ctx_create(&options, &ctx));
        if ((tern__ocl_rounding)i > ctx->device->rounding) {
            tern_ctx_destroy(ctx);
            SKIP("the driver does not round quotients and roots correctly");
        }
        ctx->device->rounding = (tern__ocl_rounding)i;
        if (i != TERN__OCL_ROUNDS_NOBODY)
            check_rounding(ctx);
        else
            TERN_SCOPE(ctx) {
                tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, (float[]){1, 3});
                CHECK_STATUS(tern_eval(tern_add(tern_div(x, tern_neg(x)), x)), TERN_UNSUPPORTED);
                CHECK(strstr(tern_last_error(),
                             "div: device 'opencl' cannot run it: its driver does not round"));
                CHECK_STATUS(tern_eval(tern_sqrt(x)), TERN_UNSUPPORTED);
                CHECK_STATUS(tern_eval(tern_reciprocal(x)), TERN_UNSUPPORTED);
                CHECK_STATUS(tern_eval(tern_dequantise(
                                 tern_from_data(ctx, TERN_I8, 1, (int64_t[]){2}, (int8_t[]){1, 3}), x)),
                             TERN_UNSUPPORTED);
                CHECK_OK(tern_eval(tern_softmax(x, 0)));
            }
        tern_ctx_destroy(ctx);
    }
}

/* A compiler's first error is in the message, however much it says, and says before. */
TEST(a_kernel_that_does_not_compile_says_why)
{
    NEEDS_OPENCL();
    static const char source[] =
        "kernel void k(global float *x)\n"
        "{\n"
        "    x[0] = first_mistake + 1;\n"
        "    x[1] = another_mistake_which_makes_what_the_compiler_says_longer + 1;\n"
        "    x[2] = a_third_mistake_which_makes_what_the_compiler_says_longer + 1;\n"
        "    x[3] = a_fourth_mistake_which_makes_what_the_compiler_says_longer + 1;\n"
        "}\n";
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    cl_program program = NULL;
    options.device = "opencl";
    options.kernels = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_STATUS(tern__ocl_build(ctx->device, "wrong", source, &program), TERN_INTERNAL);
    CHECK(strstr(tern_last_error(), "opencl: kernel wrong does not compile (error -11): ") != NULL);
    CHECK(strstr(tern_last_error(), "first_mistake") != NULL);
    CHECK(program == NULL);
    tern_ctx_destroy(ctx);
}

/* ---- bad data ---- */

TEST(an_index_out_of_range_is_said)
{
    NEEDS_OPENCL();
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    const float x[4] = {1, 2, 3, 4};
    const int64_t bad[2] = {1, 7}, good[2] = {1, -1};
    options.device = "opencl";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *t = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x);
    tern_tensor *y = tern_gather(t, tern_from_data(ctx, TERN_I64, 1, (int64_t[]){2}, bad), 0);
    CHECK_STATUS(tern_eval(y), TERN_OUT_OF_RANGE);
    CHECK_STR(tern_last_error(), "gather: index 7 is outside [0, 4)");
    y = tern_gather(t, tern_from_data(ctx, TERN_I64, 1, (int64_t[]){2}, good), 0);
    CHECK_OK(tern_eval(y)); /* the device goes on */
    CHECK_NEAR((double)tern_data_f32(y)[1], 4, 0);
    tern_ctx_destroy(ctx);
}

#else

TEST(opencl_is_not_built)
{
    SKIP(device_missing("opencl"));
}

#endif
