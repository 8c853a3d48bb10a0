/* test_opencl_kernels.c - kernels of the OpenCL device on disk: the cache, whatever happens to it, room for the driver's own files, and
 * sources that are written for people. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tern/tern.h>

#include "base/file.h"
#include "devices/opencl/opencl.h"
#include "devices.h"
#include "harness.h"
#include "runtime/context.h"

#define NEEDS_OPENCL() NEEDS_DEVICE("opencl")

#if TERN_HAVE_OPENCL

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

/* ---- the cache's limit ---- */

static void age(const char *path, int seconds)
{
    struct timespec times[2] = {{.tv_sec = 1000000 - seconds}, {.tv_sec = 1000000 - seconds}};
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A file of `bytes` that is `seconds` old. */
static void put_file(const char *folder, const char *name, long bytes, int seconds)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fseek(file, bytes - 1, SEEK_SET) == 0 && fputc(0, file) == 0);
    fclose(file);
    age(path, seconds);
}

static bool has_file(const char *folder, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* With a new entry the oldest ones go until the rest fits; files that are no entries stay, whatever their age. */
TEST(the_cache_has_a_limit)
{
    NEEDS_OPENCL();
    char folder[4096];
    if (!harness_path(folder, sizeof folder, "limited"))
        return;
    CHECK_EQ(mkdir(folder, 0700), 0);
    put_file(folder, "0000000000000003.bin", 100 << 10, 30);
    put_file(folder, "0000000000000001.bin", 100 << 10, 20);
    put_file(folder, "0000000000000002.bin", 100 << 10, 10);
    put_file(folder, "notes.bin", 900 << 10, 99);
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "opencl";
    options.kernels = folder;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK_EQ(ctx->device->most_kept, 256 << 20); /* docs/devices.md */
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
        CHECK_OK(tern_eval(tern_neg(x))); /* there is room for all */
        CHECK_EQ(for_files(folder, NULL), 5);
        ctx->device->most_kept = 250 << 10;
        CHECK_OK(tern_eval(tern_square(x)));
        CHECK(!has_file(folder, "0000000000000003.bin") && has_file(folder, "0000000000000002.bin"));
        CHECK(has_file(folder, "notes.bin"));
        ctx->device->most_kept = 1; /* less than one: the new one alone stays */
        CHECK_OK(tern_eval(tern_exp(x)));
        CHECK_EQ(for_files(folder, NULL), 2);
        CHECK(has_file(folder, "notes.bin"));
    }
    tern_ctx_destroy(ctx);
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

TEST(a_file_where_the_driver_wants_its_folder_is_named)
{
    NEEDS_OPENCL();
    const float x[4] = {1, 2, 3, 4};
    char file[4096];
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    if (!harness_path(file, sizeof file, "kcache"))
        return;
    FILE *f = fopen(file, "w");
    CHECK(f != NULL);
    fclose(f);
    options.device = "opencl";
    options.kernels = "off";
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    if (!ctx->device->driver_files) {
        tern_ctx_destroy(ctx);
        SKIP("the driver is not PoCL");
    }
    char *own = ctx->device->driver_files;
    ctx->device->driver_files = file;
    CHECK_STATUS(tern_eval(tern_neg(tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, x))), TERN_UNAVAILABLE);
    CHECK(strstr(tern_last_error(), "kcache, where PoCL writes") && strstr(tern_last_error(), "no folder"));
    ctx->device->driver_files = own;
    tern_ctx_destroy(ctx);
}

static void damage_notes(const char *entry)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/tern.sums", entry);
    FILE *file = fopen(path, "ab");
    CHECK(file != NULL && fputs("more", file) >= 0);
    fclose(file);
}

/* A file in an entry of PoCL's. */
static void put_driver_file(const char *folder, const char *name, const char *text, time_t when)
{
    char path[8192];
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tern__file_make_folders(path);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fputs(text, file) >= 0);
    fclose(file);
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What is noted must be as it was. What nobody noted is as old as the system's start, or it may be damaged: if it is Tern's. */
TEST(what_the_driver_keeps_is_compared_with_notes)
{
    enum { START = 1000000 };
    const tern__ocl_look look = {.start = START}, later = {.start = START, .since = time(NULL) + 100};
    char entry[4096], other[4096];
    if (!harness_path(entry, sizeof entry, "entry") || !harness_path(other, sizeof other, "other"))
        return;
    put_driver_file(entry, "program.bc", "code", START + 1);
    put_driver_file(entry, "k/0-0-0/k.so", "object", START + 1);
    put_driver_file(entry, "last_accessed", "", START + 10);
    CHECK(tern__ocl_sums_hold(entry, &look));
    CHECK(!tern__ocl_sums_hold(entry, &(tern__ocl_look){.start = START + 2}));
    tern__ocl_note_sums(entry, START + 11); /* it was not used */
    CHECK(!has_file(entry, "tern.sums"));
    tern__ocl_note_sums(entry, START + 10);
    CHECK(has_file(entry, "tern.sums") && tern__ocl_sums_hold(entry, &(tern__ocl_look){.start = START + 2}));
    put_driver_file(entry, "k/0-0-0/k.so", "objecT", START + 1);
    CHECK(!tern__ocl_sums_hold(entry, &look));
    CHECK(tern__ocl_sums_hold(entry, &later)); /* compared by this process since */
    tern__ocl_note_sums(entry, START + 10);    /* damage never becomes what is noted */
    CHECK(!tern__ocl_sums_hold(entry, &look));
    put_driver_file(entry, "k/0-0-0/k.so", "object", START + 1);
    CHECK(tern__ocl_sums_hold(entry, &look));
    put_driver_file(entry, "k/1-1-1/k.so", "new", START + 1); /* made since */
    CHECK(tern__ocl_sums_hold(entry, &look));
    CHECK(!tern__ocl_sums_hold(entry, &(tern__ocl_look){.start = START + 2}));
    tern__ocl_note_sums(entry, START + 10);
    CHECK(tern__ocl_sums_hold(entry, &(tern__ocl_look){.start = START + 2}));
    damage_notes(entry);
    CHECK(!tern__ocl_sums_hold(entry, &look));
    /* Kernels of other programs are nobody's business, however old. */
    put_driver_file(other, "program.bc", "code", START - 1);
    put_driver_file(other, "blur/0-0-0/blur.so", "object", START - 1);
    put_driver_file(other, "last_accessed", "", START + 10);
    CHECK(tern__ocl_sums_hold(other, &look));
    tern__ocl_note_sums(other, 0);
    CHECK(!has_file(other, "tern.sums"));
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

#else

TEST(opencl_is_not_built)
{
    SKIP(device_missing("opencl"));
}

#endif
