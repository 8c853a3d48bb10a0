/* test_faulty.c - what happens when a device fails: a status and a sentence, results that are right or none, and a context that can
 * go on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "faulty.h"
#include "faulty_contexts.h"
#include "devices.h"
#include "harness.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "runtime/recover.h"

TEST(the_device_runs_everything)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    check_roots(roots(ctx));
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(faulty.runs == 1 && stats.device_steps > 0 && stats.fallback_steps == 0);
    CHECK_STR(tern_device_of(roots(ctx)), "faulty");
    check_roots(roots(ctx)); /* from the cache of programs: its code, too */
    CHECK_EQ(faulty.compiles, 1);
    CHECK(!tern_ctx_device_error(ctx, NULL));
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

TEST(a_device_that_is_not_there)
{
    faulty_reset();
    faulty_fail(FAULTY_CREATE, 0, 1, TERN_UNAVAILABLE);
    CHECK(open_context(true) == NULL);
    CHECK(strstr(tern_last_error(), "faulty") != NULL);
}

/* ---- failures that pass, and that do not ---- */

/* As many as are tried again are not heard of; one more is an error, which says what is known. */
static void fail_often(faulty_call call, const char *doing, tern_status status, tern_status expected)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    tern_ctx_stats stats;
    tern_device_error error;
    faulty_fail(call, 0, 2, status);
    check_roots(roots(ctx));
    tern_ctx_get_stats(ctx, &stats);
    CHECK(faulty.failed == 2 && stats.device_failures == 2 && stats.device_retries == 2);
    CHECK(stats.device_moves == 0 && !tern_ctx_device_error(ctx, &error));

    tern_ctx_trim(ctx); /* so that it compiles again */
    faulty_fail(call, 0, 3, status);
    tern_tensor *t = roots(ctx);
    CHECK_STATUS(tern_eval(t), expected);
    CHECK(tern_ctx_device_error(ctx, &error));
    CHECK_STR(error.device, "faulty");
    CHECK_STR(error.doing, doing);
    CHECK_STR(error.op, strcmp(doing, "run") == 0 ? "sqrt" : "a plan");
    CHECK(error.status == status && error.tries == 3 && !error.taken_over);
    char want[700];
    snprintf(want, sizeof want, "device 'faulty': %s of %s failed (3 times): %s", doing, error.op,
             error.cause);
    CHECK_STR(tern_last_error(), want);
    check_roots(t); /* the failure is over, and the recipe is still there */
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

TEST(failures_that_pass)
{
    fail_often(FAULTY_COMPILE, "compile", TERN_OUT_OF_MEMORY, TERN_OUT_OF_MEMORY);
    fail_often(FAULTY_COMPILE, "compile", TERN_INTERNAL, TERN_UNAVAILABLE);
    fail_often(FAULTY_ALLOCATE, "run", TERN_OUT_OF_MEMORY, TERN_OUT_OF_MEMORY);
    fail_often(FAULTY_COPY_IN, "run", TERN_IO, TERN_UNAVAILABLE);
    fail_often(FAULTY_RUN, "run", TERN_IO, TERN_UNAVAILABLE);
    fail_often(FAULTY_COPY_OUT, "run", TERN_INTERNAL, TERN_UNAVAILABLE);
}

TEST(retries_are_limited)
{
    for (int retries = -1; retries < 6; retries++) {
        faulty_reset();
        tern_ctx_options options = tern_ctx_options_default();
        options.retries = retries;
        tern_ctx *ctx = open_with(options);
        CHECK(ctx != NULL);
        faulty_fail(FAULTY_RUN, 0, 100, TERN_IO);
        CHECK_STATUS(tern_eval(roots(ctx)), TERN_UNAVAILABLE);
        CHECK_EQ(faulty.failed, retries < 0 ? 1 : retries == 0 ? 3 : retries + 1);
        tern_ctx_destroy(ctx);
    }
}

