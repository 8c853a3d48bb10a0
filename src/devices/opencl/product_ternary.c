/* product_ternary.c - int8 by t2 or t5 weights as they are stored: x is put in the order of the packed digits once for many outputs,
 * weights are unpacked in registers. Exact. */
#include <stdio.h>

#include "devices/opencl/product.h"

enum { VECTORS_AT_ONCE = 48 }; /* of sixteen bytes: so many sums of five products of int8 fit 16 bits */

static bool is_t2(const tern__ocl_product *p)
{
    return p->b->type->dtype == TERN_T2;
}

static int per_byte(const tern__ocl_product *p)
{
    return is_t2(p) ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
}

static int64_t blocks_of(const tern__ocl_product *p)
{
    return p->scales ? p->scales->type->shape[1] : 1;
}

static void add_barrier(tern__ocl_product *p)
{
    if (!p->d->cpu)
        tern__ocl_add(p->d, "barrier(CLK_LOCAL_MEM_FENCE);\n");
}

/* x in the order of digits: for row r and digit s of a byte the elements that the s-th digits of successive bytes belong to, zeros
 * where there are none. Shorts on a processor, whose vectors multiply these. */
static void stage_x(tern__ocl_product *p, int high, int64_t bytes)
{
    tern__ocl_draft *d = p->d;
    const int per = per_byte(p);
    tern__ocl_add(d, "if (strip != staged) {\nstaged = strip;\n");
    add_barrier(p);
    tern__ocl_add(d, "for (int r = 0; r < %d; r++) {\nlong from = a + (m0 + (r < rows ? r : 0)) * n%d;\n",
                  high, p->na_row);
    tern__ocl_add(d, "for (int q = (int)get_local_id(0); q < %d; q += (int)get_local_size(0)) {\n",
                  (int)(p->k / per));
    char step[32] = ""; /* neighbours are seen as such */
    if (p->a_k != 1)
        snprintf(step, sizeof step, " * n%d", p->na_k);
    for (int s = 0; s < per; s++)
        tern__ocl_add(d, "xs[(r * %d + %d) * %d + q] = ((global const char *)p%d)[from + (q * %d + %d)%s];\n",
                      per, s, (int)bytes, p->pa, per, s, step);
    tern__ocl_add(d, "}\n");
    if (p->k % per)
        for (int s = 0; s < per; s++) {
            if (s < p->k % per)
                tern__ocl_add(
                    d, "xs[(r * %d + %d) * %d + %d] = ((global const char *)p%d)[from + %d * n%d];\n", per, s,
                    (int)bytes, (int)(bytes - 1), p->pa, (int)((bytes - 1) * per + s), p->na_k);
            else
                tern__ocl_add(d, "xs[(r * %d + %d) * %d + %d] = 0;\n", per, s, (int)bytes, (int)(bytes - 1));
        }
    tern__ocl_add(d, "}\n");
    add_barrier(p);
    tern__ocl_add(d, "}\n");
}

/* Declares w0, w1, ...: the digits of sixteen bytes `bytes16`, as shorts. */
static void add_digits(tern__ocl_product *p)
{
    tern__ocl_draft *d = p->d;
    if (is_t2(p)) {
        for (int s = 0; s < TERN_T2_PER_BYTE; s++)
            tern__ocl_add(
                d, "short16 w%d = convert_short16(bytes16 >> (uchar16)%d & (uchar16)3) - (short16)1;\n", s,
                2 * s);
        return;
    }
    tern__ocl_add(d, "ushort16 u0 = convert_ushort16(bytes16);\n"); /* a third of a byte is 171 / 512 of it */
    for (int s = 0; s + 1 < TERN_T5_PER_BYTE; s++)
        tern__ocl_add(d,
                      "ushort16 u%d = u%d * (ushort16)171 >> (ushort16)9;\n"
                      "short16 w%d = as_short16(u%d - u%d * (ushort16)3) - (short16)1;\n",
                      s + 1, s, s, s, s + 1);
    tern__ocl_add(d, "short16 w%d = as_short16(u%d) - (short16)1;\n", TERN_T5_PER_BYTE - 1,
                  TERN_T5_PER_BYTE - 1);
}

