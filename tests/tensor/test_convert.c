/* Every pair of types against the scalar reference, with special values, strides and chunks. */
#include "harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"
#include "tensor/reference.h"
#include "tensor/ternary.h"

enum { COUNT = 3000, UNPACKED = 9 };

/* Values at the edges of every type; each is stored in the source type as far as that can hold it. */
/* clang-format off */
static const double SPECIAL[] = {
    0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 0.50001, -0.50001, 0.999, -0.999, 1, -1, 1.5, -1.5, 2, -2, 2.5,
    127, 127.5, 128, -127, -128, -128.5, -129, 254.9, 255, 255.9, 256, -256, 65503, 65504, 65519, 65520,
    65536, 16777215, 16777217, 2147483520.0, 2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0,
    4294967296.0, 0x1p53, 0x1p53 + 2, 0x1p62, 0x1p62 + 0x1p54, 0x1p63, -0x1p63, 0x1.fffffffffffffp62,
    0x1p64, -0x1p64, 1e19, 3.4e38, 3.5e38, -3.5e38, 1e300, 0x1p-14, 0x1p-15, 0x1p-24, 0x1p-25, 0x1.8p-25,
    0x1p-126, 0x1p-127, 0x1p-133, 0x1p-134, 0x1p-149, 0x1p-150, 1e-300, 0x1p-1074, INFINITY, -INFINITY,
    NAN,
};
/* clang-format on */
enum { SPECIALS = sizeof SPECIAL / sizeof SPECIAL[0] };

/* Integers that f64 cannot hold: ties and near-ties of f32 and bf16 below 2^63, and the ends. */
/* clang-format off */
static const int64_t BIG[] = {
    INT64_MAX, INT64_MIN, INT64_MIN + 1, (1LL << 62) + (1LL << 54) + 1, (1LL << 62) + (1LL << 54) - 1,
    (1LL << 62) + (1LL << 38) + 1, -(1LL << 62) - (1LL << 54) - 1, (1LL << 53) + 1,
    (1LL << 40) + (1LL << 32) + 1, (1LL << 40) + (1LL << 32), 16777217, 33554434, 0x101000001, 0x1018001,
};
/* clang-format on */
enum { BIGS = sizeof BIG / sizeof BIG[0] };

/* The reference counts in long double; where that is no wider than double, it cannot hold every i64. */
static const bool WIDE = LDBL_MANT_DIG >= 64;

/* COUNT elements of `dtype`: special values, then random bits (bools: random bytes, zero half of the
 * time). */
static void fill(tern_dtype dtype, char *data)
{
    size_t bytes = tern__dtype_unit_bytes(dtype);
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t words[4];
        tern__philox(harness_seed(), i * 16 + dtype, words);
        if (dtype == TERN_BOOL && words[1] % 2)
            words[0] = 0;
        if (i < SPECIALS && dtype != TERN_BOOL)
            reference_convert(TERN_F64, &SPECIAL[i], dtype, data + i * bytes);
        else if (i < SPECIALS + BIGS && dtype == TERN_I64 && WIDE)
            memcpy(data + i * bytes, &BIG[i - SPECIALS], 8);
        else if (dtype == TERN_I64 && !WIDE)
            memcpy(data + i * bytes, &(int64_t){(int32_t)words[0]}, 8);
        else
            memcpy(data + i * bytes, words, bytes);
    }
}

static bool is_nan(tern_dtype dtype, const void *element)
{
    double x;
    reference_convert(dtype, element, TERN_F64, &x);
    return tern__dtype_is_float(dtype) && isnan(x);
}

/* Equal bits, or both NaN (whose payload the reference does not model). */
static bool element_equal(tern_dtype dtype, const void *a, const void *b)
{
    return memcmp(a, b, tern__dtype_unit_bytes(dtype)) == 0 || (is_nan(dtype, a) && is_nan(dtype, b));
}

static char source[COUNT * 8 * 3], target[COUNT * 8 * 3], expected[COUNT * 8];

