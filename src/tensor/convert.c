/* convert.c - every conversion between element types, generated from one rule per kind of pair.
 *
 * Each pair of unpacked types has one function with two loops: a contiguous one, plain enough for the
 * compiler to vectorise, and a strided one. A table maps (from, to) to it. Ternary types go through i8 and
 * block types through f32, a piece of a row at a time. */
#include "tensor/convert.h"

#include <string.h>

#include "base/status.h"
#include "tensor/blocks.h"
#include "tensor/half.h"
#include "tensor/ternary.h"

/* ---- storage types and their values -------------------------------------------------------------------- */

/* How an element lies in memory, per type. */
typedef uint8_t mem_BOOL;
typedef uint8_t mem_U8;
typedef int8_t mem_I8;
typedef int32_t mem_I32;
typedef int64_t mem_I64;
typedef uint16_t mem_F16;
typedef uint16_t mem_BF16;
typedef float mem_F32;
typedef double mem_F64;

/* What a loaded element computes as: f16 and bf16 widen exactly, a bool byte is 0 or 1. */
/* clang-format off */
static inline uint8_t load_BOOL(mem_BOOL x) { return x != 0; }
static inline uint8_t load_U8(mem_U8 x) { return x; }
static inline int8_t load_I8(mem_I8 x) { return x; }
static inline int32_t load_I32(mem_I32 x) { return x; }
static inline int64_t load_I64(mem_I64 x) { return x; }
static inline float load_F16(mem_F16 x) { return tern__f16_to_f32(x); }
static inline float load_BF16(mem_BF16 x) { return tern__bf16_to_f32(x); }
static inline float load_F32(mem_F32 x) { return x; }
static inline double load_F64(mem_F64 x) { return x; }
/* clang-format on */

/* ---- the rules: value -> memory of the target, by the type of the value -------------------------------- */

/* float -> integer: truncates, saturates, NaN gives 0. The casts see only numbers that fit. Comparisons
 * against powers of two are exact in every float type, INT_MAX itself is not. */
/* clang-format off */
#define FLOAT_TO_INT(name, value_t, int_t, low, high, limit)                        \
    static inline int_t name(value_t x)                                             \
    {                                                                               \
        value_t inside = x > (value_t)(low) && x < (value_t)(limit) ? x : 0;        \
        int_t saturated = x >= (value_t)(limit) ? (high) : (low);                   \
        bool outside = x >= (value_t)(limit) || x <= (value_t)(low);                \
        return outside ? saturated : (int_t)inside;                                 \
    }
