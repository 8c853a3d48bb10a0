/* test_codec.c - every row of the table of ternary types: codes go there and back, and a code of 3 is seen. */
#include <string.h>

#include "harness.h"
#include "model/file/codec.h"

enum { COLUMNS = 512, BYTES = 2 * COLUMNS };

static uint32_t state;

static uint32_t roll(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

TEST(there_and_back)
{
    state = (uint32_t)harness_seed();
    for (int s = TERN_STORED_AS_IS + 1; s < TERN_STORED_COUNT; s++) {
        const tern__codec *codec = tern__codec_get((tern_stored)s);
        CHECK_EQ(codec != NULL, tern_stored_get((tern_stored)s)->kind == TERN_STORED_TERNARY);
        if (!codec)
            continue;
        uint8_t codes[TERN__MOST_PLANES * COLUMNS], bytes[BYTES], t2[COLUMNS / 4];
        CHECK(codec->planes >= 1 && codec->planes <= TERN__MOST_PLANES);
        for (int i = 0; i < codec->planes * COLUMNS; i++)
            codes[i] = (uint8_t)roll(3);
        memset(bytes, 0, sizeof bytes);
        codec->encode(codes, COLUMNS, bytes);
        for (int plane = 0; plane < codec->planes; plane++) {
            CHECK(codec->decode(bytes, plane, COLUMNS, t2));
            for (int i = 0; i < COLUMNS; i++)
                CHECK_EQ(tern__t2_code(t2, i), codes[plane * COLUMNS + i]);
        }
        CHECK_EQ(tern__codec_tail((tern_stored)s),
                 codec->scales == TERN__SCALES_BEHIND ? TERN__SCALE_TAIL : 0);
    }
    CHECK(!tern__codec_get(TERN_STORED_COUNT) && !tern__codec_get(TERN_STORED_AS_IS) &&
          !tern__codec_get((tern_stored)-1));
}

/* Random bytes that were made codes decode, and have all three values about as often. */
TEST(any_byte_becomes_codes)
{
    for (int s = TERN_STORED_AS_IS + 1; s < TERN_STORED_COUNT; s++) {
        const tern__codec *codec = tern__codec_get((tern_stored)s);
        uint8_t bytes[BYTES], t2[COLUMNS / 4];
        int counts[4] = {0};
        for (int byte = 0; codec && byte < 256; byte++) {
            memset(bytes, codec->any(byte), sizeof bytes);
            CHECK(codec->decode(bytes, 0, COLUMNS, t2));
            for (int i = 0; i < COLUMNS; i++)
                counts[tern__t2_code(t2, i)]++;
        }
        for (int k = 0; codec && k < 3; k++)
            CHECK(counts[k] > 256 * COLUMNS / 4 && counts[k] < 256 * COLUMNS / 5 * 2);
        CHECK_EQ(counts[3], 0);
    }
}

TEST(code_3_is_seen)
{
    static const tern_stored two_bits[] = {TERN_STORED_I2_S, TERN_STORED_TQ2_0, TERN_STORED_HF_T2};
    for (size_t k = 0; k < sizeof two_bits / sizeof two_bits[0]; k++) {
        const tern__codec *codec = tern__codec_get(two_bits[k]);
        uint8_t bytes[BYTES], t2[COLUMNS / 4];
        memset(bytes, 0x55, sizeof bytes);
        bytes[37] = 0xD5; /* in the highest pair of bits */
        bool all = true;
        for (int plane = 0; plane < codec->planes; plane++)
            all = codec->decode(bytes, plane, COLUMNS, t2) && all;
        CHECK(!all);
    }
}