static void check_pair(tern_dtype from, tern_dtype to)
{
    size_t from_bytes = tern__dtype_unit_bytes(from), to_bytes = tern__dtype_unit_bytes(to);
    fill(from, source);
    for (size_t i = 0; i < COUNT; i++)
        reference_convert(from, source + i * from_bytes, to, expected + i * to_bytes);
    memset(target, 0xa5, sizeof target);
    tern__convert(from, source, 1, to, target, 1, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        if (!element_equal(to, target + i * to_bytes, expected + i * to_bytes)) {
            harness_fail(__FILE__, __LINE__, "%s -> %s differs at element %zu", tern_dtype_name(from),
                         tern_dtype_name(to), i);
            return;
        }
    }
    for (size_t i = COUNT * to_bytes; i < sizeof target; i++)
        CHECK_EQ((uint8_t)target[i], 0xa5);
}

TEST(all_pairs_against_the_reference)
{
    for (int from = 0; from < UNPACKED; from++) {
        for (int to = 0; to < UNPACKED && !harness_failed(); to++)
            check_pair((tern_dtype)from, (tern_dtype)to);
    }
}

TEST(equal_types_keep_their_bits)
{
    /* a signalling NaN is data as long as nothing computes with it */
    uint16_t half[2] = {0x7d01, 0xfe55}, half_out[2];
    uint32_t single[2] = {0x7f800001u, 0xffc00123u}, single_out[2];
    tern__convert(TERN_F16, half, 1, TERN_F16, half_out, 1, 2);
    tern__convert(TERN_F32, single, 1, TERN_F32, single_out, 1, 2);
    CHECK(memcmp(half, half_out, sizeof half) == 0);
    CHECK(memcmp(single, single_out, sizeof single) == 0);
}

TEST(narrow_nans_widen_and_narrow_as_half_h_says)
{
    uint16_t nan = 0xfd23, out;
    float wide;
    tern__convert(TERN_F16, &nan, 1, TERN_F32, &wide, 1, 1);
    tern__convert(TERN_F32, &wide, 1, TERN_F16, &out, 1, 1);
    CHECK_EQ(out, 0xff23);
    double wider;
    tern__convert(TERN_F32, &wide, 1, TERN_F64, &wider, 1, 1);
    tern__convert(TERN_F64, &wider, 1, TERN_F16, &out, 1, 1);
    CHECK_EQ(out, 0xff23);
}

/* Strides 3, -2 and 0 must give what the contiguous loop gives. */
static void check_strides(tern_dtype from, tern_dtype to)
{
    enum { N = 200 };
    int64_t from_bytes = (int64_t)tern__dtype_unit_bytes(from),
            to_bytes = (int64_t)tern__dtype_unit_bytes(to);
    fill(from, source);
    memset(target, 0x5a, sizeof target);
    tern__convert(from, source + from_bytes * 2 * (N - 1), -2, to, target, 3, N);
    for (int64_t i = 0; i < N; i++) {
        reference_convert(from, source + from_bytes * 2 * (N - 1 - i), to, expected);
        CHECK(element_equal(to, target + i * 3 * to_bytes, expected));
        for (int64_t gap = to_bytes; gap < 3 * to_bytes; gap++)
            CHECK_EQ(target[i * 3 * to_bytes + gap], 0x5a);
    }
    tern__convert(from, source + 20 * from_bytes, 0, to, target, 1, N);
    reference_convert(from, source + 20 * from_bytes, to, expected);
    for (int64_t i = 0; i < N; i++)
        CHECK(element_equal(to, target + i * to_bytes, expected));
    tern__convert(from, NULL, 1, to, NULL, 1, 0);
}

TEST(strided_conversion)
{
    for (int from = 0; from < UNPACKED; from++) {
        for (int to = 0; to < UNPACKED && !harness_failed(); to++)
            check_strides((tern_dtype)from, (tern_dtype)to);
    }
}

