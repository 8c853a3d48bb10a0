/* product_dots.c - products of few rows: operands that lie along k are multiplied sixteen at a time, others column beside column. */
#include <stdio.h>

#include "devices/opencl/product.h"

void tern__ocl_write_dot(tern__ocl_product *p)
{
    tern__ocl_draft *d = p->d;
    const int high = p->m < TERN__OCL_TILE_ROWS ? 1 : TERN__OCL_TILE_ROWS, lanes = tern__ocl_lanes_of(p);
    const bool dense = p->a_k == 1 && p->b_k == 1;
    char at[64], tail[32];
    snprintf(tail, sizeof tail, "n%d / 16 * 16", p->nk);
    tern__ocl_add_parts(p);
    tern__ocl_begin_tiles(p, high, tern__ocl_width_of(p), tern__ocl_enough_tiles(p, high));
    tern__ocl_begin_outputs(p, high);
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
        tern__ocl_add_vector(d, p->b->type->dtype, p->pb, "w + c");
        tern__ocl_add(d, ";\n");
        for (int r = 0; r < high; r++) {
            snprintf(at, sizeof at, "x%d + c", r);
            tern__ocl_add(d, p->whole ? "i%d += v * " : "i%d = fma(v, ", r);
            tern__ocl_add_vector(d, p->a->type->dtype, p->pa, at);
            tern__ocl_add(d, p->whole ? ";\n" : ", i%d);\n", r);
        }
        tern__ocl_add(d, "}\n");
        for (int r = 0; r < high; r++)
            tern__ocl_add(d, "t%d = sum_of16%s(i%d);\n", r, p->whole ? "" : "f", r);
    }
    tern__ocl_add(d, "for (long c = %s + lane0; c < n%d; c += %d) {\n", dense ? tail : "0", p->nk, lanes);
    tern__ocl_add(d, "%s v = ", p->whole ? "int" : "float");
    snprintf(at, sizeof at, "w + c * n%d", p->nb_k);
    tern__ocl_add_element(p, false, at);
    tern__ocl_add(d, ";\n");
    for (int r = 0; r < high; r++) {
        snprintf(at, sizeof at, "x%d + c * n%d", r, p->na_k);
        tern__ocl_add(d, p->whole ? "t%d += v * " : "t%d = fma(v, ", r);
        tern__ocl_add_element(p, true, at);
        tern__ocl_add(d, p->whole ? ";\n" : ", t%d);\n", r);
    }
    tern__ocl_add(d, "}\n");
    tern__ocl_end_outputs(p, high);
    tern__ocl_write_tile(d, &p->tile);
    tern__ocl_end_tiles(p);
}

/* Columns beside each other: each result is one chain of multiply-adds in ascending k, like the CPU's. On a processor only. */
void tern__ocl_write_strips(tern__ocl_product *p)
{
    tern__ocl_draft *d = p->d;
    char at[96];
    tern__ocl_begin_tiles(p, TERN__OCL_TILE_ROWS, TERN__OCL_TILE_COLUMNS,
                          tern__ocl_enough_tiles(p, TERN__OCL_TILE_ROWS));
    tern__ocl_add(
        d,
        "float sums[%d][%d];\nfor (int r = 0; r < %d; r++) for (int l = 0; l < %d; l++) sums[r][l] = 0;\n"
        "for (long c = 0; c < n%d; c++) {\nfloat w[%d], x[%d];\n"
        "if (columns == %d) for (int l = 0; l < %d; l++) w[l] = ",
        TERN__OCL_TILE_ROWS, TERN__OCL_TILE_COLUMNS, TERN__OCL_TILE_ROWS, TERN__OCL_TILE_COLUMNS, p->nk,
        TERN__OCL_TILE_COLUMNS, TERN__OCL_TILE_ROWS, TERN__OCL_TILE_COLUMNS, TERN__OCL_TILE_COLUMNS);
    for (int part = 0; part < 2; part++) {
        snprintf(at, sizeof at, p->b_column == 1 ? "b + c * n%d + c0 + l" : "b + c * n%d + (c0 + l) * n%d",
                 p->nb_k, p->nb_column);
        tern__ocl_add_element(p, false, at);
        if (part == 0)
            tern__ocl_add(
                d, ";\nelse for (int l = 0; l < %d; l++) w[l] = l >= columns ? 0 : ", TERN__OCL_TILE_COLUMNS);
    }
    snprintf(at, sizeof at, "a + (m0 + r) * n%d + c * n%d", p->na_row, p->na_k);
    tern__ocl_add(d, ";\nfor (int r = 0; r < %d; r++) x[r] = r >= rows ? 0 : ", TERN__OCL_TILE_ROWS);
    tern__ocl_add_element(p, true, at);
    tern__ocl_add(d,
                  ";\nfor (int r = 0; r < %d; r++) for (int l = 0; l < %d; l++) sums[r][l] = fma(x[r], w[l], "
                  "sums[r][l]);\n}\n",
                  TERN__OCL_TILE_ROWS, TERN__OCL_TILE_COLUMNS);
    tern__ocl_write_tile(d, &p->tile);
    tern__ocl_end_tiles(p);
}
