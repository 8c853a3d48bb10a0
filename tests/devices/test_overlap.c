/* test_overlap.c - copies between the host and a device with memory of its own: beside kernels, as the trace shows, and ahead of runs.
 * What is copied is counted, so that a copy that was begun early is not made twice.
 *
 * Overlap is arranged, not hoped for: chosen copies and kernels wait, while they are under way, until the other has begun. If the
 * device's queues let one of them begin only when the other is over, that is a failure, and not a matter of luck. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices.h"
#include "harness.h"
#include "meeting.h"
#include "own_memory.h"

#if TERN_HAVE_OPENCL

enum { MOST_EVENTS = 256, SIDE = 64, LONG = 1 << 16 };

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

/* ---- copies and kernels that wait for each other ---- */

enum { COPYING, COMPUTING, MOST_MEETINGS = 8 };
enum { NEVER = -1 };

/* Which of a run's commands meet, by their numbers from 0 on: meeting i is between kernel kernels[i] and a copy. */
typedef struct meetings {
    int n;
    int kernels[MOST_MEETINGS], copies_in[MOST_MEETINGS], copies_out[MOST_MEETINGS];
    meeting of[MOST_MEETINGS];
    int n_kernels, n_in, n_out; /* so far */
} meetings;

/* OpenCL as the device calls it, with the meetings in between. Calls of the host's are an optional part of OpenCL ("native kernels"). */
static tern__cl real, arranged;
static __typeof__(&clEnqueueNativeKernel) call_host;
static meetings met;

static meeting *meeting_of(const int *numbers, int number)
{
    for (int i = 0; i < met.n; i++)
        if (numbers[i] == number)
            return &met.of[i];
    return NULL;
}

/* What a call of the host's is given: a copy, and whom to meet while it is under way. */
typedef struct call {
    void *to;
    const void *from;
    size_t bytes;
    meeting *with;
    int side;
} call;

static void CL_CALLBACK run_call(void *user)
{
    const call *c = user;
    meet(c->with, c->side);
    if (c->bytes > 0)
        memcpy(c->to, c->from, c->bytes);
}

/* The kernel, and behind it in the same queue what stands for its last part: its event is the kernel's. */
static cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint n,
                                         const size_t *offset, const size_t *global, const size_t *local,
                                         cl_uint n_waits, const cl_event *waits, cl_event *event)
{
    call c = {.with = meeting_of(met.kernels, met.n_kernels++), .side = COMPUTING};
    if (!c.with)
        return real.EnqueueNDRangeKernel(queue, kernel, n, offset, global, local, n_waits, waits, event);
    const cl_int error =
        real.EnqueueNDRangeKernel(queue, kernel, n, offset, global, local, n_waits, waits, NULL);
    return error == CL_SUCCESS ? call_host(queue, run_call, &c, sizeof c, 0, NULL, NULL, 0, NULL, event)
                               : error;
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem to, cl_bool waits_for_it, size_t at,
                                        size_t bytes, const void *from, cl_uint n_waits,
                                        const cl_event *waits, cl_event *event)
{
    call c = {.from = from, .bytes = bytes, .side = COPYING};
    const void *places[] = {&c.to};
    if (!waits_for_it && at == 0)
        c.with = meeting_of(met.copies_in, met.n_in++);
    return c.with ? call_host(queue, run_call, &c, sizeof c, 1, &to, places, n_waits, waits, event)
                  : real.EnqueueWriteBuffer(queue, to, waits_for_it, at, bytes, from, n_waits, waits, event);
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem from, cl_bool waits_for_it, size_t at,
                                       size_t bytes, void *to, cl_uint n_waits, const cl_event *waits,
                                       cl_event *event)
{
    call c = {.to = to, .bytes = bytes, .side = COPYING};
    const void *places[] = {&c.from};
    if (!waits_for_it && at == 0)
        c.with = meeting_of(met.copies_out, met.n_out++);
    return c.with ? call_host(queue, run_call, &c, sizeof c, 1, &from, places, n_waits, waits, event)
                  : real.EnqueueReadBuffer(queue, from, waits_for_it, at, bytes, to, n_waits, waits, event);
}

static void add_meeting(int kernel, int copy_in, int copy_out)
{
    met.kernels[met.n] = kernel;
    met.copies_in[met.n] = copy_in;
    met.copies_out[met.n] = copy_out;
    met.of[met.n++] = MEETING_EMPTY;
}

/* From the next command on. */
static void arrange(tern_ctx *ctx)
{
    real = *ctx->device->cl;
    arranged = real;
    arranged.EnqueueNDRangeKernel = enqueue_kernel;
    arranged.EnqueueWriteBuffer = enqueue_write;
    arranged.EnqueueReadBuffer = enqueue_read;
    ctx->device->cl = &arranged;
}

/* Everybody came. */
static void check_meetings(void)
{
    for (int i = 0; i < met.n; i++) {
        CHECK(met.of[i].here[COPYING] && met.of[i].here[COMPUTING] && !met.of[i].late);
        meeting_end(&met.of[i]);
    }
    met = (meetings){0};
}