/* Without fallback it is asked again each time, and perhaps comes back. */
TEST(a_lost_device_is_an_error)
{
    faulty_reset();
    tern_ctx *ctx = open_context(false);
    CHECK(ctx != NULL);
    faulty_fail(FAULTY_RUN, 0, 1, TERN_UNAVAILABLE);
    tern_tensor *t = roots(ctx);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(tern_eval(t), TERN_UNAVAILABLE);
        CHECK(strstr(tern_last_error(), "device 'faulty': run of sqrt failed: ") != NULL);
    }
    CHECK_EQ(faulty.failed, 2); /* nobody tries again what is gone */
    faulty.lost = false;
    faulty.status = TERN_OK;
    check_roots(t);
    tern_ctx_destroy(ctx);
}

TEST(with_fallback_the_cpu_goes_on_when_a_device_is_lost)
{
    faulty_reset();
    tern_ctx *ctx = open_context(true);
    CHECK(ctx != NULL);
    check_roots(roots(ctx));
    faulty_fail(FAULTY_RUN, 0, 1, TERN_UNAVAILABLE);
    check_roots(roots(ctx));
    check_roots(roots(ctx)); /* compiled for the CPU */
    tern_ctx_stats stats;
    tern_device_error error;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(faulty.failed, 1);
    CHECK(stats.device_steps == 1 && stats.device_moves == 1 && stats.fallback_steps == 2);
    CHECK(tern_ctx_device_error(ctx, &error) && error.taken_over && error.status == TERN_UNAVAILABLE);
    CHECK_STR(tern_device_of(roots(ctx)), "cpu");
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

/* Out of memory is one program's trouble: others run on the device. */
TEST(without_memory_one_program_moves)
{
    faulty_reset();
    tern_ctx *ctx = open_context(true);
    CHECK(ctx != NULL);
    faulty_fail(FAULTY_ALLOCATE, 0, 3, TERN_OUT_OF_MEMORY);
    check_roots(roots(ctx));
    check_roots(roots(ctx));
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.device_steps == 0 && stats.device_moves == 1 && stats.fallback_steps == 2);
    check_roots(tern_abs(tern_neg(roots(ctx))));
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.device_steps > 0);
    CHECK_STR(tern_device_of(roots(ctx)), "faulty");
    tern_ctx_destroy(ctx);
    CHECK_EQ(faulty.codes, 0);
}

/* ---- every call ---- */

/* Two states, of which one is read before it is written (what fails in between must not be added twice), rows written where
 * attention would read them, and an intermediate that lives across a step on the CPU, if there is one. */
static const char story[] =
    "graph { %x = input \"x\" f32[2,3] %i = input \"i\" i32[2] %s = state \"s\" f32[2,3] %c = state \"c\" "
    "f32[2,4,3]\n"
    "%0 = add(%s, %x) %1 = overwrite(%s, %0) %2 = square(%1) %3 = write_rows(%c, %2, %i, %i)\n"
    "%4 = sum(%3) {axes=[1]} %5 = softmax(%4) %6 = sqrt(%5) %7 = matmul(%6, %2) {transpose_b=true} %8 = "
    "exp(%7)\n"
    "return %8, %1, %3 }";

enum { STORY_RUNS = 3, STORY_NUMBERS = 4 + 6 + 24 };

static void open_story(tern_ctx *ctx, tern_program **program, tern_exec **exec)
{
    tern_graph *graph = NULL;
    CHECK_OK(tern_graph_parse(ctx, story, sizeof story - 1, &graph));
    tern_status status = tern_graph_compile(ctx, graph, NULL, program);
    tern_graph_free(graph);
    CHECK_OK(status);
    status = tern_exec_create(ctx, *program, exec);
    while (status == TERN_UNAVAILABLE || status == TERN_OUT_OF_MEMORY) { /* it has failed, and comes back */
        faulty.lost = false;
        faulty.status = TERN_OK;
        status = tern_exec_create(ctx, *program, exec);
    }
    CHECK_OK(status);
}