FLOAT_TO_INT(f32_to_U8, float, uint8_t, 0, UINT8_MAX, 256.0)
FLOAT_TO_INT(f32_to_I8, float, int8_t, INT8_MIN, INT8_MAX, 128.0)
FLOAT_TO_INT(f32_to_I32, float, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
FLOAT_TO_INT(f32_to_I64, float, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
FLOAT_TO_INT(f64_to_U8, double, uint8_t, 0, UINT8_MAX, 256.0)
FLOAT_TO_INT(f64_to_I8, double, int8_t, INT8_MIN, INT8_MAX, 128.0)
FLOAT_TO_INT(f64_to_I32, double, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
FLOAT_TO_INT(f64_to_I64, double, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
#undef FLOAT_TO_INT

static inline uint8_t f32_to_BOOL(float x) { return x != 0; }
static inline uint8_t f64_to_BOOL(double x) { return x != 0; }
static inline mem_F16 f32_to_F16(float x) { return tern__f32_to_f16(x); }
static inline mem_BF16 f32_to_BF16(float x) { return tern__f32_to_bf16(x); }
static inline float f32_to_F32(float x) { return x; }
static inline double f32_to_F64(float x) { return (double)x; }
static inline mem_F16 f64_to_F16(double x) { return tern__f64_to_f16(x); }
static inline mem_BF16 f64_to_BF16(double x) { return tern__f64_to_bf16(x); }
static inline float f64_to_F32(double x) { return (float)x; }
static inline double f64_to_F64(double x) { return x; }
/* clang-format on */

/* 8-bit values are exact in every float type. */
/* clang-format off */
#define SMALL_INT(prefix, value_t)                                                          \
    static inline uint8_t prefix##_to_BOOL(value_t x) { return x != 0; }                    \
    static inline uint8_t prefix##_to_U8(value_t x) { return (uint8_t)x; }                  \
    static inline int8_t prefix##_to_I8(value_t x) { return (int8_t)x; }                    \
    static inline int32_t prefix##_to_I32(value_t x) { return x; }                          \
    static inline int64_t prefix##_to_I64(value_t x) { return x; }                          \
    static inline mem_F16 prefix##_to_F16(value_t x) { return tern__f32_to_f16(x); }        \
    static inline mem_BF16 prefix##_to_BF16(value_t x) { return tern__f32_to_bf16(x); }     \
    static inline float prefix##_to_F32(value_t x) { return (float)x; }                     \
    static inline double prefix##_to_F64(value_t x) { return (double)x; }
SMALL_INT(u8, uint8_t)
SMALL_INT(i8, int8_t)
#undef SMALL_INT
/* clang-format on */

/* i32 and i64 -> 16-bit floats round once. f16 ends at 65504: clamped to twice that, an integer is exact in
 * f32. For bf16, i32 is exact in f64, and i64 is made so by folding the bits that f64 would round away into a
 * sticky last one, far below what bf16 keeps. */
#define CLAMP_FOR_F16(x) ((float)(int32_t)((x) > 131072 ? 131072 : (x) < -131072 ? -131072 : (x)))

static inline double exact_enough(int64_t x)
{
    uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    uint64_t sticky = (magnitude & 0x7ffu) != 0 ? 0x800u : 0;
    uint64_t kept = magnitude >> 53 ? (magnitude & ~(uint64_t)0x7ff) | sticky : magnitude;
    return x < 0 ? -(double)kept : (double)kept;
}

/* clang-format off */
static inline uint8_t i32_to_BOOL(int32_t x) { return x != 0; }
static inline uint8_t i32_to_U8(int32_t x) { return (uint8_t)x; }
static inline int8_t i32_to_I8(int32_t x) { return (int8_t)(uint8_t)x; }
static inline int32_t i32_to_I32(int32_t x) { return x; }
static inline int64_t i32_to_I64(int32_t x) { return x; }
static inline mem_F16 i32_to_F16(int32_t x) { return tern__f32_to_f16(CLAMP_FOR_F16(x)); }
static inline mem_BF16 i32_to_BF16(int32_t x) { return tern__f64_to_bf16(x); }
static inline float i32_to_F32(int32_t x) { return (float)x; }
static inline double i32_to_F64(int32_t x) { return x; }
static inline uint8_t i64_to_BOOL(int64_t x) { return x != 0; }
static inline uint8_t i64_to_U8(int64_t x) { return (uint8_t)x; }
static inline int8_t i64_to_I8(int64_t x) { return (int8_t)(uint8_t)x; }
static inline int32_t i64_to_I32(int64_t x) { return (int32_t)(uint32_t)x; }
static inline int64_t i64_to_I64(int64_t x) { return x; }
static inline mem_F16 i64_to_F16(int64_t x) { return tern__f32_to_f16(CLAMP_FOR_F16(x)); }
static inline mem_BF16 i64_to_BF16(int64_t x) { return tern__f64_to_bf16(exact_enough(x)); }
static inline float i64_to_F32(int64_t x) { return (float)x; }
static inline double i64_to_F64(int64_t x) { return (double)x; }
/* clang-format on */

/* ---- one function per pair ----------------------------------------------------------------------------- */

typedef void (*convert_fn)(const void *restrict source, int64_t source_stride, void *restrict target,
                           int64_t target_stride, int64_t n);

/* clang-format off */
#define PAIR(from, rule, to)                                                                           \
    static void from##_##to(const void *restrict source, int64_t source_stride, void *restrict target, \
                            int64_t target_stride, int64_t n)                                          \
    {                                                                                                  \
        const mem_##from *restrict s = source;                                                         \
        mem_##to *restrict t = target;                                                                 \
        if (source_stride == 1 && target_stride == 1) {                                                \
            for (int64_t i = 0; i < n; i++)                                                            \
                t[i] = rule##_to_##to(load_##from(s[i]));                                              \
            return;                                                                                    \
        }                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                \
            t[i * target_stride] = rule##_to_##to(load_##from(s[i * source_stride]));                  \
    }

/* X(from, rule, to) for one source and every target. */
#define TO_ALL(X, from, rule)                                                                       \
    X(from, rule, BOOL) X(from, rule, U8) X(from, rule, I8) X(from, rule, I32) X(from, rule, I64)   \
    X(from, rule, F16) X(from, rule, BF16) X(from, rule, F32) X(from, rule, F64)

#define ALL_PAIRS(X)                                                                                \
    TO_ALL(X, BOOL, u8) TO_ALL(X, U8, u8) TO_ALL(X, I8, i8) TO_ALL(X, I32, i32) TO_ALL(X, I64, i64) \
    TO_ALL(X, F16, f32) TO_ALL(X, BF16, f32) TO_ALL(X, F32, f32) TO_ALL(X, F64, f64)

ALL_PAIRS(PAIR)
/* clang-format on */

enum { UNPACKED = TERN_T2 }; /* the packed types are the last */
_Static_assert(TERN_T2 == 9 && TERN_T5 == 10, "the tables below cover every unpacked type");

/* clang-format off */
static const convert_fn CONVERT[UNPACKED][UNPACKED] = {
#define ENTRY(from, rule, to) [TERN_##from][TERN_##to] = from##_##to,
    ALL_PAIRS(ENTRY)
#undef ENTRY
};
/* clang-format on */

/* The bits of a value pass unchanged between equal types (a NaN is not quieted, unlike in f16 -> f32 -> f16).
 * Bytes of a bool that are neither 0 nor 1 are the exception: they become 1. */
static void copy(tern_dtype dtype, const char *source, int64_t source_stride, char *target,
                 int64_t target_stride, int64_t n)
{
    size_t bytes = tern__dtype_unit_bytes(dtype);
    if (source_stride == 1 && target_stride == 1) {
        memcpy(target, source, bytes * (size_t)n);
        return;
    }
    int64_t s = source_stride * (int64_t)bytes, t = target_stride * (int64_t)bytes;
    /* clang-format off */
    switch (bytes) { /* a memcpy of constant size is one load and one store */
    case 1: for (int64_t i = 0; i < n; i++) target[i * t] = source[i * s]; break;
    case 2: for (int64_t i = 0; i < n; i++) memcpy(target + i * t, source + i * s, 2); break;
    case 4: for (int64_t i = 0; i < n; i++) memcpy(target + i * t, source + i * s, 4); break;
    default: for (int64_t i = 0; i < n; i++) memcpy(target + i * t, source + i * s, 8); break;
    }
    /* clang-format on */
}

void tern__convert(tern_dtype from, const void *source, int64_t source_stride, tern_dtype to, void *target,
                   int64_t target_stride, int64_t n)
{
    if (n <= 0)
        return;
    if (from == to && from != TERN_BOOL)
        copy(from, source, source_stride, target, target_stride, n);
    else
        CONVERT[from][to](source, source_stride, target, target_stride, n);
}

/* ---- packed rows --------------------------------------------------------------------------------------- */

/* Rounded half to even and clamped to [-1, 1]: 0.5 and -0.5 round to 0, anything beyond has its sign. */
/* clang-format off */
#define TO_TERNARY(from, low, high)                                                         \
    static void from##_ternary(const void *source, int8_t *restrict target, int64_t n)      \
    {                                                                                       \
        const mem_##from *restrict s = source;                                              \
        for (int64_t i = 0; i < n; i++)                                                     \
            target[i] = (int8_t)((load_##from(s[i]) > high) - (load_##from(s[i]) < low));   \
    }
TO_TERNARY(BOOL, 0, 0)
TO_TERNARY(U8, 0, 0)
TO_TERNARY(I8, 0, 0)
TO_TERNARY(I32, 0, 0)
TO_TERNARY(I64, 0, 0)
TO_TERNARY(F16, -0.5f, 0.5f)
TO_TERNARY(BF16, -0.5f, 0.5f)
TO_TERNARY(F32, -0.5f, 0.5f)
TO_TERNARY(F64, -0.5, 0.5)
#undef TO_TERNARY

static void (*const TERNARY[UNPACKED])(const void *source, int8_t *restrict target, int64_t n) = {
    [TERN_BOOL] = BOOL_ternary, [TERN_U8] = U8_ternary,     [TERN_I8] = I8_ternary,
    [TERN_I32] = I32_ternary,   [TERN_I64] = I64_ternary,   [TERN_F16] = F16_ternary,
    [TERN_BF16] = BF16_ternary, [TERN_F32] = F32_ternary,   [TERN_F64] = F64_ternary,
};
/* clang-format on */

/* Columns that go through i8 or f32 at a time: whole units of all packed types, and small enough for the stack. */
enum { BLOCK = 1280 };
_Static_assert(BLOCK % (TERN_T2_PER_BYTE * TERN_T5_PER_BYTE) == 0, "blocks end on bytes of t2 and of t5");
_Static_assert(BLOCK % TERN__BLOCK_MOST == 0, "blocks end on blocks");

static void through_i8(tern_dtype from, const char *source, tern_dtype to, char *target, int64_t columns)
{
    int8_t values[BLOCK];
    if (tern__dtype_is_ternary(from))
        tern__ternary_unpack_row(from, (const uint8_t *)source, columns, values);
    else
        TERNARY[from](source, values, columns);
    if (tern__dtype_is_ternary(to))
        tern__ternary_pack_row(to, values, columns, (uint8_t *)target);
    else
        CONVERT[TERN_I8][to](values, 1, target, 1, columns);
}

static void through_f32(tern_dtype from, const char *source, tern_dtype to, char *target, int64_t columns)
{
    float values[BLOCK];
    if (tern__dtype_is_block(from))
        tern__blocks_unpack(from, (const uint8_t *)source, 0, columns, values);
    else
        tern__convert_row(from, source, TERN_F32, values, columns);
    if (tern__dtype_is_block(to))
        tern__blocks_pack_row(to, values, columns, (uint8_t *)target);
    else
        tern__convert_row(TERN_F32, values, to, target, columns);
}

void tern__convert_row(tern_dtype from, const void *source, tern_dtype to, void *target, int64_t columns)
{
    if (from == to && from != TERN_BOOL) {
        if (columns > 0)
            memcpy(target, source, (size_t)tern__row_units(from, columns) * tern__dtype_unit_bytes(from));
        return;
    }
    if (!tern__dtype_is_packed(from) && !tern__dtype_is_packed(to)) {
        tern__convert(from, source, 1, to, target, 1, columns);
        return;
    }
    int64_t source_step = tern__row_units(from, BLOCK) * (int64_t)tern__dtype_unit_bytes(from);
    int64_t target_step = tern__row_units(to, BLOCK) * (int64_t)tern__dtype_unit_bytes(to);
    bool blocks = tern__dtype_is_block(from) || tern__dtype_is_block(to);
    const char *s = source;
    char *t = target;
    for (int64_t done = 0; done < columns; done += BLOCK, s += source_step, t += target_step)
        (blocks ? through_f32 : through_i8)(from, s, to, t, columns - done < BLOCK ? columns - done : BLOCK);
}