/* Why it cannot be arranged here; NULL: it can. */
static const char *cannot_arrange(const tern_ctx *ctx)
{
    cl_device_exec_capabilities can = 0;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&call_host = dlsym(library, "clEnqueueNativeKernel");
    ctx->device->cl->GetDeviceInfo(ctx->device->cl->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can,
                                   &can, NULL);
    return ctx->device->units < 2 ? "a device with one compute unit does one thing at a time"
           : !call_host || !(can & CL_EXEC_NATIVE_KERNEL)
               ? "the device does not call the host, so nothing can be made to wait on it"
               : NULL;
}

/* A context whose commands can be made to meet; skips the test where they cannot. */
#define OPEN_ARRANGED(ctx)                     \
    do {                                       \
        (ctx) = with_own_memory(0);            \
        const char *why = cannot_arrange(ctx); \
        if (why) {                             \
            tern_ctx_destroy(ctx);             \
            SKIP(why);                         \
        }                                      \
    } while (0)

/* ---- in a run ---- */

/* Products of small matrices, and a long array that is only negated, in this order. While the first product is computed the long array
 * is on its way to the device; while it is negated the last product is on its way back. */
TEST(copies_overlap_kernels_in_the_trace)
{
    NEEDS_DEVICE("opencl");
    enum { PRODUCTS = 3 };
    static seen s;
    const int64_t square[2] = {SIDE, SIDE}, length = LONG;
    tern_ctx *ctx;
    OPEN_ARRANGED(ctx);
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_NONE; /* the order in which they are recorded */
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    tern_tensor *p = tern_input(ctx, "p", TERN_F32, 2, square), *a = p, *out[2];
    for (int i = 0; i < PRODUCTS; i++)
        a = tern_matmul(a, p, false, false);
    tern_tensor *outputs[2] = {a, tern_neg(tern_input(ctx, "q", TERN_F32, 1, &length))};
    CHECK_OK(tern_compile(ctx, 2, outputs, NULL, &options, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_tensor *in[2] = {made(ctx, 2, square, 1.0f / SIDE), made(ctx, 1, &length, 3)};
    arrange(ctx);
    add_meeting(0, 1, NEVER);        /* the first product, the copy of q */
    add_meeting(PRODUCTS, NEVER, 0); /* -q, the copy of the products' result */
    memset(&s, 0, sizeof s);
    CHECK_OK(tern_trace_start(NULL));
    const tern_status status = tern_exec_run(exec, 2, in, 2, out);
    CHECK_OK(tern_trace_stop(see, &s, NULL));
    CHECK_OK(status);
    check_meetings();
    CHECK_NEAR((double)tern_data_f32(out[0])[SIDE * SIDE - 1], 1.0 / SIDE, 1e-6);
    CHECK_NEAR((double)tern_data_f32(out[1])[LONG - 1], -3, 0);
    CHECK_EQ(s.n_copies, 4); /* two in, two out */
    CHECK_EQ(s.n_steps, PRODUCTS + 1);
    int together[2] = {0, 0};
    for (int c = 0; c < s.n_copies; c++)
        for (int k = 0; k < s.n_steps; k++) {
            CHECK(s.copies[c].thread != s.steps[k].thread); /* a track of its own */
            together[strcmp(s.copies[c].name, "copy out") == 0] += both(&s.copies[c], &s.steps[k]) > 0;
        }
    CHECK(together[0] > 0 && together[1] > 0);
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

/* The next batch is copied to the device while one is computed, every batch but the first, and each once. */
TEST(batches_are_copied_while_others_are_computed)
{
    NEEDS_DEVICE("opencl");
    static seen s;
    const int64_t length = LONG, square[3] = {LONG / SIDE / SIDE, SIDE, SIDE};
    tern_ctx *ctx;
    OPEN_ARRANGED(ctx);
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    int right = 0;
    const tern_pipeline told = {.fill = fill, .take = take, .user = &right};
    tern_tensor *x = tern_reshape(tern_input(ctx, "x", TERN_F32, 1, &length), 3, square);
    tern_tensor *y = tern_mul(tern_matmul(x, x, false, false), tern_scalar(ctx, TERN_F32, SIDE));
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_program_info info;
    tern_program_get_info(program, &info);
    CHECK_EQ(info.steps, 1); /* kernel i is batch i's */
    arrange(ctx);
    for (int i = 0; i + 1 < BATCHES; i++)
        add_meeting(i, i + 1, NEVER);
    const uint64_t before = ctx->device->copied_bytes;
    memset(&s, 0, sizeof s);
    CHECK_OK(tern_trace_start(NULL));
    const tern_status status = tern_pipeline_run(exec, BATCHES, &told);
    CHECK_OK(tern_trace_stop(see, &s, NULL));
    CHECK_OK(status);
    check_meetings();
    CHECK_EQ(right, BATCHES);
    CHECK_EQ(ctx->device->copied_bytes - before, (uint64_t)BATCHES * 2 * LONG * sizeof(float));
    CHECK_EQ(s.n_batches, BATCHES);
    tern_trace_event in[BATCHES]; /* one after the other, since one track has them */
    int n = 0;
    for (int c = 0; c < s.n_copies; c++) {
        CHECK(s.copies[c].thread != s.batches[0].thread);
        if (strcmp(s.copies[c].name, "copy in") == 0 && n < BATCHES)
            in[n++] = s.copies[c];
    }
    CHECK_EQ(n, BATCHES);
    for (int b = 0; b + 1 < n; b++)
        CHECK(both(&in[b + 1], &s.batches[b]) > 0);
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
