/* gemm.c - the loops around the inner kernels.
 *
 * Panels of k outermost; for each, a block of rows of a is packed so that it stays in the second-level cache, and for each
 * tile of columns the panel of b, packed, serves all its rows from the first-level cache. Meanwhile the next panel of b and
 * the next tile of y are fetched. Few rows go another way: b is read once, as it lies. */
#include "kernels/gemm/gemm.h"

#include <string.h>

#include "base/checked.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts_of(int64_t size, int64_t most)
{
    return size == 0 ? 1 : (size + most - 1) / most;
}

/* ---- packing ---- */

bool tern__gemm_packed_bytes(const tern__gemm_kernel *kernel, int64_t k, int64_t n, size_t *bytes)
{
    size_t tiles, depth;
    return k >= 0 && n >= 0 && tern__size_from_i64(tern__gemm_tiles(kernel, n), &tiles) &&
           tern__size_from_i64(k, &depth) && tern__size_mul(tiles, (size_t)kernel->columns, &tiles) &&
           tern__size_mul(tiles, depth, &tiles) && tern__size_mul(tiles, sizeof(float), bytes);
}

void tern__gemm_pack(const tern__gemm_kernel *kernel, const float *b, int64_t b_k, int64_t b_column,
                     int64_t k, int64_t n, int64_t begin, int64_t end, float *packed)
{
    const int64_t width = kernel->columns;
    for (int64_t tile = begin; tile < end; tile++)
        kernel->pack(b + tile * width * b_column, b_column, b_k, smaller(width, n - tile * width), width, k,
                     packed + tile * width * k);
}

/* ---- the scratch: a block of a, panels of b, a tile of y ---- */

static int64_t block_rows(const tern__gemm_kernel *kernel, int64_t m, int64_t depth)
{
    const int64_t fitting = kernel->block_bytes / (int64_t)sizeof(float) / (depth ? depth : 1);
    const int64_t most = fitting / kernel->rows * kernel->rows;
    return smaller(most > kernel->rows ? most : kernel->rows, m);
}

static int64_t whole_lines(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

static int64_t a_floats(const tern__gemm_kernel *kernel, int64_t m, int64_t depth)
{
    return whole_lines(block_rows(kernel, m, depth) * depth);
}

static int64_t b_floats(const tern__gemm_kernel *kernel, int64_t depth)
{
    return whole_lines(kernel->columns * TERN__GEMM_WIDE * depth);
}

size_t tern__gemm_scratch_bytes(const tern__gemm_kernel *kernel, int64_t m, int64_t n, int64_t k)
{
    (void)n;
    const int64_t depth = smaller(k, kernel->depth);
    return (size_t)(a_floats(kernel, m, depth) + b_floats(kernel, depth) +
                    TERN__GEMM_MAX_ROWS * TERN__GEMM_MAX_COLUMNS) *
           sizeof(float);
}

/* ---- loops ---- */

/* What the loops below share: a panel [k_begin, k_begin + depth) of the product. */
typedef struct panel {
    const tern__gemm_kernel *kernel;
    const tern__gemm *g;
    int64_t k_begin, depth;
    bool b_in_place; /* whole vectors of b are read where they lie */
    float *a_block, *b_panel, *y_tile;
} panel;

static int64_t columns_of(const panel *p, int64_t tile)
{
    return smaller(p->kernel->columns, p->g->n - tile * p->kernel->columns);
}

/* The panel's part of a tile of b, as the inner kernels want it. */
static void find_b(const panel *p, int64_t tile, float *room, tern__gemm_tile *t)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns, columns = columns_of(p, tile);
    if (g->packed) {
        t->b = g->packed + (tile * g->k + p->k_begin) * width;
        t->b_k = width;
        return;
    }
    const float *from = g->b + p->k_begin * g->b_k + tile * width * g->b_column;
    if (p->b_in_place && columns % p->kernel->vector == 0) {
        t->b = from;
        t->b_k = g->b_k;
        return;
    }
    p->kernel->pack(from, g->b_column, g->b_k, columns, width, p->depth, room);
    t->b = room;
    t->b_k = width;
}

