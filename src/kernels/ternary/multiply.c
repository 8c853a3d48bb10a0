/* multiply.c - the loops around the inner kernels: tiles, panels of columns, groups of activation rows.
 *
 * A tile is finished before the next one begins. Small batches take it in one go; larger ones panel by
 * panel: the panel's weights are unpacked once into the scratch, where they stay in the first-level cache
 * for all rows of x, while the packed bytes of the next panel are prefetched. */
#include "kernels/ternary/ternary.h"

#include <string.h>

#include "base/cpu.h"
#include "kernels/select.h"

enum {
    SCRATCH_BYTES = 64 * 1024,
    /* Far enough that a line arrives before it is needed, near enough to stay in the first-level cache. */
    PREFETCH_BYTES = 4096,
    /* Packed weights that several groups of rows read in turn while as many are prefetched: half a
     * first-level cache. */
    CHUNK_QUADS = 256,
    /* Of a single row whose weights are read in order. Form 5, which takes longer to decode, gains from more where the first-level
     * cache has room for it (docs/performance-ternary.md). */
    AHEAD_IN_ORDER = 8192,
    AHEAD_IN_ORDER_FAR = 16384,
    LARGE_L1 = 48 * 1024, /* bytes, for the latter */
};

int64_t tern__ternary_ahead_in_order(const tern__ternary_kernel *kernel)
{
    const tern__cpu_info *cpu = tern__cpu();
    if (!tern__cpu_has(cpu, TERN__FEATURE_ONE_STREAM))
        return 0;
    return kernel->form == TERN__TERNARY_5 && cpu->l1d_bytes >= LARGE_L1 ? AHEAD_IN_ORDER_FAR
                                                                         : AHEAD_IN_ORDER;
}

size_t tern__ternary_scratch_bytes(void)
{
    return SCRATCH_BYTES;
}

/* One tile of the product, as the loops below see it. */
typedef struct tile_job {
    const tern__ternary_kernel *kernel;
    const uint8_t *packed; /* this tile */
    int64_t quads;
    const int8_t *x;
    int64_t x_stride, batch;
    int32_t *y;
    int64_t y_stride;
    int64_t rows;        /* rows of the tile that exist */
    const uint8_t *next; /* packed bytes that are read behind it */
    int64_t ahead_in_order;
} tile_job;

/* Calls an inner kernel; a tile with missing rows goes through a whole one, so that kernels never see it. */
static void call_kernel(const tile_job *job, void (*run)(const tern__ternary_call *),
                        tern__ternary_call *call)
{
    if (job->rows == tern__ternary_tile_rows(job->kernel->form)) {
        run(call);
        return;
    }
    int32_t whole[TERN__TERNARY_MAX_BATCH * TERN__TERNARY_MAX_TILE] = {0};
    tern__ternary_call part = *call;
    part.y = whole;
    part.y_stride = TERN__TERNARY_MAX_TILE;
    const size_t bytes = (size_t)job->rows * sizeof *whole;
    for (int i = 0; call->add && i < call->batch; i++)
        memcpy(whole + i * part.y_stride, call->y + i * call->y_stride, bytes);
    run(&part);
    for (int i = 0; i < call->batch; i++)
        memcpy(call->y + i * call->y_stride, whole + i * part.y_stride, bytes);
}

/* All rows of x, at most `most` per call and as evenly as that allows, times one run of quads. What is to
 * be prefetched meanwhile is shared by the first two groups. */
static void each_group(const tile_job *job, void (*run)(const tern__ternary_call *), int64_t most,
                       const uint8_t *weights, int64_t quad, int64_t quads, const uint8_t *ahead)
{
    const tern__ternary_kernel *kernel = job->kernel;
    const int64_t groups = (job->batch + most - 1) / most;
    const bool raw = run == kernel->multiply && job->quads <= kernel->raw_quads &&
                     job->rows == tern__ternary_tile_rows(kernel->form);
    tern__ternary_call call = {.weights = weights,
                               .quads = quads,
                               .next = quad + quads < job->quads
                                           ? job->packed + (quad + quads) * TERN__TERNARY_QUAD_BYTES
                                           : job->next,
                               .x_stride = job->x_stride,
                               .y_stride = job->y_stride,
                               .ahead_in_order = job->ahead_in_order,
                               .add = quad > 0 && !raw,
                               .resume = quad > 0 && raw,
                               .pause = quad + quads < job->quads && raw};
    for (int64_t g = 0; g < groups; g++) {
        const int64_t begin = job->batch * g / groups, end = job->batch * (g + 1) / groups;
        call.x = job->x + begin * job->x_stride + 4 * quad;
        call.sums = job->x + begin * job->x_stride + job->x_stride - 4;
        call.y = job->y + begin * job->y_stride;
        call.batch = (int)(end - begin);
        call.ahead_step = groups == 1 ? TERN__TERNARY_QUAD_BYTES : g < 2 ? TERN__TERNARY_QUAD_BYTES / 2 : 0;
        /* Later groups prefetch what is in the cache already, which costs least. */
        call.ahead = g == 0 ? ahead : g == 1 ? ahead + quads * TERN__TERNARY_QUAD_BYTES / 2 : weights;
        call_kernel(job, run, &call);
    }
}

