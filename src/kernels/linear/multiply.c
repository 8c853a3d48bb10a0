/* multiply.c - the loops around the inner kernels of linear products.
 *
 * Few rows are multiplied with weights that are widened in registers, so that the packed weights are read once and nothing is
 * written but the result. Many rows go through the loops of f32 products, which ask for panels of widened weights; the chains are
 * the same. */
#include <string.h>

#include "base/cpu.h"
#include "base/sizes.h"
#include "kernels/linear/product.h"
#include "kernels/ternary/ternary.h"

enum {
    TILE = TERN__LINEAR_TILE,
    ROWS = 512,        /* of x at a time */
    COPIED_ROWS = 64,  /* likewise, if each thread has to copy them, and least of i8 */
    PANEL_QUADS = 256, /* of i8 weights, which come from the second-level cache */
};

/* Columns that are widened together: whole tiles of both kinds. */
static int64_t widened_columns(const tern__gemm_kernel *gemm)
{
    return gemm->columns > TILE ? gemm->columns : TILE;
}

/* As f32 products are cut, but panels are whole blocks, and there is one of them. */
static void plan_panels(tern__linear_program *p)
{
    const tern__cpu_info *cpu = tern__cpu();
    enum { BLOCK = TERN__LINEAR_BLOCK };
    p->blocking = tern__gemm_blocking_for(p->gemm, cpu->l1d_bytes, cpu->l2_bytes, p->block, p->n, p->k);
    const int64_t blocks = (p->blocking.depth + BLOCK / 2) / BLOCK;
    p->blocking.depth = blocks > 0 ? blocks * BLOCK : BLOCK;
    p->blocking.tiles = widened_columns(p->gemm) / p->gemm->columns;
    p->panels_bytes = tern__whole_lines(tern__gemm_scratch_bytes(p->gemm, &p->blocking, false));
}

void tern__linear_plan(tern_dtype dtype, const void *kernel, const tern__gemm_kernel *gemm,
                       const tern__type *x, int64_t n, bool packed, tern__linear_program *out)
{
    tern__linear_program p = {.n = n,
                              .batch = 1,
                              .k = x->shape[x->rank - 1],
                              .in_order = tern__cpu_has(tern__cpu(), TERN__FEATURE_ONE_STREAM),
                              .all_in_order = tern__cpu_has(tern__cpu(), TERN__FEATURE_WHOLE_512),
                              .apart = tern__cpu_has(tern__cpu(), TERN__FEATURE_FOUR_PIPES),
                              .work = tern__linear_tiles(n)};
    for (int i = 0; i < x->rank - 1; i++)
        p.batch *= x->shape[i];
    p.tile_bytes = tern__linear_tile_bytes(dtype, p.k);
    p.block = tern__smaller(p.batch, ROWS);
    if (dtype == TERN_I8) {
        /* Rows at a time stay in half a second-level cache. */
        const int64_t l2 = tern__cpu()->l2_bytes, half = (l2 > 0 ? l2 : 512 << 10) / 2;
        const int64_t fitting = half / tern__ternary_x_stride(p.k);
        p.block = tern__smaller(p.batch, fitting > COPIED_ROWS ? fitting : COPIED_ROWS);
        p.bytes = kernel;
        p.scratch_bytes = (size_t)(p.block * tern__ternary_x_stride(p.k));
    } else {
        tern__linear_form_of(dtype, &p.form);
        p.kernel = kernel;
        p.gemm = gemm;
        p.copied = tern__smaller(p.batch, COPIED_ROWS);
        if (gemm && p.batch >= p.kernel->many[p.form])
            plan_panels(&p);
        p.scratch_bytes = p.panels_bytes + (size_t)(p.copied * p.k) * sizeof(float);
    }
    p.packs = !packed;
    p.scratch_bytes =
        tern__whole_lines(p.scratch_bytes) + (packed ? 0 : tern__whole_lines((size_t)p.tile_bytes));
    p.scratch_bytes += (size_t)p.block * TILE * sizeof(float);
    *out = p;
}

/* Tiles that are multiplied together, and what is fetched meanwhile. */
typedef struct group {
    int64_t tile, n, step; /* tile, tile + step, ... */
    tern__stream ahead;
} group;

/* How tiles [begin, end) are walked: `together` at a time as long as there are so many whole ones. Neighbours, while those behind
 * them are fetched in runs; or, where memory is read fastest in order, the first of as many equal parts of the range, then the
 * second of each: every part is read in order from end to end. */
typedef struct walk {
    const tern__linear_program *p;
    const uint8_t *packed;
    int64_t begin, end, together;
    bool in_order;
} walk;

