/* test_gguf.c - GGUF files that are right: everything in them comes out as it went in. */
#include <math.h>
#include <string.h>

#include <tern/tokenizer.h>

#include "bytes.h"
#include "harness.h"

static bytes b;
static tern_ctx *ctx;

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    b.n = 0;
    CHECK_OK(tern_ctx_create(&options, &ctx));
}

/* One entry of each type, and arrays. */
static void put_all_types(void)
{
    put_gguf(&b, 3, 0, 17);
    put_meta(&b, "u8", TERN_META_U8), put_u8(&b, 200);
    put_meta(&b, "i8", TERN_META_I8), put_u8(&b, 0x80);
    put_meta(&b, "u16", TERN_META_U16), put(&b, &(uint16_t){65535}, 2);
    put_meta(&b, "i16", TERN_META_I16), put(&b, &(int16_t){-2}, 2);
    put_meta_u32(&b, "u32", 0xffffffff);
    put_meta(&b, "i32", TERN_META_I32), put_u32(&b, 0xffffffff);
    put_meta(&b, "u64", TERN_META_U64), put_u64(&b, UINT64_MAX);
    put_meta(&b, "i64", TERN_META_I64), put_u64(&b, UINT64_MAX);
    put_meta(&b, "f32", TERN_META_F32), put_f32(&b, 1e-5f);
    put_meta(&b, "f64", TERN_META_F64), put(&b, &(double){0.1}, 8);
    put_meta(&b, "bool", TERN_META_BOOL), put_u8(&b, 1);
    put_meta_text(&b, "str", "text");
    put_meta(&b, "i8s", 9), put_u32(&b, TERN_META_I8), put_u64(&b, 3), put(&b, "\xff\x00\x01", 3);
    put_meta(&b, "f32s", 9), put_u32(&b, TERN_META_F32), put_u64(&b, 2), put_f32(&b, 1), put_f32(&b, -2);
    put_meta(&b, "none", 9), put_u32(&b, TERN_META_STRING), put_u64(&b, 0);
    put_meta(&b, "strs", 9), put_u32(&b, TERN_META_STRING), put_u64(&b, 200);
    for (int i = 0; i < 200; i++) {
        put_u64(&b, (uint64_t)i % 7);
        put(&b, "abcdefg", (size_t)i % 7);
    }
    put_meta_text(&b, "last", ""); /* its zero is the byte behind the file */
}

TEST(metadata_of_every_type)
{
    set_up();
    put_all_types();
    tern_model_file *file;
    int64_t i;
    double f;
    bool flag;
    const char *text;
    CHECK_OK(open_bytes(&b, &file));
    CHECK_EQ(tern_model_file_format(file), TERN_FILE_GGUF);
    CHECK_EQ(tern_model_file_version(file), 3);
    CHECK_EQ(tern_model_file_bytes(file), b.n);
    CHECK_EQ(tern_model_file_parts(file), 1);
    CHECK_EQ(tern_model_file_meta_count(file), 17);
    static const struct {
        const char *key;
        int64_t value;
    } integers[] = {{"u8", 200},         {"i8", -128}, {"u16", 65535}, {"i16", -2},
                    {"u32", 4294967295}, {"i32", -1},  {"i64", -1}};
    for (size_t k = 0; k < sizeof integers / sizeof integers[0]; k++) {
        CHECK_OK(tern_model_file_get_int(file, integers[k].key, &i));
        CHECK_EQ(i, integers[k].value);
        CHECK_OK(tern_model_file_get_float(file, integers[k].key, &f));
        CHECK(f == (double)integers[k].value);
    }
    CHECK_STATUS(tern_model_file_get_int(file, "u64", &i), TERN_OUT_OF_RANGE);
    CHECK_OK(tern_model_file_get_float(file, "u64", &f));
    CHECK(f == 18446744073709551615.0);
    CHECK_OK(tern_model_file_get_float(file, "f32", &f));
    CHECK(f == (double)1e-5f);
    CHECK_OK(tern_model_file_get_float(file, "f64", &f));
    CHECK(f == 0.1);
    CHECK_OK(tern_model_file_get_bool(file, "bool", &flag));
    CHECK(flag);
    CHECK_OK(tern_model_file_get_string(file, "str", &text));
    CHECK_STR(text, "text");
    CHECK_OK(tern_model_file_get_string(file, "last", &text));
    CHECK_STR(text, "");
    CHECK_STATUS(tern_model_file_get_int(file, "f32", &i), TERN_DTYPE);
    CHECK_STATUS(tern_model_file_get_int(file, "str", &i), TERN_DTYPE);
    CHECK_STATUS(tern_model_file_get_int(file, "i8s", &i), TERN_DTYPE);
    CHECK_STATUS(tern_model_file_get_string(file, "u8", &text), TERN_DTYPE);
    CHECK_STATUS(tern_model_file_get_bool(file, "u8", &flag), TERN_DTYPE);
    CHECK_STATUS(tern_model_file_get_float(file, "str", &f), TERN_DTYPE);
    CHECK_STATUS(tern_model_file_get_float(file, "absent", &f), TERN_NOT_FOUND);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* A name that only looks like another. */
TEST(texts_with_zeros)
{
    tern_model_file *file;
    const char *text;
    b.n = 0;
    put_gguf(&b, 3, 0, 1);
    put_meta(&b, "general.architecture", TERN_META_STRING);
    put_u64(&b, 6);
    put(&b, "llama", 6);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_file_get_string(file, "general.architecture", &text), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "'general.architecture' has a byte of zero"));
    tern_model_file_close(file);
}

