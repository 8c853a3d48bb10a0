/* The byte layout of t2 and t5, spelled out by hand, and its checks. */
#include "harness.h"

#include <string.h>

#include "tensor/ternary.h"

TEST(t2_layout_by_hand)
{
    /* columns -1 0 +1 -1 | +1 +1 (0 0): codes 0 1 2 0 | 2 2 1 1, low bits first */
    int8_t values[6] = {-1, 0, 1, -1, 1, 1}, back[6];
    uint8_t packed[2];
    tern__ternary_pack_row(TERN_T2, values, 6, packed);
    CHECK_EQ(packed[0], 0 | 1 << 2 | 2 << 4 | 0 << 6);
    CHECK_EQ(packed[1], 2 | 2 << 2 | 1 << 4 | 1 << 6);
    tern__ternary_unpack_row(TERN_T2, packed, 6, back);
    CHECK(memcmp(values, back, 6) == 0);
}

TEST(t5_layout_by_hand)
{
    /* columns -1 0 +1 -1 +1 | +1 (0 0 0 0): codes 0 1 2 0 2 | 2 1 1 1 1, least significant digit first */
    int8_t values[6] = {-1, 0, 1, -1, 1, 1}, back[6];
    uint8_t packed[2];
    tern__ternary_pack_row(TERN_T5, values, 6, packed);
    CHECK_EQ(packed[0], 0 + 1 * 3 + 2 * 9 + 0 * 27 + 2 * 81);
    CHECK_EQ(packed[1], 2 + 1 * 3 + 1 * 9 + 1 * 27 + 1 * 81);
    tern__ternary_unpack_row(TERN_T5, packed, 6, back);
    CHECK(memcmp(values, back, 6) == 0);
}

TEST(zeros_are_the_documented_bytes)
{
    int8_t zeros[20] = {0};
    uint8_t packed[5];
    tern__ternary_pack_row(TERN_T2, zeros, 20, packed);
    CHECK(packed[0] == TERN_T2_ZERO_BYTE && packed[4] == TERN_T2_ZERO_BYTE);
    tern__ternary_pack_row(TERN_T5, zeros, 20, packed);
    CHECK(packed[0] == TERN_T5_ZERO_BYTE && packed[3] == TERN_T5_ZERO_BYTE);
}

TEST(values_are_clamped)
{
    int8_t values[5] = {-128, 127, 2, -2, 0}, back[5];
    const int8_t want[5] = {-1, 1, 1, -1, 0};
    uint8_t packed[2];
    for (int d = TERN_T2; d <= TERN_T5; d++) {
        tern__ternary_pack_row((tern_dtype)d, values, 5, packed);
        tern__ternary_unpack_row((tern_dtype)d, packed, 5, back);
        CHECK(memcmp(want, back, 5) == 0);
    }
}

TEST(every_byte_is_judged)
{
    int valid_t2 = 0, valid_t5 = 0;
    for (int b = 0; b < 256; b++) {
        uint8_t byte = (uint8_t)b;
        int64_t bad = -1;
        int8_t values[5];
        bool has_three = (b & 3) == 3 || (b >> 2 & 3) == 3 || (b >> 4 & 3) == 3 || b >> 6 == 3;
        CHECK_EQ(tern__ternary_valid(TERN_T2, &byte, 1, 4, &bad), !has_three);
        CHECK_EQ(tern__ternary_valid(TERN_T5, &byte, 1, 5, &bad), b < 243);
        valid_t2 += !has_three;
        valid_t5 += b < 243;
        /* unpacking never leaves {-1, 0, 1}, valid or not */
        tern__ternary_unpack_row(TERN_T2, &byte, 4, values);
        for (int i = 0; i < 4; i++) {
            CHECK(values[i] >= -1 && values[i] <= 1);
            CHECK_EQ(values[i], tern__ternary_at(TERN_T2, &byte, i));
            CHECK((b >> (2 * i) & 3) != 3 || values[i] == 0);
        }
        tern__ternary_unpack_row(TERN_T5, &byte, 5, values);
        for (int i = 0; i < 5; i++) {
            CHECK(values[i] >= -1 && values[i] <= 1 && (b < 243 || values[i] == 0));
            CHECK_EQ(values[i], tern__ternary_at(TERN_T5, &byte, i));
        }
        /* packing what was unpacked gives the byte back */
        uint8_t again;
        tern__ternary_pack_row(TERN_T5, values, 5, &again);
        CHECK(b >= 243 || again == byte);
    }
    CHECK_EQ(valid_t2, 81);
    CHECK_EQ(valid_t5, 243);
}

TEST(padding_must_be_zero)
{
    /* three rows of two columns, a byte each; the second row has a +1 behind its end */
    uint8_t t2[3] = {TERN_T2_ZERO_BYTE, 0x65, TERN_T2_ZERO_BYTE};
    uint8_t t5[3] = {TERN_T5_ZERO_BYTE, TERN_T5_ZERO_BYTE + 9, TERN_T5_ZERO_BYTE};
    int64_t bad = -1;
    CHECK(!tern__ternary_valid(TERN_T2, t2, 3, 2, &bad));
    CHECK_EQ(bad, 1);
    CHECK(tern__ternary_valid(TERN_T2, t2, 3, 3, &bad));
    CHECK(!tern__ternary_valid(TERN_T5, t5, 3, 2, &bad));
    CHECK_EQ(bad, 1);
    CHECK(tern__ternary_valid(TERN_T5, t5, 3, 3, &bad));
    CHECK(tern__ternary_valid(TERN_T5, t5, 3, 0, &bad));
    CHECK(tern__ternary_valid(TERN_T5, NULL, 0, 7, &bad));
}
