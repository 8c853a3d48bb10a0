/* test_llama2c.c - llama2.c's .bin: which bytes are which tensor, and what is no such file. */
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
    b.n = 0, put(&b, "24ka\2\0\0\0", 8), put_zeros(&b, 100);
    REFUSE(&b, TERN_UNSUPPORTED, "version 2");
    put_model(5);
    for (size_t whole = b.n, n = 1; n < whole; n += 7) {
        b.n = n;
        REFUSE(&b, TERN_FORMAT, "not a model file");
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
