/* test_llama2c.c - llama2.c's .bin: which bytes are which tensor, and what is no such file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "harness.h"

static bytes b;

/* dim 8, hidden 12, 2 layers, 2 heads, 1 kv head, vocabulary 5, context 3; element i of the file is the float i. */
static void put_model(int32_t vocabulary)
{
    b.n = 0;
    put(&b, (int32_t[]){8, 12, 2, 2, 1, vocabulary, 3}, 28);
    int n = 5 * 8 + 2 * (8 + 64 + 32 + 32 + 64 + 8 + 3 * 96) + 8 + 3 * 4 + (vocabulary < 0 ? 40 : 0);
    for (int i = 0; i < n; i++)
        put_f32(&b, (float)i);
}

static void check_tensor(const tern_model_file *file, const char *name, int rank, int64_t rows,
                         int64_t columns, float first)
{
    tern_file_tensor t;
    float value;
    int i;
    CHECK_OK(tern_model_file_find(file, name, &i));
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    CHECK(t.rank == rank && t.shape[0] == rows && (rank == 1 || t.shape[1] == columns));
    CHECK_OK(tern_model_file_read(file, i, 0, &value, sizeof value));
    CHECK(value == first);
}

TEST(places)
{
    tern_model_file *file;
    int64_t i;
    const char *text;
    int at;
    put_model(-5);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_EQ(tern_model_file_format(file), TERN_FILE_LLAMA2C);
    CHECK_EQ(tern_model_file_count(file), 3 + 2 * 9);
    check_tensor(file, "token_embd.weight", 2, 5, 8, 0);
    check_tensor(file, "blk.0.attn_norm.weight", 1, 8, 0, 40);
    check_tensor(file, "blk.1.attn_norm.weight", 1, 8, 0, 48);
    check_tensor(file, "blk.0.attn_q.weight", 2, 8, 8, 56);
    check_tensor(file, "blk.1.attn_k.weight", 2, 4, 8, 56 + 128 + 32);
    check_tensor(file, "blk.0.attn_v.weight", 2, 4, 8, 56 + 128 + 64);
    check_tensor(file, "blk.0.attn_output.weight", 2, 8, 8, 56 + 128 + 128);
    check_tensor(file, "blk.0.ffn_norm.weight", 1, 8, 0, 440);
    check_tensor(file, "blk.0.ffn_gate.weight", 2, 12, 8, 456);
    check_tensor(file, "blk.0.ffn_down.weight", 2, 8, 12, 648);
    check_tensor(file, "blk.1.ffn_up.weight", 2, 12, 8, 840 + 96);
    check_tensor(file, "output_norm.weight", 1, 8, 0, 1032);
    check_tensor(file, "output.weight", 2, 5, 8, 1052);
    CHECK_OK(tern_model_file_get_int(file, "llama.vocab_size", &i));
    CHECK_EQ(i, 5);
    CHECK_OK(tern_model_file_get_string(file, "tern.rope_style", &text));
    CHECK_STR(text, "interleaved");
    tern_model_file_close(file);
    put_model(5);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_file_find(file, "output.weight", &at), TERN_NOT_FOUND);
    tern_model_file_close(file);
}

TEST(hostile)
{
    put_model(5);
    b.n--;
    REFUSE(&b, TERN_FORMAT, "not a model file");
    static const int32_t bad[] = {0, -1, INT32_MIN, INT32_MAX, 3, 7};
    for (int field = 0; field < 7; field++) {
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            put_model(5);
            if (field == 6 && bad[k] == 3)
                continue; /* what it is */
            memcpy(b.data + 4 * field, &bad[k], 4);
            REFUSE(&b, TERN_FORMAT, "not a model file");
        }
    }
    b.n = 0, put(&b, (int32_t[]){INT32_MAX - 1, INT32_MAX, 4096, 1, 1, INT32_MAX, INT32_MAX}, 28);
    REFUSE(&b, TERN_FORMAT, "not a model file");
    put_model(5);
    for (size_t whole = b.n, n = 1; n < whole; n += 7) {
        b.n = n;
        REFUSE(&b, TERN_FORMAT, "not a model file");
    }
}

