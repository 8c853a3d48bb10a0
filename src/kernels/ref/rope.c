/* rope.c - rotary position embedding: pairs of a head's elements turn by position * theta^(-2j / dims). */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

/* Angles are computed in double; their sine and cosine are narrowed to the type that x computes in, and so
 * is every product and sum: without fused operations the result is the same on every machine. */
typedef struct turn {
    double cosine, sine;
} turn;

static turn turn_of(tern_dtype dtype, int64_t position, double frequency)
{
    double angle = (double)position * frequency;
    return (turn){tern__as(dtype, cos(angle)), tern__as(dtype, sin(angle))};
}

/* Turns the pair at x_a and x_b of x into that at y_a and y_b of y. */
static void rotate(const tern__buffer *x, int64_t x_a, int64_t x_b, const tern__buffer *y, int64_t y_a,
                   int64_t y_b, turn t)
{
    const tern_dtype dtype = y->type->dtype;
    double a = tern__load_float(dtype, x->data, x_a), b = tern__load_float(dtype, x->data, x_b);
    double turned_a = tern__as(dtype, a * t.cosine) - tern__as(dtype, b * t.sine);
    double turned_b = tern__as(dtype, b * t.cosine) + tern__as(dtype, a * t.sine);
    tern__store_float(dtype, y->data, y_a, turned_a);
    tern__store_float(dtype, y->data, y_b, turned_b);
}

/* Items are the (row, head) of x[rows, heads, d]. */
KERNEL(rope)
{
    const tern__buffer *x = &args->in[0], *positions = &args->in[1], *y = &args->out[0];
    const tern_dtype dtype = y->type->dtype;
    const int64_t heads = x->type->shape[1], d = x->type->shape[2];
    const int64_t dims = args->attrs[1].i == 0 ? d : args->attrs[1].i, half = dims / 2;
    const bool interleaved = args->attrs[2].i != 0;
    const int64_t x_step = x->strides[2], y_step = y->strides[2];
    for (int64_t j = 0; j < half; j++) {
        const double frequency = pow(args->attrs[0].f, -2.0 * (double)j / (double)dims);
        const int64_t first = interleaved ? 2 * j : j, second = interleaved ? 2 * j + 1 : j + half;
        int64_t turned_row = -1;
        turn t = {1, 0};
        for (int64_t item = begin; item < end; item++) {
            int64_t row = item / heads;
            if (row != turned_row) { /* the heads of a row share the angle */
                int64_t position_at = row * positions->strides[0];
                t = turn_of(dtype, tern__load_int(positions->type->dtype, positions->data, position_at),
                            frequency);
                turned_row = row;
            }
            int64_t from = tern__lane_offset(x, 2, item), to = tern__lane_offset(y, 2, item);
            rotate(x, from + first * x_step, from + second * x_step, y, to + first * y_step,
                   to + second * y_step, t);
        }
    }
    for (int64_t item = begin; item < end; item++)
        tern__copy(tern__dtype_unit_bytes(dtype), y->data, tern__lane_offset(y, 2, item) + dims * y_step,
                   y_step, x->data, tern__lane_offset(x, 2, item) + dims * x_step, x_step, d - dims);
    return TERN_OK;
}
