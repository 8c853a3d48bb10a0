/* gemm.c - the loops around the inner kernels.
 *
 * Columns of b in groups of tiles whose panels fit the caches, then panels of k, then blocks of rows of a, packed so that they
 * stay in the second-level cache; each tile's panel of b is packed when the first block needs it and serves all of them, or, of a
 * source, which has fewer bytes than f32, widened for each block anew.
 * Meanwhile the next panel of b and the next tile of y are fetched. Few rows go other ways: b is read once, as it lies. */
#include "kernels/gemm/gemm.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/gemm/pack.h"

static int64_t parts_of(int64_t size, int64_t most)
{
    return size == 0 ? 1 : (size + most - 1) / most;
}

/* ---- blocks, and the scratch: a block of a, panels of b, a tile of y ---- */

/* A panel of b is as deep as pays: what a tile costs before and after its loop is spread over more k, and results are read
 * and written again less often. It comes from the second-level cache, where the next panel, tiles of y and a block of a lie
 * too. More than a fifth of it for the latter measured worse, unless that is too few rows for each line of a panel to be worth
 * its way from further away: then half of it holds the block and two panels. Panels that wait for the next block may lie
 * anywhere. Blocks are whole tiles high. */
tern__gemm_blocking tern__gemm_blocking_for(const tern__gemm_kernel *kernel, int64_t l1_bytes,
                                            int64_t l2_bytes, int64_t m, int64_t n, int64_t k)
{
    /* Panels that fit the first-level cache are too shallow to pay. */
    enum { DEEP = 512, MANY_ROWS = 96, SMALL_L1 = 32 << 10 };
    const int64_t l2 = l2_bytes > 0 ? l2_bytes : 512 << 10, height = tern__gemm_low_rows(kernel);
    const int64_t row = kernel->columns * (int64_t)sizeof(float);
    const int64_t depth = tern__larger(tern__smaller(l2 / 8 / row, DEEP), 64);
    const int64_t deepest = tern__larger(parts_of(k, parts_of(k, depth)), 1),
                  line = deepest * (int64_t)sizeof(float);
    const int64_t fifth = l2 / 5 / line, half = (l2 / 2 - 2 * deepest * row) / line;
    const int64_t rows =
        tern__larger(tern__larger(fifth, tern__smaller(half, MANY_ROWS)), TERN__GEMM_MAX_ROWS);
    const int64_t tiles = tern__larger(4 * l2 / (deepest * row), TERN__GEMM_WIDE);
    return (tern__gemm_blocking){
        .depth = deepest,
        .rows = tern__larger(tern__smaller(parts_of(rows, height) * height, m), 1),
        .tiles = tern__larger(tern__smaller(tiles, tern__gemm_tiles(kernel, n)), TERN__GEMM_WIDE),
        .streamed = l1_bytes > 0 && l1_bytes <= SMALL_L1 ? 16 : 32};
}

static int64_t whole_lines(int64_t floats)
{
    return (floats + 15) / 16 * 16;
}

/* Rows or slivers. */
static int64_t a_floats(const tern__gemm_kernel *kernel, const tern__gemm_blocking *b)
{
    const int64_t height = tern__gemm_low_rows(kernel);
    return whole_lines(parts_of(b->rows, height) * height * b->depth);
}

static int64_t b_floats(const tern__gemm_kernel *kernel, const tern__gemm_blocking *b)
{
    return kernel->columns * b->tiles * b->depth;
}

enum { Y_FLOATS = TERN__GEMM_MAX_ROWS * TERN__GEMM_MAX_COLUMNS };

size_t tern__gemm_scratch_bytes(const tern__gemm_kernel *kernel, const tern__gemm_blocking *blocking,
                                bool packed)
{
    const int64_t b = packed ? 0 : b_floats(kernel, blocking);
    return (size_t)(Y_FLOATS + a_floats(kernel, blocking) + b) * sizeof(float);
}

/* ---- loops ---- */

