/* ternary_amx_loops.h - whole() of one file, after ternary_amx.h and decode().
 *
 * Up to 16 rows of x take a tile of weights in one go: a step of 16 quads is decoded into a ring that stays in the first-level cache
 * while the step before it is multiplied, and memory is the limit. More rows go panel by panel: the panel's weights are decoded
 * once, and 32 rows of x at a time are multiplied with two planes of it, so that every load of a tile serves two products. Sums
 * are in y between panels.
 *
 * Rows of x that are no whole tile are the last 16, of which the first ones were multiplied already: those sums are dropped. */
#ifndef TERN_KERNELS_X86_TERNARY_AMX_LOOPS_H
#define TERN_KERNELS_X86_TERNARY_AMX_LOOPS_H

enum {
    SIDE = 16,         /* rows of a tile register, and quads of a step */
    TILE_BYTES = 1024, /* of a tile register */
    STEP_BYTES = SIDE * TERN__TERNARY_QUAD_BYTES,
    RING = 4,        /* steps */
    PANEL_STEPS = 8, /* at most: two thirds of a first-level cache of 48 KB */
    RUNS = 8,
};

INLINE int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Decodes up to 16 quads into PLANES tiles, one behind the other; quads that are missing are zeros. `ahead` is fetched. */
INLINE void unpack_step(const uint8_t *packed, int64_t quads, const uint8_t *ahead, uint8_t *to)
{
    for (int64_t q = 0; q < smaller(quads, SIDE); q++, to += 64) {
        _mm_prefetch((const char *)ahead + q * TERN__TERNARY_QUAD_BYTES, _MM_HINT_T1);
        const planes w = decode(_mm512_loadu_si512(packed + q * TERN__TERNARY_QUAD_BYTES));
        _mm512_store_si512(to, w.a);
        _mm512_store_si512(to + TILE_BYTES, w.b);
        _mm512_store_si512(to + 2 * TILE_BYTES, w.c);
        _mm512_store_si512(to + 3 * TILE_BYTES, w.d);
        if (PLANES == 5)
            _mm512_store_si512(to + 4 * TILE_BYTES, w.e);
    }
    for (int64_t q = quads; q < SIDE; q++, to += 64)
        for (int p = 0; p < PLANES; p++)
            _mm512_store_si512(to + p * TILE_BYTES, _mm512_setzero_si512());
}

/* One tile of weights, as the loops below see it. */
typedef struct tile_job {
    const tern__ternary_whole *all;
    const uint8_t *packed;
    int64_t batch; /* rows of x, from here on: */
    const int8_t *x;
    int32_t *y;
    int64_t rows; /* of the tile that exist */
} tile_job;

/* ---- where sums are ---- */

/* 16 x 16 sums: in y, or, if some of them are no part of it, in a room. */
typedef struct place {
    int32_t *y, *at;
    int64_t y_stride, stride; /* of `at` in bytes */
    int skip;                 /* first rows that are not wanted */
    int count;                /* rows of weights */
} place;

INLINE bool is_whole(const place *p)
{
    return p->skip == 0 && p->count == SIDE;
}

/* Of row tile r and plane p. */
INLINE place place_of(const tile_job *job, int64_t r, int p, int32_t *room)
{
    const int64_t start = smaller(SIDE * r, job->batch > SIDE ? job->batch - SIDE : 0);
    const int64_t stride = job->all->y_stride;
    place at = {.y = job->y + start * stride + SIDE * p,
                .y_stride = stride,
                .skip = (int)(SIDE * r - start),
                .count = (int)smaller(job->rows - SIDE * p, SIDE)};
    at.at = is_whole(&at) ? at.y : room;
    at.stride = is_whole(&at) ? stride * (int64_t)sizeof *at.y : SIDE * (int64_t)sizeof *at.y;
    return at;
}

static void take(const place *p)
{
    for (int i = p->skip; i < SIDE && !is_whole(p); i++)
        memcpy(p->at + SIDE * i, p->y + i * p->y_stride, (size_t)p->count * sizeof *p->y);
}

static void give(const place *p, int64_t end)
{
    for (int i = p->skip; i < end && !is_whole(p); i++)
        memcpy(p->y + i * p->y_stride, p->at + SIDE * i, (size_t)p->count * sizeof *p->y);
}

/* ---- up to 16 rows of x ---- */

#define TIMES_PLANE(p, b)                              \
    {                                                  \
        TILE_LOAD(b, w + (p)*TILE_BYTES, (int64_t)64); \
        TILE_MULTIPLY(p, 7, b);                        \
    }
#define STORE_PLANE(p)                              \
    if (SIDE * (p) < job->rows) {                   \
        const place to = place_of(job, 0, p, room); \
        TILE_STORE(p, to.at, to.stride);            \
        give(&to, job->batch);                      \
    }

/* The order of steps: runs side by side, as memory likes it. */
INLINE int64_t step_of(int64_t i, int64_t run)
{
    return i < run * RUNS ? i % RUNS * run + i / RUNS : i;
}

