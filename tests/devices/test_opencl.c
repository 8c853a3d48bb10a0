/* test_opencl.c - what conformance does not see of the OpenCL device: the cache of kernels on disk, memory, streams, bad data. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tern/tern.h>

#include "base/file.h"
#include "devices/opencl/opencl.h"
#include "devices.h"
#include "harness.h"
#include "own_memory.h"
#include "runtime/context.h"
#include "tensor/dlpack_abi.h"

#define NEEDS_OPENCL() NEEDS_DEVICE("opencl")

#ifdef TERN__HAVE_OPENCL

/* ---- the cache ---- */

typedef struct counts {
    int compiled, loaded;
} counts;

/* Doubles four numbers in a context whose kernels are kept in `folder`. */
static void run_once(const char *folder, const char *dump, counts *out)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    const float x[4] = {1, 2, 3, 4};
    options.device = "opencl";
    options.kernels = folder;
    options.dump_kernels = dump;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *t = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x), *y = tern_add(t, t);
    CHECK_OK(tern_eval(y));
    for (int i = 0; i < 4; i++)
        CHECK_NEAR((double)tern_data_f32(y)[i], 2 * (double)x[i], 0);
    *out = (counts){(int)ctx->device->compiled, (int)ctx->device->loaded};
    tern_ctx_destroy(ctx);
}

/* Calls visit for every file in the folder; gives their number. */
static int for_files(const char *folder, void (*visit)(const char *path))
{
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[8192];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (visit)
            visit(path);
        n++;
    }
    if (dir)
        closedir(dir);
    return n;
}

/* One bit in the middle. */
static void damage(const char *path)
{
    FILE *file = fopen(path, "r+b");
    if (!file)
        return;
    fseek(file, 200, SEEK_SET);
    const int c = fgetc(file);
    fseek(file, 200, SEEK_SET);
    fputc(c ^ 1, file);
    fclose(file);
}

static void cut(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file) {
        fputs("ternocl", file);
        fclose(file);
    }
}

TEST(kernels_are_kept_and_damage_is_found)
{
    NEEDS_OPENCL();
    char folder[4096];
    counts c = {0};
    if (!harness_path(folder, sizeof folder, "kernels"))
        return;
    run_once(folder, NULL, &c);
    CHECK(c.compiled == 1 && c.loaded == 0);
    CHECK_EQ(for_files(folder, NULL), 1);
    run_once(folder, NULL, &c);
    CHECK(c.compiled == 0 && c.loaded == 1);
    for_files(folder, damage);
    run_once(folder, NULL, &c);
    CHECK(c.compiled == 1 && c.loaded == 0);
    run_once(folder, NULL, &c); /* it was written again */
    CHECK(c.compiled == 0 && c.loaded == 1);
    for_files(folder, cut);
    run_once(folder, NULL, &c);
    CHECK(c.compiled == 1 && c.loaded == 0);
    run_once("off", NULL, &c);
    CHECK(c.compiled == 1 && c.loaded == 0);
}

/* ---- the cache when something goes wrong ---- */

/* What a process leaves that is killed before this operation on files, of those that write an entry. */
typedef struct killed {
    const char *folder, *copy; /* the cache, and a copy of how it is then */
    const char *operation;     /* "write", "sync", "rename" */
    int copied;
} killed;

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    for (int c; out && (c = fgetc(in)) != EOF;)
        fputc(c, out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
}

static bool copy_folder(void *user, const char *operation)
{
    killed *k = user;
    if (strcmp(operation, k->operation) != 0 || k->copied > 0)
        return true;
    DIR *dir = opendir(k->folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char from[8192], to[8192];
        snprintf(from, sizeof from, "%s/%s", k->folder, e->d_name);
        snprintf(to, sizeof to, "%s/%s", k->copy, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            copy_file(from, to);
    }
    if (dir)
        closedir(dir);
    k->copied++;
    return true;
}

TEST(a_process_killed_while_it_writes_leaves_a_cache_that_works)
{
    NEEDS_OPENCL();
    static const char *const operations[] = {"write", "sync", "rename"};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        char folder[4096], copy[4096], name[64];
        counts c = {0};
        snprintf(name, sizeof name, "killed-%s", operations[i]);
        if (!harness_path(folder, sizeof folder, name))
            return;
        snprintf(name, sizeof name, "left-%s", operations[i]);
        if (!harness_path(copy, sizeof copy, name))
            return;
        CHECK_EQ(mkdir(copy, 0700), 0);
        killed k = {.folder = folder, .copy = copy, .operation = operations[i]};
        tern__file_set_gate(copy_folder, &k);
        run_once(folder, NULL, &c);
        tern__file_set_gate(NULL, NULL);
        CHECK_EQ(k.copied, 1);
        run_once(copy, NULL, &c);
        CHECK(c.compiled == 1 && c.loaded == 0);
        run_once(copy, NULL, &c);
        CHECK(c.compiled == 0 && c.loaded == 1);
    }
}