/* What the loops below share: a panel [k_begin, k_begin + depth) of the product. */
typedef struct panel {
    const tern__gemm_kernel *kernel;
    const tern__gemm *g;
    int64_t k_begin, depth;
    int64_t deepest;    /* of panels */
    int64_t first_tile; /* of those that b_block holds */
    bool two_slots;     /* it holds one and the next: nobody comes back for others */
    bool b_in_place;    /* b is read where it lies: f32 whose rows have their elements side by side */
    float *y_tile, *a_block, *b_block;
} panel;

static void set_panel(panel *p, int64_t i, int64_t deepest)
{
    p->k_begin = i * deepest;
    p->depth = tern__smaller(deepest, p->g->k - p->k_begin);
}

static int64_t columns_of(const panel *p, int64_t tile)
{
    return tern__smaller(p->kernel->columns, p->g->n - tile * p->kernel->columns);
}

/* Are so many columns whole vectors, as far as the kernel cares? */
static bool is_whole(const panel *p, int64_t columns)
{
    return p->kernel->ragged || columns % p->kernel->vector == 0;
}

/* Of tiles in place only the last one may need room. */
static float *slot_of(const panel *p, int64_t tile)
{
    const int64_t at = p->b_in_place ? 0 : tile - p->first_tile;
    return p->b_block + (p->two_slots ? at % 2 : at) * p->kernel->columns * p->depth;
}

/* Is a panel of b made in a slot? */
static bool is_made(const panel *p)
{
    return !p->g->source && !p->b_in_place && !(p->g->packed && p->g->b_type == TERN_F32);
}

/* Makes rows [begin, begin + rows) of a tile's panel. */
static void make_rows(const panel *p, int64_t tile, int64_t begin, int64_t rows)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns, first = p->k_begin + begin;
    float *to = slot_of(p, tile) + begin * width;
    if (g->packed)
        p->kernel->unpack[g->b_type](tern__gemm_at(g->b_type, g->packed, (tile * g->k + first) * width),
                                     rows * width, to);
    else
        tern__gemm_pack_lanes(p->kernel, g->b_type,
                              tern__gemm_at(g->b_type, g->b, first * g->b_k + tile * width * g->b_column),
                              g->b_column, g->b_k, columns_of(p, tile), width, rows, to);
}

/* Of a source whose columns are several tiles the first of them brings all. */
static void find_widened(const panel *p, int64_t tile, bool packs, tern__gemm_tile *t)
{
    const tern__gemm_source *s = p->g->source;
    const int64_t column = tile * p->kernel->columns, within = column % s->columns;
    if (packs && within == 0)
        s->widen(s, column, p->k_begin, p->depth, p->b_block);
    t->b = p->b_block + within;
    t->b_k = s->columns;
}

/* The panel's part of a tile of b, as the inner kernels want it. `packs`: it is not in the block yet. */
static void find_b(const panel *p, int64_t tile, bool packs, tern__gemm_tile *t)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns;
    if (g->source) {
        find_widened(p, tile, packs, t);
        return;
    }
    t->b = slot_of(p, tile);
    t->b_k = width;
    if (g->packed && g->b_type == TERN_F32) {
        t->b = (const float *)g->packed + (tile * g->k + p->k_begin) * width;
    } else if (p->b_in_place && is_whole(p, columns_of(p, tile))) {
        t->b = (const float *)g->b + p->k_begin * g->b_k + tile * width;
        t->b_k = g->b_k;
    } else if (packs) {
        make_rows(p, tile, 0, p->depth);
    }
}

/* One tile of y by `multiply`, through a whole one of its own where columns are missing or lie apart. */
static void multiply_tile(const panel *p, void (*multiply)(const tern__gemm_tile *), tern__gemm_tile *t,
                          int64_t row, int64_t column, int64_t columns)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns;
    float *y = g->y + row * g->y_row + column * g->y_column;
    t->columns = (int)columns;
    if (g->y_column == 1 && is_whole(p, columns)) {
        t->y = y;
        t->y_row = g->y_row;
        multiply(t);
        return;
    }
    t->y = p->y_tile;
    t->y_row = width;
    for (int64_t i = 0; t->add && i < t->rows; i++)
        for (int64_t j = 0; j < width; j++)
            t->y[i * width + j] = j < columns ? y[i * g->y_row + j * g->y_column] : 0;
    multiply(t);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < t->rows; i++)
            y[i * g->y_row + j * g->y_column] = t->y[i * width + j];
}