/* The same model in version 1 or 2; int8 are 1 to 100 again and again, scale i of a tensor is (i + 1) / 8. */
static void put_new_model(int version, bool tied, int32_t group)
{
    static const int matrices[] = {40, 64, 64, 32, 32, 32, 32, 64, 64, 96, 96, 96, 96, 96, 96, 40};
    b.n = 0;
    put(&b, "24ka", 4);
    put(&b, (int32_t[]){version, 8, 12, 2, 2, 1, 5, 3}, 32);
    put(&b, &(uint8_t){tied}, 1);
    put(&b, &group, 4); /* version 1 has zeros here, which nobody reads */
    put_zeros(&b, 256 - b.n);
    for (int i = 0; i < 2 * 8 + 2 * 8 + 8; i++)
        put_f32(&b, (float)i);
    for (int m = 0, at = 40; m < (tied ? 15 : 16); at += matrices[m++]) {
        for (int i = 0; i < matrices[m]; i++) {
            if (version == 1)
                put_f32(&b, (float)(at + i));
            else
                put(&b, &(int8_t){(int8_t)(i % 100 + 1)}, 1);
        }
        for (int i = 0; version == 2 && i < matrices[m] / group; i++)
            put_f32(&b, (float)(i + 1) / 8);
    }
}

TEST(version_1)
{
    tern_model_file *file;
    int at;
    put_new_model(1, false, 0);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_EQ(tern_model_file_version(file), 1);
    check_tensor(file, "blk.1.attn_norm.weight", 1, 8, 0, 8);
    check_tensor(file, "blk.0.ffn_norm.weight", 1, 8, 0, 16);
    check_tensor(file, "output_norm.weight", 1, 8, 0, 32);
    check_tensor(file, "token_embd.weight", 2, 5, 8, 40);
    check_tensor(file, "blk.0.attn_q.weight", 2, 8, 8, 80);
    check_tensor(file, "blk.1.ffn_down.weight", 2, 8, 12, 80 + 384 + 3 * 96);
    check_tensor(file, "blk.0.ffn_up.weight", 2, 12, 8, 80 + 384 + 4 * 96);
    check_tensor(file, "output.weight", 2, 5, 8, 80 + 384 + 6 * 96);
    tern_model_file_close(file);
    put_new_model(1, true, 0);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_file_find(file, "output.weight", &at), TERN_NOT_FOUND);
    tern_model_file_close(file);
}

/* Groups of 8 end inside the rows of 12 of a projection. */
TEST(version_2)
{
    tern_model_file *file;
    tern_ctx *ctx;
    static const char *const names[] = {"token_embd.weight", "blk.1.ffn_down.weight", "output.weight"};
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int group = 1; group <= 8; group *= 2) {
        put_new_model(2, false, group);
        CHECK_OK(open_bytes(&b, &file));
        CHECK_EQ(tern_model_file_version(file), 2);
        check_tensor(file, "output_norm.weight", 1, 8, 0, 32);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            tern_tensor *x, *y;
            tern_file_tensor t;
            int i;
            CHECK_OK(tern_model_file_find(file, names[k], &i));
            CHECK_OK(tern_model_file_tensor(file, i, &t));
            CHECK(t.stored == TERN_STORED_I8_GROUPS);
            CHECK_OK(tern_model_file_load_f32(ctx, file, i, &x));
            CHECK_OK(tern_model_file_load(ctx, file, i, &y));
            CHECK_EQ(tern_numel(x), k == 1 ? 96 : 40);
            for (int e = 0; e < tern_numel(x); e++)
                CHECK(tern_data_f32(x)[e] == (float)(e % 100 + 1) * ((float)(e / group + 1) / 8));
            CHECK(memcmp(tern_data(x), tern_data(y), tern_nbytes(x)) == 0);
        }
        tern_model_file_close(file);
    }
    tern_ctx_destroy(ctx);
}

TEST(hostile_new_versions)
{
    static const int32_t bad[] = {0, -1, INT32_MIN, INT32_MAX, 3, 7};
    for (int version = 1; version <= 2; version++) {
        for (int field = 0; field < 7; field++) {
            for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
                put_new_model(version, true, 8);
                memcpy(b.data + 8 + 4 * field, &bad[k], 4);
                if (field == 6 && bad[k] > 0)
                    continue; /* the context takes no bytes here */
                REFUSE(&b, TERN_FORMAT, "");
            }
        }
        put_new_model(version, true, 8);
        b.data[36] = 2;
        REFUSE(&b, TERN_FORMAT, "neither 0 nor 1");
        put_new_model(version, true, 8);
        for (size_t whole = b.n, n = 28; n < whole; n++) {
            b.n = n;
            REFUSE(&b, TERN_FORMAT, "");
        }
        b.n++;
    }
    static const int32_t groups[] = {0, -8, INT32_MIN, INT32_MAX, 3, 16, 64};
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
        put_new_model(2, true, 8);
        memcpy(b.data + 37, &groups[k], 4);
        REFUSE(&b, TERN_FORMAT, groups[k] > 0 ? "whole groups" : "no model can have these sizes");
    }
    static const int32_t versions[] = {0, 3, -1, INT32_MAX};
    for (size_t k = 0; k < sizeof versions / sizeof *versions; k++) {
        put_new_model(1, true, 8);
        memcpy(b.data + 4, &versions[k], 4);
        REFUSE(&b, TERN_UNSUPPORTED, "versions 0, 1 and 2 can be read");
    }
}