/* Runs it a few times; after an error the device is whole again, and the run is asked for once more. Returns how many errors there
 * were. */
static int tell_story(tern_ctx *ctx, float out[STORY_NUMBERS])
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    int errors = 0;
    open_story(ctx, &program, &exec);
    for (int run = 0; exec && run < STORY_RUNS; run++) {
        const float x[6] = {(float)run, 1, 2, 3, -1, (float)-run};
        const int32_t at[2] = {run % 2, 1};
        tern_tensor *in[2] = {tern_from_data(ctx, TERN_F32, 2, (int64_t[]){2, 3}, x),
                              tern_from_data(ctx, TERN_I32, 1, (int64_t[]){2}, at)};
        tern_tensor *y[3];
        tern_status status = tern_exec_run(exec, 2, in, 3, y);
        if (status != TERN_OK && errors++ < 8) {
            faulty.lost = false;
            faulty.status = TERN_OK;
            run--;
            continue;
        }
        if (!harness_check_ok(status, __FILE__, __LINE__, "a run of the story"))
            break;
        memcpy(out, tern_data_f32(y[0]), 4 * sizeof *out);
        memcpy(out + 4, tern_data_f32(y[1]), 6 * sizeof *out);
        memcpy(out + 10, tern_data_f32(y[2]), 24 * sizeof *out);
    }
    tern_exec_free(exec);
    tern_program_free(program);
    return errors;
}

/* Every call of the device, of whatever kind, fails once, in one way. Returns how many calls there were. */
static int fail_every_call(tern_status status, bool fallback, bool check, int times, tern__opcode refuse)
{
    float want[STORY_NUMBERS] = {0}, got[STORY_NUMBERS];
    tern_ctx *cpu = NULL;
    int calls = 0, walks = 0;
    if (tern_ctx_create(NULL, &cpu) == TERN_OK)
        tell_story(cpu, want);
    tern_ctx_destroy(cpu);
    for (bool reached = true; reached && !harness_failed(); calls += harness_every(), walks++) {
        faulty_reset();
        faulty.refuse = refuse;
        tern_ctx *ctx = check ? open_checked(fallback) : open_context(fallback);
        faulty_fail(FAULTY_CALLS, calls, times, status);
        memset(got, 0, sizeof got);
        const int errors = ctx ? tell_story(ctx, got) : 0;
        reached = faulty.failed > 0;
        tern_device_error error;
        if (memcmp(got, want, sizeof got) != 0)
            harness_fail(__FILE__, __LINE__, "call %d (kind %d) failed with %s, and the result is wrong",
                         calls, (int)faulty.last, tern_status_name(status));
        if (errors > 0 && (fallback || times == 1) && status != TERN_UNAVAILABLE)
            harness_fail(__FILE__, __LINE__, "call %d failed with %s, which was not recovered from", calls,
                         tern_status_name(status));
        if (reached && status == TERN_UNAVAILABLE && !tern_ctx_device_error(ctx, &error))
            harness_fail(__FILE__, __LINE__, "call %d failed, and nothing is known of it", calls);
        if (fallback && errors > 0)
            harness_fail(__FILE__, __LINE__, "call %d failed in spite of fallback", calls);
        tern_ctx_destroy(ctx);
        if (faulty.codes != 0)
            harness_fail(__FILE__, __LINE__, "call %d: %d codes are held", calls, faulty.codes);
    }
    return walks - 1;
}