/* Bytes of lines that one call fetches. */
static int64_t fetched_bytes(const panel *p)
{
    return p->depth / TERN__GEMM_LINE_EVERY * TERN__GEMM_LINE;
}

/* `n` bytes of the next tile's panel that lie in one piece, call by call. */
static void fetch_lines(const panel *p, const void *bytes, int64_t n, int64_t call, tern__gemm_tile *t)
{
    const int64_t begin = call * fetched_bytes(p);
    if (begin < n)
        t->line = (uintptr_t)bytes + (uintptr_t)begin;
}

/* One run of a source after the other. */
static void fetch_source(const panel *p, int64_t tile, int64_t call, tern__gemm_tile *t)
{
    const tern__gemm_source *s = p->g->source;
    const int64_t column = tile * p->kernel->columns;
    const uint8_t *runs[2];
    int64_t bytes;
    if (column % s->columns != 0)
        return;
    const int n = s->find(s, column, p->k_begin, p->depth, runs, &bytes);
    const int64_t calls = parts_of(bytes, tern__larger(fetched_bytes(p), 1));
    if (call < n * calls)
        fetch_lines(p, runs[call / calls], bytes, call % calls, t);
}

/* What is read when the next tile's panel is used, or when rows [begin, begin + rows) of it are made after call `call`: then
 * their room is fetched as well. */
static void fetch_b(const panel *p, int64_t tile, bool makes, int64_t call, int64_t begin, int64_t rows,
                    tern__gemm_tile *t)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns, bytes = p->depth * width * (int64_t)sizeof(float);
    if (g->source)
        fetch_source(p, tile + 1, call, t);
    else if (g->packed && g->b_type == TERN_F32)
        fetch_lines(p, (const float *)g->packed + ((tile + 1) * g->k + p->k_begin) * width, bytes, call, t);
    else if (!makes)
        fetch_lines(p, slot_of(p, tile + 1), bytes, call, t);
    else if (!p->two_slots)
        t->ahead[1] = (tern__gemm_ahead){slot_of(p, tile + 1) + begin * width, width, rows};
    if (rows == 0 || g->packed || g->b_type != TERN_F32)
        return;
    if (g->b_k == 1) {
        const float *next = (const float *)g->b + p->k_begin + begin + (tile + 1) * width * g->b_column;
        t->ahead[2] = (tern__gemm_ahead){next, g->b_column, columns_of(p, tile + 1)};
    } else if (g->b_column == 1) {
        const float *next = (const float *)g->b + (p->k_begin + begin) * g->b_k + (tile + 1) * width;
        t->ahead[2] = (tern__gemm_ahead){next, g->b_k, rows};
    }
}

static tern__gemm_ahead y_ahead(const panel *p, int64_t row, int64_t rows, int64_t tile)
{
    const tern__gemm *g = p->g;
    return (tern__gemm_ahead){g->y + row * g->y_row + tile * p->kernel->columns, g->y_row, rows};
}

/* Is a packed as slivers? Transposing it instead is slower, more so if its rows lie so that they push each other out of the
 * caches. */
static bool in_slivers(const tern__gemm *g)
{
    return g->a_type == TERN_F32 && g->a_row == 1 && g->a_k != 1;
}

/* Rows [begin, begin + rows) of a as f32 with elements side by side, or slivers. */
static void pack_a(const panel *p, int64_t begin, int64_t rows)
{
    const tern__gemm *g = p->g;
    const void *a = tern__gemm_at(g->a_type, g->a, begin * g->a_row + p->k_begin * g->a_k);
    if (in_slivers(g))
        p->kernel->pack_slivers(a, g->a_k, rows, p->depth, p->a_block);
    else
        tern__gemm_pack_lanes(p->kernel, g->a_type, a, g->a_k, g->a_row, p->depth, p->depth, rows,
                              p->a_block);
}

