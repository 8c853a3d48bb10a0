/* products.c - matrix products as OpenCL C, and what reads them element by element (epilogues), which then is part of the same
 * kernel.
 *
 * Every form computes rectangles of the result, `rows` by `columns` elements in `sums`, and hands them to the rows of the epilogue
 * or to memory (tern__ocl_write_tile). On a processor a work item has a rectangle to itself, wide enough for its vectors. Elsewhere
 * the items of a work group share what they read through local memory, and how much is up to what the device has.
 *
 *     ternary    int8 by t2 or t5 as they are stored: x is put in the order of the packed digits once for many outputs, weights
 *                are unpacked in registers. Exact
 *     dot        both operands lie along k: few rows
 *     strips     anything else with few rows
 *     staged     many rows: panels of both in local memory, results in registers */
#include "devices/opencl/products.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "kernels/row/program.h"

/* Results in registers, and what is staged for them. */
enum {
    TILE_ROWS = 4,
    TILE_COLUMNS = 16,
    LANES = 8,            /* items that share one sum, not on a processor */
    FEW_ROWS = 4,         /* that are no panel's worth */
    PANEL = 32,           /* columns of a staged panel on a processor; */
    PANEL_ROWS = 8,       /* rows of results in registers; */
    DEEP = 16,            /* elsewhere: along k, that are staged at a time */
    SQUARE = 4,           /* results of an item, each way */
    VECTORS_AT_ONCE = 48, /* of sixteen bytes: so many sums of five products of int8 fit 16 bits */
};

typedef const tern__ocl_operand operand;

/* A product as y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]. */
typedef struct product {
    tern__ocl_draft *d;
    tern__ocl_tile tile; /* what becomes of the results */
    operand *a, *b, *scales;
    int pa, pb, ps; /* their pointers */
    int64_t batches, m, n, k;
    int batch_axes;
    int64_t batch_shape[TERN__MAX_RANK], of_a[TERN__MAX_RANK], of_b[TERN__MAX_RANK];
    int64_t a_row, a_k, b_k, b_column; /* strides */
    bool whole;                        /* sums are i32 */
    int nm, nn, nk, na_row, na_k, nb_k, nb_column;
} product;

/* ---- what is multiplied ---- */

/* Axes in front of the rows become rows where they lie like ones. */
static void join_rows(product *p)
{
    bool joins = true;
    int64_t step = p->a_row * p->m;
    for (int a = p->batch_axes - 1; a >= 0; a--) {
        joins = joins && p->of_b[a] == 0 && (p->batch_shape[a] == 1 || p->of_a[a] == step);
        step *= p->batch_shape[a];
    }
    if (!joins)
        return;
    p->m *= p->batches;
    p->batches = 1;
    p->batch_axes = 0;
}

static void describe_matmul(product *p, const tern__attr *attrs, const tern__type *y)
{
    const tern__type *a = p->a->type, *b = p->b->type;
    const bool ta = attrs[TERN__ATTR_matmul_transpose_a].i != 0,
               tb = attrs[TERN__ATTR_matmul_transpose_b].i != 0;
    const int ra = a->rank, rb = b->rank, ry = y->rank;
    p->m = y->shape[ry - 2];
    p->n = y->shape[ry - 1];
    p->k = a->shape[ra - (ta ? 2 : 1)];
    p->a_row = p->a->strides[ra - (ta ? 1 : 2)];
    p->a_k = p->a->strides[ra - (ta ? 2 : 1)];
    p->b_k = p->b->strides[rb - (tb ? 1 : 2)];
    p->b_column = p->b->strides[rb - (tb ? 2 : 1)];
    p->batch_axes = ry - 2;
    for (int x = 0; x < ry - 2; x++) {
        const int at_a = x - (ry - ra), at_b = x - (ry - rb);
        p->batch_shape[x] = y->shape[x];
        p->batches *= y->shape[x];
        p->of_a[x] = at_a < 0 || a->shape[at_a] == 1 ? 0 : p->a->strides[at_a];
        p->of_b[x] = at_b < 0 || b->shape[at_b] == 1 ? 0 : p->b->strides[at_b];
    }
}