/* A type of tokens that nobody knows is refused by its number. */
TEST(types_of_tokens)
{
    tern_model_file *file;
    tern_tokenizer *tokenizer;
    b.n = 0;
    put_gguf(&b, 3, 0, 3);
    put_meta_text(&b, "tokenizer.ggml.model", "llama");
    put_meta(&b, "tokenizer.ggml.tokens", 9);
    put_u32(&b, TERN_META_STRING), put_u64(&b, 1), put_text(&b, "a");
    put_meta(&b, "tokenizer.ggml.token_type", 9);
    put_u32(&b, TERN_META_I32), put_u64(&b, 1), put_u32(&b, 99);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_tokenizer_from_file(file, NULL, &tokenizer), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "token 0 has type 99; types are 1 to 6"));
    tern_model_file_close(file);
}

TEST(arrays_of_metadata)
{
    set_up();
    put_all_types();
    tern_model_file *file;
    tern_meta_info info;
    int m;
    int64_t i;
    double f;
    const char *text;
    size_t length;
    CHECK_OK(open_bytes(&b, &file));
    CHECK_OK(tern_model_file_meta_find(file, "i8s", &m));
    CHECK_OK(tern_model_file_meta(file, m, &info));
    CHECK(info.is_array && info.type == TERN_META_I8 && info.count == 3);
    CHECK_OK(tern_model_file_meta_int(file, m, 0, &i));
    CHECK_EQ(i, -1);
    CHECK_OK(tern_model_file_meta_int(file, m, 2, &i));
    CHECK_EQ(i, 1);
    CHECK_STATUS(tern_model_file_meta_int(file, m, 3, &i), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_model_file_meta_int(file, m, -1, &i), TERN_OUT_OF_RANGE);
    CHECK_OK(tern_model_file_meta_find(file, "f32s", &m));
    CHECK_OK(tern_model_file_meta_float(file, m, 1, &f));
    CHECK(f == -2);
    CHECK_OK(tern_model_file_meta_find(file, "none", &m));
    CHECK_STATUS(tern_model_file_meta_string(file, m, 0, &text, &length), TERN_OUT_OF_RANGE);
    CHECK_OK(tern_model_file_meta_find(file, "strs", &m));
    for (int k = 199; k >= 0; k--) {
        CHECK_OK(tern_model_file_meta_string(file, m, k, &text, &length));
        CHECK_EQ(length, k % 7);
        CHECK(memcmp(text, "abcdefg", length) == 0);
    }
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* Tensors of plain types, out of order, one without elements, one of rank 0. */
static void put_plain_tensors(uint32_t version, uint32_t alignment)
{
    put_gguf(&b, version, 5, 1);
    put_meta_u32(&b, "general.alignment", alignment);
    put_tensor(&b, "second", 2, (uint64_t[]){3, 2}, 0, alignment);
    put_tensor(&b, "first", 1, (uint64_t[]){4}, 1, 0);
    put_tensor(&b, "empty", 2, (uint64_t[]){5, 0}, 0, 0);
    put_tensor(&b, "scalar", 0, NULL, 26, 2 * alignment);
    put_tensor(&b, "bf16", 1, (uint64_t[]){2}, 30, 3 * alignment);
    put_aligned(&b, alignment);
    put(&b, (uint16_t[]){0x3c00, 0xbc00, 0, 0x7bff}, 8); /* 1, -1, 0, 65504 */
    put_aligned(&b, alignment);
    for (int i = 0; i < 6; i++)
        put_f32(&b, (float)i);
    put_aligned(&b, alignment);
    put_u32(&b, 42);
    put_aligned(&b, alignment);
    put(&b, (uint16_t[]){0x3f80, 0xc000}, 4); /* 1, -2 */
}

static void check_plain_tensors(const tern_model_file *file)
{
    tern_file_tensor t;
    tern_tensor *x;
    int i;
    float raw[2];
    CHECK_EQ(tern_model_file_count(file), 5);
    CHECK_OK(tern_model_file_find(file, "second", &i));
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    CHECK(t.rank == 2 && t.shape[0] == 2 && t.shape[1] == 3 && t.bytes == 24 && t.stored == TERN_STORED_F32);
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK(tern_is_constant(x) && tern_dtype_of(x) == TERN_F32 && tern_dim(x, 0) == 2);
    CHECK(tern_data_f32(x)[5] == 5);
    CHECK_OK(tern_model_file_read(file, i, 8, raw, 8));
    CHECK(raw[0] == 2 && raw[1] == 3);
    CHECK_STATUS(tern_model_file_read(file, i, 20, raw, 8), TERN_OUT_OF_RANGE);
    CHECK_OK(tern_model_file_find(file, "first", &i));
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK_EQ(tern_dtype_of(x), TERN_F16);
    CHECK_OK(tern_model_file_load_f32(ctx, file, i, &x));
    CHECK(tern_data_f32(x)[1] == -1 && tern_data_f32(x)[3] == 65504);
    CHECK_OK(tern_model_file_find(file, "empty", &i));
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK_EQ(tern_numel(x), 0);
    CHECK_OK(tern_model_file_find(file, "scalar", &i));
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK(tern_rank(x) == 0 && tern_data_i32(x)[0] == 42);
    CHECK_OK(tern_model_file_find(file, "bf16", &i));
    CHECK_OK(tern_model_file_load_f32(ctx, file, i, &x));
    CHECK(tern_data_f32(x)[0] == 1 && tern_data_f32(x)[1] == -2);
    CHECK_STATUS(tern_model_file_find(file, "third", &i), TERN_NOT_FOUND);
    CHECK_STATUS(tern_model_file_tensor(file, 5, &t), TERN_OUT_OF_RANGE);
}

TEST(plain_tensors)
{
    static const uint32_t alignments[] = {32, 64, 4096};
    set_up();
    for (uint32_t version = 2; version <= 3; version++) {
        for (size_t k = 0; k < sizeof alignments / sizeof alignments[0]; k++) {
            tern_model_file *file;
            b.n = 0;
            put_plain_tensors(version, alignments[k]);
            CHECK_OK(open_bytes(&b, &file));
            check_plain_tensors(file);
            tern_model_file_close(file);
        }
    }
    tern_ctx_destroy(ctx);
}

TEST(tensors_outlive_their_file)
{
    tern_model_file *file;
    tern_tensor *x;
    set_up();
    put_plain_tensors(3, 32);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_OK(tern_model_file_load(ctx, file, 0, &x));
    tern_model_file_close(file);
    CHECK(tern_data_f32(x)[4] == 4);
    tern_ctx_destroy(ctx);
}

TEST(types_that_are_listed_but_not_loaded)
{
    tern_model_file *file;
    tern_tensor *x, *scales;
    set_up();
    put_gguf(&b, 3, 1, 0);
    put_tensor(&b, "q", 1, (uint64_t[]){256}, 13, 0); /* Q5_K */
    put_aligned(&b, 32);
    put_zeros(&b, 176);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_file_load(ctx, file, 0, &x), TERN_UNSUPPORTED);
    CHECK_STATUS(tern_model_file_load_f32(ctx, file, 0, &x), TERN_UNSUPPORTED);
    CHECK_STATUS(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_EXACT, &x, &scales),
                 TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "tensor 'q': Q5_K cannot be read"));
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* ---- quantised blocks, against values computed by hand from the layouts ---------------------------------------- */