TEST(results_are_right_whatever_call_fails)
{
    static const tern_status kinds[] = {TERN_OUT_OF_MEMORY, TERN_IO, TERN_INTERNAL, TERN_UNAVAILABLE};
    int calls = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int fallback = 0; fallback < 2; fallback++)
            for (int times = 1; times < 100; times += 98) { /* once, and until the CPU takes over */
                const int n = fail_every_call(kinds[k], fallback != 0, false, times, TERN__OP_COUNT);
                CHECK(n > 20 / harness_every());
                calls += n;
                if (fallback) /* in the middle of a plan, too */
                    calls += fail_every_call(kinds[k], true, false, times, TERN__OP_softmax);
                /* Where each step is checked it is a partition of its own: an error in the middle leaves what ran before it, and a
                 * run that is asked for again would do that twice. */
                if (fallback || (times == 1 && kinds[k] != TERN_UNAVAILABLE))
                    calls += fail_every_call(kinds[k], fallback != 0, true, times, TERN__OP_COUNT);
            }
    printf("%d calls failed, each once, in one of %zu ways\n", calls, sizeof kinds / sizeof *kinds);
}

/* The same for writes that are recorded and evaluated lazily. */
TEST(lazy_writes_happen_once_whatever_call_fails)
{
    static const tern_status kinds[] = {TERN_IO, TERN_UNAVAILABLE};
    for (size_t k = 0; k < 2; k++)
        for (int fallback = 0; fallback < 2; fallback++)
            for (int call = 0; call < 40; call += harness_every()) {
                faulty_reset();
                tern_ctx *ctx = open_context(fallback != 0);
                CHECK(ctx != NULL);
                const float start[2] = {1, 1}, one[2] = {1, 1};
                tern_tensor *s = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, start);
                tern_tensor *next =
                    tern_overwrite(s, tern_add(s, tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, one)));
                tern_tensor *sum = tern_sum(next, 0, NULL, false);
                faulty_fail(FAULTY_CALLS, call, 1, kinds[k]);
                tern_status status = tern_eval(sum);
                CHECK(status == TERN_OK || (!fallback && kinds[k] == TERN_UNAVAILABLE));
                faulty.lost = false;
                faulty.status = TERN_OK;
                CHECK_OK(tern_eval(sum));
                CHECK_NEAR((double)tern_data_f32(sum)[0], 4, 0);
                tern_ctx_destroy(ctx);
            }
}

/* ---- states behind a run that failed ---- */

/* Ways to write a state f32[2,CAPACITY,3] that nothing reads before. */
typedef enum writer { WHOLE, ROWS, SLICE, ROWS_CAST, ROWS_LATE, WRITERS } writer;

enum { CAPACITY = 50, STATE_NUMBERS = 2 * CAPACITY * 3, ROW_BYTES = 3 * sizeof(float) };

/* Inputs: x f32[2,3] and at i32[2], or i64[2] where it is cast; `state` NULL: one of the program's own. A step behind the write gives something to fail. */
static tern_status compile_writer(tern_ctx *ctx, writer which, tern_tensor *state, tern_program **out)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){2, 3});
        tern_tensor *at = tern_input(ctx, "at", which == ROWS_CAST ? TERN_I64 : TERN_I32, 1, (int64_t[]){2});
        at = tern_cast(at, TERN_I32);
        tern_tensor *late = tern_abs(at); /* known when it has been computed */
        tern_tensor *slab = tern_reshape(x, 3, (int64_t[]){2, 1, 3});
        tern_tensor *start = tern_from_data(ctx, TERN_I64, 1, (int64_t[]){3}, (int64_t[]){0, 7, 0});
        tern_tensor *y = which == WHOLE                        ? tern_overwrite(state, slab)
                         : which == ROWS || which == ROWS_CAST ? tern_write_rows(state, x, at, at)
                         : which == SLICE                      ? tern_write_slice(state, slab, start)
                                                               : tern_write_rows(state, x, late, late);
        y = tern_exp(y);
        status = tern_compile(ctx, 1, &y, NULL, NULL, out);
    }
    return status;
}

