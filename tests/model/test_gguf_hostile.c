/* test_gguf_hostile.c - GGUF files that broke other programs, and every cut of a good one: one clear line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/model.h>

#include "bytes.h"
#include "harness.h"

static bytes b;

static void start(uint64_t tensors, uint64_t metas)
{
    b.n = 0;
    put_gguf(&b, 3, tensors, metas);
}

/* A file with one tensor, its data `n` zeros. */
static void one_tensor(uint32_t rank, const uint64_t *sizes, uint32_t type, uint64_t offset, size_t n)
{
    start(1, 0);
    put_tensor(&b, "x", rank, sizes, type, offset);
    put_aligned(&b, 32);
    put_zeros(&b, n);
}

TEST(no_file)
{
    tern_model_file *file;
    CHECK_STATUS(tern_model_file_open("/nonexistent/model.gguf", NULL, &file), TERN_NOT_FOUND);
}

TEST(headers)
{
    b.n = 0;
    REFUSE(&b, TERN_FORMAT, "empty");
    put(&b, "GG", 2);
    REFUSE(&b, TERN_FORMAT, "not a model file");
    b.n = 0, put(&b, "GGUF", 4);
    REFUSE(&b, TERN_FORMAT, "ends at byte 4");
    static const uint32_t versions[] = {0, 1, 4, 0x7fffffff};
    for (int i = 0; i < 4; i++) {
        b.n = 0, put_gguf(&b, versions[i], 0, 0);
        REFUSE(&b, TERN_UNSUPPORTED, "versions 2 and 3");
    }
    b.n = 0, put_gguf(&b, 0x03000000, 0, 0);
    REFUSE(&b, TERN_UNSUPPORTED, "big-endian");
}

TEST(counts_that_wrap)
{
    static const uint64_t counts[] = {UINT64_MAX, 1ull << 63, UINT64_MAX / 24 + 2, 1ull << 58};
    for (int i = 0; i < 4; i++) {
        start(counts[i], 0);
        REFUSE(&b, TERN_LIMIT, "at most");
        start(0, counts[i]);
        REFUSE(&b, TERN_LIMIT, "at most");
    }
    start(1000, 0);
    REFUSE(&b, TERN_FORMAT, "ends at byte");
    start(0, 1000);
    REFUSE(&b, TERN_FORMAT, "ends at byte");
}

TEST(strings)
{
    static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, 1ull << 63, 1ull << 30, 137};
    for (int i = 0; i < 5; i++) {
        start(0, 1), put_u64(&b, lengths[i]), put_zeros(&b, 128);
        REFUSE(&b, TERN_FORMAT, "inside the key of an entry of metadata");
        start(0, 1), put_meta(&b, "k", TERN_META_STRING), put_u64(&b, lengths[i]), put_zeros(&b, 128);
        REFUSE(&b, TERN_FORMAT, "inside a string of metadata");
        start(1, 0), put_u64(&b, lengths[i]), put_zeros(&b, 128);
        REFUSE(&b, TERN_FORMAT, "inside the name of a tensor");
    }
    start(0, 1), put_u64(&b, 3), put(&b, "a\0b", 3), put_u32(&b, 0), put_u8(&b, 0);
    REFUSE(&b, TERN_FORMAT, "control character");
    start(0, 1), put_u64(&b, 256), put_zeros(&b, 300);
    REFUSE(&b, TERN_LIMIT, "256 bytes");
}

TEST(arrays)
{
    static const uint64_t counts[] = {UINT64_MAX, 1ull << 60, 1ull << 63, 100};
    for (uint32_t type = 0; type <= 12; type++) {
        for (int i = 0; i < 4 && type != 9; i++) {
            start(0, 1), put_meta(&b, "k", 9), put_u32(&b, type), put_u64(&b, counts[i]), put_zeros(&b, 32);
            REFUSE(&b, TERN_FORMAT, "");
        }
    }
    start(0, 1), put_meta(&b, "k", 9), put_u32(&b, 9), put_u64(&b, 1), put_zeros(&b, 32);
    REFUSE(&b, TERN_FORMAT, "array of arrays");
    static const uint32_t types[] = {13, 99, UINT32_MAX};
    for (int i = 0; i < 3; i++) {
        start(0, 1), put_meta(&b, "k", 9), put_u32(&b, types[i]), put_u64(&b, 1), put_zeros(&b, 32);
        REFUSE(&b, TERN_FORMAT, "unknown type");
        start(0, 1), put_meta(&b, "k", types[i]), put_zeros(&b, 32);
        REFUSE(&b, TERN_FORMAT, "unknown type");
    }
    start(0, 1), put_meta(&b, "k", TERN_META_BOOL), put_u8(&b, 2);
    REFUSE(&b, TERN_FORMAT, "bool of value 2");
}

