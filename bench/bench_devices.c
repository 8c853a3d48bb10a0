/* bench_devices.c - what devices other than the CPU cost and give, beside the CPU in the same run: a chain of elementwise ops as one
 * generated kernel, copies to the device, a step that does next to nothing, products, and the built-in model; and what the library
 * itself adds to the steps of a device.
 *
 * What is compared runs in turns, and a row that compares is the median of the ratios of neighbours: the machine changes its speed.
 *
 *     bench_devices [--rows FILE | --json FILE] [--rounds N] [--only PART] */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/clock.h"
#include "base/status.h"
#include "bench_decoder.h"
#include "bench_json.h"
#include "devices/device.h"
#include "devices/opencl/opencl.h"
#include "measure/timing.h"
#include "runtime/context.h"

enum { MOST_ROUNDS = 101, CHAIN = 1 << 22, TINY_STEPS = 64, COPY_BYTES = 64 << 20, APART = 2112 };

typedef struct side {
    tern_ctx *ctx;
    tern_program *program;
    tern_exec *exec;
    tern_tensor *x;
} side;

static tern_status open_side(const char *device, side *s)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.tuning = "off";
    return tern_ctx_create(&options, &s->ctx);
}

static void close_side(side *s)
{
    tern_exec_free(s->exec);
    tern_program_free(s->program);
    tern_ctx_destroy(s->ctx);
    *s = (side){0};
}