/* The group after `done` tiles. */
static group group_after(const walk *w, int64_t done)
{
    const int64_t bytes = w->p->tile_bytes, whole = tern__smaller(w->end, w->p->n / TILE) - w->begin,
                  each = whole > 0 ? whole / w->together : 0;
    const bool several = done < each * w->together;
    group g = {.n = several ? w->together : 1, .step = several && w->in_order ? each : 1};
    g.tile = w->begin + (several && w->in_order ? done / w->together : done);
    const uint8_t *at = w->packed + g.tile * bytes;
    const int64_t next = g.tile + g.n < w->p->work ? g.n : 0; /* none: these themselves, which costs least */
    g.ahead = w->in_order ? tern__stream_begin(at + TERN__STREAM_AHEAD, (int)g.n, g.step * bytes)
                          : tern__stream_of(at + next * bytes, g.n * bytes);
    g.ahead.soon = w->in_order;
    return g;
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
    const int64_t parts = (rows + p->kernel->most_rows - 1) / p->kernel->most_rows;
    /* Where blocks and several rows are bound by arithmetic, they like to find their weights in the cache in whatever order. */
    const bool plain = p->form == TERN__LINEAR_F16 || p->form == TERN__LINEAR_BF16;
    /* Those of q8_0 are not masked into place, and memory is what they wait for. */
    const bool apart = p->apart && !plain && p->form != TERN__LINEAR_Q8_0;
    const walk w = {.p = p,
                    .packed = packed,
                    .begin = begin,
                    .end = end,
                    .together = rows == 1 ? p->kernel->most_tiles[p->form] : 1,
                    .in_order = p->in_order && (p->all_in_order ? parts == 1 : rows == 1 && plain)};
    for (int64_t done = 0; done < end - begin;) {
        const group g = group_after(&w, done);
        done += g.n;
        for (int64_t part = 0; part < parts; part++) {
            const int64_t first = rows * part / parts, last = rows * (part + 1) / parts;
            tern__linear_call call = {.tiles = packed + g.tile * p->tile_bytes,
                                      .tile_step = g.step * p->tile_bytes,
                                      .x = x + first * x_row,
                                      .x_row = x_row,
                                      .y = y + first * y_row + (g.tile - begin) * TILE,
                                      .y_row = y_row,
                                      .y_step = g.step * TILE,
                                      .k = p->k,
                                      .rows = (int)(last - first),
                                      .n_tiles = (int)g.n,
                                      .apart = apart,
                                      .ahead = g.ahead};
            if (part > 0) /* in the cache already */
                call.ahead = tern__stream_of(call.tiles, p->tile_bytes);
            call_whole(p, &call, p->n - g.tile * TILE);
        }
    }
}

/* ---- many rows ---- */

/* Tiles from the one at `tiles` on as a b of gemm.h. */
typedef struct widened {
    tern__gemm_source source;
    const tern__linear_program *p;
    const uint8_t *tiles;
    int64_t n_tiles;
} widened;

static int64_t tiles_from(const widened *w, int64_t column)
{
    return tern__smaller(w->source.columns / TILE, w->n_tiles - column / TILE);
}

static void widen(const tern__gemm_source *s, int64_t column, int64_t first, int64_t depth, float *to)
{
    const widened *w = (const widened *)(const void *)s;
    const int64_t bytes = w->p->tile_bytes, n = tiles_from(w, column);
    for (int64_t i = 0; i < n; i++)
        w->p->kernel->unpack[w->p->form](w->tiles + (column / TILE + i) * bytes, first, depth, to + i * TILE,
                                         s->columns);
}

/* Blocks of a tile take the same bytes, but for a rest of columns, which is fetched with them or not. */
static int find(const tern__gemm_source *s, int64_t column, int64_t first, int64_t depth,
                const uint8_t *runs[2], int64_t *bytes)
{
    const widened *w = (const widened *)(const void *)s;
    const int64_t n = tern__smaller(tiles_from(w, column), 2), at = w->p->tile_bytes * first / w->p->k;
    for (int64_t i = 0; i < n; i++)
        runs[i] = w->tiles + (column / TILE + i) * w->p->tile_bytes + at;
    *bytes = tern__smaller(w->p->tile_bytes * depth / w->p->k, w->p->tile_bytes - at);
    return (int)n;
}

static void multiply_many(const tern__linear_program *p, const uint8_t *packed, int64_t begin, int64_t end,
                          const float *x, int64_t x_row, int64_t rows, float *y, int64_t y_row, void *scratch)
{
    if (begin == end) /* behind the last tile there may be less than nothing */
        return;
    const widened w = {.source = {.columns = (int)widened_columns(p->gemm), .widen = widen, .find = find},
                       .p = p,
                       .tiles = packed + begin * p->tile_bytes,
                       .n_tiles = end - begin};
    const tern__gemm g = {.blocking = p->blocking,
                          .m = rows,
                          .n = tern__smaller(end * TILE, p->n) - begin * TILE,
                          .k = p->k,
                          .a = x,
                          .a_type = TERN_F32,
                          .a_row = x_row,
                          .a_k = 1,
                          .b_type = TERN_F32,
                          .source = &w.source,
                          .y = y,
                          .y_row = y_row,
                          .y_column = 1};
    tern__gemm_multiply(p->gemm, &g, 0, rows, 0, tern__gemm_tiles(p->gemm, g.n), scratch);
}

void tern__linear_multiply(const tern__linear_program *p, const uint8_t *packed, int64_t begin, int64_t end,
                           const float *x, int64_t x_row, int64_t rows, float *y, int64_t y_row,
                           void *scratch)
{
    if (p->panels_bytes > 0 && rows >= p->kernel->many[p->form] && p->k > 0)
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
    int32_t whole[TERN__LINEAR_MAX_ROWS * TILE] = {0};
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
    /* One row needs no second tile to hide behind: then all is one run. */
    const walk w = {.p = p,
                    .packed = packed,
                    .begin = begin,
                    .end = end,
                    .together = p->in_order && rows == 1 ? 1 : p->bytes->most_tiles,
                    .in_order = p->in_order};
    for (int64_t done = 0; done < end - begin;) {
        const group g = group_after(&w, done);
        done += g.n;
        const tern__linear_i8_call call = {.tiles = packed + g.tile * p->tile_bytes,
                                           .tile_step = g.step * p->tile_bytes,
                                           .x = x,
                                           .x_row = tern__ternary_x_stride(p->k),
                                           .y = y + (g.tile - begin) * TILE,
                                           .y_row = y_row,
                                           .y_step = g.step * TILE,
                                           .n_tiles = (int)g.n};
        multiply_bytes(p, call, g.ahead, rows, p->n - g.tile * TILE);
    }
}
