/* linear_packed.c - products with packed linear weights in plain C: what every other kernel must equal; and rows of such
 * weights, for tables of tokens that are heads as well. */
#include <math.h>
#include <string.h>

#include "kernels/ref/walk.h"
#include "kernels/linear/linear.h"
#include "kernels/select.h"
#include "tensor/blocks.h"
#include "tensor/half.h"

enum { TILE = TERN__LINEAR_TILE, ROWS = TERN__LINEAR_MAX_ROWS };

static uint16_t half_at(const uint8_t *at)
{
    uint16_t bits;
    memcpy(&bits, at, 2);
    return bits;
}

static uint32_t word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

/* ---- column c of row r of a tile ---- */

static inline float at_f16(const uint8_t *tile, int64_t c, int r)
{
    return tern__f16_to_f32(half_at(tile + 2 * (c * TILE + r)));
}

static inline float at_bf16(const uint8_t *tile, int64_t c, int r)
{
    return tern__bf16_to_f32(half_at(tile + 2 * (c * TILE + r)));
}

static inline float at_q8_0(const uint8_t *tile, int64_t c, int r)
{
    const uint8_t *block = tile + c / 32 * 34 * TILE, *quad = block + 2 * TILE + 4 * (c % 32 / 4 * TILE + r);
    return tern__f16_to_f32(half_at(block + 2 * r)) * (float)(int8_t)quad[c % 4] + 0.0f;
}

static int nibble(const uint8_t *words, int64_t c, int r)
{
    return (int)(word_at(words + 4 * (c / 8 * TILE + r)) >> 4 * (c % 8) & 15);
}

static inline float at_q4_0(const uint8_t *tile, int64_t c, int r)
{
    const uint8_t *block = tile + c / 32 * 18 * TILE;
    return tern__f16_to_f32(half_at(block + 2 * r)) * (float)(nibble(block + 2 * TILE, c % 32, r) - 8) + 0.0f;
}

/* Code i of sixteen of 6 bits, in three words. */
static int six(const uint8_t *words, int64_t i, int r)
{
    if (i < 15)
        return (int)(word_at(words + 4 * (i / 5 * TILE + r)) >> (1 + 6 * (i % 5)) & 63);
    int code = 0;
    for (int w = 0; w < 3; w++) {
        const uint32_t word = word_at(words + 4 * (w * TILE + r));
        code |= (int)(word >> 31 | (word & 1) << 1) << 2 * w;
    }
    return code;
}

static inline float at_q4_k(const uint8_t *tile, int64_t c, int r)
{
    const uint8_t *block = tile + c / 256 * 144 * TILE, *sixes = block + 132 * TILE;
    const int64_t j = c % 256 / 32;
    const float d = tern__f16_to_f32(half_at(block + 2 * r)),
                dmin = tern__f16_to_f32(half_at(block + 2 * (TILE + r)));
    return d * (float)six(sixes, j, r) * (float)nibble(block + 4 * TILE, c % 256, r) -
           dmin * (float)six(sixes, 8 + j, r) + 0.0f;
}

static inline float at_q6_k(const uint8_t *tile, int64_t c, int r)
{
    const uint8_t *block = tile + c / 256 * 210 * TILE;
    const int64_t g = c % 256 / 16;
    const float scale = tern__f16_to_f32(half_at(block + 2 * r)) * (float)(int8_t)block[(194 + g) * TILE + r];
    return scale * (float)(six(block + (2 + 12 * g) * TILE, c % 16, r) - 32) + 0.0f;
}

/* ---- loops ---- */

typedef float at_fn(const uint8_t *tile, int64_t c, int r);

static inline void multiply(const tern__linear_call *call, at_fn *at)
{
    for (int o = 0; o < TILE * call->n_tiles; o++) {
        const uint8_t *tile = call->tiles + o / TILE * call->tile_step;
        float sums[ROWS] = {0};
        for (int64_t c = 0; c < call->k; c++) {
            const float w = at(tile, c, o % TILE);
            for (int i = 0; i < call->rows; i++)
                sums[i] = fmaf(call->x[i * call->x_row + c], w, sums[i]);
        }
        for (int i = 0; i < call->rows; i++)
            call->y[i * call->y_row + o / TILE * call->y_step + o % TILE] = sums[i];
    }
}

