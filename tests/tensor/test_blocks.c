/* test_blocks.c - block types: what bytes stand for, element by element as <tern/dtype.h> says it, and how well numbers come
 * back. */
#include "tensor/blocks.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "tensor/convert.h"
#include "tensor/half.h"

static const tern_dtype DTYPES[] = {TERN_Q8_0, TERN_Q6_K, TERN_Q4_0, TERN_Q4_K};
enum { N_DTYPES = 4, BLOCKS = 5 };

static double half_at(const uint8_t *at)
{
    const float d = tern__f16_to_f32((uint16_t)(at[0] + 256 * at[1]));
    return isfinite(d) ? (double)d : (double)NAN;
}

/* Element e of a block, in f64: exact but for the last rounding. */
static double value_of(tern_dtype dtype, const uint8_t *b, int e)
{
    const int h = e / 128, g = e % 128 / 32, l = e % 32, j = e / 32;
    const uint8_t *s = b + 4;
    switch (dtype) {
    case TERN_Q8_0:
        return half_at(b) * (b[2 + e] < 128 ? b[2 + e] : b[2 + e] - 256);
    case TERN_Q4_0:
        return half_at(b) * ((e < 16 ? b[2 + e] % 16 : b[2 + e - 16] / 16) - 8);
    case TERN_Q6_K: {
        const int low = b[64 * h + 32 * (g % 2) + l], high = b[128 + 32 * h + l];
        const int code = (g < 2 ? low % 16 : low / 16) + 16 * (high / (1 << 2 * g) % 4);
        const int scale = b[192 + e / 16] < 128 ? b[192 + e / 16] : b[192 + e / 16] - 256;
        return half_at(b + 208) * scale * (code - 32);
    }
    default: {
        const int scale = j < 4 ? s[j] % 64 : s[j + 4] % 16 + 16 * (s[j - 4] / 64);
        const int offset = j < 4 ? s[j + 4] % 64 : s[j + 4] / 16 + 16 * (s[j] / 64);
        const int byte = b[16 + 32 * (j / 2) + l];
        return half_at(b) * scale * (j % 2 == 0 ? byte % 16 : byte / 16) - half_at(b + 2) * offset;
    }
    }
}

static int elements_of(tern_dtype dtype)
{
    return tern_dtype_get(dtype)->unit_elements;
}

static void random_bytes(uint8_t *to, size_t n, uint64_t salt)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(tern__random_uniform(harness_seed() + salt, i) * 256);
}

/* Equal bits, or both NaN. */
static bool same(float a, float b)
{
    return isnan(a) ? isnan(b) : tern__f32_bits(a) == tern__f32_bits(b);
}

static void check_row(tern_dtype dtype, const uint8_t *row)
{
    const int each = elements_of(dtype), n = BLOCKS * each;
    const int64_t bytes = tern_dtype_get(dtype)->unit_bytes;
    float all[BLOCKS * TERN__BLOCK_MOST], part[BLOCKS * TERN__BLOCK_MOST];
    tern__blocks_unpack(dtype, row, 0, n, all);
    for (int e = 0; e < n; e++) {
        const float want = (float)value_of(dtype, row + e / each * bytes, e % each) + 0.0f;
        if (!same(all[e], want))
            harness_fail(__FILE__, __LINE__, "%s, element %d: %a instead of %a", tern_dtype_name(dtype), e,
                         (double)all[e], (double)want);
    }
    static const int RANGES[][2] = {{0, 1}, {1, 7}, {31, 2}, {32, 32}, {5, 150}, {159, 1}};
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        memset(part, 0xa5, sizeof part);
        tern__blocks_unpack(dtype, row, RANGES[i][0], RANGES[i][1], part);
        CHECK(memcmp(part, all + RANGES[i][0], (size_t)RANGES[i][1] * sizeof *part) == 0);
        CHECK_EQ(tern__f32_bits(part[RANGES[i][1]]), 0xa5a5a5a5);
    }
}

TEST(bytes_stand_for_what_the_header_says)
{
    /* as they come; infinite, NaN, subnormal and negative scales */
    static const uint16_t SCALES[] = {0, 0x7c00, 0xfc00, 0x7e01, 0x0001, 0x83ff, 0x7bff, 0x8000, 0xb555};
    uint8_t row[BLOCKS * 210];
    for (int d = 0; d < N_DTYPES; d++) {
        const size_t bytes = (size_t)tern_dtype_get(DTYPES[d])->unit_bytes;
        for (size_t i = 0; i < 40 && !harness_failed(); i++) {
            random_bytes(row, sizeof row, i);
            const uint16_t scale = SCALES[i % 9];
            uint8_t *at = row + bytes * (i % BLOCKS) +
                          (DTYPES[d] == TERN_Q6_K ? 208
                           : i % 2 && d == 3      ? 2
                                                  : 0);
            if (i % 9 > 0)
                memcpy(at, (uint8_t[]){(uint8_t)scale, (uint8_t)(scale >> 8)}, 2);
            check_row(DTYPES[d], row);
        }
    }
}