/* Rows of the next tile if so many are left: the last two share what remains. */
static int64_t group_of(int64_t left, int64_t most)
{
    return left >= 2 * most ? most : left > most ? (left + 1) / 2 : left;
}

/* k of a panel that are made after each of `calls`, until all are: whole lines, in case b's columns lie in one piece. */
static int64_t share_of(int64_t depth, int64_t calls)
{
    enum { LINE = TERN__GEMM_LINE / sizeof(float) };
    return parts_of(parts_of(depth, calls), LINE) * LINE;
}

/* Rows [begin, begin + rows) of one tile; t has the operands. `next`: the next tile's panel is fetched, or, if it is to be
 * packed, made: a share after each call, so that what a call fetched is still there whatever the strides. */
static void multiply_groups(const panel *p, tern__gemm_tile *t, int64_t begin, int64_t rows, int64_t tile,
                            bool next, bool packs_b)
{
    const tern__gemm_kernel *kernel = p->kernel;
    const int64_t columns = columns_of(p, tile);
    const int64_t most =
        t->a_k == 1 ? kernel->rows[(columns - 1) / kernel->vector] : tern__gemm_low_rows(kernel);
    const bool slivers = t->a == p->a_block && in_slivers(p->g);
    const bool makes = next && packs_b && is_made(p);
    const int64_t each = makes ? share_of(p->depth, parts_of(rows, most)) : 0;
    for (int64_t row = 0, n, call = 0; row < rows; row += n, call++) {
        n = slivers ? tern__smaller(rows - row, most) : group_of(rows - row, most);
        t->rows = (int)n;
        t->ahead[0].rows = t->ahead[1].rows = t->ahead[2].rows = 0;
        t->line = 0;
        const int64_t first = tern__smaller(call * each, p->depth),
                      made = tern__smaller(each, p->depth - first);
        if (row + n < rows && p->g->y_column == 1)
            t->ahead[0] = y_ahead(p, begin + row + n, group_of(rows - row - n, most), tile);
        if (next)
            fetch_b(p, tile, makes, call, first, made, t);
        multiply_tile(p, kernel->multiply, t, begin + row, tile * kernel->columns, columns);
        if (made > 0)
            make_rows(p, tile + 1, first, made);
        t->a += n * t->a_row * (slivers ? p->depth : 1);
    }
}

/* Rows [begin, end) of the tiles, for one panel. */
static void multiply_block(const panel *p, int64_t begin, int64_t end, int64_t tile_begin, int64_t tile_end,
                           bool packs_b)
{
    const tern__gemm *g = p->g;
    const int64_t rows = end - begin;
    /* A block that few tiles use is not worth packing, nor is one that would be the same afterwards. */
    const bool dense = g->a_k == 1 && g->a_row == p->depth;
    const bool packs = g->a_type != TERN_F32 || (tile_end - tile_begin > 2 && !dense);
    tern__gemm_tile t = {.a_row = g->a_row, .a_k = g->a_k, .k = p->depth, .add = p->k_begin > 0};
    if (packs) {
        t.a_row = in_slivers(g) ? 1 : p->depth;
        t.a_k = in_slivers(g) ? tern__gemm_low_rows(p->kernel) : 1;
        pack_a(p, begin, rows);
    }
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        find_b(p, tile, packs_b && (tile == tile_begin || !is_made(p)), &t);
        t.a = packs ? p->a_block : (const float *)g->a + begin * g->a_row + p->k_begin * g->a_k;
        multiply_groups(p, &t, begin, rows, tile, tile + 1 < tile_end && !p->b_in_place, packs_b);
    }
}