/* One tile of y, through a whole one of its own where columns are missing or lie apart. */
static void multiply_tile(const panel *p, tern__gemm_tile *t, int64_t row, int64_t tile)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns, columns = columns_of(p, tile);
    float *y = g->y + row * g->y_row + tile * width * g->y_column;
    t->columns = (int)columns;
    if (columns % p->kernel->vector == 0 && g->y_column == 1) {
        t->y = y;
        t->y_row = g->y_row;
        p->kernel->multiply(t);
        return;
    }
    t->y = p->y_tile;
    t->y_row = width;
    for (int64_t i = 0; t->add && i < t->rows; i++)
        for (int64_t j = 0; j < width; j++)
            t->y[i * width + j] = j < columns ? y[i * g->y_row + j * g->y_column] : 0;
    p->kernel->multiply(t);
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < columns; j++)
            y[i * g->y_row + j * g->y_column] = t->y[i * width + j];
}

/* Lines of the next panel of b that are fetched while group `group` of `groups` is multiplied. */
static void fetch_b(const panel *p, int64_t tile, int64_t group, int64_t groups)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns;
    if (p->b_in_place || (tile + 1) * width >= g->n)
        return;
    if (g->packed) {
        const float *ahead = g->packed + ((tile + 1) * g->k + p->k_begin) * width;
        const int64_t begin = p->depth * group / groups * width,
                      end = p->depth * (group + 1) / groups * width;
        for (int64_t k = begin; k < end; k += 16)
            __builtin_prefetch(ahead + k, 0, 2);
        return;
    }
    const float *next = g->b + p->k_begin * g->b_k + (tile + 1) * width * g->b_column;
    if (g->b_column == 1) {
        const int64_t begin = p->depth * group / groups, end = p->depth * (group + 1) / groups;
        for (int64_t k = begin; k < end; k++)
            for (int64_t j = 0; j < width; j += 16)
                __builtin_prefetch(next + k * g->b_k + j, 0, 2);
    } else if (g->b_k == 1) {
        const int64_t columns = columns_of(p, tile + 1);
        const int64_t begin = columns * group / groups, end = columns * (group + 1) / groups;
        for (int64_t j = begin; j < end; j++)
            for (int64_t k = 0; k < p->depth; k += 16)
                __builtin_prefetch(next + j * g->b_column + k, 0, 2);
    }
}

static void fetch_y(const panel *p, int64_t row, int64_t rows, int64_t tile)
{
    const tern__gemm *g = p->g;
    if (g->y_column != 1)
        return;
    const float *y = g->y + row * g->y_row + tile * p->kernel->columns;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < p->kernel->columns; j += 16)
            __builtin_prefetch(y + i * g->y_row + j, 1, 3);
}

