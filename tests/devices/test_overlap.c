/* test_overlap.c - copies between the host and a device with memory of its own: beside kernels, as the trace shows, and ahead of runs.
 * What is copied is counted, so that a copy that was begun early is not made twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices.h"
#include "harness.h"
#include "own_memory.h"

#ifdef TERN__HAVE_OPENCL

enum { MOST_EVENTS = 256, SIDE = 512, LONG = 1 << 22, TRIES = 30 };

typedef struct seen {
    tern_trace_event steps[MOST_EVENTS], copies[MOST_EVENTS], batches[MOST_EVENTS];
    int n_steps, n_copies, n_batches;
} seen;

static void add(tern_trace_event *list, int *n, const tern_trace_event *e)
{
    if (*n < MOST_EVENTS)
        list[(*n)++] = *e;
}

static void see(void *user, const tern_trace_event *e)
{
    seen *s = user;
    if (strcmp(e->category, "step") == 0)
        add(s->steps, &s->n_steps, e);
    if (strcmp(e->category, "copy") == 0)
        add(s->copies, &s->n_copies, e);
    if (strcmp(e->category, "batch") == 0)
        add(s->batches, &s->n_batches, e);
}

/* ns that both were under way. */
static uint64_t both(const tern_trace_event *a, const tern_trace_event *b)
{
    const uint64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
    const uint64_t a_end = a->start_ns + a->duration_ns, b_end = b->start_ns + b->duration_ns;
    const uint64_t to = a_end < b_end ? a_end : b_end;
    return to > from ? to - from : 0;
}

static tern_tensor *made(tern_ctx *ctx, int rank, const int64_t *shape, float value)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    float *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = value;
    tern_tensor *t = tern_from_data(ctx, TERN_F32, rank, shape, data);
    free(data);
    return t;
}

/* ---- in a run ---- */

/* A product of small matrices several times over, and 16 MiB that are only negated: whichever comes first, a copy of the long one can
 * go on beside a product. */
static void run_traced(tern_exec *exec, tern_tensor *const *in, seen *s)
{
    tern_tensor *out[2];
    memset(s, 0, sizeof *s);
    CHECK_OK(tern_trace_start(NULL));
    const tern_status status = tern_exec_run(exec, 2, in, 2, out);
    CHECK_OK(tern_trace_stop(see, s, NULL));
    CHECK_OK(status);
    CHECK_NEAR((double)tern_data_f32(out[0])[SIDE * SIDE - 1], 1.0 / SIDE, 1e-6);
    CHECK_NEAR((double)tern_data_f32(out[1])[LONG - 1], -3, 0);
    tern_release(out[0]);
    tern_release(out[1]);
}

