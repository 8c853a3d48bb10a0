/* test_ternary_files.c - ternary weights from every type that files store them in: the codes are the same, the scales
 * right, and what is no ternary weight is refused. The encoders here are written from the layouts in
 * docs/model-files.md, one element at a time; with the shared data, other people's encoders are tried too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "harness.h"

enum { ROWS = 3, COLUMNS = 512, N = ROWS * COLUMNS, BLOCKS = N / 256 };

static bytes b;
static tern_ctx *ctx;
static int8_t values[N];

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    uint64_t state = harness_seed();
    for (int i = 0; i < N; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = (int8_t)((int)(state >> 33) % 3 - 1);
    }
}

/* ---- encoders ---------------------------------------------------------------------------------------------------- */

static void put_tq2_0(const uint16_t *scales)
{
    for (int block = 0; block < BLOCKS; block++) {
        uint8_t qs[64] = {0};
        for (int e = 0; e < 256; e++)
            qs[32 * (e / 128) + e % 32] |= (uint8_t)((values[256 * block + e] + 1) << 2 * (e % 128 / 32));
        put(&b, qs, sizeof qs);
        put(&b, &scales[block], 2);
    }
}

/* Up to five values, the first the most significant digit. */
static unsigned digits(const int8_t *first, int step, int count)
{
    unsigned q = 0;
    for (int n = 0; n < 5; n++)
        q = q * 3 + (n < count ? (unsigned)(first[n * step] + 1) : 0);
    return (q * 256 + 242) / 243;
}

static void put_tq1_0(const uint16_t *scales)
{
    for (int block = 0; block < BLOCKS; block++) {
        const int8_t *v = values + 256 * block;
        for (int m = 0; m < 32; m++)
            put_u8(&b, digits(v + m, 32, 5));
        for (int m = 0; m < 16; m++)
            put_u8(&b, digits(v + 160 + m, 16, 5));
        for (int m = 0; m < 4; m++)
            put_u8(&b, digits(v + 240 + m, 4, 4));
        put(&b, &scales[block], 2);
    }
}

static void put_i2_s(float scale)
{
    uint8_t codes[N / 4] = {0};
    for (int i = 0; i < N; i++)
        codes[32 * (i / 128) + i % 32] |= (uint8_t)((values[i] + 1) << (6 - 2 * (i % 128 / 32)));
    put(&b, codes, sizeof codes);
    put_f32(&b, scale);
    put_zeros(&b, 28);
}

