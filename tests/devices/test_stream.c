/* test_stream.c - streams and events: order, failures, and that copies overlap computing, which the trace shows. Overlap is arranged,
 * not hoped for: each side waits until the other has begun. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/device.h"
#include "devices.h"
#include "harness.h"
#include "meeting.h"

static const int64_t four[1] = {4};

/* ---- order ---- */

typedef struct notes {
    char text[64];
    size_t n;
    tern_status status; /* of what is noted next */
} notes;

static tern_status note_a(void *user)
{
    notes *n = user;
    n->text[n->n++] = 'a';
    return n->status;
}

static tern_status note_b(void *user)
{
    notes *n = user;
    n->text[n->n++] = 'b';
    return TERN_OK;
}

TEST(work_is_done_in_order)
{
    tern_ctx *ctx = NULL;
    tern_stream *stream = NULL, *other = NULL;
    tern_event *go = NULL, *first = NULL;
    notes n = {0};
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_stream_create(ctx, &stream));
    CHECK_OK(tern_stream_create(ctx, &other));
    CHECK_OK(tern_event_create(&go));
    CHECK_OK(tern_stream_wait(stream, go));
    CHECK_OK(tern_stream_call(stream, "a", note_a, &n));
    CHECK_OK(tern_stream_record(stream, &first));
    CHECK_OK(tern_stream_wait(other, first)); /* across streams */
    CHECK_OK(tern_stream_call(other, "b", note_b, &n));
    CHECK(!tern_event_is_done(first));
    CHECK_EQ(n.n, 0);
    CHECK_OK(tern_event_signal(go));
    CHECK_OK(tern_stream_synchronise(other));
    CHECK(tern_event_is_done(first));
    CHECK_STR(n.text, "ab");
    tern_event_free(first);
    tern_event_free(go);
    tern_stream_free(other);
    tern_stream_free(stream);
    tern_ctx_destroy(ctx);
}

TEST(copies_both_ways)
{
    tern_ctx *ctx = NULL;
    tern_stream *stream = NULL;
    tern_event *copied = NULL;
    const float zeros[4] = {0}, numbers[4] = {1, 2, 3, 4};
    float back[4] = {0}, other[2];
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_stream_create(ctx, &stream));
    tern_tensor *t = tern_from_data(ctx, TERN_F32, 1, four, zeros);
    tern_tensor *before = tern_neg(t); /* recorded before the write: sees what was there */
    CHECK_OK(tern_stream_write(stream, t, numbers));
    CHECK_OK(tern_stream_record(stream, &copied));
    CHECK_OK(tern_event_wait(copied));
    CHECK_NEAR((double)tern_data_f32(tern_add(t, t))[3], 8, 0);
    CHECK_NEAR((double)tern_data_f32(before)[3], 0, 0);
    CHECK_OK(tern_stream_read(stream, tern_neg(t), back));
    tern_tensor *strided = tern_slice(t, 1, (int64_t[]){3}, (int64_t[]){0}, (int64_t[]){-2});
    CHECK_OK(tern_stream_read(stream, strided, other));
    CHECK_OK(tern_stream_synchronise(stream));
    CHECK_NEAR((double)back[2], -3, 0);
    CHECK(other[0] == 4 && other[1] == 2);
    CHECK_STATUS(tern_stream_write(stream, strided, numbers), TERN_UNSUPPORTED);
    tern_tensor *frozen = tern_from_data(ctx, TERN_F32, 1, four, zeros);
    CHECK_OK(tern_freeze(frozen));
    CHECK(tern_stream_write(stream, frozen, numbers) != TERN_OK);
    tern_event_free(copied);
    tern_stream_free(stream);
    tern_ctx_destroy(ctx);
}

TEST(behind_a_failure_nothing_is_done)
{
    tern_ctx *ctx = NULL;
    tern_stream *stream = NULL;
    tern_event *end = NULL;
    notes n = {.status = TERN_IO};
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_stream_create(ctx, &stream));
    CHECK_OK(tern_stream_call(stream, "a", note_a, &n));
    CHECK_OK(tern_stream_call(stream, "b", note_b, &n));
    CHECK_OK(tern_stream_record(stream, &end));
    CHECK_STATUS(tern_event_wait(end), TERN_IO);
    CHECK_STATUS(tern_stream_synchronise(stream), TERN_IO);
    CHECK_STR(n.text, "a");
    n.status = TERN_OK;
    CHECK_OK(tern_stream_call(stream, "b", note_b, &n)); /* as new */
    CHECK_OK(tern_stream_synchronise(stream));
    CHECK_STR(n.text, "ab");
    tern_event_free(end);
    tern_stream_free(stream);
    tern_ctx_destroy(ctx);
}

/* ---- batches ---- */

enum { BATCHES = 3 };