/* Runs one on the memory of a tensor; `out` has what that holds afterwards. */
static tern_status write_once(tern_ctx *ctx, writer which, float out[STATE_NUMBERS])
{
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    for (int i = 0; i < STATE_NUMBERS; i++)
        out[i] = (float)i / 8;
    tern_tensor *state = tern_from_data(ctx, TERN_F32, 3, (int64_t[]){2, CAPACITY, 3}, out), *y = NULL;
    tern_tensor *in[2] = {tern_from_data(ctx, TERN_F32, 2, (int64_t[]){2, 3}, (float[]){9, 8, 7, 6, 5, 4}),
                          which == ROWS_CAST
                              ? tern_from_data(ctx, TERN_I64, 1, (int64_t[]){2}, (int64_t[]){1, 0})
                              : tern_from_data(ctx, TERN_I32, 1, (int64_t[]){2}, (int32_t[]){1, 0})};
    tern_status status = compile_writer(ctx, which, state, &program);
    if (status == TERN_OK)
        status = tern_exec_create_in_place(ctx, program, &exec);
    if (status == TERN_OK)
        status = tern_exec_run(exec, which == WHOLE || which == SLICE ? 1 : 2, in, 1, &y);
    faulty.lost = false;
    faulty.status = TERN_OK; /* the error has been; looking at the state is no part of it */
    memcpy(out, tern_data_f32(state), STATE_NUMBERS * sizeof *out);
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

/* What the device wrote before it failed is undone: the state is as before, or as behind the whole run. */
static void check_state(const char *inner, writer which, bool fallback, faulty_call call, int after,
                        int times, const float *before, const float *written, int *errors)
{
    float got[STATE_NUMBERS];
    faulty_reset();
    faulty.inner = inner;
    tern_ctx *ctx = open_context(fallback);
    CHECK(ctx != NULL);
    faulty_fail(call, after, times, TERN_IO);
    const tern_status status = write_once(ctx, which, got);
    *errors += status != TERN_OK;
    if (memcmp(got, status == TERN_OK ? written : before, sizeof got) != 0)
        harness_fail(__FILE__, __LINE__, "writer %d, kind %d, after %d, %d times: %s, and the state is torn",
                     (int)which, (int)call, after, times, tern_status_name(status));
    tern_ctx_destroy(ctx);
}

static void fail_writers(const char *inner)
{
    float before[STATE_NUMBERS], written[STATE_NUMBERS];
    int errors = 0;
    for (int i = 0; i < STATE_NUMBERS; i++)
        before[i] = (float)i / 8;
    for (int which = 0; which < WRITERS; which++) {
        tern_ctx *cpu = NULL;
        CHECK_OK(tern_ctx_create(NULL, &cpu));
        CHECK_OK(write_once(cpu, (writer)which, written));
        tern_ctx_destroy(cpu);
        CHECK(memcmp(before, written, sizeof before) != 0);
        for (int fallback = 0; fallback < 2; fallback++)
            for (int after = 0; after < 4; after++)
                for (int times = 1; times < 4; times += 2) {
                    check_state(inner, (writer)which, fallback != 0, FAULTY_COPY_OUT, after, times, before,
                                written, &errors);
                    check_state(inner, (writer)which, fallback != 0, FAULTY_RUN, after, times, before,
                                written, &errors);
                }
    }
    CHECK(errors >= 2 * WRITERS); /* three times is an error without fallback, and nothing else is */
}

TEST(a_failed_run_leaves_states_as_they_were)
{
    fail_writers(NULL);
}

TEST(a_failed_run_on_opencl_leaves_states_as_they_were)
{
    NEEDS_DEVICE("opencl");
    fail_writers("opencl");
}

TEST(a_failed_run_on_mlx_leaves_states_as_they_were)
{
    NEEDS_DEVICE("mlx");
    fail_writers("mlx");
}

/* As many bytes are copied as are written, not those of the state that they lie in; all of it where nobody knows yet which those are. */
TEST(what_is_saved_is_what_is_written)
{
    static const size_t bytes[WRITERS] = {[WHOLE] = STATE_NUMBERS * sizeof(float),
                                          [ROWS] = 2 * ROW_BYTES,
                                          [SLICE] = 2 * ROW_BYTES,
                                          [ROWS_CAST] = 2 * ROW_BYTES,
                                          [ROWS_LATE] = STATE_NUMBERS * sizeof(float)};
    static float memory[3][STATE_NUMBERS];
    for (int which = 0; which < WRITERS; which++) {
        faulty_reset();
        tern_ctx *ctx = open_context(false);
        CHECK(ctx != NULL);
        tern_program *program = NULL;
        tern__loaded *loaded = NULL;
        CHECK_OK(compile_writer(ctx, (writer)which, tern_zeros(ctx, TERN_F32, 3, (int64_t[]){2, CAPACITY, 3}),
                                &program));
        const tern_graph *graph = &program->compiled->graph;
        void *leaves[8];
        CHECK(graph->n_leaves <= 8);
        CHECK_OK(tern__loaded_make(ctx, &program->compiled->plan, graph, &loaded));
        for (int together = 0; together < 2; together++) {
            const tern__bindings bindings = {.leaves = leaves};
            tern__saved saved;
            tern__saved_begin(&saved);
            for (uint32_t i = 0; i < graph->n_leaves; i++) {
                const tern_dtype dtype = graph->values[graph->nodes[graph->leaves[i].node].out].type.dtype;
                const bool places = dtype == TERN_I32 || dtype == TERN_I64; /* all 0 */
                leaves[i] = graph->leaves[i].storage ? graph->leaves[i].storage->host
                            : places && !together    ? memory[1]
                            : places || graph->nodes[graph->leaves[i].node].op == TERN__OP_state ? memory[0]
                                                                                                 : memory[2];
            }
            CHECK_OK(tern__save_hazards(&saved, loaded->plan, &loaded->hazards[0], &bindings));
            /* A write that changes what places are read from: they are not known before. */
            CHECK_EQ(saved.bytes, together ? bytes[WHOLE] : bytes[which]);
            tern__saved_free(&saved);
            if (which != ROWS_CAST || together)
                continue;
            const int64_t far = INT64_C(1) << 32; /* whatever the cast makes of it */
            memcpy(memory[1], &far, sizeof far);
            CHECK_OK(tern__save_hazards(&saved, loaded->plan, &loaded->hazards[0], &bindings));
            CHECK_EQ(saved.bytes, bytes[WHOLE]);
            tern__saved_free(&saved);
            memset(memory[1], 0, sizeof memory[1]);
        }
        tern__loaded_free(ctx->device_ops, ctx->device, loaded);
        tern_program_free(program);
        tern_ctx_destroy(ctx);
    }
}

/* Kernels of the CPU that need scratch and share their work, behind an arena that has something in it. */
TEST(the_cpu_takes_over_large_steps)
{
    enum { N = 160 };
    static const tern_status kinds[] = {TERN_OUT_OF_MEMORY, TERN_UNAVAILABLE};
    for (size_t k = 0; k < 2; k++)
        for (int step = 0; step < 4; step++) {
            faulty_reset();
            tern_ctx_options options = tern_ctx_options_default();
            options.fallback = true;
            options.threads = 3;
            tern_ctx *ctx[2] = {open_with(options), NULL};
            CHECK(ctx[0] != NULL);
            CHECK_OK(tern_ctx_create(NULL, &ctx[1]));
            tern_tensor *y[2];
            faulty_fail(FAULTY_RUN, step, 99, kinds[k]);
            for (int i = 0; i < 2; i++) {
                tern_tensor *a = tern_randn(ctx[i], TERN_F32, 2, (int64_t[]){N, N}, 1);
                CHECK_OK(tern_eval(a));
                tern_tensor *b = tern_softmax(tern_matmul(a, a, false, false), -1);
                y[i] = tern_cumsum(tern_matmul(b, a, false, true), 0);
                CHECK_OK(tern_eval(y[i]));
            }
            CHECK(faulty.failed > 0 || step > 2);
            CHECK(memcmp(tern_data_f32(y[0]), tern_data_f32(y[1]), N * N * sizeof(float)) == 0);
            tern_ctx_destroy(ctx[0]);
            tern_ctx_destroy(ctx[1]);
        }
}

/* Bad data are the program's fault: nobody tries again, and nothing moves. */
TEST(bad_data_are_no_failure_of_the_device)
{
    faulty_reset();
    tern_ctx *ctx = open_context(true);
    CHECK(ctx != NULL);
    const int32_t far[1] = {9};
    tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, numbers);
    tern_tensor *y = tern_gather(x, tern_from_data(ctx, TERN_I32, 1, (int64_t[]){1}, far), 0);
    CHECK_STATUS(tern_eval(y), TERN_OUT_OF_RANGE);
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.device_failures == 0 && stats.device_moves == 0 && !tern_ctx_device_error(ctx, NULL));
    tern_ctx_destroy(ctx);
}