static void multiply_tile(const tile_job *job, uint8_t *panel)
{
    const tern__ternary_kernel *kernel = job->kernel;
    const bool direct = job->batch <= kernel->direct_limit, at_once = job->batch <= kernel->direct_batch;
    const int64_t quads_direct =
        at_once || kernel->direct_quads < CHUNK_QUADS ? kernel->direct_quads : CHUNK_QUADS;
    const int64_t limit = direct ? quads_direct : kernel->panel_quads;
    /* Panels of equal size, and one empty panel if there are no columns: somebody has to write y. */
    const int64_t panels = job->quads == 0 ? 1 : (job->quads + limit - 1) / limit;
    for (int64_t p = 0; p < panels; p++) {
        const int64_t quad = job->quads * p / panels, end = job->quads * (p + 1) / panels;
        const uint8_t *packed = job->packed + quad * TERN__TERNARY_QUAD_BYTES;
        const uint8_t *ahead = job->packed + end * TERN__TERNARY_QUAD_BYTES;
        if (direct) {
            each_group(job, kernel->direct, kernel->direct_batch, packed, quad, end - quad,
                       at_once ? packed + PREFETCH_BYTES : ahead);
        } else {
            kernel->unpack(packed, end - quad, panel);
            each_group(job, kernel->multiply, kernel->multiply_batch, panel, quad, end - quad, ahead);
        }
    }
}

/* All tiles for rows of x that stay in the second-level cache meanwhile. */
static void multiply_tiles(tile_job job, const uint8_t *weights, int64_t rows, int64_t tile_begin,
                           int64_t tile_end, uint8_t *panel)
{
    const int64_t tile_rows = tern__ternary_tile_rows(job.kernel->form);
    const uint8_t *const behind = job.next;
    int32_t *y = job.y;
    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t left = rows - tile * tile_rows;
        job.packed = weights + tile * TERN__TERNARY_QUAD_BYTES * job.quads;
        job.rows = left < tile_rows ? left : tile_rows;
        job.next =
            behind && tile + 1 == tile_end ? behind : job.packed + job.quads * TERN__TERNARY_QUAD_BYTES;
        job.y = y + (tile - tile_begin) * tile_rows;
        multiply_tile(&job, panel);
    }
}

void tern__ternary_multiply_plain(const tern__ternary_kernel *kernel, const uint8_t *weights, int64_t rows,
                                  int64_t columns, int64_t tile_begin, int64_t tile_end, const int8_t *x,
                                  int64_t x_stride, const int8_t *sums, int64_t sums_stride, int64_t batch,
                                  int32_t *y, int64_t y_stride, const uint8_t *next, void *scratch)
{
    enum { GROUP = TERN__TERNARY_WHOLE_ROWS };
    const int64_t fitting = x_stride > 0 ? tern__ternary_x_bytes(kernel) / x_stride : batch;
    const int64_t most = fitting > 2 * GROUP ? fitting : 2 * GROUP, parts = (batch + most - 1) / most;
    const int64_t each = parts > 1 ? ((batch + parts - 1) / parts + GROUP - 1) / GROUP * GROUP : batch;
    tern__ternary_whole call = {.weights = weights + tile_begin * tern__ternary_tile_bytes(columns),
                                .tiles = tile_end - tile_begin,
                                .quads = tern__ternary_quads(columns),
                                .rows = rows - tile_begin * tern__ternary_tile_rows(kernel->form),
                                .x_stride = x_stride,
                                .sums_stride = sums_stride,
                                .y_stride = y_stride,
                                .scratch = scratch};
    for (int64_t begin = 0; begin < batch; begin += each) {
        call.batch = batch - begin < each ? batch - begin : each;
        call.x = x + begin * x_stride;
        call.sums = sums + begin * sums_stride;
        call.y = y + begin * y_stride;
        /* Rows of x that follow begin with the first tile again. */
        call.next = begin + each < batch ? call.weights : next;
        kernel->whole(&call);
    }
}

void tern__ternary_multiply(const tern__ternary_kernel *kernel, int64_t ahead_in_order,
                            const uint8_t *weights, int64_t rows, int64_t columns, int64_t tile_begin,
                            int64_t tile_end, const int8_t *x, int64_t batch, int32_t *y, int64_t y_stride,
                            const uint8_t *next, void *scratch)
{
    const int64_t x_stride = tern__ternary_x_stride(columns);
    if (kernel->whole && batch > kernel->direct_limit) {
        tern__ternary_multiply_plain(kernel, weights, rows, columns, tile_begin, tile_end, x, x_stride,
                                     x + x_stride - 4, x_stride, batch, y, y_stride, next, scratch);
        return;
    }
    const int64_t fitting = tern__ternary_x_bytes(kernel) / x_stride, fewest = 8 * kernel->multiply_batch;
    const int64_t usual = fitting > fewest ? fitting : fewest, most = kernel->whole ? batch : usual;
    const int64_t parts = batch > 0 ? (batch + most - 1) / most : 0;
    for (int64_t part = 0; part < parts; part++) {
        const int64_t begin = batch * part / parts, end = batch * (part + 1) / parts;
        multiply_tiles((tile_job){.kernel = kernel,
                                  .quads = tern__ternary_quads(columns),
                                  .x = x + begin * x_stride,
                                  .x_stride = x_stride,
                                  .batch = end - begin,
                                  .y = y + begin * y_stride,
                                  .y_stride = y_stride,
                                  .next = part + 1 == parts ? next : NULL,
                                  .ahead_in_order = ahead_in_order},
                       weights, rows, tile_begin, tile_end, scratch);
    }
}

/* ---- selection --------------------------------------------------------------------------------------- */

const tern__kernel_row *tern__ternary_row(tern__ternary_form form, uint32_t isa_mask)
{
    /* the baseline runs everywhere */
    return tern__kernel_select(form == TERN__TERNARY_5 ? TERN__FAMILY_ternary_t5 : TERN__FAMILY_ternary_t2,
                               isa_mask);
}