/* A file with the weight "x.weight" of a type; its bytes follow. `extra`: a scale in a tensor of its own. */
static void begin(uint32_t type, uint64_t data_bytes, const float *extra)
{
    b.n = 0;
    put_gguf(&b, 3, extra ? 2 : 1, 0);
    put_tensor(&b, "x.weight", 2, (uint64_t[]){COLUMNS, ROWS}, type, extra ? 32 : 0);
    if (extra)
        put_tensor(&b, "x.scale", 1, (uint64_t[]){1}, 0, 0);
    put_aligned(&b, 32);
    if (extra) {
        put_f32(&b, *extra);
        put_aligned(&b, 32);
    }
    (void)data_bytes;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int code_at(const uint8_t *data, tern_dtype dtype, int r, int c)
{
    static const int powers[] = {1, 3, 9, 27, 81};
    if (dtype == TERN_T2)
        return data[r * (COLUMNS / 4) + c / 4] >> 2 * (c % 4) & 3;
    return data[r * ((COLUMNS + 4) / 5) + c / 5] / powers[c % 5] % 3;
}

static void check_codes(tern_tensor *codes, tern_dtype dtype)
{
    CHECK(tern_dtype_of(codes) == dtype && tern_is_constant(codes));
    CHECK(tern_rank(codes) == 2 && tern_dim(codes, 0) == ROWS && tern_dim(codes, 1) == COLUMNS);
    for (int i = 0; i < N; i++)
        CHECK_EQ(code_at(tern_data(codes), dtype, i / COLUMNS, i % COLUMNS) - 1, values[i]);
}

/* One scale for all: the codes in both forms, and the values. */
static void check_single(float scale)
{
    tern_model_file *file;
    tern_tensor *codes, *scales, *x;
    int i;
    CHECK_OK(open_bytes(&b, &file));
    CHECK_OK(tern_model_file_find(file, "x.weight", &i));
    for (tern_dtype dtype = TERN_T2; dtype <= TERN_T5; dtype++) {
        CHECK_OK(tern_model_file_load_ternary(ctx, file, i, dtype, TERN_TERNARY_EXACT, &codes, &scales));
        check_codes(codes, dtype);
        CHECK_EQ(tern_rank(scales), 0);
        CHECK(tern_data_f32(scales)[0] == scale);
    }
    CHECK_OK(tern_model_file_load_f32(ctx, file, i, &x));
    tern_file_tensor t;
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    for (int k = 0; k < N && t.stored != TERN_STORED_F32; k++)
        CHECK(tern_data_f32(x)[k] == (float)values[k] * scale);
    tern_model_file_close(file);
}

static const uint16_t equal_scales[BLOCKS] = {0x2e66, 0x2e66, 0x2e66, 0x2e66, 0x2e66, 0x2e66};
static const float equal_scale = 0x1.998p-4f; /* 0x2e66 */

TEST(one_scale)
{
    set_up();
    begin(35, 66 * BLOCKS, NULL), put_tq2_0(equal_scales);
    check_single(equal_scale);
    begin(34, 54 * BLOCKS, NULL), put_tq1_0(equal_scales);
    check_single(equal_scale);
    begin(36, N / 4 + 32, NULL), put_i2_s(1.2345678f);
    check_single(1.2345678f);
    tern_ctx_destroy(ctx);
}

TEST(scale_in_a_tensor_of_its_own)
{
    static const uint16_t ones[BLOCKS] = {0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00};
    const float scale = 0.0123456789f;
    set_up();
    begin(35, 66 * BLOCKS, &scale), put_tq2_0(ones);
    check_single(scale);
    begin(34, 54 * BLOCKS, &scale), put_tq1_0(ones);
    check_single(scale);
    begin(36, N / 4 + 32, &scale), put_i2_s(2.0f);
    check_single(2 * scale);
    begin(0, N * 4, &scale);
    for (int i = 0; i < N; i++)
        put_f32(&b, (float)values[i]);
    check_single(scale);
    tern_ctx_destroy(ctx);
}

TEST(scales_of_blocks)
{
    uint16_t scales[BLOCKS] = {0x3c00, 0x3c00, 0x3800, 0x3c00, 0x3c00, 0x4000}; /* 1 1 .5 1 1 2 */
    set_up();
    memset(values + 512, 0, 256); /* block 2 is zero: its scale does not count, but block 5's does */
    for (uint32_t type = 34; type <= 35; type++) {
        tern_model_file *file;
        tern_tensor *codes, *s, *x;
        begin(type, 0, NULL);
        type == 35 ? put_tq2_0(scales) : put_tq1_0(scales);
        CHECK_OK(open_bytes(&b, &file));
        CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_EXACT, &codes, &s));
        check_codes(codes, TERN_T2);
        CHECK(tern_rank(s) == 2 && tern_dim(s, 0) == ROWS && tern_dim(s, 1) == 2);
        CHECK(tern_data_f32(s)[5] == 2 && tern_data_f32(s)[0] == 1 && tern_data_f32(s)[4] == 1);
        CHECK_OK(tern_model_file_load_f32(ctx, file, 0, &x));
        for (int i = 0; i < N; i++)
            CHECK(tern_data_f32(x)[i] == (float)values[i] * (i >= 1280 ? 2.0f : 1.0f));
        tern_model_file_close(file);
    }
    scales[5] = 0x3c00;
    begin(35, 0, NULL), put_tq2_0(scales);
    check_single(1);
    memset(values, 0, sizeof values); /* nothing but zeros */
    begin(34, 0, NULL), put_tq1_0(scales);
    check_single(1);
    tern_ctx_destroy(ctx);
}

