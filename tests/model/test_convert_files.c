/* test_convert_files.c - files of conversions: they appear whole or not at all, under no name that is taken, in parts that are no larger
 * than they may be, and are read back before they do; llama2.c's. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "conversions.h"

TEST(the_model_itself_is_not_overwritten)
{
    tern_model_shape shape;
    struct stat before, after;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("itself.gguf"), &shape, NULL));
    unlink(path_of("link.gguf"));
    CHECK(symlink("itself.gguf", path_of("link.gguf")) == 0);
    CHECK(stat(path_of("itself.gguf"), &before) == 0);
    CHECK_STATUS(convert("itself.gguf", "itself.gguf", "tq2_0", NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(convert("itself.gguf", "link.gguf", "tq2_0", NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(convert("link.gguf", "itself.gguf", "tq2_0", NULL), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "another name"));
    CHECK(stat(path_of("itself.gguf"), &after) == 0 && before.st_ino == after.st_ino);
    tern_ctx_destroy(ctx);
}

static bool stop_late(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    return done < total / 10 * 9; /* while it is read back */
}

/* Before anything is written weights are looked at: that is told, too. */
static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    DIR *all = opendir(path_of("early"));
    int n = 0;
    while (all && readdir(all))
        n++;
    *(bool *)user = all && n == 2 && done > 0 && done < total; /* "." and "..": no temporary file either */
    closedir(all);
    return false;
}

TEST(planning_is_told_and_can_be_stopped)
{
    tern_model_shape shape;
    bool early = false;
    tern_convert_options o = tern_convert_options_default();
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("first.gguf"), &shape, NULL));
    o.progress = stop_at_once;
    o.user = &early;
    CHECK(mkdir(path_of("early"), 0777) == 0);
    CHECK_STATUS(convert("first.gguf", "early/new.gguf", "tq2_0", &o), TERN_CANCELLED);
    CHECK(early);
    CHECK(rmdir(path_of("early")) == 0);
    tern_ctx_destroy(ctx);
}

TEST(stopping_leaves_nothing)
{
    tern_model_shape shape;
    tern_convert_options o = tern_convert_options_default();
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("first.gguf"), &shape, NULL));
    o.progress = stop_late;
    CHECK_STATUS(convert("first.gguf", "stopped.gguf", "tq2_0", &o), TERN_CANCELLED);
    CHECK(access(path_of("stopped.gguf"), F_OK) != 0);
    mkdir(path_of("stopped"), 0777);
    tern_status status = convert("first.gguf", "stopped/model.safetensors", NULL, &o);
    CHECK(status == TERN_CANCELLED || status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE);
    CHECK(rmdir(path_of("stopped")) == 0); /* it is empty */
    tern_ctx_destroy(ctx);
}

/* Files in a folder whose names have `part` in them. */
static int count_files(const char *folder, const char *part)
{
    DIR *all = opendir(path_of(folder));
    int n = 0;
    for (struct dirent *entry; all && (entry = readdir(all));)
        n += entry->d_name[0] != '.' && strstr(entry->d_name, part) ? 1 : 0;
    if (all)
        closedir(all);
    return n;
}

/* A byte of the file that is being written becomes another, once, when that is opened to be read back. */
typedef struct flip {
    const char *folder;
    uint64_t offset; /* of the byte */
    uint8_t value;
    int opened, flipped;
} flip;

static bool flip_byte(void *user, const char *operation)
{
    flip *f = user;
    if (strcmp(operation, "open") != 0 || f->opened++ == 0) /* the first makes it */
        return true;
    char path[8192];
    DIR *all = opendir(f->folder);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        snprintf(path, sizeof path, "%s/%s", f->folder, entry->d_name);
        FILE *file = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") ? fopen(path, "r+b") : NULL;
        if (file && fseek(file, (long)f->offset, SEEK_SET) == 0)
            f->flipped += fputc(f->value, file) == f->value;
        if (file)
            fclose(file);
    }
    if (all)
        closedir(all);
    return true;
}

