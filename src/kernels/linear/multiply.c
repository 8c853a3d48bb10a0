/* multiply.c - the loops around the inner kernels of linear products.
 *
 * Few rows are multiplied with weights that are widened in registers, so that the packed weights are read once and nothing is
 * written but the result. Many rows get a panel of widened weights in the cache and the inner kernel of f32 products; the chains
 * are the same. */
#include <string.h>

#include "kernels/linear/product.h"
#include "kernels/ternary/ternary.h"

enum {
    TILE = TERN__LINEAR_TILE,
    MANY = 16,                  /* rows from which on a panel pays */
    DEPTH = TERN__LINEAR_BLOCK, /* columns of a panel: whole blocks */
    X_BYTES = 640 << 10,        /* of i8 rows at a time, likewise */
    BYTES_ROWS = 8,             /* most rows of a call */
    ROWS = 64,                  /* of x at a time: they stay in the second-level cache */
    PANEL_QUADS = 256,          /* of i8 weights: half a first-level cache */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + TERN__LINEAR_ALIGN - 1) / TERN__LINEAR_ALIGN * TERN__LINEAR_ALIGN;
}

void tern__linear_plan(tern_dtype dtype, const tern__linear_kernel *kernel, const tern__gemm_kernel *gemm,
                       const tern__linear_i8_kernel *bytes, const tern__type *x, int64_t n, bool packed,
                       tern__linear_program *out)
{
    tern__linear_program p = {.n = n, .batch = 1, .k = x->shape[x->rank - 1], .work = tern__linear_tiles(n)};
    for (int i = 0; i < x->rank - 1; i++)
        p.batch *= x->shape[i];
    p.tile_bytes = tern__linear_tile_bytes(dtype, p.k);
    p.block = smaller(p.batch, ROWS);
    if (dtype == TERN_I8) {
        const int64_t fitting = X_BYTES / tern__ternary_x_stride(p.k);
        p.block = smaller(p.batch, fitting > ROWS ? fitting : ROWS);
        p.bytes = bytes;
        p.scratch_bytes = (size_t)(p.block * tern__ternary_x_stride(p.k));
    } else {
        tern__linear_form_of(dtype, &p.form);
        p.kernel = kernel;
        p.gemm = gemm;
        p.scratch_bytes = (size_t)(TERN__LINEAR_PANEL + p.block * p.k) * sizeof(float);
    }
    p.packs = !packed;
    p.scratch_bytes = whole_lines(p.scratch_bytes) + (packed ? 0 : whole_lines((size_t)p.tile_bytes));
    p.scratch_bytes += (size_t)p.block * TILE * sizeof(float);
    *out = p;
}

/* The `n` tiles that are `skip` behind this one, or these themselves, which costs least, at the end. */
static tern__stream ahead_of(const tern__linear_program *p, const uint8_t *packed, int64_t tile, int64_t skip,
                             int64_t n)
{
    const int64_t next = tile + skip < p->work ? tile + skip : tile;
    return tern__stream_of(packed + next * p->tile_bytes, n * p->tile_bytes);
}

/* ---- few rows ---- */

/* Calls an inner kernel; a tile with missing rows goes through a whole one, so that kernels never see it. */
static void call_whole(const tern__linear_program *p, tern__linear_call *call, int64_t columns)
{
    if (columns >= TILE * call->n_tiles) {
        p->kernel->multiply[p->form](call);
        return;
    }
    float whole[TERN__LINEAR_MAX_ROWS * TILE];
    tern__linear_call part = *call;
    part.y = whole;
    part.y_row = TILE;
    p->kernel->multiply[p->form](&part);
    for (int i = 0; i < call->rows; i++)
        memcpy(call->y + i * call->y_row, whole + i * TILE, (size_t)columns * sizeof *whole);
}

static void multiply_few(const tern__linear_program *p, const uint8_t *packed, int64_t begin, int64_t end,
                         const float *x, int64_t x_row, int64_t rows, float *y, int64_t y_row)
{
    const int64_t groups = (rows + p->kernel->most_rows - 1) / p->kernel->most_rows;
    const int64_t together = rows == 1 ? p->kernel->most_tiles : 1;
    for (int64_t tile = begin, taken; tile < end; tile += taken) {
        const bool several = end - tile >= together && (tile + together) * TILE <= p->n;
        taken = several ? together : 1;
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = rows * g / groups, last = rows * (g + 1) / groups;
            tern__linear_call call = {.tiles = packed + tile * p->tile_bytes,
                                      .tile_bytes = p->tile_bytes,
                                      .x = x + first * x_row,
                                      .x_row = x_row,
                                      .y = y + first * y_row + (tile - begin) * TILE,
                                      .y_row = y_row,
                                      .k = p->k,
                                      .rows = (int)(last - first),
                                      .n_tiles = (int)taken,
                                      .ahead = ahead_of(p, packed, tile, g == 0 ? taken : 0, taken)};
            call_whole(p, &call, p->n - tile * TILE);
        }
    }
}

/* ---- many rows ---- */