/* The same model as somebody else stored it in GGUF. */
TEST(foreign_model_in_two_formats)
{
    tern_model_file *bin, *gguf;
    tern_ctx *ctx;
    if (!shared_path("stories260K/stories260K.bin"))
        SKIP(NO_SHARED("stories260K/stories260K.bin"));
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_model_file_open(shared_path("stories260K/stories260K.bin"), NULL, &bin));
    CHECK_OK(tern_model_file_open(shared_path("stories260K/stories260K-f32.gguf"), NULL, &gguf));
    for (int i = 0; i < tern_model_file_count(bin); i++) {
        tern_file_tensor t;
        tern_tensor *x, *y;
        int at;
        CHECK_OK(tern_model_file_tensor(bin, i, &t));
        CHECK_OK(tern_model_file_find(gguf, t.name, &at));
        CHECK_OK(tern_model_file_load(ctx, bin, i, &x));
        CHECK_OK(tern_model_file_load(ctx, gguf, at, &y));
        CHECK_EQ(tern_nbytes(x), tern_nbytes(y));
        CHECK(memcmp(tern_data(x), tern_data(y), tern_nbytes(x)) == 0);
    }
    for (int i = 0; i < tern_model_file_meta_count(bin); i++) {
        tern_meta_info info;
        double x, y;
        CHECK_OK(tern_model_file_meta(bin, i, &info));
        if (tern_model_file_meta_float(bin, i, 0, &x) != TERN_OK)
            continue;
        CHECK_OK(tern_model_file_get_float(gguf, info.key, &y));
        CHECK_NEAR(x, y, 1e-9);
    }
    tern_model_file_close(bin);
    tern_model_file_close(gguf);
    tern_ctx_destroy(ctx);
}

/* The same model as somebody else quantised it: every weight is half a step of its group away at most. */
TEST(foreign_model_in_int8)
{
    enum { GROUP = 8 };
    tern_model_file *whole, *int8;
    tern_ctx *ctx;
    int grouped = 0;
    if (!shared_path("stories260K/stories260K-q8.bin"))
        SKIP(NO_SHARED("stories260K/stories260K-q8.bin"));
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_model_file_open(shared_path("stories260K/stories260K.bin"), NULL, &whole));
    CHECK_OK(tern_model_file_open(shared_path("stories260K/stories260K-q8.bin"), NULL, &int8));
    CHECK_EQ(tern_model_file_count(int8), tern_model_file_count(whole));
    for (int i = 0; i < tern_model_file_count(int8); i++) {
        tern_file_tensor t;
        tern_tensor *x, *y;
        int at;
        CHECK_OK(tern_model_file_tensor(int8, i, &t));
        CHECK_OK(tern_model_file_find(whole, t.name, &at));
        CHECK_OK(tern_model_file_load_f32(ctx, int8, i, &x));
        CHECK_OK(tern_model_file_load_f32(ctx, whole, at, &y));
        CHECK_EQ(tern_numel(x), tern_numel(y));
        const float *got = tern_data_f32(x), *want = tern_data_f32(y);
        const int64_t group = t.stored == TERN_STORED_I8_GROUPS ? GROUP : 1;
        grouped += group > 1;
        for (int64_t g = 0; g < tern_numel(x); g += group) {
            float most = 0;
            for (int64_t k = g; k < g + group; k++)
                most = fmaxf(most, fabsf(want[k]));
            for (int64_t k = g; k < g + group; k++)
                CHECK(fabsf(got[k] - want[k]) <= (group > 1 ? most / 127 * 0.5001f : 0));
        }
    }
    CHECK_EQ(grouped, 1 + 5 * 7);
    tern_model_file_close(whole);
    tern_model_file_close(int8);
    tern_ctx_destroy(ctx);
}