static tern_status prepare(side *s, tern_tensor *y, const tern_compile_options *options, int64_t n)
{
    TERN_TRY(tern_compile(s->ctx, 1, &y, NULL, options, &s->program));
    TERN_TRY(tern_exec_create(s->ctx, s->program, &s->exec));
    float *data = malloc((size_t)n * sizeof *data);
    if (!data)
        return tern__out_of_memory((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(i % 1000) / 100 - 5;
    s->x = tern_from_data(s->ctx, TERN_F32, 1, &n, data);
    free(data);
    return tern_eval(s->x);
}

enum { MOST_THINGS = 4 };

/* Some things in turns. */
typedef struct timed {
    tern__turns turns;
    double samples[MOST_THINGS * MOST_ROUNDS];
    double ns[MOST_THINGS]; /* of a run of each, in the median */
    int rounds;             /* that were made */
} timed;

/* One run a sample, after `warmups` of each. */
static tern_status time_things(int n, const tern__thing *things, int warmups, int rounds, timed *out)
{
    tern__thing ready[MOST_THINGS];
    double sorted[MOST_ROUNDS];
    out->turns = (tern__turns){.warmups = warmups, .rounds = rounds};
    TERN_TRY(tern__turns_settle(&out->turns));
    for (int i = 0; i < n; i++) {
        ready[i] = (tern__thing){things[i].run, things[i].user, 1};
        TERN_TRY(tern__thing_ready(&ready[i], &out->turns));
    }
    TERN_TRY(tern__time_turns(ready, n, &out->turns, out->samples, NULL, &out->rounds));
    for (int i = 0; i < n; i++) {
        memcpy(sorted, out->samples + i * rounds, (size_t)out->rounds * sizeof *sorted);
        out->ns[i] = tern__stats_of(sorted, out->rounds).median * 1e9;
    }
    return TERN_OK;
}

/* Time of thing a over that of thing b beside it. */
static double ratio(const timed *t, int a, int b)
{
    return tern__turns_ratio(t->samples, &t->turns, t->rounds, a, b);
}

static tern_status run_side(void *user)
{
    side *s = user;
    tern_tensor *y;
    TERN_TRY(tern_exec_run(s->exec, 1, &s->x, 1, &y));
    tern_release(y);
    return TERN_OK;
}

/* a is thing 0, b thing 1. */
static tern_status time_both(side *a, side *b, int rounds, timed *out)
{
    return time_things(2, (tern__thing[]){{run_side, a, 1}, {run_side, b, 1}}, 2, rounds, out);
}

/* relu(2 x + 1) * x - x / 3, clamped: seven ops that read and write each number once. */
static tern_tensor *chain(tern_ctx *ctx)
{
    const int64_t n = CHAIN;
    tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, &n);
    tern_tensor *a = tern_add(tern_mul(x, tern_scalar(ctx, TERN_F32, 2)), tern_scalar(ctx, TERN_F32, 1));
    tern_tensor *b = tern_sub(tern_mul(tern_relu(a), x), tern_div(x, tern_scalar(ctx, TERN_F32, 3)));
    return tern_clamp(b, -4, 4);
}

static tern_status bench_chain(bench_output *out, int rounds)
{
    side cpu = {0}, device = {0};
    timed t;
    tern_status status = open_side(NULL, &cpu);
    if (status == TERN_OK)
        status = open_side("opencl", &device);
    if (status == TERN_OK)
        status = prepare(&cpu, chain(cpu.ctx), NULL, CHAIN);
    if (status == TERN_OK)
        status = prepare(&device, chain(device.ctx), NULL, CHAIN);
    if (status == TERN_OK)
        status = time_both(&cpu, &device, rounds, &t);
    if (status == TERN_OK)
        bench_row(out, "opencl_fused_chain_vs_cpu", ratio(&t, 0, 1), "", "higher",
                  "seven elementwise ops on %d f32 as one step: the CPU's time %.0f us over OpenCL's %.0f us",
                  CHAIN, t.ns[0] / 1e3, t.ns[1] / 1e3);
    close_side(&device);
    close_side(&cpu);
    return status;
}

/* Steps that do next to nothing: what is left is the way to a kernel and back. */
static tern_status bench_steps(bench_output *out, int rounds)
{
    side cpu = {0}, device = {0}, *sides[2] = {&cpu, &device};
    timed t;
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_NONE;
    tern_status status = TERN_OK;
    for (int i = 0; i < 2 && status == TERN_OK; i++) {
        const int64_t n = 16;
        status = open_side(i ? "opencl" : NULL, sides[i]);
        if (status != TERN_OK)
            break;
        tern_tensor *y = tern_input(sides[i]->ctx, "x", TERN_F32, 1, &n);
        for (int k = 0; k < TINY_STEPS; k++)
            y = tern_neg(y);
        status = prepare(sides[i], y, &options, n);
    }
    if (status == TERN_OK)
        status = time_both(&cpu, &device, rounds, &t);
    if (status == TERN_OK)
        bench_row(out, "device_step_overhead_us", t.ns[1] / TINY_STEPS / 1e3, "us", "lower",
                  "a step of 16 numbers on OpenCL, driver included, in a plan of %d; on the CPU %.2f us",
                  TINY_STEPS, t.ns[0] / TINY_STEPS / 1e3);
    close_side(&device);
    close_side(&cpu);
    return status;
}

/* ---- what the library itself adds to a device's steps ---- */

/* The CPU behind a table of its own whose `run` does nothing: what is left is vtable and bookkeeping. */
static tern__device_ops empty;

static tern_status run_nothing(tern__device *device, const tern__plan *plan, tern__code *code,
                               const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    (void)device;
    (void)plan;
    (void)code;
    (void)bindings;
    *n_done = part->end;
    return TERN_OK;
}

/* A session that is fed row after row behind `position`; logits of the last row where there is room for them. */
typedef struct feeding {
    tern_session *session;
    int rows, position;
    float *logits;
} feeding;

enum { MOST_FED = 128 };

static tern_status feed(void *user)
{
    feeding *f = user;
    tern_session_row rows[MOST_FED];
    for (int i = 0; i < f->rows; i++)
        rows[i] = (tern_session_row){.token = 65, .position = f->position + i};
    f->position += f->rows;
    return tern_session_feed(f->session, f->rows, rows, f->logits ? 1 : 0, (int[]){f->rows - 1}, f->logits);
}

static bool built_in_path(char *path, size_t room)
{
    const char *source = getenv("TERN_SOURCE_DIR");
    return snprintf(path, room, "%s/models/shakespeare.gguf", source ? source : ".") < (int)room;
}

static tern_status add_empty(void)
{
    if (empty.name)
        return TERN_OK;
    empty = *tern__device_at(0);
    empty.name = "empty";
    empty.run = run_nothing;
    empty.compile = NULL;
    return tern__device_add(&empty) ? TERN_OK : tern__fail(TERN_LIMIT, "no room for a device");
}

/* The CPU's own table with the same `run`: what it leaves is the session's work and the binding of inputs, which every run has. */
static tern__device_ops empty_host;

static void empty_the_host(tern_ctx *ctx)
{
    empty_host = *ctx->host_ops;
    empty_host.run = run_nothing;
    ctx->host_ops = &empty_host;
}

/* A token with its logits on a device that does nothing over one on the CPU: an upper bound, since binding of inputs and the session's
 * own work are in it as well; and what of it the device adds to a CPU that does nothing either. `path` NULL: a decoder as wide as a 2B
 * model, whose steps and their times grow alike with its layers. */
static tern_status bench_bookkeeping_of(bench_output *out, const char *row, const char *what,
                                        const char *path, int rounds)
{
    decoder nothing = {0}, cpu = {0}, bare = {0};
    timed t;
    tern_status status = add_empty();
    if (status == TERN_OK)
        status = path ? load_decoder(&nothing, empty.name, path) : open_decoder(&nothing, empty.name);
    if (status == TERN_OK)
        status = path ? load_decoder(&cpu, NULL, path) : open_decoder(&cpu, NULL);
    if (status == TERN_OK)
        status = path ? load_decoder(&bare, NULL, path) : open_decoder(&bare, NULL);
    if (status == TERN_OK) {
        empty_the_host(bare.ctx);
        /* each that does nothing comes behind a token of the CPU, which leaves it no caches */
        status = time_things(4,
                             (tern__thing[]){{decode_token, &nothing, 1},
                                             {decode_token, &cpu, 1},
                                             {decode_token, &bare, 1},
                                             {decode_token, &cpu, 1}},
                             20, rounds, &t);
    }
    if (status == TERN_OK) {
        char added[96];
        snprintf(added, sizeof added, "%s_added", row);
        bench_row(out, row, ratio(&t, 0, 1), "", "lower",
                  "a token of %s on a device that does nothing, %.1f us, over one on the CPU, %.1f us", what,
                  t.ns[0] / 1e3, t.ns[1] / 1e3);
        bench_row(out, added, ratio(&t, 0, 1) - ratio(&t, 2, 3), "", "lower",
                  "of that: what a device adds to a CPU that does nothing either, %.1f us", t.ns[2] / 1e3);
    } else
        printf("%s unavailable: %s\n", row, tern_last_error());
    close_decoder(&bare);
    close_decoder(&cpu);
    close_decoder(&nothing);
    return TERN_OK;
}

static tern_status bench_bookkeeping(bench_output *out, int rounds)
{
    char path[4096], wide[64];
    (void)rounds; /* tokens are short */
    if (!built_in_path(path, sizeof path))
        return tern__fail(TERN_LIMIT, "the path of the built-in model is too long");
    snprintf(wide, sizeof wide, "%d layers as wide as BitNet 2B-4T", DECODER_LAYERS);
    TERN_TRY(bench_bookkeeping_of(out, "device_bookkeeping_share", "the built-in model", path, MOST_ROUNDS));
    return bench_bookkeeping_of(out, "device_bookkeeping_share_wide", wide, NULL, 31);
}

#if TERN_HAVE_OPENCL

/* What a run copies to a device with memory of its own, in ns: by the device's clock, of the partition's borders. */
static tern_status time_border(side *s, double *ns)
{
    tern_transfer_time t;
    TERN_TRY(run_side(s));
    TERN_TRY(tern_exec_partition_transfer(s->exec, 0, &t));
    TERN__FAIL_IF(!t.told || t.in_ns == 0, TERN_UNAVAILABLE, "the device does not tell what copies take");
    *ns = (double)t.in_ns;
    return TERN_OK;
}

static double time_memcpy(char *to, const char *from)
{
    const uint64_t start = tern__now_ns();
    memcpy(to, from, COPY_BYTES);
    __asm__ volatile("" : : "r"(to) : "memory");
    return (double)(tern__now_ns() - start);
}

/* The largest of each row: all of x crosses the border, next to nothing comes back. */
static tern_status prepare_copies(side *s)
{
    enum { ROW = 4096 };
    const int64_t n = COPY_BYTES / (int64_t)sizeof(float), shape[2] = {n / ROW, ROW};
    s->ctx->device->in_place = false; /* as if it had memory of its own, whatever it really has */
    tern_tensor *x = tern_reshape(tern_input(s->ctx, "x", TERN_F32, 1, &n), 2, shape);
    TERN_TRY(prepare(s, tern_max(x, 1, (int64_t[]){1}, false), NULL, n));
    return tern_exec_time_partitions(s->exec, true);
}

/* Copies as runs make them (devices/opencl/borders.c), in turns with memcpy, whose result lies as its source does in its page, or apart,
 * whichever is faster. Each of the three has a destination of its own, written once a round: one that two of them wrote would be in the
 * caches for both. */
static tern_status bench_copy(bench_output *out, int rounds)
{
    side device = {0};
    double ns[3][MOST_ROUNDS], median[3], ratios[MOST_ROUNDS];
    char *to = aligned_alloc(4096, COPY_BYTES + 4096), *other = aligned_alloc(4096, COPY_BYTES + 4096);
    tern_status status = to && other ? open_side("opencl", &device) : tern__out_of_memory(COPY_BYTES);
    if (status == TERN_OK)
        status = prepare_copies(&device);
    if (status == TERN_OK) {
        memset(to, 2, COPY_BYTES + 4096);
        memset(other, 3, COPY_BYTES + 4096);
    }
    for (int r = -2; r < rounds && status == TERN_OK; r++) {
        const int at = r < 0 ? 0 : r; /* what warms up is written over */
        const char *from = tern_data(device.x);
        status = time_border(&device, &ns[0][at]);
        ns[1][at] = time_memcpy(to + ((uintptr_t)from + APART) % 4096, from);
        ns[2][at] = time_memcpy(other + (uintptr_t)from % 4096, from);
    }
    for (int k = 0; k < 3 && status == TERN_OK; k++) {
        memcpy(ratios, ns[k], (size_t)rounds * sizeof *ratios);
        median[k] = tern__stats_of(ratios, rounds).median;
    }
    if (status == TERN_OK) {
        const int best = median[2] < median[1] ? 2 : 1;
        for (int r = 0; r < rounds; r++)
            ratios[r] = ns[best][r] / ns[0][r];
        bench_row(
            out, "opencl_copy_vs_memcpy", tern__stats_of(ratios, rounds).median, "", "higher",
            "%d MiB of an operand, copied by a run to a device with memory of its own, at %.1f GB/s by its "
            "clock; memcpy %.1f GB/s, %.1f where both ends lie alike in their pages",
            COPY_BYTES >> 20, COPY_BYTES / median[0], COPY_BYTES / median[1], COPY_BYTES / median[2]);
    }
    free(to);
    free(other);
    close_side(&device);
    return status;
}

#else

static tern_status bench_copy(bench_output *out, int rounds)
{
    (void)out;
    (void)rounds;
    return tern__fail(TERN_UNAVAILABLE, "this build has no OpenCL");
}

#endif

/* ---- products ---- */

#if TERN_HAVE_OPENCL

/* CLBlast's sgemm as its C interface declares it, row-major (101) without transposes (111). Found when it is installed. */
typedef int (*clblast_sgemm)(int layout, int ta, int tb, size_t m, size_t n, size_t k, float alpha, cl_mem a,
                             size_t a_at, size_t a_ld, cl_mem b, size_t b_at, size_t b_ld, float beta,
                             cl_mem c, size_t c_at, size_t c_ld, cl_command_queue *queue, cl_event *event);

static clblast_sgemm find_clblast(void)
{
    void *library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    clblast_sgemm sgemm = NULL;
    if (library)
        *(void **)&sgemm = dlsym(library, "CLBlastSgemm");
    return sgemm;
}

typedef struct clblast_job {
    clblast_sgemm sgemm;
    tern__device *device;
    cl_mem m[3];
    size_t n;
} clblast_job;

static tern_status run_clblast(void *user)
{
    clblast_job *j = user;
    const size_t n = j->n;
    const int error = j->sgemm(101, 111, 111, n, n, n, 1, j->m[0], 0, n, j->m[1], 0, n, 0, j->m[2], 0, n,
                               &j->device->queue, NULL);
    j->device->cl->Finish(j->device->queue);
    return error ? tern__fail(TERN_UNAVAILABLE, "CLBlast failed with %d", error) : TERN_OK;
}

/* 0: it cannot be had. */
static double time_clblast(clblast_sgemm sgemm, tern__device *d, size_t n, int rounds)
{
    clblast_job j = {.sgemm = sgemm, .device = d, .n = n};
    timed t = {.rounds = 0};
    float *ones = malloc(n * n * sizeof *ones);
    cl_int error = CL_SUCCESS;
    for (size_t i = 0; ones && i < n * n; i++)
        ones[i] = 1;
    for (int i = 0; ones && i < 3; i++)
        j.m[i] = d->cl->CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                     n * n * sizeof *ones, ones, &error);
    const bool done = ones && error == CL_SUCCESS &&
                      time_things(1, &(tern__thing){run_clblast, &j, 1}, 2, rounds, &t) == TERN_OK;
    for (int i = 0; i < 3; i++)
        if (j.m[i])
            d->cl->ReleaseMemObject(j.m[i]);
    free(ones);
    return done ? t.ns[0] : 0;
}