TEST(copies_overlap_kernels_in_the_trace)
{
    NEEDS_DEVICE("opencl");
    static seen s;
    const int64_t square[2] = {SIDE, SIDE}, length = LONG;
    tern_ctx *ctx = with_own_memory(0);
    if (ctx->device->units < 2) {
        tern_ctx_destroy(ctx);
        SKIP("a device with one compute unit does one thing at a time");
    }
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    tern_tensor *p = tern_input(ctx, "p", TERN_F32, 2, square), *a = p;
    for (int i = 0; i < 6; i++)
        a = tern_matmul(a, p, false, false);
    tern_tensor *outputs[2] = {a, tern_neg(tern_input(ctx, "q", TERN_F32, 1, &length))};
    CHECK_OK(tern_compile(ctx, 2, outputs, NULL, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_tensor *in[2] = {made(ctx, 2, square, 1.0f / SIDE), made(ctx, 1, &length, 3)};
    uint64_t longest = 0;
    for (int i = 0; i < TRIES && longest == 0; i++) {
        run_traced(exec, in, &s);
        CHECK_EQ(s.n_copies, 4); /* two in, two out */
        CHECK_EQ(s.n_steps, 7);
        for (int c = 0; c < s.n_copies; c++)
            for (int k = 0; k < s.n_steps; k++) {
                CHECK(s.copies[c].thread != s.steps[k].thread); /* a track of its own */
                longest =
                    both(&s.copies[c], &s.steps[k]) > longest ? both(&s.copies[c], &s.steps[k]) : longest;
            }
    }
    printf("overlap: a copy and a kernel went on together for %.1f us\n", (double)longest / 1e3);
    CHECK(longest > 0);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

/* ---- ahead of a run ---- */

typedef struct doubling {
    tern_ctx *ctx;
    tern_program *program;
    tern_exec *exec;
} doubling;

static void open_doubling(size_t memory, int64_t n, doubling *d)
{
    *d = (doubling){.ctx = with_own_memory(memory)};
    tern_tensor *x = tern_input(d->ctx, "x", TERN_F32, 1, &n), *y = tern_add(x, x);
    CHECK_OK(tern_compile(d->ctx, 1, &y, NULL, NULL, &d->program));
    CHECK_OK(tern_exec_create(d->ctx, d->program, &d->exec));
}

static void close_doubling(doubling *d)
{
    tern_exec_free(d->exec);
    tern_program_free(d->program);
    tern_ctx_trim(d->ctx);
    CHECK_EQ(d->ctx->device->used_bytes, 0); /* nothing is held for nobody */
    tern_ctx_destroy(d->ctx);
}

/* Twice `want` comes out, and this many bytes crossed the border. */
static void check_run(const doubling *d, tern_tensor *x, double want, uint64_t bytes)
{
    tern_tensor *y = NULL;
    const uint64_t before = d->ctx->device->copied_bytes;
    CHECK_OK(tern_exec_run(d->exec, 1, &x, 1, &y));
    CHECK_NEAR((double)tern_data_f32(y)[0], 2 * want, 0);
    CHECK_EQ(d->ctx->device->copied_bytes - before, bytes);
    tern_release(y);
}

/* What was staged is not copied again; what has changed since, or was never staged, is. */
TEST(inputs_are_copied_ahead_once)
{
    NEEDS_DEVICE("opencl");
    enum { BYTES = 64 * 4 };
    const int64_t n = 64;
    doubling d;
    open_doubling(0, n, &d);
    tern_tensor *x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = made(d.ctx, 1, &n, (float)(i + 1));
        CHECK_OK(tern_eval(x[i]));
    }
    CHECK_OK(tern_exec_stage(d.exec, 1, &x[0]));
    CHECK_OK(tern_exec_stage(d.exec, 1, &x[1]));
    check_run(&d, x[0], 1, BYTES); /* the result */
    CHECK_OK(tern_exec_stage(d.exec, 1, &x[2]));
    check_run(&d, x[3], 4, 2 * BYTES); /* never staged */
    check_run(&d, x[2], 3, BYTES);
    check_run(&d, x[1], 2, BYTES);     /* in another order */
    check_run(&d, x[1], 2, 2 * BYTES); /* used up */

    CHECK_OK(tern_exec_stage(d.exec, 1, &x[0])); /* and then written */
    CHECK_OK(tern_fill_(x[0], 10));
    check_run(&d, x[0], 10, 2 * BYTES);

    for (int i = 0; i < 3; i++) /* the third takes the place of the first, which is let go */
        CHECK_OK(tern_exec_stage(d.exec, 1, &x[i]));
    tern_release(x[0]);
    check_run(&d, x[2], 3, BYTES);
    CHECK_STATUS(tern_exec_stage(d.exec, 0, NULL), TERN_INVALID_ARGUMENT);
    close_doubling(&d); /* one is still ahead */
}

/* Room for one input and one result: staging finds none, and the run goes on as without. */
TEST(staging_never_takes_memory_that_a_run_needs)
{
    NEEDS_DEVICE("opencl");
    enum { N = 1024 };
    const int64_t n = N;
    doubling d;
    open_doubling(2 * N * sizeof(float) + 512, n, &d);
    tern_tensor *x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = made(d.ctx, 1, &n, (float)(i + 1));
        CHECK_OK(tern_eval(x[i]));
    }
    CHECK_OK(tern_exec_stage(d.exec, 1, &x[0])); /* two fit, and then the run does not */
    CHECK_OK(tern_exec_stage(d.exec, 1, &x[1]));
    for (int i = 0; i < 3; i++)
        check_run(&d, x[i], i + 1, 2 * N * sizeof(float));
    CHECK_OK(tern_exec_stage(d.exec, 1, &x[0])); /* none fits */
    check_run(&d, x[0], 1, 2 * N * sizeof(float));
    close_doubling(&d);
}

/* ---- batches ---- */

enum { BATCHES = 6 };

static tern_status fill(void *user, int64_t batch, int n_inputs, void *const *inputs)
{
    (void)user;
    (void)n_inputs;
    for (int i = 0; i < LONG; i++)
        ((float *)inputs[0])[i] = (float)(batch + 1) / SIDE;
    return TERN_OK;
}

static tern_status take(void *user, int64_t batch, int n_outputs, tern_tensor *const *outputs)
{
    int *right = user;
    (void)n_outputs;
    const double root = (double)(batch + 1), got = (double)tern_data_f32(outputs[0])[0];
    *right += got > root * root * (1 - 1e-4) && got < root * root * (1 + 1e-4);
    return TERN_OK;
}

/* The next batch is copied to the device while one is computed, each batch once. */
TEST(batches_are_copied_while_others_are_computed)
{
    NEEDS_DEVICE("opencl");
    static seen s;
    const int64_t length = LONG, square[3] = {LONG / SIDE / SIDE, SIDE, SIDE};
    tern_ctx *ctx = with_own_memory(0);
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    int together = 0;
    tern_tensor *x = tern_reshape(tern_input(ctx, "x", TERN_F32, 1, &length), 3, square);
    tern_tensor *y = tern_mul(tern_matmul(x, x, false, false), tern_scalar(ctx, TERN_F32, SIDE));
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    for (int i = 0; i < TRIES && together == 0; i++) {
        int right = 0;
        const tern_pipeline told = {.fill = fill, .take = take, .user = &right};
        const uint64_t before = ctx->device->copied_bytes;
        memset(&s, 0, sizeof s);
        CHECK_OK(tern_trace_start(NULL));
        const tern_status status = tern_pipeline_run(exec, BATCHES, &told);
        CHECK_OK(tern_trace_stop(see, &s, NULL));
        CHECK_OK(status);
        CHECK_EQ(right, BATCHES);
        CHECK_EQ(ctx->device->copied_bytes - before, (uint64_t)BATCHES * 2 * LONG * sizeof(float));
        CHECK_EQ(s.n_batches, BATCHES);
        /* A copy in that is traced beside an earlier batch: of the same bytes as an input, and not the stream's filling. */
        for (int c = 0; c < s.n_copies; c++)
            for (int b = 0; b < s.n_batches; b++)
                together += strcmp(s.copies[c].name, "copy in") == 0 &&
                            s.copies[c].start_ns < s.batches[b].start_ns &&
                            both(&s.copies[c], &s.batches[b]) > 0;
        for (int c = 0; c < s.n_copies; c++)
            for (int b = 0; b < s.n_batches; b++)
                CHECK(s.copies[c].thread != s.batches[b].thread);
    }
    printf("overlap: %d of %d copies in went on beside the batch before\n", together, BATCHES - 1);
    CHECK(together > 0 && together < BATCHES);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

#else

TEST(opencl_is_not_built)
{
    SKIP(device_missing("opencl"));
}

#endif