/* Few rows of f32: as many tiles at once as keep the multipliers busy. */
static void multiply_few(panel *p, int64_t begin, int64_t end, int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns;
    tern__gemm_tile t = {.a = (const float *)g->a + begin * g->a_row + p->k_begin * g->a_k,
                         .a_row = g->a_row,
                         .a_k = g->a_k,
                         .k = p->depth,
                         .rows = (int)(end - begin),
                         .add = p->k_begin > 0};
    int64_t tile = tile_begin;
    for (; tile + TERN__GEMM_WIDE <= tile_end && g->y_column == 1; tile += TERN__GEMM_WIDE) {
        if ((tile + TERN__GEMM_WIDE) * width > g->n)
            break;
        p->first_tile = tile;
        for (int64_t i = TERN__GEMM_WIDE - 1; i >= 0; i--)
            find_b(p, tile + i, true, &t);
        const bool lies = t.b != p->b_block;
        t.b_tile = !lies ? width * p->depth : g->packed ? g->k * width : width;
        t.b_ahead = lies && !g->packed ? TERN__GEMM_WIDE * width : 8 * t.b_k;
        t.y = g->y + begin * g->y_row + tile * width;
        t.y_row = g->y_row;
        p->kernel->wide(&t);
    }
    for (; tile < tile_end; tile++) {
        p->first_tile = tile;
        find_b(p, tile, true, &t);
        multiply_tile(p, p->kernel->multiply, &t, begin, tile * width, columns_of(p, tile));
    }
}

/* The columns of a tile from `column` on, less than a vector of them, of a b whose columns lie in one piece. */
static void multiply_rest(panel *p, int64_t begin, int64_t end, int64_t column, int64_t columns)
{
    const tern__gemm *g = p->g;
    const int64_t panels = parts_of(g->k, g->blocking.depth);
    const int64_t most = tern__gemm_low_rows(p->kernel);
    for (int64_t i = 0; i < panels; i++) {
        set_panel(p, i, g->blocking.depth);
        tern__gemm_pack_lanes(p->kernel, TERN_F32, (const float *)g->b + column * g->b_column + p->k_begin,
                              g->b_column, 1, columns, p->kernel->columns, p->depth, p->b_block);
        for (int64_t row = begin; row < end; row += most) {
            tern__gemm_tile t = {.a = (const float *)g->a + row * g->a_row + p->k_begin * g->a_k,
                                 .a_row = g->a_row,
                                 .a_k = g->a_k,
                                 .b = p->b_block,
                                 .b_k = p->kernel->columns,
                                 .k = p->depth,
                                 .rows = (int)tern__smaller(most, end - row),
                                 .add = i > 0};
            multiply_tile(p, p->kernel->multiply, &t, row, column, columns);
        }
    }
}

/* Few rows, and columns of b in one piece: nothing is kept, so that all of k is one panel. */
static void multiply_across(panel *p, int64_t begin, int64_t end, int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm *g = p->g;
    const int64_t width = p->kernel->columns, vector = p->kernel->vector;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t columns = columns_of(p, tile), whole = columns / vector * vector;
        tern__gemm_tile t = {.a = (const float *)g->a + begin * g->a_row,
                             .a_row = g->a_row,
                             .a_k = g->a_k,
                             .b = (const float *)g->b + tile * width * g->b_column,
                             .b_column = g->b_column,
                             .k = g->k,
                             .rows = (int)(end - begin)};
        if (whole > 0)
            multiply_tile(p, p->kernel->across, &t, begin, tile * width, whole);
        if (whole < columns)
            multiply_rest(p, begin, end, tile * width + whole, columns - whole);
    }
}

/* Rows in blocks, of tiles that fit b's block. */
static void multiply_tiles(panel *p, int64_t begin, int64_t end, int64_t tile_begin, int64_t tile_end)
{
    const tern__gemm *g = p->g;
    const int64_t rows = end - begin, height = tern__gemm_low_rows(p->kernel),
                  groups = parts_of(rows, height);
    const int64_t blocks = parts_of(groups, tern__larger(g->blocking.rows / height, 1));
    const int64_t panels = parts_of(g->k, p->deepest);
    p->first_tile = tile_begin;
    p->two_slots = blocks == 1;
    for (int64_t i = 0; i < panels; i++) {
        set_panel(p, i, p->deepest);
        for (int64_t j = 0; j < blocks; j++)
            multiply_block(p, begin + groups * j / blocks * height,
                           tern__smaller(begin + groups * (j + 1) / blocks * height, end), tile_begin,
                           tile_end, j == 0 || g->source);
    }
}

