/* linear.c - rows times a weight matrix [n, k] as it lies: what every kernel for packed weights must equal.
 *
 * With i8 weights sums are exact modulo 2^32. Else every output is one chain of fused multiply-adds in ascending k that starts
 * from 0, on the weights converted to f32: the chain of matmul on the converted matrix. */
#include <math.h>

#include "kernels/ref/walk.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"

enum { CHUNK = TERN__BLOCK_MOST };

/* Columns [first, first + n) of row o of the weights. */
static void load_weights(const tern__buffer *weight, int64_t o, int64_t first, int64_t n, float *to)
{
    const tern_dtype dtype = weight->type->dtype;
    const int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype), step = weight->strides[1];
    const char *row = (const char *)weight->data + o * weight->strides[0] * bytes;
    if (tern__dtype_is_block(dtype))
        tern__blocks_unpack(dtype, (const uint8_t *)row, first, n, to);
    else
        tern__convert(dtype, row + first * step * bytes, step, TERN_F32, to, 1, n);
}

static float continue_f32(const float *x, int64_t x_step, const float *w, int64_t n, float sum)
{
    for (int64_t i = 0; i < n; i++)
        sum = fmaf(x[i * x_step], w[i], sum);
    return sum;
}

static void rows_f32(const tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *weight = &args->in[1], *y = &args->out[0];
    const int last = x->type->rank - 1;
    const int64_t k = x->type->shape[last], n = weight->type->shape[0];
    float w[CHUNK];
    for (int64_t o = 0; o < n; o++) {
        int64_t c = 0;
        do { /* once even if there are no columns: somebody has to write y */
            const int64_t some = k - c < CHUNK ? k - c : CHUNK;
            load_weights(weight, o, c, some, w);
            for (int64_t row = begin; row < end; row++) {
                const float *from =
                    (const float *)x->data + tern__lane_offset(x, last, row) + c * x->strides[last];
                float *sum = (float *)y->data + tern__lane_offset(y, last, row) + o * y->strides[last];
                *sum = continue_f32(from, x->strides[last], w, some, c == 0 ? 0 : *sum);
            }
            c += some;
        } while (c < k);
    }
}

/* As unsigned, because a sum that leaves i32 must not be undefined. */
static void rows_i8(const tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *weight = &args->in[1], *y = &args->out[0];
    const int last = x->type->rank - 1;
    const int64_t k = x->type->shape[last], n = weight->type->shape[0];
    const int64_t x_step = x->strides[last], w_step = weight->strides[1];
    for (int64_t row = begin; row < end; row++) {
        const int8_t *from = (const int8_t *)x->data + tern__lane_offset(x, last, row);
        int32_t *to = (int32_t *)y->data + tern__lane_offset(y, last, row);
        for (int64_t o = 0; o < n; o++) {
            const int8_t *w = (const int8_t *)weight->data + o * weight->strides[0];
            uint32_t sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += (uint32_t)(from[i * x_step] * w[i * w_step]);
            to[o * y->strides[last]] = (int32_t)sum;
        }
    }
}

KERNEL(linear)
{
    (args->in[1].type->dtype == TERN_I8 ? rows_i8 : rows_f32)(args, begin, end);
    return TERN_OK;
}
