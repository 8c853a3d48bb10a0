/* dtype.h - element types, and the byte layout of the packed ones.
 *
 * The list below is the one table of types: enumerators, names, sizes, parsing, `tern list dtypes` and tests
 * come from it. It stands in a public header because its numbers are part of the ABI. */
#ifndef TERN_DTYPE_H
#define TERN_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

/* X(enumerator, number, name, kind, elements per unit, bytes per unit, description)
 * A unit is the smallest addressable piece: one element, but one byte of t2 and t5 and one block of the block types.
 * In options 0 says that none is asked for: TERN_BOOL, which has this number, is no type that an option takes. */
/* clang-format off */
#define TERN_DTYPE_LIST(X)                                                          \
    X(BOOL, 0, "bool", BOOL,    1, 1, "0 or 1, one byte")                           \
    X(U8,   1, "u8",   UINT,    1, 1, "unsigned 8-bit integer")                     \
    X(I8,   2, "i8",   INT,     1, 1, "signed 8-bit integer")                       \
    X(I32,  3, "i32",  INT,     1, 4, "signed 32-bit integer")                      \
    X(I64,  4, "i64",  INT,     1, 8, "signed 64-bit integer")                      \
    X(F16,  5, "f16",  FLOAT,   1, 2, "IEEE binary16")                              \
    X(BF16, 6, "bf16", FLOAT,   1, 2, "the upper half of IEEE binary32")            \
    X(F32,  7, "f32",  FLOAT,   1, 4, "IEEE binary32")                              \
    X(F64,  8, "f64",  FLOAT,   1, 8, "IEEE binary64, for references")              \
    X(T2,   9, "t2",   TERNARY, 4, 1, "ternary, four to a byte (2 bits each)")      \
    X(T5,  10, "t5",   TERNARY, 5, 1, "ternary, five to a byte (1.6 bits each)")    \
    X(Q8_0, 11, "q8_0", BLOCK,  32, 34, "8-bit codes, a scale for 32 (GGUF's Q8_0)") \
    X(Q6_K, 12, "q6_k", BLOCK, 256, 210, "6-bit codes, scales for 16 and 256 (GGUF's Q6_K)") \
    X(Q4_0, 13, "q4_0", BLOCK,  32, 18, "4-bit codes, a scale for 32 (GGUF's Q4_0)") \
    X(Q4_K, 14, "q4_k", BLOCK, 256, 144, "4-bit codes, scales and offsets for 32 and 256 (GGUF's Q4_K)")

typedef enum tern_dtype {
#define TERN_DTYPE_ENUM(id, number, name, kind, elements, bytes, text) TERN_##id = number,
    TERN_DTYPE_LIST(TERN_DTYPE_ENUM)
#undef TERN_DTYPE_ENUM
    TERN_DTYPE_COUNT
} tern_dtype;
/* clang-format on */

typedef enum tern_dtype_kind {
    TERN_KIND_BOOL,
    TERN_KIND_UINT,
    TERN_KIND_INT,
    TERN_KIND_FLOAT,
    TERN_KIND_TERNARY,
    TERN_KIND_BLOCK,
} tern_dtype_kind;

typedef struct tern_dtype_info {
    const char *name; /* "f32" */
    const char *description;
    tern_dtype_kind kind;
    int unit_elements; /* elements in one unit: 1, 4 / 5 for t2 / t5, or those of a block */
    int unit_bytes;    /* bytes of one unit */
} tern_dtype_info;

/* ---- t2 and t5: canonical storage, the same on every machine --------------------------------------------
 *
 * A ternary tensor is stored row by row; a row is its last axis. Each row starts on a byte of its own and
 * takes ceil(columns / 4) bytes (t2) or ceil(columns / 5) bytes (t5). A value w in {-1, 0, +1} has the code
 * w + 1 in {0, 1, 2}.
 *
 *   t2  column c is in byte c / 4, bits 2*(c % 4) and 2*(c % 4) + 1, so the first column has the low bits:
 *
 *           bit   7 6   5 4   3 2   1 0
 *               [ c+3 | c+2 | c+1 |  c  ]         code 3 is invalid
 *
 *   t5  column c is digit c % 5 of byte c / 5 in base 3, the first column the least significant digit:
 *
 *           byte = code[c] + 3*code[c+1] + 9*code[c+2] + 27*code[c+3] + 81*code[c+4]
 *                                                  bytes 243..255 are invalid
 *
 * The columns that pad the last byte of a row hold the value 0 (code 1), so equal tensors have equal bytes
 * and a kernel that reads past the last column adds nothing. What kernels prefer is a private packed form
 * that is made from this one; it never appears in files or in the API. */
#define TERN_T2_PER_BYTE 4
#define TERN_T5_PER_BYTE 5
#define TERN_T2_ZERO_BYTE 0x55 /* four zeros */
#define TERN_T5_ZERO_BYTE 121  /* five zeros: 1 + 3 + 9 + 27 + 81 */

/* ---- q8_0, q6_k, q4_0 and q4_k: blocks of codes with their scales ---------------------------------------
 *
 * The blocks of GGUF files, byte for byte, so that a mapped file is a tensor. A row is whole blocks one after the other; in the
 * last one, what lies beyond the columns means nothing. Numbers of several bytes are little-endian, f16 is IEEE binary16.
 * Element e of a block:
 *
 *   q8_0   32 elements: f16 d, i8 code[32]
 *              d * code[e]
 *   q4_0   32 elements: f16 d, u8 b[16]; code e is in byte e % 16, in the low half if e < 16
 *              d * (code - 8)
 *   q6_k   256 elements: u8 low[128], u8 high[64], i8 scale[16], f16 d; with h = e / 128, g = e % 128 / 32, l = e % 32:
 *              bits 0..3 of the code: low[64 * h + 32 * (g % 2) + l], in the low half if g < 2
 *              bits 4..5 of the code: high[32 * h + l], bits 2 * g and 2 * g + 1
 *              d * scale[e / 16] * (code - 32)
 *   q4_k   256 elements: f16 d, f16 dmin, u8 s[12], u8 b[128]; with j = e / 32, l = e % 32:
 *              code: b[32 * (j / 2) + l], in the low half if j is even
 *              scale and offset of 6 bits each: j < 4: s[j] % 64 and s[j + 4] % 64;
 *                  else s[j + 4] % 16 + 16 * (s[j - 4] / 64) and s[j + 4] / 16 + 16 * (s[j] / 64)
 *              d * scale * code - dmin * offset
 *
 * The first three are exact in f32, the last one is rounded once. A zero is never negative, and a block whose d or dmin is not
 * finite holds nothing but NaN: then every way to compute a value gives the same bits. */

#ifdef __cplusplus
extern "C" {
#endif

/* Facts about a type; NULL if the number is not a type. Static. Any thread. */
TERN_API const tern_dtype_info *tern_dtype_get(tern_dtype dtype);

/* "f32", or "invalid". Static. */
TERN_API const char *tern_dtype_name(tern_dtype dtype);

/* The type called `name`; TERN_NOT_FOUND, with the known names in the message, if there is none. */
TERN_API tern_status tern_dtype_parse(const char *name, tern_dtype *out);

/* The type that a binary operation computes in:
 *   equal types stay; bool gives way to any other; a float wins over an integer and keeps its own width;
 *   f16 with bf16 gives f32; u8 with i8 gives i32; otherwise the wider one wins.
 * Packed types do not promote: TERN_DTYPE. */
TERN_API tern_status tern_dtype_promote(tern_dtype a, tern_dtype b, tern_dtype *out);

#ifdef __cplusplus
}
#endif
#endif
