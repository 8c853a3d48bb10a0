/* test_null_files.c - model files with NULL for each pointer in turn. */
#include <stdio.h>

#include "null_arguments.h"

static tern_ctx *ctx;
static tern_model_file *file;

/* A file with one entry of metadata and one tensor. */
static void set_up(void)
{
    static const char content[] = "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                                  "\1\0\0\0\0\0\0\0k\0\0\0\0\7"
                                  "\1\0\0\0\0\0\0\0x\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    char path[4096];
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK(harness_path(path, sizeof path, "null.gguf"));
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(content, 1, sizeof content - 1, out) == sizeof content - 1 && fclose(out) == 0);
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    tern_scope_open(ctx);
}

static void tear_down(void)
{
    tern_scope_close(ctx);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

TEST(opening_and_looking)
{
    set_up();
    CHECK(!tern_model_file_options_default().no_map);
    REFUSED(tern_model_file_open(NULL, NULL, &o.model_file));
    REFUSED(tern_model_file_open("x", NULL, NULL));
    REFUSED(tern_model_file_open_memory(NULL, 1, "x", NULL, &o.model_file));
    REFUSED(tern_model_file_open_memory("x", 1, "x", NULL, NULL));
    QUIET(tern_model_file_close(NULL));
    NEUTRAL(tern_model_file_format(NULL), TERN_FILE_FORMAT_COUNT);
    CHECK(tern_file_format_name(TERN_FILE_GGUF) != NULL);
    NEUTRAL(tern_model_file_version(NULL), 0);
    NEUTRAL(tern_model_file_bytes(NULL), 0);
    NEUTRAL(tern_model_file_in_memory(NULL), false);
    NEUTRAL(tern_model_file_parts(NULL), 0);
    NEUTRAL(tern_model_file_part(NULL, 0), NULL);
    NEUTRAL(tern_model_file_count(NULL), 0);
    REFUSED(tern_model_file_tensor(NULL, 0, &o.file_tensor));
    REFUSED(tern_model_file_tensor(file, 0, NULL));
    REFUSED(tern_model_file_find(NULL, "x", &o.number));
    REFUSED(tern_train_shape_of(file, NULL));
    REFUSED(tern_trainer_import(NULL, file));
    REFUSED(tern_model_file_find(file, NULL, &o.number));
    REFUSED(tern_model_file_find(file, "x", NULL));
    CHECK(tern_stored_get(TERN_STORED_F32) != NULL);
    CHECK(!tern_stored_keeps_ternary((tern_stored)-1) && !tern_stored_keeps_ternary(TERN_STORED_COUNT));
    NEUTRAL(tern_model_file_runs_ternary(NULL, 0), false);
    NEUTRAL(tern_model_file_vocabulary(NULL), 0);
    REFUSED(tern_stored_parse(NULL, &o.stored));
    REFUSED(tern_stored_parse("f32", NULL));
    tear_down();
}

TEST(loading)
{
    char buffer[4];
    set_up();
    REFUSED(tern_model_file_load(NULL, file, 0, &o.tensors[0]));
    REFUSED(tern_model_file_load(ctx, NULL, 0, &o.tensors[0]));
    REFUSED(tern_model_file_load(ctx, file, 0, NULL));
    REFUSED(tern_model_file_load_f32(NULL, file, 0, &o.tensors[0]));
    REFUSED(tern_model_file_load_f32(ctx, NULL, 0, &o.tensors[0]));
    REFUSED(tern_model_file_load_f32(ctx, file, 0, NULL));
    REFUSED(tern_model_file_load_ternary(NULL, file, 0, TERN_T2, 0, &o.tensors[0], &o.tensors[1]));
    REFUSED(tern_model_file_load_ternary(ctx, NULL, 0, TERN_T2, 0, &o.tensors[0], &o.tensors[1]));
    REFUSED(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, 0, NULL, &o.tensors[1]));
    REFUSED(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, 0, &o.tensors[0], NULL));
    REFUSED(tern_model_file_read(NULL, 0, 0, buffer, 4));
    REFUSED(tern_model_file_read(file, 0, 0, NULL, 4));
    tear_down();
}

TEST(metadata)
{
    set_up();
    NEUTRAL(tern_model_file_meta_count(NULL), 0);
    REFUSED(tern_model_file_meta(NULL, 0, &o.meta_info));
    REFUSED(tern_model_file_meta(file, 0, NULL));
    REFUSED(tern_model_file_meta_find(NULL, "k", &o.number));
    REFUSED(tern_model_file_meta_find(file, NULL, &o.number));
    REFUSED(tern_model_file_meta_find(file, "k", NULL));
    CHECK(tern_meta_type_name(TERN_META_U8) != NULL);
    REFUSED(tern_model_file_meta_int(NULL, 0, 0, &o.ints[0]));
    REFUSED(tern_model_file_meta_int(file, 0, 0, NULL));
    REFUSED(tern_model_file_meta_float(NULL, 0, 0, &o.real));
    REFUSED(tern_model_file_meta_float(file, 0, 0, NULL));
    REFUSED(tern_model_file_meta_bool(NULL, 0, 0, &o.flag));
    REFUSED(tern_model_file_meta_bool(file, 0, 0, NULL));
    REFUSED(tern_model_file_meta_string(NULL, 0, 0, &o.constant_text, &o.size));
    REFUSED(tern_model_file_meta_string(file, 0, 0, NULL, &o.size));
    REFUSED(tern_model_file_meta_string(file, 0, 0, &o.constant_text, NULL));
    REFUSED(tern_model_file_get_int(NULL, "k", &o.ints[0]));
    REFUSED(tern_model_file_get_int(file, NULL, &o.ints[0]));
    REFUSED(tern_model_file_get_int(file, "k", NULL));
    REFUSED(tern_model_file_get_float(NULL, "k", &o.real));
    REFUSED(tern_model_file_get_float(file, NULL, &o.real));
    REFUSED(tern_model_file_get_float(file, "k", NULL));
    REFUSED(tern_model_file_get_bool(NULL, "k", &o.flag));
    REFUSED(tern_model_file_get_bool(file, NULL, &o.flag));
    REFUSED(tern_model_file_get_bool(file, "k", NULL));
    REFUSED(tern_model_file_get_string(NULL, "k", &o.constant_text));
    REFUSED(tern_model_file_get_string(file, NULL, &o.constant_text));
    REFUSED(tern_model_file_get_string(file, "k", NULL));
    tear_down();
}

TEST(writing)
{
    char path[4096];
    tern_model_shape shape;
    CHECK(harness_path(path, sizeof path, "null.gguf"));
    CHECK_OK(tern_model_shape_get(0, &shape));
    CHECK_EQ(tern_synth_options_default().type, TERN_STORED_I2_S);
    REFUSED(tern_model_shape_get(0, NULL));
    REFUSED(tern_model_shape_find(NULL, &o.model_shape));
    REFUSED(tern_model_shape_find("tiny", NULL));
    REFUSED(tern_model_synth(NULL, &shape, NULL));
    REFUSED(tern_model_synth(path, NULL, NULL));
    set_up();
    CHECK_EQ(tern_convert_options_default().type, TERN_STORED_AS_IS);
    REFUSED(tern_model_convert(NULL, file, path, NULL));
    REFUSED(tern_model_convert(ctx, NULL, path, NULL));
    REFUSED(tern_model_convert(ctx, file, NULL, NULL));
    tear_down();
}