/* Written down by hand, so that the two readers above cannot agree on the same mistake. */
TEST(a_block_by_hand)
{
    float out[256];
    uint8_t q6[210] = {0};
    q6[208] = 0x00;
    q6[209] = 0x3c;  /* d = 1 */
    q6[192 + 2] = 3; /* scale of elements 32 .. 47 */
    q6[32] = 0x05;   /* low bits of element 32, and of 96 above */
    q6[128] = 0x04;  /* bits 2, 3: element 32 */
    tern__blocks_unpack(TERN_Q6_K, q6, 0, 256, out);
    CHECK(out[32] == 3.0f * (5 + 16 - 32) && out[33] == 3.0f * -32 && out[0] == 0 && out[96] == 0);
    uint8_t q4[144] = {0x00, 0x3c, 0x00, 0x38}; /* d = 1, dmin = 0.5 */
    q4[4 + 1] = 0x80 + 7;                       /* scale 1 is 7, scale 5 has upper bits 2 */
    q4[8 + 1] = 0x40 + 9;                       /* offset 1 is 9, offset 5 has upper bits 1 */
    q4[12 + 1] = 0x32;                          /* scale 5: 2 + 32, offset 5: 3 + 16 */
    q4[16] = 0x90;                              /* element 32: 9 */
    q4[16 + 64] = 0x40;                         /* element 160: 4 */
    tern__blocks_unpack(TERN_Q4_K, q4, 0, 256, out);
    CHECK(out[32] == 7 * 9 - 4.5f && out[33] == -4.5f && out[160] == 34 * 4 - 9.5f && out[0] == 0);
    uint8_t q40[18] = {0x00, 0xc0, 0x2f}; /* d = -2, elements 0: 15, 16: 2 */
    tern__blocks_unpack(TERN_Q4_0, q40, 0, 32, out);
    CHECK(out[0] == -14 && out[16] == 12 && out[1] == 16);
}

/* Codes of random numbers, of numbers that the format holds, of zeros, and of what is not finite. */
static void check_packing(tern_dtype dtype, double bound)
{
    enum { N = 3 * TERN__BLOCK_MOST };
    const int64_t columns[] = {1, 31, 32, 33, 255, 256, 257, N};
    float x[N], back[N], again[N];
    uint8_t row[N / 32 * 34 + 1], second[N / 32 * 34 + 1];
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const int64_t n = columns[c];
        const size_t used = (size_t)tern__row_units(dtype, n) * tern__dtype_unit_bytes(dtype);
        double error = 0, power = 0;
        for (int64_t i = 0; i < n; i++)
            x[i] = (float)tern__random_normal(harness_seed() + c, (uint64_t)i);
        memset(row, 0xa5, sizeof row);
        tern__blocks_pack_row(dtype, x, n, row);
        CHECK_EQ(row[used], 0xa5);
        tern__blocks_unpack(dtype, row, 0, n, back);
        for (int64_t i = 0; i < n; i++) {
            error += pow((double)x[i] - (double)back[i], 2);
            power += pow((double)x[i], 2);
        }
        if (error > bound * power)
            harness_fail(__FILE__, __LINE__, "%s, %d columns: error %g", tern_dtype_name(dtype), (int)n,
                         error / power);
        /* what was packed packs again with no more than a little loss */
        tern__blocks_pack_row(dtype, back, n, second);
        tern__blocks_unpack(dtype, second, 0, n, again);
        for (int64_t i = 0; i < n; i++)
            CHECK(fabsf(again[i] - back[i]) <= 0.3f);
    }
    memset(x, 0, sizeof x);
    tern__blocks_pack_row(dtype, x, N, row);
    tern__blocks_unpack(dtype, row, 0, N, back);
    for (int i = 0; i < N; i++)
        CHECK_EQ(tern__f32_bits(back[i]), 0);
    x[300] = INFINITY;
    tern__blocks_pack_row(dtype, x, N, row);
    tern__blocks_unpack(dtype, row, 0, N, back);
    CHECK(isnan(back[300]) && back[0] == 0 && back[N - 1] == 0);
}

TEST(numbers_come_back_nearly)
{
    check_packing(TERN_Q8_0, 1e-4);
    check_packing(TERN_Q6_K, 1e-3);
    check_packing(TERN_Q4_0, 2e-2);
    check_packing(TERN_Q4_K, 1e-2);
}

TEST(other_types_go_through_f32)
{
    enum { N = 70 };
    double x[N];
    float narrow[N], direct[N];
    uint8_t row[3 * 34], other[3 * 34];
    int8_t digits[N];
    for (int i = 0; i < N; i++)
        narrow[i] = (float)(x[i] = tern__random_normal(harness_seed(), (uint64_t)i));
    tern__convert_row(TERN_F64, x, TERN_Q8_0, row, N);
    tern__blocks_pack_row(TERN_Q8_0, narrow, N, other);
    CHECK(memcmp(row, other, sizeof row) == 0);
    tern__convert_row(TERN_Q8_0, row, TERN_F64, x, N);
    tern__blocks_unpack(TERN_Q8_0, row, 0, N, direct);
    for (int i = 0; i < N; i++)
        CHECK(x[i] == (double)direct[i]);
    tern__convert_row(TERN_Q8_0, row, TERN_I8, digits, N);
    for (int i = 0; i < N; i++)
        CHECK_EQ(digits[i], (int8_t)direct[i]);
}
