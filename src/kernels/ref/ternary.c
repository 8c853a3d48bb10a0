/* ternary.c - ternary weights: their matrix product with int8 rows, and to and from f32. */
#include "tensor/ternary.h"

#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

/* Columns that are unpacked at once: whole bytes of t2 and of t5. */
enum { CHUNK = 320 };
_Static_assert(CHUNK % TERN_T2_PER_BYTE == 0 && CHUNK % TERN_T5_PER_BYTE == 0, "a chunk ends inside a byte");

static int64_t chunk_at(int64_t columns, int64_t column)
{
    return columns - column < CHUNK ? columns - column : CHUNK;
}

/* The packed bytes of a row from `column` (a multiple of CHUNK) on. Rows are all axes but the last, row-
 * major. */
static uint8_t *packed_at(const tern__buffer *t, int64_t row, int64_t column)
{
    int64_t skipped = column / (t->type->dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE);
    return (uint8_t *)t->data + tern__lane_offset(t, t->type->rank - 1, row) + skipped;
}

/* ---- ternary_matmul ------------------------------------------------------------------------------------ */

/* y += the products of one chunk; as unsigned, because a sum that leaves i32 must not be undefined. */
static void add_chunk(const int8_t *x, int64_t x_step, const int8_t *w, int64_t n, int32_t *y)
{
    uint32_t sum = (uint32_t)*y;
    for (int64_t i = 0; i < n; i++)
        sum += (uint32_t)(x[i * x_step] * w[i]);
    *y = (int32_t)sum;
}

/* Results with scales of blocks: the sum of a block is exact, and blocks are added in ascending order. */
static float scaled_sum(const tern__buffer *weight, const tern__buffer *scales, int64_t o, const int8_t *x,
                        int64_t x_step, int64_t columns)
{
    const int64_t blocks = scales->type->shape[1], width = columns / blocks;
    const float *scale = (const float *)scales->data + o * scales->strides[0];
    float sum = 0;
    int8_t w[CHUNK];
    for (int64_t b = 0, c = 0; b < blocks; b++) {
        uint32_t of_block = 0;
        for (; c < (b + 1) * width; c++) {
            if (c % CHUNK == 0)
                tern__ternary_unpack_row(weight->type->dtype, packed_at(weight, o, c), chunk_at(columns, c),
                                         w);
            of_block += (uint32_t)(x[c * x_step] * w[c % CHUNK]);
        }
        sum += scale[b * scales->strides[1]] * (float)(int32_t)of_block;
    }
    return sum;
}

static tern_status multiply_scaled(const tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *weight = &args->in[1], *y = &args->out[0];
    const int last = x->type->rank - 1;
    for (int64_t row = begin; row < end; row++) {
        const int8_t *from = (const int8_t *)x->data + tern__lane_offset(x, last, row);
        float *to = (float *)y->data + tern__lane_offset(y, last, row);
        for (int64_t o = 0; o < weight->type->shape[0]; o++)
            to[o * y->strides[last]] =
                scaled_sum(weight, &args->in[2], o, from, x->strides[last], x->type->shape[last]);
    }
    return TERN_OK;
}

/* Integer sums are exact in any order, so each chunk of weights is unpacked once for all rows. */
KERNEL(ternary_matmul)
{
    if (args->n_in > 2)
        return multiply_scaled(args, begin, end);
    const tern__buffer *x = &args->in[0], *weight = &args->in[1], *y = &args->out[0];
    const int last = x->type->rank - 1;
    const int64_t columns = x->type->shape[last], outputs = weight->type->shape[0];
    const int64_t x_step = x->strides[last], y_step = y->strides[last];
    int8_t w[CHUNK];
    for (int64_t row = begin; row < end; row++) {
        int32_t *sums = (int32_t *)y->data + tern__lane_offset(y, last, row);
        for (int64_t o = 0; o < outputs; o++)
            sums[o * y_step] = 0;
    }
    for (int64_t o = 0; o < outputs; o++) {
        for (int64_t c = 0; c < columns; c += CHUNK) {
            int64_t n = chunk_at(columns, c);
            tern__ternary_unpack_row(weight->type->dtype, packed_at(weight, o, c), n, w);
            for (int64_t row = begin; row < end; row++) {
                const int8_t *from = (const int8_t *)x->data + tern__lane_offset(x, last, row) + c * x_step;
                int32_t *sums = (int32_t *)y->data + tern__lane_offset(y, last, row);
                add_chunk(from, x_step, w, n, &sums[o * y_step]);
            }
        }
    }
    return TERN_OK;
}

/* ---- f32 -> ternary ------------------------------------------------------------------------------------ */

static const float smallest_scale = 1e-5f;

/* max(mean|x|, 1e-5): summed in f64 in row-major order, narrowed to f32. NaN stays NaN, so that nothing
 * computed with the scale can pass for a number. */
static float absmean(const tern__buffer *x)
{
    const int64_t count = tern__type_numel(x->type), step = tern__last_stride(x);
    const float *data = x->data;
    double sum = 0;
    tern__runs r;
    for (bool more = tern__runs_first(&r, x->type, 0, count); more; more = tern__runs_next(&r)) {
        const float *from = data + tern__at(x->type->rank, r.index, x->strides);
        for (int64_t i = 0; i < r.n; i++)
            sum += (double)fabsf(from[i * step]);
    }
    float mean = count == 0 ? 0 : (float)(sum / (double)count);
    return mean < smallest_scale ? smallest_scale : mean;
}

/* Rounded with halves to even, and clamped: a half is not more than a half, and becomes 0. */
static int8_t to_ternary(float x)
{
    return (int8_t)((x > 0.5f) - (x < -0.5f));
}

KERNEL(ternary_quantise)
{
    (void)begin;
    (void)end;
    const tern__buffer *x = &args->in[0], *t = &args->out[0], *scale_used = &args->out[1];
    const float scale = args->n_in > 1 ? *(const float *)args->in[1].data : absmean(x);
    *(float *)scale_used->data = scale;

    const int64_t columns = tern__last_size(x->type), step = tern__last_stride(x);
    const int64_t rows = columns == 0 ? 0 : tern__type_numel(x->type) / columns;
    int8_t values[CHUNK];
    for (int64_t row = 0; row < rows; row++) {
        const float *from = (const float *)x->data + tern__lane_offset(x, x->type->rank - 1, row);
        for (int64_t c = 0; c < columns; c += CHUNK) {
            int64_t n = chunk_at(columns, c);
            for (int64_t i = 0; i < n; i++)
                values[i] = to_ternary(from[(c + i) * step] / scale);
            tern__ternary_pack_row(t->type->dtype, values, n, packed_at(t, row, c));
        }
    }
    return TERN_OK;
}

/* ---- ternary -> f32 ------------------------------------------------------------------------------------ */

KERNEL(ternary_dequantise)
{
    const tern__buffer *t = &args->in[0], *y = &args->out[0];
    const float scale = *(const float *)args->in[1].data;
    const int64_t columns = tern__last_size(y->type), step = tern__last_stride(y);
    int8_t values[CHUNK];
    for (int64_t row = begin; row < end; row++) {
        float *to = (float *)y->data + tern__lane_offset(y, y->type->rank - 1, row);
        for (int64_t c = 0; c < columns; c += CHUNK) {
            int64_t n = chunk_at(columns, c);
            tern__ternary_unpack_row(t->type->dtype, packed_at(t, row, c), n, values);
            for (int64_t i = 0; i < n; i++)
                to[(c + i) * step] = (float)values[i] * scale;
        }
    }
    return TERN_OK;
}