/* Batch 1 is being filled while batch 0 is computed, or nothing goes on. */
typedef struct batches {
    meeting filled_and_computed;
    double sums[BATCHES];
    int taken;
} batches;

enum { FILLING, COMPUTING };

static tern_status fill(void *user, int64_t batch, int n_inputs, void *const *inputs)
{
    batches *t = user;
    if (batch == 1)
        meet(&t->filled_and_computed, FILLING);
    for (int i = 0; n_inputs == 1 && i < 4; i++)
        ((float *)inputs[0])[i] = (float)(batch * 4 + i + 1);
    return TERN_OK;
}

/* Asked between steps, so while computing. */
static bool looks(void *user)
{
    batches *t = user;
    meet(&t->filled_and_computed, COMPUTING);
    return false;
}

static tern_status take(void *user, int64_t batch, int n_outputs, tern_tensor *const *outputs)
{
    batches *t = user;
    if (n_outputs == 1 && batch == t->taken)
        t->sums[t->taken++] = (double)tern_data_f32(outputs[0])[0];
    return TERN_OK;
}

typedef struct overlap {
    tern_trace_event fills[BATCHES], computes[BATCHES];
    int n_fills, n_computes;
} overlap;

static void see(void *user, const tern_trace_event *e)
{
    overlap *o = user;
    if (strcmp(e->category, "copy") == 0 && o->n_fills < BATCHES)
        o->fills[o->n_fills++] = *e;
    if (strcmp(e->category, "batch") == 0 && o->n_computes < BATCHES)
        o->computes[o->n_computes++] = *e;
}

static void check_overlap(const overlap *o)
{
    CHECK(o->n_fills == BATCHES && o->n_computes == BATCHES);
    const tern_trace_event *copy = &o->fills[1], *compute = &o->computes[0];
    CHECK(copy->thread != compute->thread); /* tracks of their own */
    CHECK(copy->start_ns < compute->start_ns + compute->duration_ns);
    CHECK(compute->start_ns < copy->start_ns + copy->duration_ns);
    for (int i = 0; i < BATCHES; i++) /* none is computed before it is filled */
        CHECK(o->fills[i].start_ns + o->fills[i].duration_ns <=
              o->computes[i].start_ns + o->computes[i].duration_ns);
}

static void run_pipeline(tern_ctx *ctx, tern_exec *exec, batches *t)
{
    const tern_pipeline told = {.fill = fill, .take = take, .user = t};
    overlap seen = {0};
    tern_ctx_set_stop(ctx, looks, t);
    CHECK_OK(tern_trace_start(NULL));
    const tern_status status = tern_pipeline_run(exec, BATCHES, &told);
    CHECK_OK(tern_trace_stop(see, &seen, NULL));
    tern_ctx_set_stop(ctx, NULL, NULL);
    CHECK_OK(status);
    CHECK(!t->filled_and_computed.late);
    CHECK_EQ(t->taken, BATCHES);
    for (int i = 0; i < BATCHES; i++)
        CHECK_NEAR(t->sums[i], 10 + 16 * i, 1e-4);
    check_overlap(&seen);
    meeting_end(&t->filled_and_computed);
}

static void check_device(const char *name)
{
    NEEDS_DEVICE(name);
    tern_ctx *ctx = NULL;
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    batches t = {.filled_and_computed = MEETING_EMPTY};
    tern_ctx_options options = tern_ctx_options_default();
    options.device = name;
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *y = tern_sum(tern_input(ctx, "x", TERN_F32, 1, four), 0, NULL, false);
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    run_pipeline(ctx, exec, &t);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

#define TERN_DEVICE(name)    \
    TEST(overlaps_on_##name) \
    {                        \
        check_device(#name); \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"

static tern_status fail_at_one(void *user, int64_t batch, int n_inputs, void *const *inputs)
{
    (void)n_inputs;
    *(int *)user += 1;
    memset(inputs[0], 0, 16);
    return batch == 1 ? TERN_FORMAT : TERN_OK;
}

TEST(a_batch_that_cannot_be_filled)
{
    tern_ctx *ctx = NULL;
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    int filled = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_tensor *y = tern_neg(tern_input(ctx, "x", TERN_F32, 1, four));
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    CHECK_STATUS(tern_pipeline_run(exec, 5, &(tern_pipeline){.fill = fail_at_one, .user = &filled}),
                 TERN_FORMAT);
    CHECK_EQ(filled, 2);
    CHECK_OK(tern_pipeline_run(exec, 0, &(tern_pipeline){.fill = fail_at_one, .user = &filled}));
    CHECK_STATUS(tern_pipeline_run(exec, -1, &(tern_pipeline){.fill = fail_at_one, .user = &filled}),
                 TERN_INVALID_ARGUMENT);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}