static void refuse_ternary(tern_status status, const char *words)
{
    tern_model_file *file;
    tern_tensor *codes = NULL, *scales = NULL;
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales),
                 status);
    CHECK(!codes && !scales);
    if (!strstr(tern_last_error(), words) || !strstr(tern_last_error(), "tensor 'x.weight'"))
        harness_fail(__FILE__, __LINE__, "said \"%s\"", tern_last_error());
    tern_model_file_close(file);
}

TEST(bad_codes_and_scales)
{
    set_up();
    begin(36, 0, NULL), put_i2_s(1);
    b.data[b.n - 32 - 5] |= 0x30;
    refuse_ternary(TERN_FORMAT, "row 2 has a code of 3");
    begin(35, 0, NULL), put_tq2_0(equal_scales);
    b.data[b.n - 66 * 3] |= 0xc0;
    refuse_ternary(TERN_FORMAT, "row 1 has a code of 3");
    begin(36, 0, NULL), put_i2_s(NAN);
    refuse_ternary(TERN_FORMAT, "not a finite number");
    begin(36, 0, NULL), put_i2_s(INFINITY);
    refuse_ternary(TERN_FORMAT, "not a finite number");
    uint16_t scales[BLOCKS] = {0x3c00, 0x3c00, 0x3c00, 0x7e00, 0x3c00, 0x3c00};
    begin(34, 0, NULL), put_tq1_0(scales);
    refuse_ternary(TERN_FORMAT, "block 3 is not a finite number");
    begin(36, 0, &(float){NAN}), put_i2_s(1);
    refuse_ternary(TERN_FORMAT, "'x.scale' is not a finite number");
    tern_ctx_destroy(ctx);
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* A tensor without elements may say that it is 2^44 wide: that sets aside no memory and takes no time. */
TEST(empty_but_wide)
{
    static const uint32_t types[] = {34, 35, 36, 1}; /* TQ1_0, TQ2_0, I2_S, F16 */
    static const uint64_t sizes[][2] = {{1ull << 44, 0}, {0, 1ull << 44}};
    set_up();
    for (int i = 0; i < 8; i++) {
        tern_model_file *file;
        tern_tensor *codes, *scales, *x;
        b.n = 0;
        put_gguf(&b, 3, 1, 0);
        put_tensor(&b, "x.weight", 2, sizes[i % 2], types[i / 2], 0);
        put_aligned(&b, 32), put_zeros(&b, 32);
        CHECK_OK(open_bytes(&b, &file));
        TERN_SCOPE(ctx) {
            for (tern_dtype dtype = TERN_T2; dtype <= TERN_T5; dtype++) {
                CHECK_OK(
                    tern_model_file_load_ternary(ctx, file, 0, dtype, TERN_TERNARY_EXACT, &codes, &scales));
                CHECK_EQ(tern_numel(codes), 0);
                CHECK_EQ(tern_numel(scales), 1);
            }
            CHECK_OK(tern_model_file_load_f32(ctx, file, 0, &x));
            CHECK_EQ(tern_numel(x), 0);
        }
        tern_model_file_close(file);
    }
    tern_ctx_destroy(ctx);
}

static void put_floats(float scale, float odd)
{
    begin(0, 0, NULL);
    for (int i = 0; i < N; i++)
        put_f32(&b, i == 700 ? odd : (float)values[i] * scale);
}

TEST(floats)
{
    tern_model_file *file;
    tern_tensor *codes, *scales;
    set_up();
    put_floats(0.3f, 0);
    values[700] = 0;
    check_single(0.3f);
    put_floats(0.3f, 0.05f);
    refuse_ternary(TERN_DTYPE, "not ternary: element 700");
    put_floats(0.3f, NAN);
    refuse_ternary(TERN_FORMAT, "not a finite number");
    put_floats(0.3f, 0.05f);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_STATUS(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales),
                 TERN_DTYPE); /* nothing says that these are master weights */
    CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_ABSMEAN, &codes, &scales));
    check_codes(codes, TERN_T2);
    double sum = 0.05;
    for (int i = 0; i < N; i++)
        sum += values[i] ? 0.3 : 0;
    CHECK_NEAR(tern_data_f32(scales)[0], sum / N, 1e-6);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* ---- what others encoded ----------------------------------------------------------------------------------------- */

