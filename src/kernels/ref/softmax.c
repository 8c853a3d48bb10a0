/* softmax.c - kernels along one axis: softmax, log_softmax, cumsum. */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

/* The lanes of operand 0 and of the result, which have one shape. */
typedef struct lanes {
    const tern__buffer *in, *out;
    tern_dtype dtype; /* of the operand */
    int axis;
    int64_t n; /* elements of a lane */
    int64_t in_step, out_step;
} lanes;

static lanes lanes_of(const tern__kernel_args *args, const tern__attr *axis_attr)
{
    lanes l = {.in = &args->in[0], .out = &args->out[0], .dtype = args->in[0].type->dtype, .n = 1};
    int rank = l.in->type->rank;
    l.axis = tern__axis(axis_attr, rank);
    if (rank > 0) {
        l.n = l.in->type->shape[l.axis];
        l.in_step = l.in->strides[l.axis];
        l.out_step = l.out->strides[l.axis];
    }
    return l;
}

/* ---- softmax ------------------------------------------------------------------------------------------- */

/* The largest, NaN if any is NaN, -inf of nothing. */
static double lane_max(const lanes *l, int64_t from)
{
    double max = -INFINITY;
    for (int64_t i = 0; i < l->n; i++) {
        double x = tern__load_float(l->dtype, l->in->data, from + i * l->in_step);
        if (x > max || isnan(x))
            max = x;
        if (isnan(max))
            break;
    }
    return max;
}

/* x - max of element i. */
static double shifted(const lanes *l, int64_t from, int64_t i, double max)
{
    return tern__as(l->dtype, tern__load_float(l->dtype, l->in->data, from + i * l->in_step) - max);
}

/* Sum of e^(x - max): f32 terms, added in f64. */
static double lane_sum(const lanes *l, int64_t from, double max)
{
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++)
        sum += tern__exp_as(l->dtype, shifted(l, from, i, max));
    return sum;
}

KERNEL(softmax)
{
    const lanes l = lanes_of(args, &args->attrs[0]);
    for (int64_t lane = begin; lane < end; lane++) {
        int64_t from = tern__lane_offset(l.in, l.axis, lane), to = tern__lane_offset(l.out, l.axis, lane);
        double max = lane_max(&l, from), sum = lane_sum(&l, from, max);
        for (int64_t i = 0; i < l.n; i++) {
            double e = tern__exp_as(l.dtype, shifted(&l, from, i, max));
            tern__store_float(l.dtype, l.out->data, to + i * l.out_step, e / sum);
        }
    }
    return TERN_OK;
}

KERNEL(log_softmax)
{
    const lanes l = lanes_of(args, &args->attrs[0]);
    for (int64_t lane = begin; lane < end; lane++) {
        int64_t from = tern__lane_offset(l.in, l.axis, lane), to = tern__lane_offset(l.out, l.axis, lane);
        double max = lane_max(&l, from);
        /* an infinite largest element is the logsumexp itself */
        double log_sum = isinf(max) ? 0 : log(lane_sum(&l, from, max));
        for (int64_t i = 0; i < l.n; i++)
            tern__store_float(l.dtype, l.out->data, to + i * l.out_step, shifted(&l, from, i, max) - log_sum);
    }
    return TERN_OK;
}

/* ---- cumsum -------------------------------------------------------------------------------------------- */

static void cumsum_float(const lanes *l, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        sum += tern__load_float(l->dtype, l->in->data, from + i * l->in_step);
        tern__store_float(l->dtype, l->out->data, to + i * l->out_step, sum);
    }
}

static void cumsum_int(const lanes *l, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        sum = tern__wrapping_add(sum, tern__load_int(l->dtype, l->in->data, from + i * l->in_step));
        tern__store_int(l->out->type->dtype, l->out->data, to + i * l->out_step, sum);
    }
}

/* Floats are summed in f64 and rounded at each step, so errors do not add up along the lane. */
KERNEL(cumsum)
{
    const lanes l = lanes_of(args, &args->attrs[0]);
    for (int64_t lane = begin; lane < end; lane++) {
        int64_t from = tern__lane_offset(l.in, l.axis, lane), to = tern__lane_offset(l.out, l.axis, lane);
        (tern__dtype_is_float(l.dtype) ? cumsum_float : cumsum_int)(&l, from, to);
    }
    return TERN_OK;
}
