/* text.c - writing OpenCL C: loops, offsets, elements of every type. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "devices/opencl/opencl.h"

const char tern__ocl_prelude[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "typedef double real;\n"
    "inline real turn_of(long bits) { return as_double(bits); }\n"
    "#else\n"
    "typedef float real;\n"
    "inline real turn_of(long bits) /* a double in (0, 1], narrowed by hand */\n"
    "{\n"
    "    return ldexp((float)(bits & 0xfffffffffffffL | 0x10000000000000L), (int)(bits >> 52 & 2047) - "
    "1075);\n"
    "}\n"
    "#endif\n"
    "#ifdef ROUNDED\n"
    "inline float quotient(float x, float y) { return x / y; }\n"
    "inline float root(float x) { return sqrt(x); }\n"
    "#else\n" /* in f64; without that nobody asks for them */
    "inline float quotient(float x, float y) { return (float)((real)x / (real)y); }\n"
    "inline float root(float x) { return (float)sqrt((real)x); }\n"
    "#endif\n"
    "inline float load_bf16(ushort x) { return as_float((uint)x << 16); }\n"
    "inline ushort store_bf16(float x)\n"
    "{\n"
    "    uint b = as_uint(x);\n"
    "    return x != x ? (ushort)(b >> 16 | 64) : (ushort)((b + 0x7fff + (b >> 16 & 1)) >> 16);\n"
    "}\n"
    "inline float round_bf16(float x) { return load_bf16(store_bf16(x)); }\n"
    "inline float round_f16(float x)\n"
    "{\n"
    "    ushort h;\n"
    "    vstore_half_rte(x, 0, (half *)&h);\n"
    "    return vload_half(0, (const half *)&h);\n"
    "}\n"
    "inline float quantise_i8(float x) { return x == x ? fmin(fmax(rint(x), -128.0f), 127.0f) + 0.0f : 0.0f; "
    "}\n"
    "inline float larger(float x, float y) { return x >= y || x != x ? x : y; }\n"
    "inline float smaller(float x, float y) { return x <= y || x != x ? x : y; }\n"
    "inline real largest(real a, real x) { return x > a || x != x ? x : a; }\n"
    "inline real smallest(real a, real x) { return x < a || x != x ? x : a; }\n"
    "#define past_caches(value, to) (*(to) = (value))\n"
    "#define fetch_ahead(from)\n"
    "#ifdef __has_builtin\n"
    "#if __has_builtin(__builtin_prefetch)\n"
    "#undef fetch_ahead\n"
    "#define fetch_ahead(from) __builtin_prefetch((const void *)(size_t)(from), 0, 2)\n"
    "#endif\n"
    "#if __has_builtin(__builtin_nontemporal_store)\n"
    "#undef past_caches\n"
    "#define past_caches(value, to) __builtin_nontemporal_store(value, to)\n"
    "#endif\n"
    "#endif\n"
    "inline int sum_of16(int16 x)\n"
    "{\n"
    "    int8 a = x.lo + x.hi;\n"
    "    int4 b = a.lo + a.hi;\n"
    "    int2 c = b.lo + b.hi;\n"
    "    return c.x + c.y;\n"
    "}\n"
    "inline float sum_of16f(float16 x)\n"
    "{\n"
    "    float8 a = x.lo + x.hi;\n"
    "    float4 b = a.lo + a.hi;\n"
    "    float2 c = b.lo + b.hi;\n"
    "    return c.x + c.y;\n"
    "}\n"
    "inline int digit_t2(global const uchar *w, long c) { return (w[c / 4] >> (int)(c % 4 * 2) & 3) - 1; }\n"
    "inline int digit_t5(global const uchar *w, long c)\n"
    "{\n"
    "    int b = w[c / 5], s = (int)(c % 5);\n"
    "    return (s == 0 ? b : s == 1 ? b / 3 : s == 2 ? b / 9 : s == 3 ? b / 27 : b / 81) % 3 - 1;\n"
    "}\n"
    "inline int found(global long *fault, long step, long index, long size)\n"
    "{\n"
    "    if (index >= 0 && index < size)\n"
    "        return 1;\n"
    "    fault[1] = step;\n"
    "    fault[2] = index;\n"
    "    fault[3] = size;\n"
    "    fault[0] = 1;\n"
    "    return 0;\n"
    "}\n";

void tern__ocl_add(tern__ocl_draft *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tern__strbuf_add_v(&d->text, format, args);
    va_end(args);
}

int tern__ocl_number(tern__ocl_draft *d, int64_t number)
{
    if (d->n_numbers == TERN__OCL_MOST_NUMBERS) {
        d->full = true;
        return 0;
    }
    d->numbers[d->n_numbers] = number;
    return d->n_numbers++;
}

void tern__ocl_add_float(tern__ocl_draft *d, double number)
{
    const float narrow = (float)number;
    int32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    tern__ocl_add(d, "as_float((int)n%d)", tern__ocl_number(d, bits));
}

void tern__ocl_begin_stretch(tern__ocl_draft *d, size_t items, size_t least, int multiple)
{
    const int n = tern__ocl_number(d, (int64_t)items);
    d->items = items;
    d->units = (items + least - 1) / least;
    tern__ocl_add(
        d,
        "    long share = ((n%d + get_global_size(0) - 1) / get_global_size(0) + %d) / %d * %d;\n"
        "    long first = get_global_id(0) * share, end = first + share < n%d ? first + share : n%d;\n",
        n, multiple - 1, multiple, multiple, n, n);
}

/* A processor walks stretches, which it can do many elements at a time; neighbours on other devices take neighbours. Elements never
 * depend on each other, but results may lie where operands do, which keeps compilers from seeing it. */