/* ---- devices with code of their own ---- */

/* The story on a wrapped device, which fails `times` times behind `after` calls of a kind, against the same without failures: neither
 * differs from the CPU by more than rounding. Returns the errors. */
static int tell_wrapped(const char *inner, faulty_call which, int after, int times, tern_status status,
                        bool fallback, tern_ctx_stats *stats)
{
    float want[STORY_NUMBERS] = {0}, got[STORY_NUMBERS] = {0};
    tern_ctx *cpu = NULL;
    faulty_reset();
    faulty.inner = inner;
    if (tern_ctx_create(NULL, &cpu) == TERN_OK)
        tell_story(cpu, want);
    tern_ctx_destroy(cpu);
    tern_ctx *ctx = open_context(fallback);
    faulty_fail(which, after, times, status);
    const int errors = ctx ? tell_story(ctx, got) : -1;
    if (faulty.failed == 0)
        harness_fail(__FILE__, __LINE__, "%s: call %d of kind %d never came", inner, after, (int)which);
    for (int i = 0; i < STORY_NUMBERS; i++)
        if (!(fabs((double)(got[i] - want[i])) <= 1e-5 * fmax(1, fabs((double)want[i]))))
            harness_fail(__FILE__, __LINE__, "%s: kind %d, %s: number %d is %g, not %g", inner, (int)which,
                         tern_status_name(status), i, (double)got[i], (double)want[i]);
    tern_ctx_get_stats(ctx, stats);
    tern_ctx_destroy(ctx);
    if (faulty.codes != 0)
        harness_fail(__FILE__, __LINE__, "%s: %d codes are held", inner, faulty.codes);
    return errors;
}