/* One row of any type from random ternary or random values. */
static void fill_row(tern_dtype dtype, char *row, int64_t columns)
{
    int8_t values[COUNT];
    if (!tern__dtype_is_packed(dtype)) {
        fill(dtype, row);
        return;
    }
    if (tern__dtype_is_block(dtype)) {
        float numbers[COUNT];
        for (int64_t i = 0; i < columns; i++)
            numbers[i] = (float)tern__random_uniform(harness_seed(), (uint64_t)i) - 0.5f;
        tern__blocks_pack_row(dtype, numbers, columns, (uint8_t *)row);
        return;
    }
    for (int64_t i = 0; i < columns; i++)
        values[i] = (int8_t)((int)(tern__random_uniform(harness_seed(), (uint64_t)i) * 3) - 1);
    tern__ternary_pack_row(dtype, values, columns, (uint8_t *)row);
}

static void check_packed_row(tern_dtype from, tern_dtype to, int64_t columns)
{
    size_t from_bytes = tern__dtype_unit_bytes(from), to_bytes = tern__dtype_unit_bytes(to);
    size_t written = (size_t)tern__row_units(to, columns) * to_bytes;
    fill_row(from, source, columns);
    memset(target, 0xa5, sizeof target);
    tern__convert_row(from, source, to, target, columns);
    for (int64_t i = 0; i < columns; i++) {
        int8_t value = tern__dtype_is_packed(from) ? tern__ternary_at(from, (uint8_t *)source, i)
                                                   : reference_ternary(from, source + (size_t)i * from_bytes);
        if (tern__dtype_is_packed(to)) {
            CHECK_EQ(tern__ternary_at(to, (uint8_t *)target, i), value);
        } else {
            reference_convert(TERN_I8, &value, to, expected);
            CHECK(memcmp(target + (size_t)i * to_bytes, expected, to_bytes) == 0);
        }
    }
    int64_t bad;
    CHECK(!tern__dtype_is_packed(to) || tern__ternary_valid(to, (uint8_t *)target, 1, columns, &bad));
    for (size_t i = written; i < sizeof target; i++)
        CHECK_EQ((uint8_t)target[i], 0xa5);
}

TEST(packed_rows)
{
    static const int64_t COLUMNS[] = {0, 1, 3, 4, 5, 19, 20, 21, 1279, 1280, 1281, 2563, COUNT};
    for (int from = 0; from < TERN_Q8_0; from++) {
        for (int to = 0; to < TERN_Q8_0; to++) { /* blocks: test_blocks.c */
            bool packed = tern__dtype_is_packed((tern_dtype)from) || tern__dtype_is_packed((tern_dtype)to);
            for (size_t i = 0; packed && i < sizeof COLUMNS / sizeof COLUMNS[0] && !harness_failed(); i++)
                check_packed_row((tern_dtype)from, (tern_dtype)to, COLUMNS[i]);
        }
    }
}

TEST(chunks_equal_one_shot)
{
    for (int from = 0; from < TERN_DTYPE_COUNT; from++) {
        for (int to = 0; to < TERN_DTYPE_COUNT; to++) {
            enum { CHUNK = 1280 }; /* whole units of all packed types, but no divisor of COUNT */
            size_t from_step =
                (size_t)tern__row_units((tern_dtype)from, CHUNK) * tern__dtype_unit_bytes((tern_dtype)from);
            size_t to_step =
                (size_t)tern__row_units((tern_dtype)to, CHUNK) * tern__dtype_unit_bytes((tern_dtype)to);
            size_t bytes =
                (size_t)tern__row_units((tern_dtype)to, COUNT) * tern__dtype_unit_bytes((tern_dtype)to);
            fill_row((tern_dtype)from, source, COUNT);
            tern__convert_row((tern_dtype)from, source, (tern_dtype)to, expected, COUNT);
            memset(target, 0x5a, sizeof target);
            for (size_t c = 0; c * CHUNK < COUNT; c++) {
                int64_t n = COUNT - (int64_t)c * CHUNK < CHUNK ? COUNT - (int64_t)c * CHUNK : CHUNK;
                tern__convert_row((tern_dtype)from, source + c * from_step, (tern_dtype)to,
                                  target + c * to_step, n);
            }
            CHECK(memcmp(target, expected, bytes) == 0);
        }
    }
}
