/* blocks.c - blocks of quantised numbers to and from f32, one block at a time. */
#include "tensor/blocks.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "tensor/half.h"

enum { SMALL = 32, LARGE = TERN__BLOCK_MOST };

static uint16_t load_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static void store_u16(uint8_t *at, uint16_t x)
{
    at[0] = (uint8_t)x;
    at[1] = (uint8_t)(x >> 8);
}

/* A block's scale; what is not finite becomes NaN, and with it the whole block. */
static float load_scale(const uint8_t *at)
{
    const uint16_t bits = load_u16(at);
    return (bits & 0x7c00) == 0x7c00 ? NAN : tern__f16_to_f32(bits);
}

/* ---- to f32 ---------------------------------------------------------------------------------------------- */

/* Adding 0 leaves no negative zeros. */
static void unpack_q8_0(const uint8_t *block, float *out)
{
    const float d = load_scale(block);
    for (int e = 0; e < SMALL; e++)
        out[e] = d * (float)(int8_t)block[2 + e] + 0.0f;
}

static void unpack_q4_0(const uint8_t *block, float *out)
{
    const float d = load_scale(block);
    for (int e = 0; e < SMALL / 2; e++) {
        out[e] = d * (float)((block[2 + e] & 15) - 8) + 0.0f;
        out[e + SMALL / 2] = d * (float)((block[2 + e] >> 4) - 8) + 0.0f;
    }
}

/* Where the parts of the larger blocks begin. */
enum { Q6_HIGH = 128, Q6_SCALES = 192, Q6_D = 208, Q4K_DMIN = 2, Q4K_SCALES = 4, Q4K_CODES = 16 };

static int q6_code(const uint8_t *block, int e)
{
    const int h = e / 128, g = e % 128 / 32, l = e % 32;
    const int low = block[64 * h + 32 * (g % 2) + l] >> (g < 2 ? 0 : 4) & 15;
    const int high = block[Q6_HIGH + 32 * h + l] >> 2 * g & 3;
    return (low | high << 4) - 32;
}

static void unpack_q6_k(const uint8_t *block, float *out)
{
    const float d = load_scale(block + Q6_D);
    for (int e = 0; e < LARGE; e++) {
        const float scale = d * (float)(int8_t)block[Q6_SCALES + e / 16]; /* exact, and so is what follows */
        out[e] = scale * (float)q6_code(block, e) + 0.0f;
    }
}

void tern__q4_k_scale(const uint8_t s[12], int j, int *scale, int *offset)
{
    *scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
    *offset = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
}

static void unpack_q4_k(const uint8_t *block, float *out)
{
    const float d = load_scale(block), dmin = load_scale(block + Q4K_DMIN);
    for (int j = 0; j < LARGE / SMALL; j++) {
        int scale, offset;
        tern__q4_k_scale(block + Q4K_SCALES, j, &scale, &offset);
        const float s = d * (float)scale, m = dmin * (float)offset; /* exact, as is s times a code */
        const uint8_t *codes = block + Q4K_CODES + SMALL * (j / 2);
        for (int l = 0; l < SMALL; l++)
            out[SMALL * j + l] = s * (float)(codes[l] >> (j % 2 ? 4 : 0) & 15) - m + 0.0f;
    }
}

typedef void unpack_fn(const uint8_t *block, float *out);

static unpack_fn *const UNPACK[TERN_DTYPE_COUNT] = {[TERN_Q8_0] = unpack_q8_0,
                                                    [TERN_Q6_K] = unpack_q6_k,
                                                    [TERN_Q4_0] = unpack_q4_0,
                                                    [TERN_Q4_K] = unpack_q4_k};

static int64_t block_elements(tern_dtype dtype)
{
    return dtype == TERN_Q8_0 || dtype == TERN_Q4_0 ? SMALL : LARGE;
}

void tern__blocks_unpack(tern_dtype dtype, const uint8_t *row, int64_t first, int64_t n, float *out)
{
    const int64_t each = block_elements(dtype), bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    for (int64_t end = first + n, taken; first < end; first += taken, out += taken) {
        const int64_t skipped = first % each, left = each - skipped;
        const uint8_t *block = row + first / each * bytes;
        taken = end - first < left ? end - first : left;
        if (taken == each) {
            UNPACK[dtype](block, out);
            continue;
        }
        float whole[LARGE];
        UNPACK[dtype](block, whole);
        memcpy(out, whole + skipped, (size_t)taken * sizeof *out);
    }
}

/* ---- from f32 -------------------------------------------------------------------------------------------- */