/* x by itself, square: Tern's generated kernel, the CPU's own product, and CLBlast where it is. */
static tern_status bench_products(bench_output *out, int rounds)
{
    const clblast_sgemm sgemm = find_clblast();
    static const int64_t sizes[] = {256, 512, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i], shape[2] = {n, n}, all = n * n;
        side sides[2] = {{0}, {0}};
        timed t;
        tern_status status = TERN_OK;
        for (int k = 0; k < 2 && status == TERN_OK; k++) {
            status = open_side(k ? "opencl" : NULL, &sides[k]);
            if (status != TERN_OK)
                break;
            tern_tensor *x = tern_reshape(tern_input(sides[k].ctx, "x", TERN_F32, 1, &all), 2, shape);
            status = prepare(&sides[k], tern_matmul(x, x, false, false), NULL, all);
        }
        if (status == TERN_OK)
            status = time_both(&sides[0], &sides[1], rounds, &t);
        if (status == TERN_OK) {
            char name[64];
            const double flops = 2 * (double)n * (double)n * (double)n;
            const double cpu = t.ns[0], own = t.ns[1];
            const double other = sgemm ? time_clblast(sgemm, sides[1].ctx->device, (size_t)n, rounds) : 0;
            snprintf(name, sizeof name, "opencl_matmul_%d_gflops", (int)n);
            bench_row(out, name, flops / own, "GF/s", "higher",
                      "f32, %d x %d; the CPU's own kernel %.1f GF/s", (int)n, (int)n, flops / cpu);
            snprintf(name, sizeof name, "opencl_matmul_%d_vs_clblast", (int)n);
            if (other > 0)
                bench_row(out, name, other / own, "", "higher",
                          "CLBlast's time over the generated kernel's; CLBlast %.1f GF/s", flops / other);
            else
                printf("%s unavailable: %s\n", name,
                       sgemm ? "CLBlast failed" : "libclblast.so.1 cannot be loaded");
        }
        close_side(&sides[0]);
        close_side(&sides[1]);
        TERN_TRY(status);
    }
    return TERN_OK;
}