/* What is written is compared with what was read: a conversion that ruins codes or a scale would not pass. */
TEST(what_was_not_written_right_is_found)
{
    static const char *const names[] = {"blk.0.ffn_up.weight", "blk.0.ffn_up.scale"};
    tern_model_shape shape;
    tern_model_file *file, *good;
    tern_convert_options o = tern_convert_options_default();
    set_up();
    o.type = TERN_STORED_TQ2_0;
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("first.gguf"), &shape, NULL));
    CHECK_OK(convert("first.gguf", "good.gguf", "tq2_0", NULL));
    CHECK_EQ(mkdir(path_of("flipped"), 0777), 0);
    CHECK_OK(tern_model_file_open(path_of("first.gguf"), NULL, &file));
    CHECK_OK(tern_model_file_open(path_of("good.gguf"), NULL, &good));
    for (int k = 0; k < 2; k++) {
        char folder[4096];
        tern_file_tensor t;
        uint8_t byte;
        int at;
        CHECK(harness_path(folder, sizeof folder, "flipped"));
        CHECK_OK(tern_model_file_find(good, names[k], &at));
        CHECK_OK(tern_model_file_tensor(good, at, &t));
        CHECK_OK(tern_model_file_read(good, at, 0, &byte, 1));
        /* codes of four zeros or four ones; another last bit of the scale */
        flip f = {folder, t.offset, k ? byte ^ 1 : byte == 0x55 ? 0xaa : 0x55, 0, 0};
        tern__file_set_gate(flip_byte, &f);
        tern_status status = tern_model_convert(ctx, file, path_of("flipped/new.gguf"), &o);
        tern__file_set_gate(NULL, NULL);
        CHECK_EQ(f.flipped, 1);
        CHECK_STATUS(status, TERN_INTERNAL);
        CHECK(strstr(tern_last_error(), "read back with other codes or scales") &&
              strstr(tern_last_error(), names[0]));
        CHECK_EQ(count_files("flipped", ""), 0);
    }
    tern_model_file_close(file);
    tern_model_file_close(good);
    CHECK(rmdir(path_of("flipped")) == 0); /* no temporary file either */
    tern_ctx_destroy(ctx);
}

/* Can safetensors be written, and read back? */
static bool has_safetensors(void)
{
    tern_model_shape shape;
    mkdir(path_of("probe"), 0777);
    if (tern_model_shape_find("tiny", &shape) != TERN_OK ||
        tern_model_synth(path_of("probe.gguf"), &shape, NULL) != TERN_OK)
        return true; /* the test will see it */
    tern_status status = convert("probe.gguf", "probe/model.safetensors", NULL, NULL);
    return status != TERN_UNSUPPORTED && status != TERN_UNAVAILABLE;
}

TEST(several_files)
{
    tern_model_shape shape;
    tern_convert_options o = tern_convert_options_default();
    tern_model_file *file;
    int compared = 0;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("whole.gguf"), &shape, NULL));
    o.shard_bytes = 100000;
    CHECK_STATUS(convert("whole.gguf", "parts.gguf", NULL, &o), TERN_INVALID_ARGUMENT);
    if (!has_safetensors()) {
        tern_ctx_destroy(ctx);
        SKIP("this build has no libjansson or no PCRE2");
    }
    CHECK_EQ(mkdir(path_of("shards"), 0777), 0);
    o.progress = stop_late;
    CHECK_STATUS(convert("whole.gguf", "shards/model.safetensors", NULL, &o), TERN_CANCELLED);
    CHECK_EQ(count_files("shards", ""), 0);
    o.progress = NULL;
    CHECK_OK(convert("whole.gguf", "shards/model.safetensors", NULL, &o));
    CHECK_EQ(count_files("shards", "-of-00005.safetensors"), 5);
    CHECK_EQ(count_files("shards", "model.safetensors.index.json"), 1);
    CHECK_STATUS(convert("whole.gguf", "shards/model.safetensors", NULL, &o), TERN_STATE);
    CHECK(strstr(tern_last_error(), "is there already"));
    CHECK_EQ(count_files("shards", "-of-00005.safetensors"), 5);
    CHECK_OK(tern_model_file_open(path_of("shards"), NULL, &file));
    CHECK_EQ(tern_model_file_parts(file), 6);
    for (int i = 1; i < 6; i++) { /* no part is larger than it may be, unless it has one tensor */
        uint64_t sum = 0;
        int tensors = 0;
        for (int k = 0; k < tern_model_file_count(file); k++) {
            tern_file_tensor t;
            CHECK_OK(tern_model_file_tensor(file, k, &t));
            tensors += t.part == i;
            sum += t.part == i ? t.bytes : 0;
        }
        CHECK(sum <= o.shard_bytes || tensors == 1);
    }
    tern_model_file_close(file);
    check_same("whole.gguf", "shards", &compared);
    CHECK_EQ(compared, 14);
    CHECK_OK(convert("shards", "again.gguf", NULL, NULL));
    check_same("whole.gguf", "again.gguf", &compared);
    o.shard_bytes = 1 << 30; /* one is enough then */
    CHECK_EQ(mkdir(path_of("one"), 0777), 0);
    CHECK_OK(convert("whole.gguf", "one/model.safetensors", NULL, &o));
    CHECK(count_files("one", "index") == 0 && count_files("one", "model.safetensors") == 1);
    tern_ctx_destroy(ctx);
}

