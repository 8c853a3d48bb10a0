/* ternary_write.c - writes ternary codes row by row, scales where the type has them. */
#include "model/convert/ternary_write.h"

#include <string.h>

#include "base/status.h"
#include "model/file/codec.h"
#include "model/file/stored.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"

bool tern__stored_holds_scales(tern_stored stored, const float *scales, int64_t n)
{
    const tern__codec *codec = tern__codec_get(stored);
    const tern_dtype dtype = codec ? TERN_F16 : tern_stored_get(stored)->dtype;
    if (codec && codec->scales != TERN__SCALES_BLOCKS)
        return codec->scales == TERN__SCALES_BEHIND;
    if (tern__stored_has_blocks(stored)) /* signs: the scale stands beside them, whatever it is */
        return false;
    for (int64_t k = 0; k < n && !codec; k++)
        if (!(scales[k] > 0)) /* magnitudes of numbers tell it */
            return false;
    for (int64_t k = 0; k < n && stored != TERN_STORED_F32; k++) {
        uint16_t narrow;
        float back;
        tern__convert(TERN_F32, &scales[k], 1, dtype, &narrow, 1, 1);
        tern__convert(dtype, &narrow, 1, TERN_F32, &back, 1, 1);
        if (memcmp(&back, &scales[k], sizeof back) != 0)
            return false;
    }
    return true;
}

float tern__scale_within(float scale, float beside)
{
    float within = scale / beside; /* off by less than f16 tells apart */
    uint16_t half;
    tern__convert(TERN_F32, &within, 1, TERN_F16, &half, 1, 1);
    tern__convert(TERN_F16, &half, 1, TERN_F32, &within, 1, 1);
    return within;
}

bool tern__scales_have_factor(const float *scales, int64_t n, float beside)
{
    for (int64_t k = 0; k < n; k++) {
        const float back = tern__scale_within(scales[k], beside) * beside;
        if (memcmp(&back, &scales[k], sizeof back) != 0)
            return false;
    }
    return true;
}

/* Puts scales into the blocks of row r. */
static void put_scales(const tern__ternary_rows *all, size_t block, int64_t r, uint8_t *row)
{
    const int64_t blocks = all->columns / TERN__TQ_BLOCK;
    for (int64_t b = 0; b < blocks; b++) {
        float d = all->scales[all->n_scales == 1 ? 0 : r * blocks + b];
        if (all->own_scale)
            d = all->n_scales == 1 ? 1 : tern__scale_within(d, all->beside);
        uint16_t half;
        tern__convert(TERN_F32, &d, 1, TERN_F16, &half, 1, 1);
        memcpy(row + block * (size_t)(b + 1) - sizeof half, &half, sizeof half);
    }
}

static tern_status write_codes(tern__model_writer *w, tern_stored to, const tern__ternary_rows *all,
                               uint8_t *codes, uint8_t *encoded)
{
    const tern_stored_info *info = tern_stored_get(to);
    const tern__codec *codec = tern__codec_get(to);
    const int64_t columns = all->columns, t2_row = tern__t2_bytes(columns);
    const int64_t stored_rows = all->rows / codec->planes;
    const bool shared = codec->planes > 1;
    const size_t bytes = (size_t)(shared ? columns : columns / info->block_elements * info->block_bytes);
    for (int64_t r = 0; r < stored_rows; r++) {
        for (int plane = 0; plane < codec->planes; plane++)
            for (int64_t k = 0; k < columns; k++)
                codes[plane * columns + k] =
                    (uint8_t)tern__t2_code(all->t2 + (r + plane * stored_rows) * t2_row, k);
        codec->encode(codes, columns, encoded);
        if (codec->scales == TERN__SCALES_BLOCKS)
            put_scales(all, (size_t)info->block_bytes, r, encoded);
        TERN_TRY(tern__model_writer_write(w, encoded, bytes));
    }
    uint8_t tail[TERN__SCALE_TAIL] = {0};
    memcpy(tail, all->scales, sizeof(float));
    return codec->scales == TERN__SCALES_BEHIND ? tern__model_writer_write(w, tail, sizeof tail) : TERN_OK;
}

static tern_status write_numbers(tern__model_writer *w, tern_stored to, const tern__ternary_rows *all,
                                 float *numbers, uint8_t *encoded)
{
    const tern_stored_info *info = tern_stored_get(to);
    const size_t bytes = (size_t)(all->columns / info->block_elements * info->block_bytes);
    const float scale = all->own_scale ? 1 : all->scales[0];
    for (int64_t r = 0; r < all->rows; r++) {
        tern__t2_row_f32(all->t2 + r * tern__t2_bytes(all->columns), all->columns, &scale, 1, numbers);
        tern__numbers_encode(to, numbers, all->columns, all->own_scale, encoded);
        TERN_TRY(tern__model_writer_write(w, encoded, bytes));
    }
    return TERN_OK;
}

tern_status tern__ternary_write(tern__model_writer *w, tern_stored to, const tern__ternary_rows *all,
                                const tern__ternary_scratch *scratch)
{
    return tern__codec_get(to) ? write_codes(w, to, all, scratch->codes, scratch->encoded)
                               : write_numbers(w, to, all, scratch->numbers, scratch->encoded);
}

tern_stored tern__ternary_fallback(tern_stored wanted, int64_t columns)
{
    const tern_stored types[] = {wanted, TERN_STORED_Q8_0};
    for (size_t i = 0; i < TERN__COUNT(types); i++)
        if (columns % tern_stored_get(types[i])->block_elements == 0)
            return types[i];
    return TERN_STORED_F16;
}

void tern__numbers_encode(tern_stored to, const float *values, int64_t n, bool signs, uint8_t *out)
{
    const tern_dtype dtype = tern_stored_get(to)->dtype;
    if (signs && tern__stored_has_blocks(to))
        tern__blocks_pack_signs(dtype, values, n, 1, out);
    else
        tern__convert_row(TERN_F32, values, dtype, out, n);
}