#else

static tern_status bench_products(bench_output *out, int rounds)
{
    (void)out;
    (void)rounds;
    printf("opencl_matmul unavailable: this build has no OpenCL\n");
    return TERN_OK;
}

#endif

/* ---- the built-in model ---- */

/* A prompt, then `tokens` one by one: the time of one each, of the last of three rounds; the first compiles. */
static tern_status time_model(tern_ctx *ctx, const char *path, int tokens, double *prompt_s, double *token_s)
{
    tern_model *model = NULL;
    feeding f = {0};
    tern_status status = tern_model_load(ctx, path, NULL, &model);
    if (status == TERN_OK)
        status = tern_session_create(model, NULL, &f.session);
    if (status == TERN_OK &&
        !(f.logits = malloc((size_t)tern_session_vocabulary(f.session) * sizeof *f.logits)))
        status = tern__out_of_memory(sizeof *f.logits);
    for (int round = 0; round < 3 && status == TERN_OK; round++) {
        f.rows = MOST_FED;
        f.position = 0;
        status = tern__thing_time(&(tern__thing){feed, &f, 1}, prompt_s);
        f.rows = 1;
        if (status == TERN_OK)
            status = tern__thing_time(&(tern__thing){feed, &f, tokens}, token_s);
        *prompt_s /= MOST_FED;
    }
    free(f.logits);
    tern_session_free(f.session);
    tern_model_free(model);
    return status;
}