void tern__ocl_loop(tern__ocl_draft *d, const char *i, size_t items, size_t least)
{
    if (d->cpu) {
        tern__ocl_begin_stretch(d, items, least, 1);
        tern__ocl_add(d,
                      "    _Pragma(\"clang loop vectorize(assume_safety)\")\n"
                      "    for (long %s = first; %s < end; %s++) {\n",
                      i, i, i);
        return;
    }
    const int n = tern__ocl_number(d, (int64_t)items);
    d->items = items;
    tern__ocl_add(d, "    for (long %s = get_global_id(0); %s < n%d; %s += get_global_size(0)) {\n", i, i, n,
                  i);
}

void tern__ocl_group_loop(tern__ocl_draft *d, const char *i, size_t items, size_t least)
{
    const int n = tern__ocl_number(d, (int64_t)items);
    d->items = items;
    d->units = (items + least - 1) / least;
    if (d->cpu) { /* a group is one item */
        tern__ocl_add(d,
                      "    long share = (n%d + get_num_groups(0) - 1) / get_num_groups(0);\n"
                      "    long first_tile = get_group_id(0) * share, end_tile = first_tile + share < n%d ? "
                      "first_tile + share : n%d;\n"
                      "    for (long %s = first_tile; %s < end_tile; %s++) {\n",
                      n, n, n, i, i, i);
        return;
    }
    d->group = d->group ? d->group : d->group_items;
    tern__ocl_add(d, "    for (long %s = get_group_id(0); %s < n%d; %s += get_num_groups(0)) {\n", i, i, n,
                  i);
}

static const char *type_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_BOOL:
    case TERN_U8:
        return "uchar";
    case TERN_I8:
        return "char";
    case TERN_I32:
        return "int";
    case TERN_I64:
        return "long";
    case TERN_F32:
        return "float";
    case TERN_F64:
        return "double";
    default:
        return "ushort";
    }
}

void tern__ocl_load(tern__ocl_draft *d, tern_dtype dtype, int p, const char *at)
{
    if (tern__dtype_is_block(dtype)) {
        d->blocks = true;
        tern__ocl_add(d, "load_%s((global const uchar *)p%d, %s)", tern_dtype_name(dtype), p, at);
        return;
    }
    switch (dtype) {
    case TERN_F16:
        tern__ocl_add(d, "vload_half(%s, (global const half *)p%d)", at, p);
        break;
    case TERN_BF16:
        tern__ocl_add(d, "load_bf16(((global const ushort *)p%d)[%s])", p, at);
        break;
    case TERN_BOOL:
        tern__ocl_add(d, "(((global const uchar *)p%d)[%s] ? 1 : 0)", p, at);
        break;
    default:
        tern__ocl_add(d, "((global const %s *)p%d)[%s]", type_of(dtype), p, at);
    }
}

void tern__ocl_store(tern__ocl_draft *d, tern_dtype dtype, int p, const char *at, const char *value)
{
    switch (dtype) {
    case TERN_F16:
        tern__ocl_add(d, "vstore_half_rte(%s, %s, (global half *)p%d);\n", value, at, p);
        break;
    case TERN_BF16:
        tern__ocl_add(d, "((global ushort *)p%d)[%s] = store_bf16(%s);\n", p, at, value);
        break;
    case TERN_BOOL:
        tern__ocl_add(d, "((global uchar *)p%d)[%s] = %s != 0;\n", p, at, value);
        break;
    case TERN_I8: /* whole numbers in their range */
    case TERN_U8:
        tern__ocl_add(d, "((global %s *)p%d)[%s] = (%s)(int)(%s);\n", type_of(dtype), p, at, type_of(dtype),
                      value);
        break;
    default:
        tern__ocl_add(d, "((global %s *)p%d)[%s] = %s;\n", type_of(dtype), p, at, value);
    }
}

void tern__ocl_offset(tern__ocl_draft *d, const char *name, const char *i, int rank, const int64_t *shape,
                      const int64_t *strides)
{
    /* Neighbouring axes that lie like one are one. */
    int64_t sizes[TERN__MAX_RANK], steps[TERN__MAX_RANK];
    int n = 0;
    for (int a = 0; a < rank; a++) {
        if (shape[a] == 1)
            continue;
        if (n > 0 && steps[n - 1] == strides[a] * shape[a]) {
            sizes[n - 1] *= shape[a];
            steps[n - 1] = strides[a];
        } else {
            sizes[n] = shape[a];
            steps[n++] = strides[a];
        }
    }
    if (n == 0 || (n == 1 && steps[0] == 1)) {
        tern__ocl_add(d, "long %s = %s;\n", name, n ? i : "0");
        return;
    }
    if (n == 1) {
        tern__ocl_add(d, "long %s = %s * n%d;\n", name, i, tern__ocl_number(d, steps[0]));
        return;
    }
    tern__ocl_add(d, "long %s = 0;\n{ long rest = %s;\n", name, i);
    for (int a = n - 1; a >= 0; a--) {
        char step[32] = "";
        if (steps[a] != 1)
            snprintf(step, sizeof step, " * n%d", tern__ocl_number(d, steps[a]));
        if (a == 0) {
            tern__ocl_add(d, "%s += rest%s;\n", name, step);
            continue;
        }
        const int size = tern__ocl_number(d, sizes[a]);
        if (steps[a] != 0)
            tern__ocl_add(d, "%s += rest %% n%d%s;\n", name, size, step);
        tern__ocl_add(d, "rest /= n%d;\n", size);
    }
    tern__ocl_add(d, "}\n");
}
