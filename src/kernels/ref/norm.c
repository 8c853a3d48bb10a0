/* norm.c - rmsnorm and layernorm over the last axis, with an optional weight and bias.
 *
 * Statistics are summed in f64 in ascending order. rmsnorm then goes on as BitNet's own implementations do
 * (mean narrowed to f32, one reciprocal root, the weight as a separate product), since models were trained
 * with those bits; layernorm has no such tradition and rounds once. */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

/* An optional operand along the last axis: `fallback` where it is absent. */
typedef struct vector {
    const tern__buffer *buffer; /* NULL: absent */
    int64_t step;
    double fallback;
} vector;

static vector vector_of(const tern__kernel_args *args, int operand, double fallback)
{
    vector v = {.fallback = fallback};
    if (operand < args->n_in) {
        v.buffer = &args->in[operand];
        v.step = tern__last_stride(v.buffer);
    }
    return v;
}

static double vector_at(const vector *v, int64_t i)
{
    return v->buffer == NULL ? v->fallback
                             : tern__load_float(v->buffer->type->dtype, v->buffer->data, i * v->step);
}

/* The rows of operand 0 and of the result. */
typedef struct rows {
    const tern__buffer *x, *y;
    tern_dtype dtype;
    int last;  /* axis */
    int64_t n; /* its size */
    int64_t x_step, y_step;
} rows;

static rows rows_of(const tern__kernel_args *args)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    return (rows){x,
                  y,
                  x->type->dtype,
                  x->type->rank - 1,
                  tern__last_size(x->type),
                  tern__last_stride(x),
                  tern__last_stride(y)};
}

static double row_at(const rows *r, int64_t from, int64_t i)
{
    return tern__load_float(r->dtype, r->x->data, from + i * r->x_step);
}

KERNEL(rmsnorm)
{
    const rows r = rows_of(args);
    const vector weight = vector_of(args, 1, 1);
    const double eps = tern__as(r.dtype, args->attrs[0].f);
    for (int64_t row = begin; row < end; row++) {
        int64_t from = tern__lane_offset(r.x, r.last, row), to = tern__lane_offset(r.y, r.last, row);
        double sum = 0;
        for (int64_t i = 0; i < r.n; i++)
            sum += row_at(&r, from, i) * row_at(&r, from, i);
        double mean = tern__as(r.dtype, sum / (double)r.n);
        double root = tern__as(r.dtype, sqrt(tern__as(r.dtype, mean + eps)));
        double scale = tern__as(r.dtype, 1 / root);
        for (int64_t i = 0; i < r.n; i++) {
            double y = tern__as(r.dtype, row_at(&r, from, i) * scale);
            tern__store_float(r.dtype, r.y->data, to + i * r.y_step, y * vector_at(&weight, i));
        }
    }
    return TERN_OK;
}

KERNEL(layernorm)
{
    const rows r = rows_of(args);
    const vector weight = vector_of(args, 1, 1), bias = vector_of(args, 2, 0);
    const double eps = args->attrs[0].f;
    for (int64_t row = begin; row < end; row++) {
        int64_t from = tern__lane_offset(r.x, r.last, row), to = tern__lane_offset(r.y, r.last, row);
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < r.n; i++)
            sum += row_at(&r, from, i);
        double mean = sum / (double)r.n;
        for (int64_t i = 0; i < r.n; i++)
            squares += (row_at(&r, from, i) - mean) * (row_at(&r, from, i) - mean);
        double scale = 1 / sqrt(squares / (double)r.n + eps);
        for (int64_t i = 0; i < r.n; i++) {
            double y = (row_at(&r, from, i) - mean) * scale;
            tern__store_float(r.dtype, r.y->data, to + i * r.y_step,
                              y * vector_at(&weight, i) + vector_at(&bias, i));
        }
    }
    return TERN_OK;
}