static tern_status bench_model(bench_output *out, int rounds)
{
    enum { TOKENS = 48 };
    char path[4096];
    (void)rounds;
    if (!built_in_path(path, sizeof path))
        return tern__fail(TERN_LIMIT, "the path of the built-in model is too long");
    for (int i = 0; tern__device_at(i); i++) {
        const char *device = tern__device_at(i)->name;
        if (empty.name && strcmp(device, empty.name) == 0)
            continue;
        side s = {0};
        char name[64];
        double prompt = 0, token = 0;
        tern_status status = open_side(device, &s);
        if (status == TERN_OK)
            status = time_model(s.ctx, path, TOKENS, &prompt, &token);
        close_side(&s);
        snprintf(name, sizeof name, "model_tokens_per_s_%s", device);
        if (status != TERN_OK) {
            printf("%s unavailable: %s\n", name, tern_last_error());
            continue;
        }
        bench_row(out, name, 1 / token, "1/s", "higher",
                  "built-in model, %d tokens behind a prompt of %d, which ran at %.0f", TOKENS, MOST_FED,
                  1 / prompt);
    }
    return TERN_OK;
}

/* ---- all of it ---- */

/* Bookkeeping first: drivers leave threads behind, which slow the CPU's tokens down. */
static const struct {
    const char *name;
    tern_status (*run)(bench_output *out, int rounds);
} parts[] = {
    {"bookkeeping", bench_bookkeeping}, {"chain", bench_chain}, {"steps", bench_steps}, {"copy", bench_copy},
    {"products", bench_products},       {"model", bench_model}};

