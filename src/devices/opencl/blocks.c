/* blocks.c - weights in blocks (q8_0, q6_k, q4_0, q4_k: <tern/dtype.h>) as OpenCL C. Every value has the bits that the CPU computes:
 * a zero is never negative, and a scale that is not finite makes its block NaN. */
#include "devices/opencl/opencl.h"

/* The same text twice: for one element, and for sixteen that begin at a multiple of sixteen, which then are of one block, and of
 * one scale in it. V: "" or "v"; F: their type; CODES(at), BYTES(at): bytes from an address on, signed as F and as U; U, FLOATS: what
 * the bytes are, and their conversion. */
/* clang-format off */
#define LOADS(V, F, U, CODES, BYTES, FLOATS)                                                          \
    "inline " F " " V "load_q8_0(global const uchar *p, long at)\n"                                   \
    "{\n"                                                                                             \
    "    p += at / 32 * 34;\n"                                                                        \
    "    return block_scale(p) * " CODES("p + 2 + at % 32") " + 0.0f;\n"                              \
    "}\n"                                                                                             \
    "inline " F " " V "load_q4_0(global const uchar *p, long at)\n"                                   \
    "{\n"                                                                                             \
    "    p += at / 32 * 18;\n"                                                                        \
    "    " U " codes = " BYTES("p + 2 + at % 16") " >> (" U ")(at % 32 / 16 * 4) & (" U ")15;\n"      \
    "    return block_scale(p) * (" FLOATS("codes") " - 8.0f) + 0.0f;\n"                              \
    "}\n"                                                                                             \
    "inline " F " " V "load_q6_k(global const uchar *p, long at)\n"                                   \
    "{\n"                                                                                             \
    "    p += at / 256 * 210;\n"                                                                      \
    "    int e = (int)(at % 256), h = e / 128, g = e % 128 / 32, l = e % 32;\n"                       \
    "    " U " low = " BYTES("p + 64 * h + 32 * (g % 2) + l") " >> (" U ")(g / 2 * 4) & (" U ")15;\n" \
    "    " U " high = " BYTES("p + 128 + 32 * h + l") " >> (" U ")(2 * g) & (" U ")3;\n"              \
    "    float scale = block_scale(p + 208) * (float)((global const char *)p)[192 + e / 16];\n"       \
    "    return scale * (" FLOATS("low | high << (" U ")4") " - 32.0f) + 0.0f;\n"                     \
    "}\n"                                                                                             \
    "inline " F " " V "load_q4_k(global const uchar *p, long at)\n"                                   \
    "{\n"                                                                                             \
    "    p += at / 256 * 144;\n"                                                                      \
    "    global const uchar *s = p + 4;\n"                                                            \
    "    int e = (int)(at % 256), j = e / 32, l = e % 32;\n"                                          \
    "    int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;\n"                   \
    "    int offset = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;\n"                    \
    "    " U " codes = " BYTES("p + 16 + 32 * (j / 2) + l") " >> (" U ")(j % 2 * 4) & (" U ")15;\n"   \
    "    float by = block_scale(p) * (float)scale, less = block_scale(p + 2) * (float)offset;\n"      \
    "    return by * " FLOATS("codes") " - less + 0.0f;\n"                                            \
    "}\n"

#define ONE_CODE(at) "(float)*(global const char *)(" at ")"
#define ONE_BYTE(at) "*(" at ")"
#define ONE_FLOAT(x) "(float)(" x ")"
#define MANY_CODES(at) "convert_float16(vload16(0, (global const char *)(" at ")))"
#define MANY_BYTES(at) "vload16(0, " at ")"
#define MANY_FLOATS(x) "convert_float16(" x ")"

const char tern__ocl_blocks[] =
    "inline float block_scale(global const uchar *at)\n"
    "{\n"
    "    float d = vload_half(0, (global const half *)at);\n"
    "    return isfinite(d) ? d : NAN;\n"
    "}\n"
    LOADS("", "float", "uchar", ONE_CODE, ONE_BYTE, ONE_FLOAT)
    LOADS("v", "float16", "uchar16", MANY_CODES, MANY_BYTES, MANY_FLOATS);
/* clang-format on */