/* Opens a file with one row of 256 elements of a type, from its bytes. */
static tern_model_file *one_row(uint32_t type, uint64_t elements, const uint8_t *data, size_t n)
{
    tern_model_file *file = NULL;
    b.n = 0;
    put_gguf(&b, 3, 1, 0);
    put_tensor(&b, "x", 1, &elements, type, 0);
    put_aligned(&b, 32);
    put(&b, data, n);
    if (open_bytes(&b, &file) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    return file;
}

static void check_row(uint32_t type, uint64_t elements, const uint8_t *data, size_t n, const float *wanted)
{
    tern_model_file *file = one_row(type, elements, data, n);
    tern_tensor *x;
    CHECK_OK(tern_model_file_load_f32(ctx, file, 0, &x));
    tern_tensor *blocks;
    CHECK_OK(tern_model_file_load(ctx, file, 0, &blocks));
    CHECK(tern_nbytes(blocks) == n && memcmp(tern_data(blocks), data, n) == 0);
    for (uint64_t i = 0; i < elements; i++) {
        if (tern_data_f32(x)[i] != wanted[i])
            harness_fail(__FILE__, __LINE__, "type %u: element %llu is %g, not %g", type,
                         (unsigned long long)i, (double)tern_data_f32(x)[i], (double)wanted[i]);
    }
    tern_model_file_close(file);
}

TEST(blocks_of_8_and_4_bits)
{
    uint8_t q8[34] = {0x00, 0x38}, q4[18] = {0x00, 0xc0}; /* d = 0.5, d = -2 */
    float wanted8[32], wanted4[32];
    set_up();
    for (int i = 0; i < 32; i++) {
        q8[2 + i] = (uint8_t)(int8_t)(i * 8 - 128);
        wanted8[i] = 0.5f * (float)(i * 8 - 128);
    }
    for (int i = 0; i < 16; i++) {
        q4[2 + i] = (uint8_t)(i | (15 - i) << 4);
        wanted4[i] = -2.0f * (float)(i - 8);
        wanted4[i + 16] = -2.0f * (float)(15 - i - 8);
    }
    check_row(8, 32, q8, sizeof q8, wanted8);
    check_row(2, 32, q4, sizeof q4, wanted4);
    tern_ctx_destroy(ctx);
}

TEST(blocks_of_256)
{
    static const int scales[8] = {1, 2, 3, 63, 5, 22, 40, 63}, minima[8] = {0, 1, 63, 4, 17, 6, 63, 8};
    uint8_t q4[144] = {0x00, 0x3c, 0x00, 0x40}, q6[210] = {0}; /* d = 1, m = 2 */
    float wanted4[256], wanted6[256];
    set_up();
    for (int j = 0; j < 4; j++) {
        q4[4 + j] = (uint8_t)(scales[j] | (scales[j + 4] >> 4) << 6);
        q4[8 + j] = (uint8_t)(minima[j] | (minima[j + 4] >> 4) << 6);
        q4[12 + j] = (uint8_t)((scales[j + 4] & 15) | (minima[j + 4] & 15) << 4);
    }
    for (int i = 0; i < 256; i++) {
        int j = i / 32, q = (i * 7 + j) % 16;
        q4[16 + 32 * (j / 2) + i % 32] |= (uint8_t)(q << 4 * (j % 2));
        wanted4[i] = (float)(scales[j] * q - 2 * minima[j]);
    }
    check_row(12, 256, q4, sizeof q4, wanted4);

    q6[208] = 0x00, q6[209] = 0x38; /* d = 0.5 */
    for (int k = 0; k < 16; k++)
        q6[192 + k] = (uint8_t)(int8_t)(k * 3 - 20);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i % 128 / 32, l = i % 32, q = (i * 11) % 64;
        q6[64 * half + 32 * (quarter % 2) + l] |= (uint8_t)((q & 15) << (quarter < 2 ? 0 : 4));
        q6[128 + 32 * half + l] |= (uint8_t)((q >> 4) << 2 * quarter);
        wanted6[i] = 0.5f * (float)((i / 16) * 3 - 20) * (float)(q - 32);
    }
    check_row(14, 256, q6, sizeof q6, wanted6);
    tern_ctx_destroy(ctx);
}