/* All rows times one panel: `depth` columns of weights from column `first` on, `width` outputs side by side. */
static void multiply_panel(const tern__linear_program *p, const float *panel, int64_t first, int64_t depth,
                           int64_t width, const float *x, int64_t x_row, int64_t rows, float *y,
                           int64_t y_row)
{
    const int64_t columns = smaller(width, p->gemm->columns);
    const int64_t most = p->gemm->rows[columns / p->gemm->vector - 1], groups = (rows + most - 1) / most;
    tern__gemm_tile t = {.a_row = x_row,
                         .a_k = 1,
                         .b_k = width,
                         .y_row = y_row,
                         .k = depth,
                         .columns = (int)columns,
                         .add = first > 0};
    for (int64_t c = 0; c < width; c += columns)
        for (int64_t g = 0; g < groups; g++) {
            const int64_t row = rows * g / groups;
            t.rows = (int)(rows * (g + 1) / groups - row);
            t.a = x + row * x_row + first;
            t.b = panel + c;
            t.y = y + row * y_row + c;
            p->gemm->multiply(&t);
        }
}

static void multiply_many(const tern__linear_program *p, const uint8_t *packed, int64_t begin, int64_t end,
                          const float *x, int64_t x_row, int64_t rows, float *y, int64_t y_row, float *panel)
{
    const int64_t together = p->gemm->columns > TILE ? p->gemm->columns / TILE : 1, width = together * TILE;
    int64_t tile = begin;
    for (; end - tile >= together && (tile + together) * TILE <= p->n; tile += together)
        for (int64_t first = 0; first < p->k; first += DEPTH) {
            const int64_t depth = smaller(DEPTH, p->k - first);
            for (int64_t i = 0; i < together; i++)
                p->kernel->unpack[p->form](packed + (tile + i) * p->tile_bytes, first, depth,
                                           panel + i * TILE, width);
            multiply_panel(p, panel, first, depth, width, x, x_row, rows, y + (tile - begin) * TILE, y_row);
        }
    multiply_few(p, packed, tile, end, x, x_row, rows, y + (tile - begin) * TILE, y_row);
}

void tern__linear_multiply(const tern__linear_program *p, const uint8_t *packed, int64_t begin, int64_t end,
                           const float *x, int64_t x_row, int64_t rows, float *y, int64_t y_row,
                           void *scratch)
{
    if (rows >= MANY && p->gemm && p->k > 0)
        multiply_many(p, packed, begin, end, x, x_row, rows, y, y_row, scratch);
    else
        multiply_few(p, packed, begin, end, x, x_row, rows, y, y_row);
}

/* ---- i8 ---- */

static void call_bytes(const tern__linear_program *p, tern__linear_i8_call *call, int64_t columns)
{
    if (columns >= TILE * call->n_tiles) {
        p->bytes->multiply(call);
        return;
    }
    int32_t whole[BYTES_ROWS * TILE] = {0};
    tern__linear_i8_call part = *call;
    part.y = whole;
    part.y_row = TILE;
    for (int i = 0; call->quad_begin > 0 && i < call->rows; i++)
        memcpy(whole + i * TILE, call->y + i * call->y_row, (size_t)columns * sizeof *whole);
    p->bytes->multiply(&part);
    for (int i = 0; i < call->rows; i++)
        memcpy(call->y + i * call->y_row, whole + i * TILE, (size_t)columns * sizeof *whole);
}

/* Few rows take tiles in one go while the next ones are fetched; more of them, bound by arithmetic, go panel by panel. */
static void multiply_bytes(const tern__linear_program *p, tern__linear_i8_call call, tern__stream next,
                           int64_t rows, int64_t columns)
{
    const int64_t quads = tern__ternary_quads(p->k),
                  groups = (rows + p->bytes->most_rows - 1) / p->bytes->most_rows;
    const int64_t limit = groups == 1 ? quads : PANEL_QUADS / call.n_tiles;
    const int64_t panels = quads == 0 ? 1 : (quads + limit - 1) / limit;
    const int8_t *x = call.x;
    int32_t *y = call.y;
    call.ahead = groups == 1 ? next : (tern__stream){0};
    for (int64_t i = 0; i < panels; i++) {
        call.quad_begin = quads * i / panels;
        call.quad_end = quads * (i + 1) / panels;
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = rows * g / groups;
            call.rows = (int)(rows * (g + 1) / groups - first);
            call.x = x + first * call.x_row;
            call.y = y + first * call.y_row;
            call_bytes(p, &call, columns);
        }
    }
}

void tern__linear_multiply_i8(const tern__linear_program *p, const uint8_t *packed, int64_t begin,
                              int64_t end, const int8_t *x, int64_t rows, int32_t *y, int64_t y_row)
{
    const int64_t together = p->bytes->most_tiles;
    for (int64_t tile = begin, taken; tile < end; tile += taken) {
        taken = end - tile >= together && (tile + together) * TILE <= p->n ? together : 1;
        const tern__linear_i8_call call = {.tiles = packed + tile * p->tile_bytes,
                                           .tile_bytes = p->tile_bytes,
                                           .x = x,
                                           .x_row = tern__ternary_x_stride(p->k),
                                           .y = y + (tile - begin) * TILE,
                                           .y_row = y_row,
                                           .n_tiles = (int)taken};
        multiply_bytes(p, call, ahead_of(p, packed, tile, taken, taken), rows, p->n - tile * TILE);
    }
}