TEST(names)
{
    start(0, 2), put_meta_u32(&b, "k", 1), put_meta_u32(&b, "k", 2);
    REFUSE(&b, TERN_FORMAT, "two entries of metadata called 'k'");
    start(0, 1), put_meta_u32(&b, "", 1);
    REFUSE(&b, TERN_FORMAT, "is empty");
    start(2, 0);
    put_tensor(&b, "x", 1, (uint64_t[]){1}, 0, 0);
    put_tensor(&b, "x", 1, (uint64_t[]){1}, 0, 32);
    put_zeros(&b, 128);
    REFUSE(&b, TERN_FORMAT, "two tensors called 'x'");
    start(1, 0), put_tensor(&b, "", 1, (uint64_t[]){1}, 0, 0), put_zeros(&b, 128);
    REFUSE(&b, TERN_FORMAT, "is empty");
}

TEST(alignment)
{
    static const uint32_t bad[] = {0, 3, 48, 1u << 31, 1u << 17};
    for (int i = 0; i < 5; i++) {
        start(0, 1), put_meta_u32(&b, "general.alignment", bad[i]);
        REFUSE(&b, TERN_FORMAT, "power of two");
    }
    start(0, 1), put_meta(&b, "general.alignment", TERN_META_U64), put_u64(&b, 32);
    REFUSE(&b, TERN_FORMAT, "not a u32");
    start(0, 1), put_meta(&b, "general.alignment", 9), put_u32(&b, TERN_META_U32), put_u64(&b, 1),
        put_u32(&b, 32);
    REFUSE(&b, TERN_FORMAT, "not a u32");
    start(0, 1), put_meta_text(&b, "general.alignment", "32");
    REFUSE(&b, TERN_FORMAT, "not a u32");
}

TEST(sizes)
{
    const uint64_t most = INT64_MAX;
    one_tensor(5, (uint64_t[]){1, 1, 1, 1, 1}, 0, 0, 64);
    REFUSE(&b, TERN_FORMAT, "5 axes");
    start(1, 0), put_text(&b, "x"), put_u32(&b, UINT32_MAX), put_zeros(&b, 128);
    REFUSE(&b, TERN_FORMAT, "4294967295 axes");
    one_tensor(4, (uint64_t[]){most, 2, 1, 1}, 0, 0, 64);
    REFUSE(&b, TERN_FORMAT, "too large");
    one_tensor(2, (uint64_t[]){1ull << 32, 1ull << 32}, 0, 0, 64);
    REFUSE(&b, TERN_FORMAT, "too large");
    one_tensor(3, (uint64_t[]){1ull << 32, 1ull << 32, 0}, 0, 0, 64); /* empty, but strides would wrap */
    REFUSE(&b, TERN_FORMAT, "too large");
    one_tensor(1, (uint64_t[]){most}, 0, 0, 64);
    REFUSE(&b, TERN_FORMAT, "too many");
    one_tensor(1, (uint64_t[]){UINT64_MAX}, 0, 0, 64);
    REFUSE(&b, TERN_FORMAT, "is -1");
    one_tensor(2, (uint64_t[]){32, 1ull << 63}, 8, 0, 64);
    REFUSE(&b, TERN_FORMAT, "is -9223372036854775808");
    one_tensor(2, (uint64_t[]){32, (1ull << 58) - 1}, 8, 0, 64); /* their 34 bytes each wrap */
    REFUSE(&b, TERN_FORMAT, "too many");
    one_tensor(1, (uint64_t[]){33}, 8, 0, 128);
    REFUSE(&b, TERN_FORMAT, "blocks of 32");
    one_tensor(2, (uint64_t[]){128, 2}, 35, 0, 128); /* 256 elements, but no row is a block */
    REFUSE(&b, TERN_FORMAT, "blocks of 256");
    one_tensor(1, (uint64_t[]){64}, 36, 0, 128);
    REFUSE(&b, TERN_FORMAT, "blocks of 128");
}

TEST(types)
{
    static const int32_t bad[] = {-1, 4, 5, 31, 33, 37, 38, 39, 40, 43, 1 << 30};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        one_tensor(1, (uint64_t[]){256}, (uint32_t)bad[i], 0, 256);
        REFUSE(&b, TERN_UNSUPPORTED, "cannot be read");
    }
}

TEST(places)
{
    one_tensor(1, (uint64_t[]){8}, 0, 0, 31);
    REFUSE(&b, TERN_FORMAT, "cut short");
    one_tensor(1, (uint64_t[]){8}, 0, 32, 63);
    REFUSE(&b, TERN_FORMAT, "cut short");
    one_tensor(1, (uint64_t[]){8}, 0, 1ull << 63, 64);
    REFUSE(&b, TERN_FORMAT, "cut short");
    one_tensor(1, (uint64_t[]){8}, 0, UINT64_MAX - 31, 64);
    REFUSE(&b, TERN_FORMAT, "beyond any file");
    one_tensor(1, (uint64_t[]){8}, 0, 4, 64);
    REFUSE(&b, TERN_FORMAT, "not a multiple of 32");
    one_tensor(1, (uint64_t[]){128}, 36, 0, 32 + 31); /* I2_S without all of its tail */
    REFUSE(&b, TERN_FORMAT, "cut short");
    start(2, 0);
    put_tensor(&b, "x", 1, (uint64_t[]){16}, 0, 0);
    put_tensor(&b, "y", 1, (uint64_t[]){8}, 0, 32);
    put_aligned(&b, 32), put_zeros(&b, 128);
    REFUSE(&b, TERN_FORMAT, "'x' and 'y' overlap");
    start(3, 0); /* an empty tensor between them hides nothing */
    put_tensor(&b, "x", 1, (uint64_t[]){16}, 0, 0);
    put_tensor(&b, "e", 1, (uint64_t[]){0}, 0, 32);
    put_tensor(&b, "y", 1, (uint64_t[]){8}, 0, 32);
    put_aligned(&b, 32), put_zeros(&b, 128);
    REFUSE(&b, TERN_FORMAT, "'x' and 'y' overlap");
}

