/* test_bad_data.c - bad data (an index out of range) on every device: what ran before them holds, once, as on the CPU, and nothing of
 * them reaches the next run. */
#include <tern/tern.h>

#include "devices/device.h"
#include "devices.h"
#include "harness.h"

static tern_ctx *open_on(const char *name)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = name;
    options.threads = 1;
    options.tuning = "off";
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

static tern_tensor *index_of(tern_ctx *ctx, int64_t i)
{
    return tern_from_data(ctx, TERN_I64, 1, (int64_t[]){1}, &i);
}

/* ---- writes before them ---- */

/* Adds one to the first of two numbers of a state, then picks element `i` of it. */
static const char counting[] =
    "graph { %i = input \"i\" i64[1] %at = constant \"at\" i64[1] {0} %one = constant \"one\" f32[1] {1}\n"
    "%s = state \"s\" f32[2] %0 = slice(%s) {start=[0], stop=[1], step=[1]} %1 = add(%0, %one)\n"
    "%2 = write_slice(%s, %1, %at) %3 = square(%2) %4 = gather(%3, %i)\nreturn %4, %2 }";

static void count_runs(const char *name, float *counted)
{
    static const int64_t indices[] = {0, 7, 0};
    tern_ctx *ctx = open_on(name);
    tern_graph *graph = NULL;
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    CHECK(ctx != NULL);
    CHECK_OK(tern_graph_parse(ctx, counting, sizeof counting - 1, &graph));
    CHECK_OK(tern_graph_compile(ctx, graph, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    for (int run = 0; run < 3; run++) {
        tern_tensor *in = index_of(ctx, indices[run]), *out[2];
        const tern_status status = tern_exec_run(exec, 1, &in, 2, out);
        CHECK_STATUS(status, indices[run] ? TERN_OUT_OF_RANGE : TERN_OK);
        if (status == TERN_OK)
            *counted = tern_data_f32(out[1])[0];
    }
    tern_exec_free(exec);
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
}

static void check_programs(const char *name)
{
    float want = -1, got = -2;
    NEEDS_DEVICE(name);
    count_runs("cpu", &want);
    count_runs(name, &got);
    CHECK_NEAR((double)got, (double)want, 0);
}

/* The same, recorded and evaluated lazily: asked for again and again, the write is done once. */
static void check_lazy(const char *name)
{
    NEEDS_DEVICE(name);
    tern_ctx *ctx = open_on(name);
    CHECK(ctx != NULL);
    const float start[2] = {1, 1}, one[1] = {1};
    tern_tensor *s = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){2}, start);
    tern_tensor *more = tern_add(tern_slice(s, 1, (int64_t[]){0}, (int64_t[]){1}, (int64_t[]){1}),
                                 tern_from_data(ctx, TERN_F32, 1, (int64_t[]){1}, one));
    tern_tensor *written = tern_write_slice(s, more, index_of(ctx, 0));
    tern_tensor *y = tern_gather(tern_square(written), index_of(ctx, 7), 0);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(tern_eval(y), TERN_OUT_OF_RANGE);
    CHECK_NEAR((double)tern_data_f32(written)[0], 2, 0);
    tern_ctx_destroy(ctx);
}

/* ---- found, and the run is stopped before anybody hears of it ---- */

typedef struct asker {
    int asked, yes_at;
} asker;

static bool shall_stop(void *user)
{
    asker *a = user;
    return a->asked++ >= a->yes_at;
}

static void check_stopped(const char *name)
{
    NEEDS_DEVICE(name);
    tern_ctx *ctx = open_on(name);
    const float x[4] = {1, 2, 3, 4};
    CHECK(ctx != NULL);
    for (int at = 0; at < 4; at++) {
        asker a = {.yes_at = at};
        tern_tensor *t = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x);
        tern_ctx_set_stop(ctx, shall_stop, &a);
        const tern_status status =
            tern_eval(tern_cumsum(tern_softmax(tern_gather(t, index_of(ctx, 7), 0), -1), 0));
        tern_ctx_set_stop(ctx, NULL, NULL);
        CHECK(status == TERN_CANCELLED || status == TERN_OUT_OF_RANGE);
        tern_tensor *y = tern_cumsum(tern_softmax(tern_gather(t, index_of(ctx, 3), 0), -1), 0);
        CHECK_OK(tern_eval(y));
        CHECK_NEAR((double)tern_data_f32(y)[0], 1, 0);
    }
    tern_ctx_destroy(ctx);
}

#define TERN_DEVICE(name)                          \
    TEST(writes_of_programs_hold_once_##name)      \
    {                                              \
        check_programs(#name);                     \
    }                                              \
    TEST(lazy_writes_hold_once_##name)             \
    {                                              \
        check_lazy(#name);                         \
    }                                              \
    TEST(a_stopped_run_leaves_no_bad_index_##name) \
    {                                              \
        check_stopped(#name);                      \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"
