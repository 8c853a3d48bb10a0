/* ternary.c - packing and unpacking rows of t2 and t5, as <tern/dtype.h> lays them out.
 *
 * Bytes that are no valid code (t2: a pair of bits 3; t5: 243..255) unpack to zeros, never to values outside
 * {-1, 0, +1}; loaders find them with tern__ternary_valid before anything computes. */
#include "tensor/ternary.h"

#include <string.h>

#include "base/status.h"

enum { T5_VALID = 243 }; /* 3^5 codes */

_Static_assert(TERN_T2_ZERO_BYTE == (1 | 1 << 2 | 1 << 4 | 1 << 6), "four codes of 1, two bits each");
_Static_assert(TERN_T5_ZERO_BYTE == 1 + 3 + 9 + 27 + 81, "five digits of 1 in base 3");
_Static_assert(TERN_T2_PER_BYTE * 2 == 8, "t2 fills a byte");
_Static_assert(TERN_T5_PER_BYTE == 5 && T5_VALID <= 256, "five base-3 digits fit a byte, six would not");

static unsigned code_of(int8_t value)
{
    return (unsigned)((value > 0) - (value < 0) + 1);
}

static uint8_t pack_t2(const int8_t *v)
{
    return (uint8_t)(code_of(v[0]) | code_of(v[1]) << 2 | code_of(v[2]) << 4 | code_of(v[3]) << 6);
}

static uint8_t pack_t5(const int8_t *v)
{
    return (uint8_t)(code_of(v[0]) + 3 * code_of(v[1]) + 9 * code_of(v[2]) + 27 * code_of(v[3]) +
                     81 * code_of(v[4]));
}

/* Bit pairs of 3 become 1 (the value zero): a pair is 3 where both its bits are set, and clearing the upper
 * one leaves 1. */
static unsigned t2_cleaned(uint8_t byte)
{
    return byte & ~((byte & 0x55u) << 1);
}

static void unpack_t2(uint8_t byte, int8_t *v)
{
    unsigned codes = t2_cleaned(byte);
    for (int i = 0; i < TERN_T2_PER_BYTE; i++)
        v[i] = (int8_t)((int)(codes >> (2 * i) & 3u) - 1);
}

static void unpack_t5(uint8_t byte, int8_t *v)
{
    unsigned digits = byte < T5_VALID ? byte : TERN_T5_ZERO_BYTE;
    for (int i = 0; i < TERN_T5_PER_BYTE; i++) {
        v[i] = (int8_t)((int)(digits % 3) - 1);
        digits /= 3;
    }
}

void tern__ternary_pack_row(tern_dtype dtype, const int8_t *values, int64_t columns, uint8_t *packed)
{
    int per_byte = dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
    int64_t whole = columns / per_byte, rest = columns % per_byte;
    if (dtype == TERN_T2) {
        for (int64_t i = 0; i < whole; i++)
            packed[i] = pack_t2(values + i * TERN_T2_PER_BYTE);
    } else {
        for (int64_t i = 0; i < whole; i++)
            packed[i] = pack_t5(values + i * TERN_T5_PER_BYTE);
    }
    if (rest > 0) {
        int8_t last[TERN_T5_PER_BYTE] = {0};
        memcpy(last, values + whole * per_byte, (size_t)rest);
        packed[whole] = dtype == TERN_T2 ? pack_t2(last) : pack_t5(last);
    }
}

void tern__ternary_unpack_row(tern_dtype dtype, const uint8_t *packed, int64_t columns, int8_t *values)
{
    int per_byte = dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
    int64_t whole = columns / per_byte, rest = columns % per_byte;
    if (dtype == TERN_T2) {
        for (int64_t i = 0; i < whole; i++)
            unpack_t2(packed[i], values + i * TERN_T2_PER_BYTE);
    } else {
        for (int64_t i = 0; i < whole; i++)
            unpack_t5(packed[i], values + i * TERN_T5_PER_BYTE);
    }
    if (rest > 0) {
        int8_t last[TERN_T5_PER_BYTE];
        if (dtype == TERN_T2)
            unpack_t2(packed[whole], last);
        else
            unpack_t5(packed[whole], last);
        memcpy(values + whole * per_byte, last, (size_t)rest);
    }
}

int8_t tern__ternary_at(tern_dtype dtype, const uint8_t *row, int64_t column)
{
    int8_t values[TERN_T5_PER_BYTE];
    if (dtype == TERN_T2) {
        unpack_t2(row[column / TERN_T2_PER_BYTE], values);
        return values[column % TERN_T2_PER_BYTE];
    }
    unpack_t5(row[column / TERN_T5_PER_BYTE], values);
    return values[column % TERN_T5_PER_BYTE];
}

/* Valid, and zero from column `used` of the byte on? */
static bool byte_valid(tern_dtype dtype, uint8_t byte, int64_t used)
{
    int8_t values[TERN_T5_PER_BYTE];
    int per_byte = dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
    if (dtype == TERN_T2) {
        if (t2_cleaned(byte) != byte)
            return false;
        unpack_t2(byte, values);
    } else {
        if (byte >= T5_VALID)
            return false;
        unpack_t5(byte, values);
    }
    for (int64_t i = used; i < per_byte; i++) {
        if (values[i] != 0)
            return false;
    }
    return true;
}

bool tern__ternary_valid(tern_dtype dtype, const uint8_t *packed, int64_t rows, int64_t columns,
                         int64_t *bad_byte)
{
    int per_byte = dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
    int64_t row_bytes = tern__row_units(dtype, columns);
    int64_t last_used = columns - (row_bytes - 1) * per_byte;
    for (int64_t r = 0; r < rows && row_bytes > 0; r++) {
        const uint8_t *row = packed + r * row_bytes;
        for (int64_t i = 0; i < row_bytes; i++) {
            if (!byte_valid(dtype, row[i], i == row_bytes - 1 ? last_used : per_byte)) {
                *bad_byte = r * row_bytes + i;
                return false;
            }
        }
    }
    return true;
}

tern_status tern__ternary_check(const char *who, const tern__type *type, const void *data)
{
    if (!tern__dtype_is_ternary(type->dtype))
        return TERN_OK;
    int64_t columns = type->rank ? type->shape[type->rank - 1] : 1;
    int64_t rows = columns ? tern__type_numel(type) / columns : 0, bad;
    TERN__FAIL_IF(!tern__ternary_valid(type->dtype, data, rows, columns, &bad), TERN_FORMAT,
                  "%s: byte %lld is not canonical %s (see <tern/dtype.h>)", who, (long long)bad,
                  tern_dtype_name(type->dtype));
    return TERN_OK;
}