/* A failed compile, a failed run, a lost device: retried, told, taken over. */
static void recover_wrapped(const char *inner)
{
    NEEDS_DEVICE(inner);
    static const struct {
        faulty_call call;
        int after;
    } points[] = {{FAULTY_COMPILE, 0}, {FAULTY_RUN, 0}, {FAULTY_RUN, 4}, {FAULTY_COPY_OUT, 1}};
    tern_ctx_stats stats;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        CHECK_EQ(tell_wrapped(inner, points[i].call, points[i].after, 1, TERN_IO, false, &stats), 0);
        CHECK(stats.device_retries == 1 && stats.device_moves == 0 && stats.fallback_steps == 0);
        const int compile = points[i].call == FAULTY_COMPILE; /* then it is the exec that is made again */
        CHECK_EQ(tell_wrapped(inner, points[i].call, points[i].after, 3, TERN_IO, false, &stats), !compile);
        CHECK_EQ(tell_wrapped(inner, points[i].call, points[i].after, 3, TERN_IO, true, &stats), 0);
        CHECK(stats.device_moves == 1 && stats.fallback_steps > 0);
        CHECK_EQ(tell_wrapped(inner, points[i].call, points[i].after, 1, TERN_UNAVAILABLE, true, &stats), 0);
        CHECK(stats.device_moves == 1 && stats.fallback_steps > 0);
    }
}