static size_t read_shared(const char *name, void *out, size_t most)
{
    const char *path = shared_path(name);
    FILE *file = path ? fopen(path, "rb") : NULL;
    size_t n = file ? fread(out, 1, most, file) : 0;
    if (file)
        fclose(file);
    return n;
}

static void check_foreign(const char *name, uint32_t type, size_t size, const int8_t *wanted, float scale,
                          float tolerance)
{
    static uint8_t raw[4096];
    tern_model_file *file;
    tern_tensor *codes, *scales;
    CHECK_EQ(read_shared(name, raw, sizeof raw), size);
    b.n = 0;
    put_gguf(&b, 3, 1, 0);
    put_tensor(&b, "x.weight", 2, (uint64_t[]){512, 16}, type, 0);
    put_aligned(&b, 32);
    put(&b, raw, size);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
    const uint8_t *t2 = tern_data(codes);
    for (int i = 0; i < 16 * 512; i++)
        CHECK_EQ((t2[i / 4] >> 2 * (i % 4) & 3) - 1, wanted[i]);
    CHECK_EQ(tern_rank(scales), 0);
    CHECK_NEAR(tern_data_f32(scales)[0], scale, tolerance);
    tern_model_file_close(file);
}

TEST(foreign_encoders)
{
    static uint8_t npy[16 * 512 + 128];
    float scale[33];
    if (!shared_path("ternary-formats/i2_s.bin"))
        SKIP(NO_SHARED("ternary-formats/i2_s.bin"));
    set_up();
    CHECK_EQ(read_shared("ternary-formats/w_ternary_i8_16x512.npy", npy, sizeof npy), sizeof npy);
    CHECK_EQ(read_shared("ternary-formats/scale_f32.npy", scale, sizeof scale), sizeof scale);
    const int8_t *wanted = (const int8_t *)npy + 128;
    check_foreign("ternary-formats/i2_s.bin", 36, 2080, wanted, scale[32], 0);
    check_foreign("ternary-formats/tq2_0.bin", 35, 2112, wanted, scale[32], scale[32] * 0.001f);
    check_foreign("ternary-formats/tq1_0.bin", 34, 1728, wanted, scale[32], scale[32] * 0.001f);
    tern_ctx_destroy(ctx);
}

/* One model in three types: the same codes, and scales that differ by the rounding of the f16 ones only. */
TEST(foreign_model_in_three_types)
{
    static const char *const names[] = {"f32", "tq1_0", "tq2_0"};
    tern_model_file *files[3];
    tern_file_tensor t;
    int ternary = 0;
    if (!shared_path("bitnet-random/bitnet-random-f32.gguf"))
        SKIP(NO_SHARED("bitnet-random/bitnet-random-f32.gguf"));
    set_up();
    for (int k = 0; k < 3; k++) {
        char name[64];
        snprintf(name, sizeof name, "bitnet-random/bitnet-random-%s.gguf", names[k]);
        CHECK_OK(tern_model_file_open(shared_path(name), NULL, &files[k]));
    }
    for (int i = 0; i < tern_model_file_count(files[2]); i++) {
        CHECK_OK(tern_model_file_tensor(files[2], i, &t));
        if (t.stored != TERN_STORED_TQ2_0)
            continue;
        ternary++;
        tern_tensor *codes[3], *scales[3];
        for (int k = 0; k < 3; k++) {
            int at;
            CHECK_OK(tern_model_file_find(files[k], t.name, &at));
            CHECK_OK(tern_model_file_load_ternary(ctx, files[k], at, TERN_T2, TERN_TERNARY_EXACT, &codes[k],
                                                  &scales[k]));
            CHECK(memcmp(tern_data(codes[k]), tern_data(codes[0]), tern_nbytes(codes[0])) == 0);
            CHECK_EQ(tern_rank(scales[k]), 0);
            CHECK_NEAR(tern_data_f32(scales[k])[0], tern_data_f32(scales[0])[0],
                       tern_data_f32(scales[0])[0] * 0x1p-11f);
        }
    }
    CHECK_EQ(ternary, 14);
    for (int k = 0; k < 3; k++)
        tern_model_file_close(files[k]);
    tern_ctx_destroy(ctx);
}