/* x[..., k] by weight[n, k]: ternary, linear. */
static void describe_linear(product *p)
{
    const tern__type *x = p->a->type;
    const int last = x->rank - 1;
    p->k = x->shape[last];
    p->n = p->b->type->shape[0];
    p->m = last > 0 ? x->shape[last - 1] : 1;
    p->a_k = p->a->strides[last];
    p->a_row = last > 0 ? p->a->strides[last - 1] : 0;
    p->b_k = p->b->type->rank > 1 ? p->b->strides[1] : 1;
    p->b_column = p->b->strides[0];
    if (tern__dtype_is_block(p->b->type->dtype)) /* counted in elements: a row is whole blocks */
        p->b_column *= tern_dtype_get(p->b->type->dtype)->unit_elements;
    p->batch_axes = last > 0 ? last - 1 : 0;
    for (int a = 0; a < p->batch_axes; a++) {
        p->batch_shape[a] = x->shape[a];
        p->batches *= x->shape[a];
        p->of_a[a] = p->a->strides[a];
    }
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int number(product *p, int64_t value)
{
    return tern__ocl_number(p->d, value);
}

static void note_sizes(product *p)
{
    p->nm = number(p, p->m);
    p->nn = number(p, p->n);
    p->nk = number(p, p->k);
    p->na_row = number(p, p->a_row);
    p->na_k = number(p, p->a_k);
    p->nb_k = number(p, p->b_k);
    p->nb_column = number(p, p->b_column);
}

/* Declares where the batch's matrices begin, and its first row in the result. */
static void add_batch(product *p)
{
    tern__ocl_offset(p->d, "a", "batch", p->batch_axes, p->batch_shape, p->of_a);
    tern__ocl_offset(p->d, "b", "batch", p->batch_axes, p->batch_shape, p->of_b);
}

/* Loops over rectangles of `high` by `wide` results, those of a strip of rows after each other. Declares m0 and c0, where one
 * begins, row0 (among the result's rows), and how many `rows` and `columns` it has. */
static void begin_tiles(product *p, int64_t high, int64_t wide, size_t least)
{
    const int64_t down = divide_up(p->m, high), across = divide_up(p->n, wide);
    const int n_down = number(p, down), n_across = number(p, across);
    tern__ocl_add(p->d, "long staged = -1;\n");
    tern__ocl_group_loop(p->d, "tile", (size_t)(p->batches * down * across), least);
    tern__ocl_add(
        p->d,
        "long strip = tile / n%d, batch = strip / n%d, m0 = strip %% n%d * %d, c0 = tile %% n%d * %d;\n"
        "long row0 = batch * n%d + m0;\n"
        "int rows = n%d - m0 < %d ? (int)(n%d - m0) : %d, columns = n%d - c0 < %d ? (int)(n%d - c0) "
        ": %d;\n",
        n_across, n_down, n_down, (int)high, n_across, (int)wide, p->nm, p->nm, (int)high, p->nm, (int)high,
        p->nn, (int)wide, p->nn, (int)wide);
    add_batch(p);
}

static void end_tiles(product *p)
{
    tern__ocl_add(p->d, "}\n");
}

static void add_barrier(product *p)
{
    if (!p->d->cpu)
        tern__ocl_add(p->d, "barrier(CLK_LOCAL_MEM_FENCE);\n");
}

/* Sixteen elements of type t from `at` of pointer p on, as floats (or ints). */
static void add_vector(tern__ocl_draft *d, tern_dtype t, int p, const char *at)
{
    if (tern__dtype_is_block(t)) {
        d->blocks = true;
        tern__ocl_add(d, "vload_%s((global const uchar *)p%d, %s)", tern_dtype_name(t), p, at);
        return;
    }
    switch (t) {
    case TERN_F32:
        tern__ocl_add(d, "vload16(0, (global const float *)p%d + %s)", p, at);
        break;
    case TERN_F16:
        tern__ocl_add(d, "vload_half16(0, (global const half *)p%d + %s)", p, at);
        break;
    case TERN_BF16:
        tern__ocl_add(d, "as_float16(convert_uint16(vload16(0, (global const ushort *)p%d + %s)) << 16)", p,
                      at);
        break;
    default:
        tern__ocl_add(d, "convert_int16(vload16(0, (global const char *)p%d + %s))", p, at);
    }
}

/* ---- sums that several work items share ---- */

/* How many items add up one result: neighbours, which then read neighbouring bytes. */
static int lanes_of(const product *p)
{
    return p->d->cpu || p->scales ? 1 : LANES;
}

/* Results of a rectangle: on a processor a whole one; elsewhere an item has one column. */
static int64_t width_of(const product *p)
{
    return p->d->cpu ? TILE_COLUMNS : p->d->group_items / lanes_of(p);
}

static void begin_outputs(product *p, int high)
{
    tern__ocl_draft *d = p->d;
    const char *type = p->whole ? "int" : "float";
    if (d->cpu) {
        tern__ocl_add(d, "%s sums[%d][%d];\nfor (int l = 0; l < columns; l++) {\nlong output = c0 + l;\n",
                      type, high, TILE_COLUMNS);
        return;
    }
    const int lanes = lanes_of(p);
    tern__ocl_add(d,
                  "%s sums[%d][1];\nint lane = (int)get_local_id(0) %% %d;\n"
                  "{\nconst int l = 0;\nlong output = c0 + get_local_id(0) / %d;\n"
                  "int mine = output < n%d;\noutput = mine ? output : n%d - 1;\n",
                  type, high, lanes, lanes, p->nn, p->nn);
    tern__ocl_add(d, "c0 = output;\ncolumns = mine && lane == 0;\n");
}

/* t<r>: what this item has of the sum of row r. */
static void end_outputs(product *p, int high)
{
    tern__ocl_draft *d = p->d;
    const int lanes = lanes_of(p);
    for (int r = 0; r < high; r++) {
        if (lanes > 1) {
            tern__ocl_add(d,
                          "parts[get_local_id(0)] = t%d;\nbarrier(CLK_LOCAL_MEM_FENCE);\n"
                          "if (lane == 0) for (int o = 1; o < %d; o++) t%d += parts[get_local_id(0) + o];\n"
                          "barrier(CLK_LOCAL_MEM_FENCE);\n",
                          r, lanes, r);
        }
        tern__ocl_add(d, "sums[%d][l] = t%d;\n", r, r);
    }
    tern__ocl_add(d, "}\n");
}

static void add_parts(product *p)
{
    if (lanes_of(p) > 1)
        tern__ocl_add(p->d, "local %s parts[%d];\n", p->whole ? "int" : "float", p->d->group_items);
}

/* Rectangles that are worth a work item's while. */
static size_t enough(const product *p, int high)
{
    return (size_t)(1 + 32768 / (high * TILE_COLUMNS * (p->k + 1)));
}

/* ---- ternary ---- */

static bool is_t2(const product *p)
{
    return p->b->type->dtype == TERN_T2;
}

static int per_byte(const product *p)
{
    return is_t2(p) ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
}

static int64_t blocks_of(const product *p)
{
    return p->scales ? p->scales->type->shape[1] : 1;
}

/* x in the order of digits: for row r and digit s of a byte the elements that the s-th digits of successive bytes belong to, zeros
 * where there are none. Shorts on a processor, whose vectors multiply these. */
static void stage_x(product *p, int high, int64_t bytes)
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
static void add_digits(product *p)
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
static void add_ternary_sums(product *p, int high, int64_t bytes)
{
    tern__ocl_draft *d = p->d;
    const int per = per_byte(p), lanes = lanes_of(p);
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
static void add_ternary_digits(product *p)
{
    tern__ocl_add(p->d,
                  "for (long c = from_column + lane0; c < to_column; c += %d) t0 += ((global const char "
                  "*)p%d)[a + m0 * "
                  "n%d + c * n%d] * digit_t%d(w, c);\n",
                  lanes_of(p), p->pa, p->na_row, p->na_k, is_t2(p) ? 2 : 5);
}

static void write_ternary(product *p)
{
    tern__ocl_draft *d = p->d;
    const int per = per_byte(p);
    const int64_t blocks = blocks_of(p), width = p->k / (blocks ? blocks : 1), bytes = divide_up(p->k, per);
    const int64_t bytes_x = bytes * per * (d->cpu ? 2 : 1);
    int high = p->m < TILE_ROWS ? 1 : TILE_ROWS;
    while (high > 1 && high * bytes_x > (int64_t)d->local_bytes / 2)
        high /= 2;
    const bool staged = bytes_x <= (int64_t)d->local_bytes / 2 && (!p->scales || width % per == 0);
    high = staged ? high : 1;
    const int n_blocks = number(p, blocks), n_width = number(p, width),
              s0 = number(p, p->scales ? p->scales->strides[0] : 0),
              s1 = number(p, p->scales ? p->scales->strides[1] : 0);
    if (staged)
        tern__ocl_add(d, "local %s xs[%d];\n", d->cpu ? "short" : "char", (int)(high * bytes * per + 1));
    add_parts(p);
    begin_tiles(p, high, width_of(p), enough(p, high));
    if (staged)
        stage_x(p, high, bytes);
    begin_outputs(p, high);
    tern__ocl_add(
        d, "global const uchar *w = (global const uchar *)p%d + output * n%d;\nconst int lane0 = %s;\n",
        p->pb, p->nb_column, lanes_of(p) > 1 ? "lane" : "0");
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
        end_outputs(p, high);
    } else {
        end_outputs(p, high); /* there is one block: its brace is closed behind the sums */
        tern__ocl_add(d, "}\n");
    }
    tern__ocl_write_tile(d, &p->tile);
    end_tiles(p);
}

/* ---- few rows ---- */

/* An element of a or b, `at` units behind its matrix' first. */
static void add_element(product *p, bool of_a, const char *at)
{
    operand *o = of_a ? p->a : p->b;
    tern__ocl_load(p->d, o->type->dtype, of_a ? p->pa : p->pb, at);
}

static void write_dot(product *p)
{
    tern__ocl_draft *d = p->d;
    const int high = p->m < TILE_ROWS ? 1 : TILE_ROWS, lanes = lanes_of(p);
    const bool dense = p->a_k == 1 && p->b_k == 1;
    char at[64], tail[32];
    snprintf(tail, sizeof tail, "n%d / 16 * 16", p->nk);
    add_parts(p);
    begin_tiles(p, high, width_of(p), enough(p, high));
    begin_outputs(p, high);
    tern__ocl_add(d, "const int lane0 = %s;\nlong w = b + output * n%d;\n", lanes > 1 ? "lane" : "0",
                  p->nb_column);
    for (int r = 0; r < high; r++)
        tern__ocl_add(d, "%s t%d = 0;\nlong x%d = a + (m0 + (%d < rows ? %d : 0)) * n%d;\n",
                      p->whole ? "int" : "float", r, r, r, r, p->na_row);
    if (dense) {
        for (int r = 0; r < high; r++)
            tern__ocl_add(d, "%s i%d = 0;\n", p->whole ? "int16" : "float16", r);
        tern__ocl_add(d, "for (long c = lane0 * 16; c + 16 <= n%d; c += %d) {\n%s v = ", p->nk, 16 * lanes,
                      p->whole ? "int16" : "float16");
        add_vector(d, p->b->type->dtype, p->pb, "w + c");
        tern__ocl_add(d, ";\n");
        for (int r = 0; r < high; r++) {
            snprintf(at, sizeof at, "x%d + c", r);
            tern__ocl_add(d, p->whole ? "i%d += v * " : "i%d = fma(v, ", r);
            add_vector(d, p->a->type->dtype, p->pa, at);
            tern__ocl_add(d, p->whole ? ";\n" : ", i%d);\n", r);
        }
        tern__ocl_add(d, "}\n");
        for (int r = 0; r < high; r++)
            tern__ocl_add(d, "t%d = sum_of16%s(i%d);\n", r, p->whole ? "" : "f", r);
    }
    tern__ocl_add(d, "for (long c = %s + lane0; c < n%d; c += %d) {\n", dense ? tail : "0", p->nk, lanes);
    tern__ocl_add(d, "%s v = ", p->whole ? "int" : "float");
    snprintf(at, sizeof at, "w + c * n%d", p->nb_k);
    add_element(p, false, at);
    tern__ocl_add(d, ";\n");
    for (int r = 0; r < high; r++) {
        snprintf(at, sizeof at, "x%d + c * n%d", r, p->na_k);
        tern__ocl_add(d, p->whole ? "t%d += v * " : "t%d = fma(v, ", r);
        add_element(p, true, at);
        tern__ocl_add(d, p->whole ? ";\n" : ", t%d);\n", r);
    }
    tern__ocl_add(d, "}\n");
    end_outputs(p, high);
    tern__ocl_write_tile(d, &p->tile);
    end_tiles(p);
}

/* Columns beside each other: each result is one chain of multiply-adds in ascending k, like the CPU's. On a processor only. */
static void write_strips(product *p)
{
    tern__ocl_draft *d = p->d;
    char at[96];
    begin_tiles(p, TILE_ROWS, TILE_COLUMNS, enough(p, TILE_ROWS));
    tern__ocl_add(
        d,
        "float sums[%d][%d];\nfor (int r = 0; r < %d; r++) for (int l = 0; l < %d; l++) sums[r][l] = 0;\n"
        "for (long c = 0; c < n%d; c++) {\nfloat w[%d], x[%d];\n"
        "if (columns == %d) for (int l = 0; l < %d; l++) w[l] = ",
        TILE_ROWS, TILE_COLUMNS, TILE_ROWS, TILE_COLUMNS, p->nk, TILE_COLUMNS, TILE_ROWS, TILE_COLUMNS,
        TILE_COLUMNS);
    for (int part = 0; part < 2; part++) {
        snprintf(at, sizeof at, p->b_column == 1 ? "b + c * n%d + c0 + l" : "b + c * n%d + (c0 + l) * n%d",
                 p->nb_k, p->nb_column);
        add_element(p, false, at);
        if (part == 0)
            tern__ocl_add(d, ";\nelse for (int l = 0; l < %d; l++) w[l] = l >= columns ? 0 : ", TILE_COLUMNS);
    }
    snprintf(at, sizeof at, "a + (m0 + r) * n%d + c * n%d", p->na_row, p->na_k);
    tern__ocl_add(d, ";\nfor (int r = 0; r < %d; r++) x[r] = r >= rows ? 0 : ", TILE_ROWS);
    add_element(p, true, at);
    tern__ocl_add(d,
                  ";\nfor (int r = 0; r < %d; r++) for (int l = 0; l < %d; l++) sums[r][l] = fma(x[r], w[l], "
                  "sums[r][l]);\n}\n",
                  TILE_ROWS, TILE_COLUMNS);
    tern__ocl_write_tile(d, &p->tile);
    end_tiles(p);
}

/* ---- many rows: panels ---- */

/* Copies a[first row .., k0 ..] or b[k0 .., c0 ..] to `to`, as f32, zeros beyond the edges: `along` by `across` numbers, those
 * across next to each other. Items walk what lies next to each other in memory. */
static void stage_panel(product *p, bool of_a, const char *to, const char *first, const char *limit,
                        const char *deep, int across)
{
    tern__ocl_draft *d = p->d;
    const bool along_k = of_a ? p->a_k == 1 : p->b_k == 1 && p->b_column != 1;
    char at[128], wide[16];
    snprintf(wide, sizeof wide, "%d", across);
    if (d->cpu && along_k)
        tern__ocl_add(d, "for (int j = 0; j < %d; j++) for (int kk = 0; kk < %s; kk++) {\n", across, deep);
    else if (d->cpu)
        tern__ocl_add(d, "for (int kk = 0; kk < %s; kk++) for (int j = 0; j < %d; j++) {\n", deep, across);
    else {
        tern__ocl_add(d, "for (int e = (int)get_local_id(0); e < %d * %s; e += (int)get_local_size(0)) {\n",
                      across, deep);
        tern__ocl_add(d, along_k ? "int kk = e %% %s, j = e / %s;\n" : "int j = e %% %s, kk = e / %s;\n",
                      along_k ? deep : wide, along_k ? deep : wide);
    }
    snprintf(at, sizeof at, "%s + (%s + j) * n%d + (k0 + kk) * n%d", of_a ? "a" : "b", first,
             of_a ? p->na_row : p->nb_column, of_a ? p->na_k : p->nb_k);
    tern__ocl_add(d, "%s[kk * %d + j] = %s + j < %s && k0 + kk < n%d ? ", to, across, first, limit, p->nk);
    add_element(p, of_a, at);
    tern__ocl_add(d, " : 0;\n}\n");
}

/* Work groups: a square of results, SQUARE by SQUARE of an item, whose operands pass through local memory DEEP at a time. */
static void write_staged_group(product *p)
{
    tern__ocl_draft *d = p->d;
    const int side = d->group_items >= 256 ? 16 : d->group_items >= 64 ? 8 : 2, edge = side * SQUARE;
    char deep[16];
    snprintf(deep, sizeof deep, "%d", DEEP);
    tern__ocl_add(d, "local float as[%d], bs[%d];\n", DEEP * edge, DEEP * edge);
    d->group = side * side;
    begin_tiles(p, edge, edge, 1);
    tern__ocl_add(
        d,
        "int across = (int)get_local_id(0) %% %d * %d, down = (int)get_local_id(0) / %d * %d;\n"
        "float sums[%d][%d];\nfor (int r = 0; r < %d; r++) for (int l = 0; l < %d; l++) sums[r][l] = 0;\n"
        "for (long k0 = 0; k0 < n%d; k0 += %d) {\nbarrier(CLK_LOCAL_MEM_FENCE);\n",
        side, SQUARE, side, SQUARE, SQUARE, SQUARE, SQUARE, SQUARE, p->nk, DEEP);
    char limit[2][16];
    snprintf(limit[0], sizeof limit[0], "n%d", p->nm);
    snprintf(limit[1], sizeof limit[1], "n%d", p->nn);
    stage_panel(p, true, "as", "m0", limit[0], deep, edge);
    stage_panel(p, false, "bs", "c0", limit[1], deep, edge);
    tern__ocl_add(d,
                  "barrier(CLK_LOCAL_MEM_FENCE);\nfor (int kk = 0; kk < %d; kk++) {\n"
                  "for (int r = 0; r < %d; r++) for (int l = 0; l < %d; l++)\n"
                  "sums[r][l] = fma(as[kk * %d + down + r], bs[kk * %d + across + l], sums[r][l]);\n}\n}\n"
                  "row0 += down;\nc0 += across;\n"
                  "rows = clamp(rows - down, 0, %d);\ncolumns = clamp(columns - across, 0, %d);\n",
                  DEEP, SQUARE, SQUARE, edge, edge, SQUARE, SQUARE);
    tern__ocl_write_tile(d, &p->tile);
    end_tiles(p);
}

/* How many rows of a panel's results are one piece of work: all, unless there would be too few pieces. */
static int64_t rows_of_panel(const product *p)
{
    const int64_t panels = p->batches * divide_up(p->n, PANEL), wanted = 4 * (int64_t)p->d->compute_units;
    const int64_t pieces = panels >= wanted || panels == 0 ? 1 : divide_up(wanted, panels);
    return divide_up(divide_up(p->m, pieces), PANEL_ROWS) * PANEL_ROWS;
}

/* A processor: one item has a panel of b to itself, as deep as local memory allows, and walks down its rows, PANEL_ROWS by PANEL
 * results in registers. */
static void write_staged_panel(product *p)
{
    tern__ocl_draft *d = p->d;
    const int64_t most = (int64_t)d->local_bytes / 2 / (PANEL * (int64_t)sizeof(float)) / 16 * 16;
    const bool whole = p->k <= most;
    const int deep = (int)(whole ? p->k : most);
    char depth[16], limit[16];
    snprintf(depth, sizeof depth, "%d", deep);
    snprintf(limit, sizeof limit, "n%d", p->nn);
    tern__ocl_add(d, "local float bs[%d], as[%d];\n", deep * PANEL + 1, deep * PANEL_ROWS + 1);
    begin_tiles(p, rows_of_panel(p), PANEL, 1);
    tern__ocl_add(d, "for (int m1 = 0; m1 < rows; m1 += %d) {\n", PANEL_ROWS);
    tern__ocl_add(d, "int some = rows - m1 < %d ? rows - m1 : %d;\n", PANEL_ROWS, PANEL_ROWS);
    for (int r = 0; r < PANEL_ROWS; r++)
        tern__ocl_add(d, "float16 s%d = 0, z%d = 0;\n", r, r);
    tern__ocl_add(d, "for (long k0 = 0; k0 < n%d; k0 += %d) {\n", p->nk, deep ? deep : 1);
    tern__ocl_add(d, whole ? "if (m1 == 0) {\n" : "{\n");
    stage_panel(p, false, "bs", "c0", limit, depth, PANEL);
    tern__ocl_add(d,
                  "}\nfor (int r = 0; r < %d; r++) for (int kk = 0; kk < %d; kk++)\nas[r * %d + kk] = r < "
                  "some && k0 + kk < n%d ? ",
                  PANEL_ROWS, deep, deep, p->nk);
    char at[128];
    snprintf(at, sizeof at,
             p->a_k == 1 ? "a + (m0 + m1 + r) * n%d + k0 + kk" : "a + (m0 + m1 + r) * n%d + (k0 + kk) * n%d",
             p->na_row, p->na_k);
    add_element(p, true, at);
    tern__ocl_add(d,
                  " : 0;\nfor (int kk = 0; kk < %d; kk++) {\nfloat16 v = vload16(0, bs + kk * %d), w = "
                  "vload16(0, bs + kk * %d + 16);\n",
                  deep, PANEL, PANEL);
    for (int r = 0; r < PANEL_ROWS; r++)
        tern__ocl_add(d,
                      "s%d = fma((float16)as[%d + kk], v, s%d); z%d = fma((float16)as[%d + kk], w, z%d);\n",
                      r, r * deep, r, r, r * deep, r);
    tern__ocl_add(d, "}\n}\nfloat sums[%d][%d];\n", PANEL_ROWS, PANEL);
    for (int r = 0; r < PANEL_ROWS; r++)
        tern__ocl_add(d, "vstore16(s%d, 0, sums[%d]); vstore16(z%d, 0, sums[%d] + 16);\n", r, r, r, r);
    p->tile.row0 = "row0 + m1";
    p->tile.rows = "some";
    tern__ocl_write_tile(d, &p->tile);
    tern__ocl_add(d, "}\n");
    end_tiles(p);
}

/* ---- which form ---- */

static void write_floats(product *p)
{
    const bool dots = p->a_k == 1 && p->b_k == 1 && p->m <= FEW_ROWS;
    if (p->whole || dots)
        write_dot(p);
    else if (!p->d->cpu)
        write_staged_group(p);
    else if (p->m <= FEW_ROWS)
        write_strips(p);
    else
        write_staged_panel(p);
}

static void write_any(product *p, tern__opcode op, const tern__attr *attrs, const tern__type *y)
{
    p->batches = 1;
    p->whole = y->dtype == TERN_I32;
    if (op == TERN__OP_matmul)
        describe_matmul(p, attrs, y);
    else
        describe_linear(p);
    join_rows(p);
    note_sizes(p);
    p->tile.row0 = "row0";
    p->tile.rows = "rows";
    if (op == TERN__OP_ternary_matmul)
        write_ternary(p);
    else
        write_floats(p);
}

void tern__ocl_write_product(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o)
{
    product p = {.d = d, .a = &o[0], .b = &o[1], .pa = 0, .pb = 1, .ps = 2};
    p.scales = step->n_in > 2 ? &o[2] : NULL;
    p.tile = (tern__ocl_tile){.operands = o, .n_in = (int)step->n_in, .y = o[step->n_in].type};
    write_any(&p, step->op, step->attrs, o[step->n_in].type);
}

void tern__ocl_write_epilogue(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *o)
{
    const tern__ocl_rows *program = step->program;
    const tern__region *region = step->attrs[TERN__ATTR_fused_body].region;
    const tern__region_op *first = &region->ops[0];
    product p = {.d = d, .pa = first->in[0], .pb = first->in[1]};
    p.a = &o[p.pa];
    p.b = &o[p.pb];
    if (first->n_in > 2) {
        p.ps = first->in[2];
        p.scales = &o[p.ps];
    }
    p.tile = (tern__ocl_tile){.operands = o,
                              .n_in = (int)step->n_in,
                              .y = &region->types[first->out],
                              .rows_program = program->program};
    int n = 0;
    for (int i = 0; i < region->n_in; i++)
        if (tern__region_reads_rows(region, i))
            p.tile.pointers[n++] = i;
    write_any(&p, first->op, first->attrs, p.tile.y);
}

/* ---- what is refused ---- */

const char *tern__ocl_refuse_ternary(const tern__call *call)
{
    return tern__dtype_is_ternary(call->in[1]->dtype) ? NULL : "it multiplies by t2 and t5 only";
}

const char *tern__ocl_refuse_linear(const tern__call *call)
{
    const tern_dtype w = call->in[1]->dtype;
    if (call->in[0]->dtype == TERN_I8)
        return w == TERN_I8 ? NULL : "it multiplies i8 by i8 only";
    return call->in[0]->dtype == TERN_F32 && (tern__ocl_is_small_float(w) || tern__dtype_is_block(w)) &&
                   call->out[0].dtype == TERN_F32
               ? NULL
               : "it multiplies by f32, f16, bf16, i8 and weights in blocks only";
}

const char *tern__ocl_refuse_matmul(const tern__call *call)
{
    if (!tern__ocl_is_small_float(call->out[0].dtype) || call->in[0]->dtype != call->out[0].dtype ||
        call->in[1]->dtype != call->out[0].dtype)
        return "it multiplies f32, f16 and bf16 only";
    return call->in[0]->rank >= 2 && call->in[1]->rank >= 2 ? NULL : "it multiplies matrices, not vectors";
}
