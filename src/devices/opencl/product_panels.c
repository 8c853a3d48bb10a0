/* product_panels.c - products of many rows: panels of both operands in local memory, results in registers. */
#include <stdio.h>

#include "devices/opencl/product.h"

enum {
    PANEL = 32,     /* columns of a staged panel on a processor; */
    PANEL_ROWS = 8, /* rows of results in registers; */
    DEEP = 16,      /* elsewhere: along k, that are staged at a time */
    SQUARE = 4,     /* results of an item, each way */
};

/* Copies a[first row .., k0 ..] or b[k0 .., c0 ..] to `to`, as f32, zeros beyond the edges: `along` by `across` numbers, those
 * across next to each other. Items walk what lies next to each other in memory. */
static void stage_panel(tern__ocl_product *p, bool of_a, const char *to, const char *first, const char *limit,
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
    tern__ocl_add_element(p, of_a, at);
    tern__ocl_add(d, " : 0;\n}\n");
}

/* Work groups: a square of results, SQUARE by SQUARE of an item, whose operands pass through local memory DEEP at a time. */
void tern__ocl_write_squares(tern__ocl_product *p)
{
    tern__ocl_draft *d = p->d;
    const int side = d->group_items >= 256 ? 16 : d->group_items >= 64 ? 8 : 2, edge = side * SQUARE;
    char deep[16];
    snprintf(deep, sizeof deep, "%d", DEEP);
    tern__ocl_add(d, "local float as[%d], bs[%d];\n", DEEP * edge, DEEP * edge);
    d->group = side * side;
    tern__ocl_begin_tiles(p, edge, edge, 1);
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
    tern__ocl_end_tiles(p);
}

/* How many rows of a panel's results are one piece of work: all, unless there would be too few pieces. */
static int64_t rows_of_panel(const tern__ocl_product *p)
{
    const int64_t panels = p->batches * tern__ocl_divide_up(p->n, PANEL),
                  wanted = 4 * (int64_t)p->d->compute_units;
    const int64_t pieces = panels >= wanted || panels == 0 ? 1 : tern__ocl_divide_up(wanted, panels);
    return tern__ocl_divide_up(tern__ocl_divide_up(p->m, pieces), PANEL_ROWS) * PANEL_ROWS;
}

/* A processor: one item has a panel of b to itself, as deep as local memory allows, and walks down its rows, PANEL_ROWS by PANEL
 * results in registers. */
void tern__ocl_write_panels(tern__ocl_product *p)
{
    tern__ocl_draft *d = p->d;
    const int64_t most = (int64_t)d->local_bytes / 2 / (PANEL * (int64_t)sizeof(float)) / 16 * 16;
    const bool whole = p->k <= most;
    const int deep = (int)(whole ? p->k : most);
    char depth[16], limit[16];
    snprintf(depth, sizeof depth, "%d", deep);
    snprintf(limit, sizeof limit, "n%d", p->nn);
    tern__ocl_add(d, "local float bs[%d], as[%d];\n", deep * PANEL + 1, deep * PANEL_ROWS + 1);
    tern__ocl_begin_tiles(p, rows_of_panel(p), PANEL, 1);
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
    tern__ocl_add_element(p, true, at);
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
    tern__ocl_end_tiles(p);
}