/* Rows [begin, end) of the tiles, for one panel: rows in groups of about equal size. */
static void multiply_block(const panel *p, int64_t begin, int64_t end, int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm *g = p->g;
    const int64_t rows = end - begin, groups = parts_of(rows, p->kernel->rows);
    /* A block that few tiles use is not worth packing. */
    const bool packs = tile_end - tile_begin > 2, by_rows = g->a_k == 1;
    const float *a = g->a + begin * g->a_row + p->k_begin * g->a_k;
    for (int64_t i = 0; packs && by_rows && i < rows; i++)
        memcpy(p->a_block + i * p->depth, a + i * g->a_row, (size_t)p->depth * sizeof *a);
    for (int64_t i = 0; packs && !by_rows && i < groups; i++) {
        const int64_t first = rows * i / groups, n = rows * (i + 1) / groups - first;
        p->kernel->pack(a + first * g->a_row, g->a_row, g->a_k, n, n, p->depth,
                        p->a_block + first * p->depth);
    }
    tern__gemm_tile t = {.k = p->depth, .add = p->k_begin > 0};
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        find_b(p, tile, p->b_panel, &t);
        for (int64_t i = 0; i < groups; i++) {
            const int64_t first = rows * i / groups, n = rows * (i + 1) / groups - first;
            t.rows = (int)n;
            t.a = packs ? p->a_block + first * p->depth : a + first * g->a_row;
            t.a_row = !packs ? g->a_row : by_rows ? p->depth : 1;
            t.a_k = packs && !by_rows ? n : g->a_k;
            if (tile + 1 < tile_end)
                fetch_b(p, tile, i, groups);
            if (i + 1 < groups)
                fetch_y(p, begin + first + n, rows * (i + 2) / groups - first - n, tile);
            multiply_tile(p, &t, begin + first, tile);
        }
    }
}

/* Few rows: as many tiles at once as keep the multipliers busy. */
static void multiply_few(const panel *p, int64_t begin, int64_t end, int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns;
    tern__gemm_tile t = {.a = g->a + begin * g->a_row + p->k_begin * g->a_k,
                         .a_row = g->a_row,
                         .a_k = g->a_k,
                         .k = p->depth,
                         .rows = (int)(end - begin),
                         .add = p->k_begin > 0};
    int64_t tile = tile_begin;
    for (; tile + TERN__GEMM_WIDE <= tile_end && g->y_column == 1; tile += TERN__GEMM_WIDE) {
        if ((tile + TERN__GEMM_WIDE) * width > g->n)
            break;
        find_b(p, tile, p->b_panel, &t);
        t.b_tile = g->packed ? g->k * width : width;
        if (t.b == p->b_panel) {
            for (int64_t i = 1; i < TERN__GEMM_WIDE; i++)
                find_b(p, tile + i, p->b_panel + i * width * p->depth, &t);
            t.b = p->b_panel;
            t.b_tile = width * p->depth;
        }
        t.y = g->y + begin * g->y_row + tile * width;
        t.y_row = g->y_row;
        p->kernel->wide(&t);
    }
    for (; tile < tile_end; tile++) {
        find_b(p, tile, p->b_panel, &t);
        multiply_tile(p, &t, begin, tile);
    }
}

void tern__gemm_multiply(const tern__gemm_kernel *kernel, const tern__gemm *g, int64_t row_begin,
                         int64_t row_end, int64_t tile_begin, int64_t tile_end, void *scratch)
{
    const int64_t rows = row_end - row_begin;
    const bool few = rows <= kernel->wide_rows;
    if (rows == 0)
        return;
    const int64_t panels = parts_of(g->k, kernel->depth), deepest = smaller(g->k, kernel->depth);
    /* In place a tile costs a page for every row of b: for a few uses, or where there are few pages. */
    const int64_t small = 1 << 16; /* floats */
    panel p = {.kernel = kernel,
               .g = g,
               .b_in_place = g->b_column == 1 && (rows <= 2 * kernel->rows || g->k * g->n <= small)};
    p.a_block = scratch;
    p.b_panel = p.a_block + a_floats(kernel, g->m, deepest);
    p.y_tile = p.b_panel + b_floats(kernel, deepest);
    for (int64_t i = 0; i < panels; i++) {
        p.k_begin = g->k * i / panels;
        p.depth = g->k * (i + 1) / panels - p.k_begin;
        if (few) {
            multiply_few(&p, row_begin, row_end, tile_begin, tile_end);
            continue;
        }
        const int64_t blocks = parts_of(rows, block_rows(kernel, g->m, deepest));
        for (int64_t j = 0; j < blocks; j++)
            multiply_block(&p, row_begin + rows * j / blocks, row_begin + rows * (j + 1) / blocks, tile_begin,
                           tile_end);
    }
}
