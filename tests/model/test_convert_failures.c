/* test_convert_failures.c - conversions, and random models, while the 1st, 2nd, 3rd, ... allocation, or operation on files, fails: an
 * error each time, nothing stays allocated, and no file is there, not even a temporary one. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tern/alloc.h>
#include <tern/model_convert.h>

#include "base/file.h"
#include "gate.h"
#include "harness.h"

static const char *path_of(const char *name)
{
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    harness_path(path, sizeof paths[0], name);
    return path;
}

/* How many there are, hidden ones too; `removing`: none is left. */
static int count_files(const char *folder, bool removing)
{
    DIR *all = opendir(path_of(folder));
    int n = 0;
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char path[8192];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", path_of(folder), entry->d_name);
        n += removing ? unlink(path) == 0 : 1;
    }
    if (all)
        closedir(all);
    return n;
}

static void set_up(tern_ctx **ctx)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, ctx));
}

/* ---- what fails ---- */

static bool file_allow(void *user, const char *operation)
{
    (void)operation;
    return gate_allow(user, 0);
}

/* Memory, or files. */
typedef struct trouble {
    tern_status status; /* that comes of it */
    bool of_files;
} trouble;

static const trouble no_memory = {TERN_OUT_OF_MEMORY, false}, no_disk = {TERN_IO, true};

static void begin(const trouble *t, gate *g)
{
    if (t->of_files)
        tern__file_set_gate(file_allow, g);
    else
        tern_alloc_set_gate(gate_allow, g);
}

static void end(void)
{
    tern__file_set_gate(NULL, NULL);
    tern_alloc_set_gate(NULL, NULL);
}

/* ---- what is walked ---- */

typedef struct work {
    tern_ctx *ctx;
    tern_model_file *file; /* NULL: a random model is made */
    const char *to;
    uint64_t shard_bytes;
} work;

static void make_shape(const char *architecture, tern_model_shape *shape)
{
    CHECK_OK(tern_model_shape_find("tiny", shape));
    shape->layers = 1;
    shape->architecture = architecture;
    shape->rope_base = 10000;
}

static tern_status run(const work *w)
{
    tern_model_shape shape;
    tern_convert_options o = tern_convert_options_default();
    o.shard_bytes = w->shard_bytes;
    if (w->file)
        return tern_model_convert(w->ctx, w->file, path_of(w->to), &o);
    make_shape("bitnet-b1.58", &shape);
    return tern_model_synth(path_of(w->to), &shape, NULL);
}

/* The n-th fails: an error and no file, or, where that is survived (a cache that could not grow), all of them. *fired: there is an
 * n-th. */
static void try_once(const work *w, const trouble *t, long n, bool *fired, int *failures)
{
    gate g = {.countdown = n};
    begin(t, &g);
    const tern_status status = run(w);
    end();
    *fired = g.fired;
    *failures += status != TERN_OK;
    CHECK(g.fired || status == TERN_OK);
    if (status == TERN_OK) {
        tern_model_file *file;
        const int files = count_files("walk", false);
        CHECK(files > 0);
        CHECK_OK(tern_model_file_open(path_of(files > 1 ? "walk" : w->to), NULL, &file));
        tern_model_file_close(file);
        CHECK_EQ(count_files("walk", true), files);
        return;
    }
    CHECK_STATUS(status, t->status);
    CHECK(tern_last_error()[0] != 0);
    CHECK_EQ(count_files("walk", false), 0);
}

static void walk(const work *w, const trouble *t)
{
    int failures = 0;
    bool fired = true;
    for (long n = 1; fired && n < 100000 && !harness_failed(); n += harness_every() + n / 64) {
        try_once(w, t, n, &fired, &failures);
        if (harness_failed())
            printf("     (%s: %s %ld fails)\n", w->to, t->of_files ? "operation on files" : "allocation", n);
    }
    CHECK(!fired);
    CHECK(failures * harness_every() > 5);
}

/* `from` NULL: a random model. */
static void walk_both(const char *from, const char *format, uint64_t shard_bytes)
{
    static const trouble *const troubles[] = {&no_memory, &no_disk};
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    for (int i = 0; i < 2; i++) {
        char to[128];
        work w = {.to = to, .shard_bytes = shard_bytes};
        snprintf(to, sizeof to, "walk/%s", format);
        CHECK_EQ(mkdir(path_of("walk"), 0777), 0);
        set_up(&w.ctx);
        if (from)
            CHECK_OK(tern_model_file_open(path_of(from), NULL, &w.file));
        walk(&w, troubles[i]);
        tern_model_file_close(w.file);
        tern_ctx_destroy(w.ctx);
        CHECK_EQ(rmdir(path_of("walk")), 0);
    }
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

static void make_llama(void)
{
    tern_model_shape shape;
    tern_synth_options dense = tern_synth_options_default();
    make_shape("llama", &shape);
    dense.type = TERN_STORED_F32;
    CHECK_OK(tern_model_synth(path_of("llama.gguf"), &shape, &dense));
}

TEST(a_random_model)
{
    walk_both(NULL, "random.gguf", 0);
}

TEST(numbers_to_gguf)
{
    make_llama();
    walk_both("llama.gguf", "out.gguf", 0);
}

TEST(numbers_to_llama2c)
{
    make_llama();
    walk_both("llama.gguf", "out.bin", 0);
}

TEST(ternary_codes_that_are_read_back)
{
    tern_model_shape shape;
    make_shape("bitnet-b1.58", &shape);
    CHECK_OK(tern_model_synth(path_of("bitnet.gguf"), &shape, NULL));
    walk_both("bitnet.gguf", "ternary.gguf", 0);
}

TEST(several_safetensors)
{
    tern_ctx *ctx;
    tern_model_file *file;
    make_llama();
    set_up(&ctx);
    CHECK_EQ(mkdir(path_of("probe"), 0777), 0);
    CHECK_OK(tern_model_file_open(path_of("llama.gguf"), NULL, &file));
    const tern_status status = tern_model_convert(ctx, file, path_of("probe/model.safetensors"), NULL);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
    if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE)
        SKIP("this build has no libjansson or no PCRE2, which safetensors and their tokenizer need");
    CHECK_OK(status);
    walk_both("llama.gguf", "model.safetensors", 1 << 19);
}