/* A small file with a bit of everything. */
static void small_file(void)
{
    start(2, 3);
    put_meta_text(&b, "general.architecture", "bitnet");
    put_meta_u32(&b, "general.alignment", 32);
    put_meta(&b, "tokens", 9), put_u32(&b, TERN_META_STRING), put_u64(&b, 3);
    put_text(&b, "a"), put_text(&b, "bc"), put_text(&b, "");
    put_tensor(&b, "x", 2, (uint64_t[]){256, 1}, 35, 0);
    put_tensor(&b, "y", 1, (uint64_t[]){4}, 0, 96);
    put_aligned(&b, 32);
    for (int i = 0; i < 64; i++)
        put_u8(&b, TERN_T2_ZERO_BYTE);
    put_u8(&b, 0), put_u8(&b, 0x3c);
    put_aligned(&b, 32);
    for (int i = 0; i < 4; i++)
        put_f32(&b, (float)i);
}

/* It can be looked into; as a model it would lack tensors, or all that says what it is. */
TEST(one_of_several_parts)
{
    tern_model_file *file;
    tern_model_memory memory;
    start(0, 2);
    put_meta_u32(&b, "split.count", 3), put_meta_u32(&b, "split.no", 1);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_check(file), TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "part 2 of the 3"));
    CHECK_STATUS(tern_model_plan_memory(file, NULL, &memory), TERN_UNSUPPORTED);
    tern_model_file_close(file);
    static const char *const keys[] = {"split.count", "split.no"};
    for (int i = 0; i < 2; i++) { /* what is no number is not "not there" */
        start(0, 2), put_meta_u32(&b, keys[1 - i], 2), put_meta_text(&b, keys[i], "2");
        CHECK_OK(open_bytes(&b, &file));
        CHECK_STATUS(tern_model_check(file), TERN_DTYPE);
        CHECK(strstr(tern_last_error(), keys[i]));
        tern_model_file_close(file);
    }
    for (uint32_t count = 0; count < 2; count++) { /* all of it */
        start(0, 1), put_meta_u32(&b, "split.count", count);
        CHECK_OK(open_bytes(&b, &file));
        CHECK_STATUS(tern_model_check(file), TERN_NOT_FOUND);
        tern_model_file_close(file);
    }
}

TEST(every_cut)
{
    tern_model_file *file;
    small_file();
    CHECK_OK(open_bytes(&b, &file));
    tern_model_file_close(file);
    for (size_t whole = b.n, n = 0; n < whole; n++) {
        b.n = n;
        REFUSE(&b, TERN_FORMAT, "");
    }
}

static void load_all(tern_ctx *ctx, const tern_model_file *file)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x, *codes, *scales;
        for (int t = 0; t < tern_model_file_count(file); t++) {
            (void)tern_model_file_load_f32(ctx, file, t, &x);
            (void)tern_model_file_load_ternary(ctx, file, t, TERN_T5, TERN_TERNARY_ABSMEAN, &codes, &scales);
        }
    }
}

/* No byte of the header, however changed, leads outside the file or into anything worse than a refusal. */
TEST(every_byte_changed)
{
    static const uint8_t changes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    small_file();
    int opened[2] = {0}, refused[2] = {0};
    for (size_t i = 0; i < b.n; i++) {
        uint8_t old = b.data[i];
        for (size_t k = 0; k < sizeof changes * 2; k++) {
            const int memory = (int)(k % 2);
            void *copy = NULL;
            tern_model_file *file;
            b.data[i] = changes[k / 2];
            if ((memory ? open_in_memory(&b, "m", &copy, &file) : open_bytes(&b, &file)) != TERN_OK) {
                refused[memory]++;
                continue;
            }
            opened[memory]++;
            load_all(ctx, file);
            tern_model_file_close(file);
            free(copy);
        }
        b.data[i] = old;
    }
    CHECK(opened[0] > 100 && refused[0] > 100);
    CHECK_EQ(opened[0], opened[1]);
    tern_ctx_destroy(ctx);
}

TEST(cut_after_opening)
{
    tern_model_file *file;
    tern_ctx *ctx;
    tern_tensor *x = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    small_file();
    const char *path = store(&b, "cut");
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_EQ(truncate(path, 100), 0);
    CHECK_STATUS(tern_model_file_load(ctx, file, 1, &x), TERN_IO);
    CHECK(x == NULL && strstr(tern_last_error(), "cut short"));
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}
