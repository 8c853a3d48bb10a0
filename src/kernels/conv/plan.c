/* plan.c - how a convolution is cut: strips of pixels, blocks of output channels, and the scratch. */
#include "base/checked.h"
#include "base/sizes.h"
#include "kernels/conv/conv.h"
#include "kernels/row/floats.h"
#include "tensor/op_attrs.h"

enum {
    STRIP_FLOATS = 64 << 10, /* of unrolled windows: well below a second-level cache */
    PLANE_FLOATS = 8 << 10,  /* of rows of an image that are read in place: in a first-level cache */
    ROOM_FLOATS = 128 << 10, /* of weights and results that go through the scratch */
    ITEMS_PER_WORKER = 4,
};

/* Adds `floats` times `each` of them to what the scratch has. */
static bool add_scratch(size_t *bytes, int64_t floats, int64_t each)
{
    size_t a, b;
    return tern__size_from_i64(floats, &a) && tern__size_from_i64(each, &b) && tern__size_mul(a, b, &a) &&
           tern__size_mul(a, sizeof(float), &a) && tern__size_add(*bytes, a, bytes);
}

/* Strips of pixels whose windows are unrolled, whole tiles; and where there are too few of them blocks of channels, each of which
 * unrolls its strip anew if another worker has the one before. */
static void cut_unrolled(tern__conv_program *p, int64_t m, int64_t wanted)
{
    const int64_t columns = p->kernel->columns, tiles = tern__parts_of(p->pixels, columns);
    const int64_t strip_tiles =
        tern__smaller(tern__larger(1, STRIP_FLOATS / p->k / columns), tern__larger(1, tiles / wanted));
    p->strips = tern__parts_of(tiles, strip_tiles);
    p->strip = p->strip_results = strip_tiles * columns;
    p->blocks =
        tern__smaller(tern__parts_of(wanted, p->strips), tern__parts_of(m, tern__gemm_low_rows(p->kernel)));
}

/* Strips of whole rows for windows that are read in place (conv.c). false: their rows are too long. */
static bool cut_in_place(tern__conv_program *p, const tern__type *weight, const tern__attr *a, int64_t height,
                         int64_t width, int64_t wanted)
{
    /* Vectors that are stored whole must not reach into the next row. */
    const int64_t whole = p->kernel->ragged ? 1 : p->kernel->vector;
    const int64_t below = (weight->shape[2] - 1) * a[TERN__ATTR_conv2d_dilation_h].i,
                  beside = (weight->shape[3] - 1) * a[TERN__ATTR_conv2d_dilation_w].i;
    const int64_t stride = a[TERN__ATTR_conv2d_stride_h].i;
    if (below >= STRIP_FLOATS || beside >= STRIP_FLOATS || width >= STRIP_FLOATS || stride >= STRIP_FLOATS)
        return false;
    p->pitch = tern__parts_of(width + beside, whole) * whole;
    if ((below + 1) * p->pitch > STRIP_FLOATS)
        return false;
    const int64_t fit = (PLANE_FLOATS / p->pitch - below - 1) / stride + 1;
    const int64_t rows = tern__smaller(tern__larger(fit, 1), tern__larger(1, height / wanted));
    p->plane_rows = (rows - 1) * stride + below + 1;
    p->strips = tern__parts_of(height, rows);
    p->strip = rows * width;
    p->strip_results = rows * p->pitch + p->kernel->vector;
    p->blocks = 1;
    p->in_place = true;
    return true;
}

bool tern__conv_plan(const tern__gemm_kernel *kernel, const tern__rowop_table *rows, int n_in,
                     const tern__type *const *in, const tern__type *y, const tern__attr *attrs, int workers,
                     tern__conv_program *out)
{
    const tern__type *weight = in[1];
    for (int i = 0; i < n_in; i++)
        if (!tern__floats_reads(in[i]->dtype) || !tern__gemm_reads(kernel, in[i]->dtype) ||
            in[i]->dtype != y->dtype)
            return false;
    const int h = attrs[TERN__ATTR_conv2d_nhwc].i ? 1 : 2;
    const int64_t lanes = y->shape[0] * attrs[TERN__ATTR_conv2d_groups].i,
                  m = weight->shape[0] / attrs[TERN__ATTR_conv2d_groups].i;
    tern__conv_program p = {.kernel = kernel,
                            .rows = rows,
                            .k = weight->shape[1] * weight->shape[2] * weight->shape[3],
                            .pixels = y->shape[h] * y->shape[h + 1]};
    if (p.k == 0 || p.pixels == 0 || lanes == 0 || m == 0)
        return false;
    /* Enough items that workers end together. */
    const int64_t wanted = tern__parts_of(workers > 1 ? ITEMS_PER_WORKER * workers : 1, lanes);
    const int64_t height = tern__gemm_low_rows(kernel);
    if (attrs[TERN__ATTR_conv2d_stride_w].i != 1 || m > height ||
        !cut_in_place(&p, weight, attrs, y->shape[h], y->shape[h + 1], wanted))
        cut_unrolled(&p, m, wanted);
    p.work = lanes * p.strips * p.blocks;
    p.channels = tern__smaller(tern__larger(ROOM_FLOATS / (p.k + p.strip_results) / height, 1),
                               tern__parts_of(m, height)) *
                 height;
    const tern__cpu_info *cpu = tern__cpu();
    p.blocking = tern__gemm_blocking_for(kernel, cpu->l1d_bytes, cpu->l2_bytes, m, p.strip, p.k);
    p.windows_at = (tern__gemm_scratch_bytes(kernel, &p.blocking, true) + TERN__GEMM_ALIGN - 1) /
                   TERN__GEMM_ALIGN * TERN__GEMM_ALIGN;
    p.scratch_bytes = p.windows_at;
    /* What is read behind the last row is nobody's, but has to be there. */
    const bool fits = p.in_place ? add_scratch(&p.scratch_bytes, p.plane_rows, p.pitch) &&
                                       add_scratch(&p.scratch_bytes, 1, kernel->columns)
                                 : add_scratch(&p.scratch_bytes, p.strip, p.k);
    if (!fits)
        return false;
    p.results_at = p.scratch_bytes;
    if (!add_scratch(&p.scratch_bytes, p.strip_results, p.channels))
        return false;
    p.weights_at = p.scratch_bytes;
    if (!add_scratch(&p.scratch_bytes, p.channels, p.k))
        return false;
    *out = p;
    return true;
}