#define FORM(id, name)                                                                                  \
    static void multiply_##name(const tern__linear_call *call)                                          \
    {                                                                                                   \
        multiply(call, at_##name);                                                                      \
    }                                                                                                   \
    static void unpack_##name(const uint8_t *tile, int64_t first, int64_t k, float *to, int64_t stride) \
    {                                                                                                   \
        for (int64_t c = 0; c < k; c++)                                                                 \
            for (int r = 0; r < TILE; r++)                                                              \
                to[c * stride + r] = at_##name(tile, first + c, r);                                     \
    }
TERN__LINEAR_FORMS(FORM)

#define MULTIPLY(id, name) [TERN__LINEAR_##id] = multiply_##name,
#define UNPACK(id, name) [TERN__LINEAR_##id] = unpack_##name,
#define MANY(id, name) 16,
#define TOGETHER(id, name) 1,
const tern__linear_kernel tern__linear__ref = {.fused = true,
                                               .most_rows = ROWS,
                                               .most_tiles = {TERN__LINEAR_FORMS(TOGETHER)},
                                               .many = {TERN__LINEAR_FORMS(MANY)},
                                               .multiply = {TERN__LINEAR_FORMS(MULTIPLY)},
                                               .unpack = {TERN__LINEAR_FORMS(UNPACK)}};

/* ---- rows ---- */

/* row_<form>: row r of a tile as f32. */
#define ROW(id, name)                                                                      \
    static void row_##name(const uint8_t *tile, int r, int64_t k, float *to, int64_t step) \
    {                                                                                      \
        for (int64_t c = 0; c < k; c++)                                                    \
            to[c * step] = at_##name(tile, c, r);                                          \
    }
TERN__LINEAR_FORMS(ROW)

typedef void row_fn(const uint8_t *tile, int r, int64_t k, float *to, int64_t step);

#define ROW_OF(id, name) [TERN_##id] = row_##name,
static row_fn *const row_of[TERN_DTYPE_COUNT] = {TERN__LINEAR_FORMS(ROW_OF)};

/* Row r of a tile: 16 bits as they are, blocks as f32. */
static void unpack_row(tern_dtype dtype, const uint8_t *tile, int r, int64_t k, void *to, int64_t step)
{
    if (tern__dtype_is_block(dtype)) {
        row_of[dtype](tile, r, k, to, step);
        return;
    }
    for (int64_t c = 0; c < k; c++)
        ((uint16_t *)to)[c * step] = half_at(tile + 2 * (c * TILE + r));
}

KERNEL(packed_gather)
{
    const tern__buffer *table = &args->in[0], *y = &args->out[0];
    const tern_dtype dtype = (tern_dtype)args->attrs[TERN__ATTR_packed_gather_dtype].i;
    const int64_t n = args->attrs[TERN__ATTR_packed_gather_n].i, tile_bytes = table->strides[0];
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(y->type->dtype);
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = tern__offset_of(&args->in[1], row);
        int64_t index;
        TERN_TRY(tern__resolve_index(args, ((const int64_t *)args->in[1].data)[at], n, &index));
        unpack_row(dtype, (const uint8_t *)table->data + index / TILE * tile_bytes, (int)(index % TILE),
                   args->attrs[TERN__ATTR_packed_gather_k].i,
                   (char *)y->data + unit * tern__lane_offset(y, y->type->rank - 1, row),
                   tern__last_stride(y));
    }
    return TERN_OK;
}

/* ---- i8 ---- */

static void multiply_i8(const tern__linear_i8_call *call)
{
    for (int i = 0; i < call->rows; i++)
        for (int r = 0; r < TILE; r++) {
            int32_t *y = call->y + i * call->y_row + r;
            uint32_t sum = call->quad_begin > 0 ? (uint32_t)*y : 0;
            for (int64_t c = 4 * call->quad_begin; c < 4 * call->quad_end; c++) {
                const int w = call->tiles[(c / 4 * TILE + r) * 4 + c % 4] - 128;
                sum += (uint32_t)(w * call->x[i * call->x_row + c]);
            }
            *y = (int32_t)sum;
        }
}

const tern__linear_i8_kernel tern__linear_i8__ref = {
    .most_rows = ROWS, .most_tiles = 1, .multiply = multiply_i8};
