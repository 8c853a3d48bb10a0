/* quantise.c - f32 to int8 and back. A scale s means q = x * s; per row (BitNet's activations) or per
 * tensor it is 127 / max|x|. A NaN has no int8 and becomes 0, but the scale that was computed from it is
 * NaN, and an infinity makes it 0: what is dequantised with either is NaN again. */
#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

static const float smallest_max = 1e-5f;

static int8_t to_i8(float x)
{
    float rounded = rintf(x); /* halves to even */
    if (isnan(rounded))
        return 0;
    return (int8_t)(rounded > 127 ? 127 : rounded < -128 ? -128 : rounded);
}

/* The larger of max and |x| over n elements; NaN wins and stays. */
static float absmax(const float *x, int64_t step, int64_t n, float max)
{
    for (int64_t i = 0; i < n; i++) {
        float a = fabsf(x[i * step]);
        if (!(a <= max) && !isnan(max))
            max = a;
    }
    return max;
}

static void quantise_run(const float *x, int64_t x_step, int64_t n, float scale, int8_t *q, int64_t q_step)
{
    for (int64_t i = 0; i < n; i++)
        q[i * q_step] = to_i8(x[i * x_step] * scale);
}

/* A quotient of floats has the same bits in f32 as in f64 narrowed to f32, which is how bitnet.cpp
 * computes it. */
KERNEL(quantise_rows)
{
    const tern__buffer *x = &args->in[0], *q = &args->out[0], *scales = &args->out[1];
    const int last = x->type->rank - 1;
    const int64_t n = tern__last_size(x->type), x_step = tern__last_stride(x), q_step = tern__last_stride(q);
    for (int64_t row = begin; row < end; row++) {
        const float *from = (const float *)x->data + tern__lane_offset(x, last, row);
        int8_t *to = (int8_t *)q->data + tern__lane_offset(q, last, row);
        float scale = 127.0f / absmax(from, x_step, n, smallest_max);
        ((float *)scales->data)[tern__lane_offset(scales, scales->type->rank - 1, row)] = scale;
        quantise_run(from, x_step, n, scale, to, q_step);
    }
    return TERN_OK;
}

KERNEL(quantise_tensor)
{
    (void)begin;
    (void)end;
    const tern__buffer *x = &args->in[0], *q = &args->out[0];
    const int rank = x->type->rank;
    const int64_t count = tern__type_numel(x->type);
    const int64_t x_step = tern__last_stride(x), q_step = tern__last_stride(q);
    const float *data = x->data;
    float max = smallest_max;
    tern__runs r;
    for (bool more = tern__runs_first(&r, x->type, 0, count); more; more = tern__runs_next(&r))
        max = absmax(data + tern__at(rank, r.index, x->strides), x_step, r.n, max);
    float scale = 127.0f / max;
    *(float *)args->out[1].data = scale;
    for (bool more = tern__runs_first(&r, x->type, 0, count); more; more = tern__runs_next(&r))
        quantise_run(data + tern__at(rank, r.index, x->strides), x_step, r.n, scale,
                     (int8_t *)q->data + tern__at(rank, r.index, q->strides), q_step);
    return TERN_OK;
}

/* ---- with a given scale -------------------------------------------------------------------------------- */

static void quantise_F32(const tern__element_run *run)
{
    for (int64_t i = 0; i < run->n; i++) {
        float x = AT_CONST(F32, run->at[0] + i * run->step[0]);
        float scale = AT_CONST(F32, run->at[1] + i * run->step[1]);
        AT(I8, run->at[2] + i * run->step[2]) = to_i8(x * scale);
    }
}

KERNEL(quantise)
{
    return tern__elementwise(args, begin, end, quantise_F32);
}

#define DEQUANTISE(T)                                                    \
    static void dequantise_##T(const tern__element_run *run)             \
    {                                                                    \
        for (int64_t i = 0; i < run->n; i++) {                           \
            float q = (float)AT_CONST(T, run->at[0] + i * run->step[0]); \
            float scale = AT_CONST(F32, run->at[1] + i * run->step[1]);  \
            AT(F32, run->at[2] + i * run->step[2]) = q / scale;          \
        }                                                                \
    }
DEQUANTISE(I8)
DEQUANTISE(I32)

#define I8_AND_I32(X, ...) X(I8, __VA_ARGS__) X(I32, __VA_ARGS__)
LOOP_KERNEL(dequantise, I8_AND_I32)
