/* test_opencl.c - what conformance does not see of the OpenCL device: the cache of kernels on disk, memory, streams, bad data. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/opencl/opencl.h"
#include "harness.h"
#include "runtime/context.h"

static const char *missing(void)
{
    static char reason[600];
    const tern__device_ops *ops = NULL;
    tern_device_info info = {0};
    if (tern__device_find("opencl", &ops) == TERN_OK)
        ops->describe(TERN__ISA_BASELINE, &info);
    if (info.unavailable)
        snprintf(reason, sizeof reason, "device 'opencl' is unavailable: %s", info.unavailable);
    return reason[0] ? reason : NULL;
}

#define NEEDS_OPENCL()       \
    do {                     \
        if (missing())       \
            SKIP(missing()); \
    } while (0)

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
    const tern__device_options options = {.threads = 1, .isa_cap = TERN__ISA_BASELINE};
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

/* The same results whether the device uses the host's pages or the driver copies. */
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
    SKIP(missing());
}

#endif