static bool parse(int argc, char **argv, int *rounds, const char **only)
{
    for (int i = 1; i < argc; i += 2) {
        const bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--rounds") == 0)
            *rounds = atoi(argv[i + 1]);
        else if (has_value && strcmp(argv[i], "--only") == 0)
            *only = argv[i + 1];
        else
            return false;
    }
    bool known = !*only;
    for (size_t i = 0; i < TERN__COUNT(parts); i++)
        known = known || strcmp(parts[i].name, *only) == 0;
    return known && *rounds >= 1 && *rounds <= MOST_ROUNDS;
}

int main(int argc, char **argv)
{
    bench_output out;
    int rounds = 15;
    const char *only = NULL;
    bool failed = false;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(argc, argv, &rounds, &only)) {
        fprintf(stderr,
                "usage: bench_devices [--rows FILE | --json FILE] [--rounds 1..%d] [--only PART]\nparts:",
                MOST_ROUNDS);
        for (size_t i = 0; i < TERN__COUNT(parts); i++)
            fprintf(stderr, " %s", parts[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    for (size_t i = 0; i < TERN__COUNT(parts); i++) {
        const tern_status status =
            only && strcmp(only, parts[i].name) != 0 ? TERN_OK : parts[i].run(&out, rounds);
        if (status == TERN_UNAVAILABLE)
            printf("%s unavailable: %s\n", parts[i].name, tern_last_error());
        else if (status != TERN_OK)
            fprintf(stderr, "bench_devices: %s: %s\n", parts[i].name, tern_last_error());
        failed = failed || (status != TERN_OK && status != TERN_UNAVAILABLE);
    }
    return bench_close(&out) && !failed ? 0 : 1;
}