/* f32 LLaMAs go to llama2.c's format and back; what that cannot say is refused. */
TEST(llama2c)
{
    tern_model_shape shape;
    tern_synth_options dense = tern_synth_options_default();
    tern_convert_options o = tern_convert_options_default();
    tern_model_file *a, *c;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("bitnet.gguf"), &shape, NULL));
    CHECK_STATUS(convert("bitnet.gguf", "no.bin", NULL, NULL), TERN_UNSUPPORTED);
    shape.architecture = "llama";
    dense.type = dense.embedding = TERN_STORED_F16;
    CHECK_OK(tern_model_synth(path_of("base.gguf"), &shape, &dense));
    CHECK_STATUS(convert("base.gguf", "no.bin", NULL, NULL), TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "base of rotation is 500000"));
    shape.rope_base = 10000;
    CHECK_OK(tern_model_synth(path_of("tuned.gguf"), &shape, NULL)); /* ternary layers */
    CHECK_STATUS(convert("tuned.gguf", "no.bin", NULL, NULL), TERN_DTYPE);
    /* layers, the table, both or neither may be asked for: the others are f32 all the same */
    for (int round = 0; round < 4; round++) {
        const bool tied = round % 2;
        dense.head = tied ? TERN_STORED_AS_IS : TERN_STORED_F32;
        CHECK_OK(tern_model_synth(path_of("l.gguf"), &shape, &dense));
        CHECK_STATUS(convert("l.gguf", "no.bin", "q8_0", NULL), TERN_UNSUPPORTED);
        o.embedding = tied ? TERN_STORED_F32 : TERN_STORED_AS_IS;
        CHECK_OK(convert("l.gguf", "l.bin", round >= 2 ? "f32" : NULL, &o));
        CHECK_OK(convert("l.bin", "back.gguf", NULL, NULL));
        CHECK_OK(tern_model_file_open(path_of("l.gguf"), NULL, &a));
        CHECK_OK(tern_model_file_open(path_of("back.gguf"), NULL, &c));
        CHECK_EQ(tern_model_file_count(a), tern_model_file_count(c));
        for (int i = 0; i < tern_model_file_count(a); i++) {
            tern_file_tensor t;
            int k;
            CHECK_OK(tern_model_file_tensor(a, i, &t));
            CHECK_OK(tern_model_file_find(c, t.name, &k));
            TERN_SCOPE(ctx) {
                tern_tensor *x, *y;
                CHECK_OK(tern_model_file_load_f32(ctx, a, i, &x));
                CHECK_OK(tern_model_file_load_f32(ctx, c, k, &y));
                CHECK_EQ(tern_nbytes(x), tern_nbytes(y));
                CHECK(memcmp(tern_data(x), tern_data(y), tern_nbytes(x)) == 0);
            }
        }
        tern_model_file_close(a);
        tern_model_file_close(c);
    }
    CHECK(access(path_of("no.bin"), F_OK) != 0);
    tern_ctx_destroy(ctx);
}