static bool disk_is_full(void *user, const char *operation)
{
    int *refused = user;
    *refused += strcmp(operation, "write") == 0;
    return strcmp(operation, "write") != 0;
}

static int lines_about_kernels;

static void count_lines(void *user, tern_log_level level, const char *text)
{
    (void)user;
    (void)level;
    lines_about_kernels += strstr(text, "kernels are not kept") != NULL;
}

TEST(a_full_disk_is_said_and_the_cache_bypassed)
{
    NEEDS_OPENCL();
    char folder[4096];
    counts c = {0};
    int refused = 0;
    if (!harness_path(folder, sizeof folder, "full"))
        return;
    lines_about_kernels = 0;
    tern_log_set(TERN_LOG_WARN, count_lines, NULL); /* what the program shows */
    tern__file_set_gate(disk_is_full, &refused);
    run_once(folder, NULL, &c);
    tern__file_set_gate(NULL, NULL);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
    CHECK(refused > 0);
    CHECK_EQ(lines_about_kernels, 1);
    CHECK(c.compiled == 1 && c.loaded == 0);
    CHECK_EQ(for_files(folder, NULL), 0); /* nothing is left behind */
    run_once(folder, NULL, &c);           /* there is room again */
    CHECK_EQ(c.compiled, 1);
    CHECK_EQ(for_files(folder, NULL), 1);
}

/* An entry of another driver: its key, inside the file, is another. */
static void make_stale(const char *path)
{
    FILE *file = fopen(path, "r+b");
    if (!file)
        return;
    fseek(file, 8, SEEK_SET);
    fputc(0x5a, file);
    fputc(0xa5, file);
    fclose(file);
}

TEST(an_entry_of_another_driver_is_built_again)
{
    NEEDS_OPENCL();
    char folder[4096];
    counts c = {0};
    if (!harness_path(folder, sizeof folder, "stale"))
        return;
    run_once(folder, NULL, &c);
    for_files(folder, make_stale);
    run_once(folder, NULL, &c);
    CHECK(c.compiled == 1 && c.loaded == 0);
    run_once(folder, NULL, &c);
    CHECK(c.compiled == 0 && c.loaded == 1);
}

/* A file where the folder should be. */
TEST(a_cache_that_cannot_be_written_is_no_failure)
{
    NEEDS_OPENCL();
    char path[4096];
    counts c = {0};
    if (!harness_path(path, sizeof path, "file"))
        return;
    cut(path);
    run_once(path, NULL, &c);
    CHECK_EQ(c.compiled, 1);
}

/* The driver's own files: without room for them PoCL would end the process. */
TEST(no_room_for_the_driver_is_an_error)
{
    NEEDS_OPENCL();
    const float x[4] = {1, 2, 3, 4};
    for (int fallback = 0; fallback < 2; fallback++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        options.device = "opencl";
        options.kernels = "off";
        options.tuning = "off";
        options.fallback = fallback;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        if (!ctx->device->driver_files) {
            tern_ctx_destroy(ctx);
            SKIP("the driver is not PoCL");
        }
        ctx->device->least_room = UINT64_MAX - 1;
        tern_tensor *y = tern_neg(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x));
        if (fallback) {
            CHECK_OK(tern_eval(y));
            CHECK_NEAR((double)tern_data_f32(y)[3], -4, 0);
        } else {
            CHECK_STATUS(tern_eval(y), TERN_LIMIT);
            CHECK(strstr(tern_last_error(), "POCL_CACHE_DIR") != NULL);
            ctx->device->least_room = 0; /* and it goes on when there is */
            CHECK_OK(tern_eval(y));
        }
        tern_ctx_destroy(ctx);
    }
}