void tern__gemm_multiply_small(const tern__gemm_kernel *kernel, const tern__gemm *g)
{
    tern__gemm_tile t = {.a = g->a,
                         .a_row = g->a_row,
                         .a_k = g->a_k,
                         .b = g->b,
                         .b_k = g->b_k,
                         .y = g->y,
                         .y_row = g->y_row,
                         .k = g->k,
                         .columns = (int)g->n};
    const int64_t most =
        t.a_k == 1 ? kernel->rows[(t.columns - 1) / kernel->vector] : tern__gemm_low_rows(kernel);
    for (int64_t left = g->m; left > 0; left -= t.rows) {
        t.rows = (int)group_of(left, most);
        kernel->multiply(&t);
        t.a += t.rows * t.a_row;
        t.y += t.rows * t.y_row;
    }
}

/* Is b best read where it lies? There a tile costs a page for every row of b: for a few uses, or where there are few pages. Rows
 * of a tile that are one line each share few sets of the first-level cache, for many uses that is too slow as well. */
static bool lies_well(const tern__gemm_kernel *kernel, const tern__gemm *g, int64_t rows, int64_t small)
{
    const int64_t uses = parts_of(rows, tern__gemm_low_rows(kernel));
    const bool lines = kernel->columns * (int64_t)sizeof(float) > TERN__GEMM_LINE;
    return g->b_type == TERN_F32 && g->b_column == 1 &&
           (uses <= 5 || (g->k * g->n <= small && (lines || uses <= 20)));
}

void tern__gemm_multiply(const tern__gemm_kernel *kernel, const tern__gemm *g, int64_t row_begin,
                         int64_t row_end, int64_t tile_begin, int64_t tile_end, void *scratch)
{
    const int64_t rows = row_end - row_begin, tiles = tile_end - tile_begin;
    const bool floats = g->a_type == TERN_F32 && g->b_type == TERN_F32;
    if (rows == 0 || tiles == 0)
        return;
    const int64_t small = 1 << 16; /* floats */
    panel p = {.kernel = kernel, .g = g, .b_in_place = lies_well(kernel, g, rows, small)};
    /* A large b that is read where it lies comes from memory: a few rows of it, all along, that the processor can follow. */
    const bool streams = p.b_in_place && !g->packed && g->k * g->n > small;
    p.deepest = streams ? tern__smaller(g->blocking.streamed, g->blocking.depth) : g->blocking.depth;
    p.y_tile = scratch;
    p.a_block = p.y_tile + Y_FLOATS;
    p.b_block = p.a_block + a_floats(kernel, &g->blocking);
    if (floats && !g->packed && g->b_k == 1 && g->b_column != 1 && rows <= kernel->across_rows) {
        multiply_across(&p, row_begin, row_end, tile_begin, tile_end);
        return;
    }
    if (floats && !g->source && rows <= kernel->wide_rows) {
        const int64_t panels = parts_of(g->k, p.deepest);
        for (int64_t i = 0; i < panels; i++) {
            set_panel(&p, i, p.deepest);
            multiply_few(&p, row_begin, row_end, tile_begin, tile_end);
        }
        return;
    }
    const bool lies = floats && (g->packed || p.b_in_place); /* but ragged tiles, one of which there is */
    const int64_t groups = lies || g->source ? 1 : parts_of(tiles, g->blocking.tiles);
    for (int64_t i = 0; i < groups; i++)
        multiply_tiles(&p, row_begin, row_end, tile_begin + tiles * i / groups,
                       tile_begin + tiles * (i + 1) / groups);
}