static void multiply_at_once(const tile_job *job, uint8_t *ring)
{
    const int64_t quads = job->all->quads, steps = (quads + SIDE - 1) / SIDE, run = steps / RUNS;
    const int64_t x_stride = job->all->x_stride, next = quads * TERN__TERNARY_QUAD_BYTES;
    _Alignas(64) int32_t room[SIDE * SIDE];
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    if (PLANES == 5)
        TILE_ZERO(4);
    if (steps > 0)
        unpack_step(job->packed, quads, job->packed + next, ring);
    for (int64_t i = 0; i < steps; i++) {
        if (i + 1 < steps) {
            const int64_t s = step_of(i + 1, run);
            const uint8_t *packed = job->packed + s * STEP_BYTES;
            unpack_step(packed, quads - s * SIDE, packed + next, ring + (i + 1) % RING * PLANES * TILE_BYTES);
        }
        const uint8_t *w = ring + i % RING * PLANES * TILE_BYTES;
        TILE_LOAD(7, job->x + step_of(i, run) * 64, x_stride);
        TIMES_PLANE(0, 5)
        TIMES_PLANE(1, 6)
        TIMES_PLANE(2, 5)
        TIMES_PLANE(3, 6)
        if (PLANES == 5)
            TIMES_PLANE(4, 5)
    }
    STORE_PLANE(0)
    STORE_PLANE(1)
    STORE_PLANE(2)
    STORE_PLANE(3)
    if (PLANES == 5)
        STORE_PLANE(4)
}

/* ---- more rows of x: panels ---- */

typedef struct panel {
    const uint8_t *w;
    int64_t step, steps; /* the first one, and how many */
} panel;

#define EACH_SUM(DO)                  \
    DO(0);                            \
    if (n_planes == 2)                \
        DO(1);                        \
    if (n_rows == 2)                  \
        DO(2);                        \
    if (n_rows == 2 && n_planes == 2) \
        DO(3);
#define ZERO(c) TILE_ZERO(c)
#define TAKE(c) take(&to[c])
#define LOAD(c) TILE_LOAD(c, to[c].at, to[c].stride)
#define STORE(c) TILE_STORE(c, to[c].at, to[c].stride)
#define GIVE(c) give(&to[c], SIDE)

/* One or two row tiles of x from r on times one or two planes from p on. Sum 2 * i + j is of row tile i and plane j. */
INLINE void multiply_block(const tile_job *job, const panel *in, int64_t r, const int n_rows, int p,
                           const int n_planes, int32_t (*room)[SIDE * SIDE])
{
    const int64_t x_stride = job->all->x_stride, last = job->batch - SIDE, w_stride = 64;
    const int8_t *a = job->x + smaller(SIDE * r, last) * x_stride + 64 * in->step;
    const int8_t *b = job->x + smaller(SIDE * (r + 1), last) * x_stride + 64 * in->step;
    const uint8_t *w = in->w + p * TILE_BYTES;
    place to[4];
    for (int i = 0; i < n_rows; i++)
        for (int j = 0; j < n_planes; j++)
            to[2 * i + j] = place_of(job, r + i, p + j, room[2 * i + j]);
    if (in->step == 0) {
        EACH_SUM(ZERO)
    } else {
        EACH_SUM(TAKE)
        EACH_SUM(LOAD)
    }
    for (int64_t s = 0; s < in->steps; s++, a += 64, b += 64, w += PLANES * TILE_BYTES) {
        TILE_LOAD(5, w, w_stride);
        TILE_LOAD(7, a, x_stride);
        TILE_MULTIPLY(0, 7, 5);
        if (n_planes == 2) {
            TILE_LOAD(6, w + TILE_BYTES, w_stride);
            TILE_MULTIPLY(1, 7, 6);
        }
        if (n_rows == 2) {
            TILE_LOAD(4, b, x_stride);
            TILE_MULTIPLY(2, 4, 5);
        }
        if (n_rows == 2 && n_planes == 2)
            TILE_MULTIPLY(3, 4, 6);
    }
    EACH_SUM(STORE)
    EACH_SUM(GIVE)
}

INLINE void multiply_rows(const tile_job *job, const panel *in, int64_t r, const int n_rows,
                          int32_t (*room)[SIDE * SIDE])
{
    for (int p = 0; SIDE * p < job->rows; p += 2)
        if (p + 1 < PLANES && SIDE * (p + 1) < job->rows)
            multiply_block(job, in, r, n_rows, p, 2, room);
        else
            multiply_block(job, in, r, n_rows, p, 1, room);
}

static void multiply_panels(const tile_job *job, uint8_t *unpacked)
{
    _Alignas(64) int32_t room[4][SIDE * SIDE] = {0};
    const int64_t quads = job->all->quads, steps = quads > 0 ? (quads + SIDE - 1) / SIDE : 1;
    const int64_t panels = (steps + PANEL_STEPS - 1) / PANEL_STEPS,
                  row_tiles = (job->batch + SIDE - 1) / SIDE;
    for (int64_t i = 0; i < panels; i++) {
        panel in = {.w = unpacked, .step = steps * i / panels};
        in.steps = steps * (i + 1) / panels - in.step;
        for (int64_t s = 0; s < in.steps; s++) {
            const uint8_t *packed = job->packed + (in.step + s) * STEP_BYTES;
            unpack_step(packed, quads - (in.step + s) * SIDE, packed + in.steps * STEP_BYTES,
                        unpacked + s * PLANES * TILE_BYTES);
        }
        int64_t r = 0;
        for (; r + 2 <= row_tiles; r += 2)
            multiply_rows(job, &in, r, 2, room);
        if (r < row_tiles)
            multiply_rows(job, &in, r, 1, room);
    }
}

static void whole(const tern__ternary_whole *all)
{
    const int64_t tile_rows = SIDE * PLANES;
    shape_tiles((int)smaller(all->batch, SIDE));
    for (int64_t tile = 0; tile < all->tiles; tile++) {
        const tile_job job = {.all = all,
                              .packed = all->weights + tile * TERN__TERNARY_QUAD_BYTES * all->quads,
                              .batch = all->batch,
                              .x = all->x,
                              .y = all->y + tile * tile_rows,
                              .rows = smaller(all->rows - tile * tile_rows, tile_rows)};
        if (all->batch <= SIDE)
            multiply_at_once(&job, all->scratch);
        else
            multiply_panels(&job, all->scratch);
    }
    release_tiles();
}

#endif