/* What comes from Tern's own folder needs that room as well: PoCL unpacks it into its own. */
TEST(no_room_for_the_driver_is_an_error_with_kept_kernels_too)
{
    NEEDS_OPENCL();
    const float x[4] = {1, 2, 3, 4};
    char folder[4096];
    if (!harness_path(folder, sizeof folder, "warm"))
        return;
    for (int warm = 0; warm < 2; warm++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        options.device = "opencl";
        options.kernels = folder;
        options.tuning = "off";
        CHECK_OK(tern_ctx_create(&options, &ctx));
        if (!ctx->device->driver_files) {
            tern_ctx_destroy(ctx);
            SKIP("the driver is not PoCL");
        }
        ctx->device->least_room = warm ? UINT64_MAX - 1 : 0;
        tern_tensor *y = tern_neg(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x));
        CHECK_STATUS(tern_eval(y), warm ? TERN_LIMIT : TERN_OK);
        ctx->device->least_room = 0;
        CHECK_OK(tern_eval(y));
        CHECK_EQ(ctx->device->loaded, warm ? 1 : 0);
        tern_ctx_destroy(ctx);
    }
}

TEST(sources_that_cannot_be_written_are_an_error)
{
    NEEDS_OPENCL();
    const float x[4] = {1, 2, 3, 4};
    char path[4096];
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    if (!harness_path(path, sizeof path, "no-folder"))
        return;
    cut(path); /* a file */
    options.device = "opencl";
    options.dump_kernels = path;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK(tern_eval(tern_neg(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x))) != TERN_OK);
    CHECK(strstr(tern_last_error(), path) != NULL);
    tern_ctx_destroy(ctx);
}

TEST(sources_can_be_read)
{
    NEEDS_OPENCL();
    char path[4096];
    counts c = {0};
    if (!harness_path(path, sizeof path, "sources"))
        return;
    run_once("off", path, &c);
    CHECK_EQ(for_files(path, NULL), 1);
}

/* ---- memory, streams ---- */

TEST(blocks_are_copied_and_mapped)
{
    NEEDS_OPENCL();
    const tern__device_ops *ops = NULL;
    CHECK_OK(tern__device_find("opencl", &ops));
    tern__device *d = NULL;
    const tern__device_options options = {.threads = 1, .isa_cap = {.level = TERN__ISA_BASELINE}};
    CHECK_OK(ops->create(&options, &d));
    char text[] = "from the host", back[sizeof text] = "";
    tern__block host = {.bytes = sizeof text, .host = text}, again = {.bytes = sizeof back, .host = back}, a,
                b;
    CHECK_OK(ops->allocate(d, sizeof text, &a));
    CHECK_OK(ops->allocate(d, sizeof text, &b));
    CHECK_OK(ops->copy(d, NULL, &a, 0, &host, 0, sizeof text));
    tern__stream *streams[2];
    tern__event *event;
    CHECK_OK(ops->stream_create(d, &streams[0]));
    CHECK_OK(ops->stream_create(d, &streams[1]));
    CHECK_OK(ops->copy(d, streams[0], &b, 0, &a, 0, sizeof text));
    CHECK_OK(ops->record(d, streams[0], &event));
    CHECK_OK(ops->wait(d, streams[1], event)); /* the other stream reads what this one wrote */
    CHECK_OK(ops->copy(d, streams[1], &again, 0, &b, 0, sizeof text));
    ops->event_destroy(d, event);
    CHECK_OK(ops->record(d, streams[1], &event));
    CHECK_OK(ops->synchronise_event(d, event));
    ops->event_destroy(d, event);
    CHECK_STR(back, "from the host");
    void *mapped = NULL;
    CHECK_OK(ops->map(d, &b, TERN__ACCESS_READ, &mapped));
    CHECK_STR((const char *)mapped, "from the host");
    CHECK_OK(ops->unmap(d, &b, mapped));
    CHECK_STATUS(ops->copy(d, NULL, &a, 1, &host, 0, sizeof text), TERN_OUT_OF_RANGE);
    CHECK_OK(ops->synchronise(d));
    ops->stream_destroy(d, streams[0]);
    ops->stream_destroy(d, streams[1]);
    ops->release(d, &a);
    ops->release(d, &b);
    ops->destroy(d);
}

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

/* ---- what the driver says ---- */

/* A driver with long answers: `changed` is a text that ends otherwise. */
static cl_uint changed;

static cl_int answer(cl_uint what, size_t size, void *out, size_t *needed)
{
    char text[6000];
    const size_t length = what == CL_DEVICE_EXTENSIONS ? 5000 : 200;
    memset(text, 'x', sizeof text);
    snprintf(text + length, sizeof text - length, "%s",
             what == CL_DEVICE_EXTENSIONS ? " cl_khr_fp64"
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
