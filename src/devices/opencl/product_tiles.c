/* product_tiles.c - what every form of a product writes around its sums: loops over rectangles of the result, and results that several
 * work items add up together. */
#include "devices/opencl/product.h"

enum { LANES = 8 }; /* items that share one sum, not on a processor */

/* Declares where the batch's matrices begin, and its first row in the result. */
static void add_batch(tern__ocl_product *p)
{
    tern__ocl_offset(p->d, "a", "batch", p->batch_axes, p->batch_shape, p->of_a);
    tern__ocl_offset(p->d, "b", "batch", p->batch_axes, p->batch_shape, p->of_b);
}

void tern__ocl_begin_tiles(tern__ocl_product *p, int64_t high, int64_t wide, size_t least)
{
    const int64_t down = tern__ocl_divide_up(p->m, high), across = tern__ocl_divide_up(p->n, wide);
    const int n_down = tern__ocl_number(p->d, down), n_across = tern__ocl_number(p->d, across);
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

void tern__ocl_end_tiles(tern__ocl_product *p)
{
    tern__ocl_add(p->d, "}\n");
}

void tern__ocl_add_vector(tern__ocl_draft *d, tern_dtype t, int p, const char *at)
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

int tern__ocl_lanes_of(const tern__ocl_product *p)
{
    return p->d->cpu || p->scales ? 1 : LANES;
}

int64_t tern__ocl_width_of(const tern__ocl_product *p)
{
    return p->d->cpu ? TERN__OCL_TILE_COLUMNS : p->d->group_items / tern__ocl_lanes_of(p);
}

void tern__ocl_begin_outputs(tern__ocl_product *p, int high)
{
    tern__ocl_draft *d = p->d;
    const char *type = p->whole ? "int" : "float";
    if (d->cpu) {
        tern__ocl_add(d, "%s sums[%d][%d];\nfor (int l = 0; l < columns; l++) {\nlong output = c0 + l;\n",
                      type, high, TERN__OCL_TILE_COLUMNS);
        return;
    }
    const int lanes = tern__ocl_lanes_of(p);
    tern__ocl_add(d,
                  "%s sums[%d][1];\nint lane = (int)get_local_id(0) %% %d;\n"
                  "{\nconst int l = 0;\nlong output = c0 + get_local_id(0) / %d;\n"
                  "int mine = output < n%d;\noutput = mine ? output : n%d - 1;\n",
                  type, high, lanes, lanes, p->nn, p->nn);
    tern__ocl_add(d, "c0 = output;\ncolumns = mine && lane == 0;\n");
}

void tern__ocl_end_outputs(tern__ocl_product *p, int high)
{
    tern__ocl_draft *d = p->d;
    const int lanes = tern__ocl_lanes_of(p);
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

void tern__ocl_add_parts(tern__ocl_product *p)
{
    if (tern__ocl_lanes_of(p) > 1)
        tern__ocl_add(p->d, "local %s parts[%d];\n", p->whole ? "int" : "float", p->d->group_items);
}

size_t tern__ocl_enough_tiles(const tern__ocl_product *p, int high)
{
    return (size_t)(1 + 32768 / (high * TERN__OCL_TILE_COLUMNS * (p->k + 1)));
}