static const uint16_t F16_NAN = 0x7e00;

static float clamp_to(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/* x / d to the nearest code in [low, high]. */
static int code_of(float x, float d, int low, int high)
{
    return d == 0 ? 0 : (int)clamp_to(rintf(x / d), (float)low, (float)high);
}

static bool all_finite(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* The element that is furthest from 0. */
static float extreme(const float *x, int n)
{
    float most = 0;
    for (int i = 0; i < n; i++)
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
    return most;
}

/* As f16 at `at`, kept finite; returns what was stored. */
static float store_scale(uint8_t *at, float d)
{
    const uint16_t bits = tern__f32_to_f16(clamp_to(d, -65504, 65504));
    store_u16(at, bits);
    return tern__f16_to_f32(bits);
}

/* Codes of the larger blocks, into bytes that are 0: -32..31, and 0..15. */
static void store_q6_code(uint8_t *block, int e, int code)
{
    const int h = e / 128, g = e % 128 / 32, l = e % 32;
    block[64 * h + 32 * (g % 2) + l] |= (uint8_t)(((code + 32) & 15) << (g < 2 ? 0 : 4));
    block[Q6_HIGH + 32 * h + l] |= (uint8_t)((code + 32) >> 4 << 2 * g);
}

static void store_q4_k_code(uint8_t *block, int e, int code)
{
    const int j = e / SMALL, l = e % SMALL;
    block[Q4K_CODES + SMALL * (j / 2) + l] |= (uint8_t)(code << (j % 2 ? 4 : 0));
}

static void pack_q8_0(const float *x, uint8_t *block)
{
    const float d = store_scale(block, fabsf(extreme(x, SMALL)) / 127);
    for (int e = 0; e < SMALL; e++)
        block[2 + e] = (uint8_t)code_of(x[e], d, -127, 127);
}

/* -8 is the code that reaches furthest: it goes to the extreme. */
static void pack_q4_0(const float *x, uint8_t *block)
{
    const float d = store_scale(block, extreme(x, SMALL) / -8);
    for (int e = 0; e < SMALL / 2; e++)
        block[2 + e] =
            (uint8_t)((code_of(x[e], d, -8, 7) + 8) | (code_of(x[e + SMALL / 2], d, -8, 7) + 8) << 4);
}

/* The scale for codes -32..31 of 16 numbers with the least squared error, of a few around the one that maps the extreme to
 * -32; for the codes of each, the best scale is a quotient of sums. */
static float fit_q6(const float *x)
{
    enum { N = 16, TRIES = 9 };
    const float most = extreme(x, N);
    float best = 0, gained = 0;
    for (int t = -TRIES; t <= TRIES && most != 0; t++) {
        const float guess = most / -(32 + 0.1f * (float)t);
        float xq = 0, qq = 0;
        for (int i = 0; i < N; i++) {
            const float q = (float)code_of(x[i], guess, -32, 31);
            xq += x[i] * q;
            qq += q * q;
        }
        /* the error is sum(x^2) - xq^2 / qq */
        if (qq > 0 && xq * xq > gained * qq) {
            gained = xq * xq / qq;
            best = xq / qq;
        }
    }
    return best;
}

static void pack_q6_k(const float *x, uint8_t *block)
{
    enum { GROUP = 16, GROUPS = LARGE / GROUP };
    float scales[GROUPS];
    for (int i = 0; i < GROUPS; i++)
        scales[i] = fit_q6(x + GROUP * i);
    memset(block, 0, Q6_D);
    const float d = store_scale(block + Q6_D, extreme(scales, GROUPS) / -128);
    for (int i = 0; i < GROUPS; i++)
        block[Q6_SCALES + i] = (uint8_t)code_of(scales[i], d, -128, 127);
    for (int e = 0; e < LARGE; e++) {
        const float scale = d * (float)(int8_t)block[Q6_SCALES + e / GROUP];
        store_q6_code(block, e, code_of(x[e], scale, -32, 31));
    }
}

/* Six bits each of eight scales and offsets. */
static void store_q4_k_scale(uint8_t s[12], int j, int scale, int offset)
{
    if (j < 4) {
        s[j] |= (uint8_t)scale;
        s[j + 4] |= (uint8_t)offset;
        return;
    }
    s[j + 4] = (uint8_t)((scale & 15) | (offset & 15) << 4);
    s[j - 4] |= (uint8_t)(scale >> 4 << 6);
    s[j] |= (uint8_t)(offset >> 4 << 6);
}

static void pack_q4_k(const float *x, uint8_t *block)
{
    enum { GROUPS = LARGE / SMALL };
    float scales[GROUPS], offsets[GROUPS];
    for (int j = 0; j < GROUPS; j++) {
        float low = 0, high = x[SMALL * j];
        for (int l = 0; l < SMALL; l++) {
            low = fminf(low, x[SMALL * j + l]);
            high = fmaxf(high, x[SMALL * j + l]);
        }
        scales[j] = fmaxf(high / 15 - low / 15, 0);
        offsets[j] = -low;
    }
    memset(block, 0, Q4K_CODES + LARGE / 2);
    const float d = store_scale(block, extreme(scales, GROUPS) / 63);
    const float dmin = store_scale(block + Q4K_DMIN, extreme(offsets, GROUPS) / 63);
    for (int j = 0; j < GROUPS; j++) {
        const int scale = code_of(scales[j], d, 0, 63), offset = code_of(offsets[j], dmin, 0, 63);
        store_q4_k_scale(block + Q4K_SCALES, j, scale, offset);
        for (int l = 0; l < SMALL; l++) {
            const float above = x[SMALL * j + l] + dmin * (float)offset;
            store_q4_k_code(block, SMALL * j + l, code_of(above, d * (float)scale, 0, 15));
        }
    }
}

static void pack_nan(tern_dtype dtype, uint8_t *block)
{
    memset(block, 0, tern__dtype_unit_bytes(dtype));
    store_u16(block + (dtype == TERN_Q6_K ? Q6_D : 0), F16_NAN);
}

typedef void pack_fn(const float *x, uint8_t *block);

static pack_fn *const PACK[TERN_DTYPE_COUNT] = {
    [TERN_Q8_0] = pack_q8_0, [TERN_Q6_K] = pack_q6_k, [TERN_Q4_0] = pack_q4_0, [TERN_Q4_K] = pack_q4_k};

void tern__blocks_pack_row(tern_dtype dtype, const float *values, int64_t columns, uint8_t *packed)
{
    const int64_t each = block_elements(dtype), bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    for (int64_t c = 0; c < columns; c += each, packed += bytes) {
        const int64_t n = columns - c < each ? columns - c : each;
        float part[LARGE] = {0};
        memcpy(part, values + c, (size_t)n * sizeof *part);
        if (all_finite(part, (int)each))
            PACK[dtype](part, packed);
        else
            pack_nan(dtype, packed);
    }
}

/* ---- ternary numbers ------------------------------------------------------------------------------------- */

/* Inner scales are 1, so that a code times d is the number. */
static void signs_q8_0(const float *x, float d, uint8_t *block)
{
    store_scale(block, d);
    for (int e = 0; e < SMALL; e++)
        block[2 + e] = (uint8_t)(int8_t)x[e];
}

static void signs_q4_0(const float *x, float d, uint8_t *block)
{
    store_scale(block, d);
    for (int e = 0; e < SMALL / 2; e++)
        block[2 + e] = (uint8_t)(((int)x[e] + 8) | ((int)x[e + SMALL / 2] + 8) << 4);
}

static void signs_q6_k(const float *x, float d, uint8_t *block)
{
    memset(block, 0, Q6_SCALES);
    memset(block + Q6_SCALES, 1, Q6_D - Q6_SCALES);
    store_scale(block + Q6_D, d);
    for (int e = 0; e < LARGE; e++)
        store_q6_code(block, e, (int)x[e]);
}

/* Its codes are 0 and more: one more than the sign, and one less by the offset. */
static void signs_q4_k(const float *x, float d, uint8_t *block)
{
    memset(block, 0, Q4K_CODES + LARGE / 2);
    store_scale(block, d);
    store_scale(block + Q4K_DMIN, d);
    for (int j = 0; j < LARGE / SMALL; j++)
        store_q4_k_scale(block + Q4K_SCALES, j, 1, 1);
    for (int e = 0; e < LARGE; e++)
        store_q4_k_code(block, e, (int)x[e] + 1);
}

typedef void signs_fn(const float *x, float d, uint8_t *block);

static signs_fn *const SIGNS[TERN_DTYPE_COUNT] = {
    [TERN_Q8_0] = signs_q8_0, [TERN_Q6_K] = signs_q6_k, [TERN_Q4_0] = signs_q4_0, [TERN_Q4_K] = signs_q4_k};

void tern__blocks_pack_signs(tern_dtype dtype, const float *signs, int64_t columns, float d, uint8_t *packed)
{
    const int64_t each = block_elements(dtype), bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    for (int64_t c = 0; c < columns; c += each, packed += bytes)
        SIGNS[dtype](signs + c, d, packed);
}