/* Adds the products of bytes [first, end) of the weights' row to t0, t1, ... */
static void add_ternary_sums(tern__ocl_product *p, int high, int64_t bytes)
{
    tern__ocl_draft *d = p->d;
    const int per = per_byte(p), lanes = tern__ocl_lanes_of(p);
    tern__ocl_add(d, "long q = first + lane0 * 16;\n");
    for (int r = 0; r < high; r++)
        tern__ocl_add(d, "int16 i%d = 0;\n", r);
    tern__ocl_add(d, "while (q + 16 <= end) {\nlong stop = q + %d < end ? q + %d : end;\n",
                  VECTORS_AT_ONCE * 16 * lanes, VECTORS_AT_ONCE * 16 * lanes);
    for (int r = 0; r < high; r++)
        tern__ocl_add(d, "short16 h%d = 0;\n", r);
    tern__ocl_add(d, "for (; q + 16 <= stop; q += %d) {\nuchar16 bytes16 = vload16(0, w + q);\n", 16 * lanes);
    add_digits(p);
    for (int r = 0; r < high; r++) {
        tern__ocl_add(d, "h%d += ", r);
        for (int s = 0; s < per; s++)
            tern__ocl_add(d,
                          d->cpu ? "%svload16(0, xs + %d + q) * w%d"
                                 : "%sconvert_short16(vload16(0, xs + %d + q)) * w%d",
                          s ? " + " : "", (int)((r * per + s) * bytes), s);
        tern__ocl_add(d, ";\n");
    }
    tern__ocl_add(d, "}\n");
    for (int r = 0; r < high; r++)
        tern__ocl_add(d, "i%d += convert_int16(h%d);\n", r, r);
    tern__ocl_add(
        d, "}\nfor (q = first + (end - first) / 16 * 16 + lane0; q < end; q += %d) {\nint u0 = w[q];\n",
        lanes);
    for (int s = 0; s < per; s++) {
        if (is_t2(p))
            tern__ocl_add(d, "int w%d = (u0 >> %d & 3) - 1;\n", s, 2 * s);
        else
            tern__ocl_add(d, "int u%d = u%d / 3, w%d = u%d %% 3 - 1;\n", s + 1, s, s, s);
    }
    for (int r = 0; r < high; r++)
        for (int s = 0; s < per; s++)
            tern__ocl_add(d, "t%d += xs[%d + q] * w%d;\n", r, (int)((r * per + s) * bytes), s);
    tern__ocl_add(d, "}\n");
    for (int r = 0; r < high; r++)
        tern__ocl_add(d, "t%d += sum_of16(i%d);\n", r, r);
}

/* Blocks that begin inside a byte, or rows that local memory does not hold: digit by digit. */
static void add_ternary_digits(tern__ocl_product *p)
{
    tern__ocl_add(p->d,
                  "for (long c = from_column + lane0; c < to_column; c += %d) t0 += ((global const char "
                  "*)p%d)[a + m0 * "
                  "n%d + c * n%d] * digit_t%d(w, c);\n",
                  tern__ocl_lanes_of(p), p->pa, p->na_row, p->na_k, is_t2(p) ? 2 : 5);
}

void tern__ocl_write_ternary(tern__ocl_product *p)
{
    tern__ocl_draft *d = p->d;
    const int per = per_byte(p);
    const int64_t blocks = blocks_of(p), width = p->k / (blocks ? blocks : 1),
                  bytes = tern__ocl_divide_up(p->k, per);
    const int64_t bytes_x = bytes * per * (d->cpu ? 2 : 1);
    int high = p->m < TERN__OCL_TILE_ROWS ? 1 : TERN__OCL_TILE_ROWS;
    while (high > 1 && high * bytes_x > (int64_t)d->local_bytes / 2)
        high /= 2;
    const bool staged = bytes_x <= (int64_t)d->local_bytes / 2 && (!p->scales || width % per == 0);
    high = staged ? high : 1;
    const int n_blocks = tern__ocl_number(p->d, blocks), n_width = tern__ocl_number(p->d, width),
              s0 = tern__ocl_number(p->d, p->scales ? p->scales->strides[0] : 0),
              s1 = tern__ocl_number(p->d, p->scales ? p->scales->strides[1] : 0);
    if (staged)
        tern__ocl_add(d, "local %s xs[%d];\n", d->cpu ? "short" : "char", (int)(high * bytes * per + 1));
    tern__ocl_add_parts(p);
    tern__ocl_begin_tiles(p, high, tern__ocl_width_of(p), tern__ocl_enough_tiles(p, high));
    if (staged)
        stage_x(p, high, bytes);
    tern__ocl_begin_outputs(p, high);
    tern__ocl_add(
        d, "global const uchar *w = (global const uchar *)p%d + output * n%d;\nconst int lane0 = %s;\n",
        p->pb, p->nb_column, tern__ocl_lanes_of(p) > 1 ? "lane" : "0");
    if (p->scales)
        for (int r = 0; r < high; r++)
            tern__ocl_add(d, "float f%d = 0;\n", r);
    tern__ocl_add(d, "for (long block = 0; block < n%d; block++) {\n", n_blocks);
    tern__ocl_add(d, "long from_column = block * n%d, to_column = from_column + n%d;\n", n_width, n_width);
    for (int r = 0; r < high; r++)
        tern__ocl_add(d, "int t%d = 0;\n", r);
    tern__ocl_add(d, "long first = from_column / %d, end = (to_column + %d) / %d;\n", per, per - 1, per);
    if (staged)
        add_ternary_sums(p, high, bytes);
    else
        add_ternary_digits(p);
    if (p->scales) {
        for (int r = 0; r < high; r++)
            tern__ocl_add(d, "f%d += ((global const float *)p%d)[output * n%d + block * n%d] * (float)t%d;\n",
                          r, p->ps, s0, s1, r);
        tern__ocl_add(d, "}\n");
        for (int r = 0; r < high; r++)
            tern__ocl_add(d, "float t%d = f%d;\n", r, r);
        tern__ocl_end_outputs(p, high);
    } else {
        tern__ocl_end_outputs(p, high); /* there is one block: its brace is closed behind the sums */
        tern__ocl_add(d, "}\n");
    }
    tern__ocl_write_tile(d, &p->tile);
    tern__ocl_end_tiles(p);
}