TEST(failures_on_opencl)
{
    recover_wrapped("opencl");
}

TEST(failures_on_mlx)
{
    recover_wrapped("mlx");
}

/* ---- checking ---- */

TEST(right_answers_pass_the_check)
{
    faulty_reset();
    float want[STORY_NUMBERS] = {0}, got[STORY_NUMBERS] = {0};
    tern_ctx *ctx = open_checked(false), *cpu = NULL;
    CHECK(ctx != NULL);
    CHECK_OK(tern_ctx_create(NULL, &cpu));
    tell_story(cpu, want);
    CHECK_EQ(tell_story(ctx, got), 0);
    CHECK(memcmp(got, want, sizeof got) == 0);
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.checked_steps == stats.device_steps && stats.checked_steps > 5 && stats.check_failures == 0);
    tern_ctx_destroy(cpu);
    tern_ctx_destroy(ctx);
}

TEST(a_wrong_answer_is_found_and_named)
{
    faulty_reset();
    faulty.wrong = TERN__OP_softmax;
    faulty.by = 0.25f;
    tern_ctx *ctx = open_checked(false);
    CHECK(ctx != NULL);
    tern_tensor *t = tern_neg(tern_softmax(roots(ctx), -1));
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(tern_eval(t), TERN_UNAVAILABLE);
        CHECK(strstr(
            tern_last_error(),
            "device 'faulty': check of softmax failed: step 1, result 0: error 0.25, the bound is 4e-06"));
    }
    tern_ctx_stats stats;
    tern_device_error error;
    tern_ctx_get_stats(ctx, &stats);
    CHECK_EQ(stats.check_failures, 2);
    CHECK(tern_ctx_device_error(ctx, &error) && error.step == 1);
    CHECK_STR(error.doing, "check");
    CHECK_STR(error.op, "softmax");
    faulty.wrong = TERN__OP_COUNT;
    CHECK_OK(tern_eval(t));
    tern_ctx_destroy(ctx);
}

TEST(with_fallback_a_wrong_answer_is_replaced)
{
    faulty_reset();
    faulty.wrong = TERN__OP_softmax;
    faulty.by = 1e-3f;
    float want[STORY_NUMBERS] = {0}, got[STORY_NUMBERS] = {0};
    tern_ctx *ctx = open_checked(true), *cpu = NULL;
    CHECK(ctx != NULL);
    CHECK_OK(tern_ctx_create(NULL, &cpu));
    tell_story(cpu, want);
    CHECK_EQ(tell_story(ctx, got), 0);
    CHECK(memcmp(got, want, sizeof got) == 0);
    tern_ctx_stats stats;
    tern_device_error error;
    tern_ctx_get_stats(ctx, &stats);
    CHECK(stats.check_failures == STORY_RUNS && stats.device_moves == 0);
    CHECK(tern_ctx_device_error(ctx, &error) && error.taken_over);
    tern_ctx_destroy(cpu);
    tern_ctx_destroy(ctx);
}

/* What is within the bound is the device's own answer. */
TEST(small_differences_stay)
{
    faulty_reset();
    faulty.wrong = TERN__OP_softmax;
    faulty.by = 1e-6f;
    tern_ctx *ctx = open_checked(false), *cpu = NULL;
    CHECK(ctx != NULL);
    CHECK_OK(tern_ctx_create(NULL, &cpu));
    tern_tensor *a = tern_softmax(roots(ctx), -1), *b = tern_softmax(roots(cpu), -1);
    CHECK_OK(tern_eval(a));
    CHECK_OK(tern_eval(b));
    CHECK(tern_data_f32(a)[0] != tern_data_f32(b)[0]);
    CHECK_NEAR((double)tern_data_f32(a)[0], (double)tern_data_f32(b)[0], 2e-6);
    tern_ctx_destroy(cpu);
    tern_ctx_destroy(ctx);
}
