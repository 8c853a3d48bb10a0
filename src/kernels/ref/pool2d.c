/* pool2d.c - the largest and the mean of windows of images. */
#include "kernels/ref/image.h"
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

typedef struct pool {
    const tern__buffer *x;
    tern_dtype dtype;
    tern__image_axes axes;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    bool count_padding; /* avg_pool2d only */
} pool;

/* The result for one window: its elements are at x_at + i * h_stride + j * w_stride of p->x. */
typedef double (*window_fn)(const pool *p, int64_t x_at, tern__taps rows, tern__taps columns);

static double largest(const pool *p, int64_t x_at, tern__taps rows, tern__taps columns)
{
    const int64_t *xs = p->x->strides;
    double max = -INFINITY;
    for (int64_t i = rows.first; i < rows.past; i++) {
        for (int64_t j = columns.first; j < columns.past; j++) {
            double x = tern__load_float(p->dtype, p->x->data, x_at + i * xs[p->axes.h] + j * xs[p->axes.w]);
            if (isnan(x))
                return x;
            if (x > max)
                max = x;
        }
    }
    return max;
}

/* Summed in f64; rounded once. */
static double mean(const pool *p, int64_t x_at, tern__taps rows, tern__taps columns)
{
    const int64_t *xs = p->x->strides;
    double sum = 0;
    for (int64_t i = rows.first; i < rows.past; i++) {
        for (int64_t j = columns.first; j < columns.past; j++)
            sum += tern__load_float(p->dtype, p->x->data, x_at + i * xs[p->axes.h] + j * xs[p->axes.w]);
    }
    int64_t count = (rows.past - rows.first) * (columns.past - columns.first);
    return sum / (double)(p->count_padding ? p->kernel_h * p->kernel_w : count);
}

static void run(const tern__kernel_args *args, int64_t begin, int64_t end, bool count_padding,
                window_fn window)
{
    const tern__attr *a = args->attrs;
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const pool p = {
        x,      x->type->dtype, tern__image_axes_of(a[6].i != 0), a[0].i, a[1].i, a[2].i, a[3].i, a[4].i,
        a[5].i, count_padding};
    tern__runs r;
    for (bool more = tern__runs_first(&r, y->type, begin, end); more; more = tern__runs_next(&r)) {
        for (int64_t i = 0; i < r.n; i++) {
            tern__taps rows = tern__taps_of(x->type->shape[p.axes.h], p.kernel_h, r.index[p.axes.h],
                                            p.stride_h, p.pad_h, 1);
            tern__taps columns = tern__taps_of(x->type->shape[p.axes.w], p.kernel_w, r.index[p.axes.w],
                                               p.stride_w, p.pad_w, 1);
            int64_t x_at = r.index[0] * x->strides[0] + r.index[p.axes.c] * x->strides[p.axes.c] +
                           rows.origin * x->strides[p.axes.h] + columns.origin * x->strides[p.axes.w];
            tern__store_float(p.dtype, y->data, tern__at(4, r.index, y->strides),
                              window(&p, x_at, rows, columns));
            r.index[3]++;
        }
    }
}

KERNEL(max_pool2d)
{
    run(args, begin, end, false, largest);
    return TERN_OK;
}

KERNEL(avg_pool2d)
{
    run(args, begin, end, args->attrs[7].i != 0, mean);
    return TERN_OK;
}
