/* ternary_packed.c - products with packed ternary weights in plain C: what every other kernel must equal. */
#include <string.h>

#include "kernels/ternary/ternary.h"
#include "kernels/select.h"
#include "kernels/ternary/scaled.h"

enum { PANEL_QUADS = 128, BATCH = TERN__TERNARY_MAX_BATCH };

/* Codes of one packed byte, plane by plane. */
static void codes_2(unsigned byte, uint8_t *codes)
{
    for (int p = 0; p < 4; p++)
        codes[p] = (uint8_t)(byte >> 2 * p & 3);
}

static void codes_5(unsigned byte, uint8_t *codes)
{
    static const unsigned place[5] = {1, 3, 9, 28, 84};
    for (int p = 4; p >= 0; p--) {
        codes[p] = (uint8_t)(byte / place[p]);
        byte %= place[p];
    }
}

/* The panel: (quads, tile rows, 4) codes. */
static inline void unpack(const uint8_t *packed, int64_t quads, uint8_t *panel, int planes,
                          void (*codes_at)(unsigned, uint8_t *))
{
    for (int64_t q = 0; q < quads; q++) {
        for (int b = 0; b < TERN__TERNARY_QUAD_BYTES; b++) {
            uint8_t codes[TERN__TERNARY_MAX_PLANES];
            codes_at(packed[q * TERN__TERNARY_QUAD_BYTES + b], codes);
            for (int p = 0; p < planes; p++)
                panel[(q * planes + p) * TERN__TERNARY_QUAD_BYTES + b] = codes[p];
        }
    }
}

static void unpack_2(const uint8_t *packed, int64_t quads, uint8_t *panel)
{
    unpack(packed, quads, panel, 4, codes_2);
}

static void unpack_5(const uint8_t *packed, int64_t quads, uint8_t *panel)
{
    unpack(packed, quads, panel, 5, codes_5);
}

static inline void multiply(const tern__ternary_call *call, int rows)
{
    for (int i = 0; i < call->batch; i++) {
        uint32_t sums[TERN__TERNARY_MAX_TILE] = {0}, start;
        for (int64_t q = 0; q < call->quads; q++) {
            const uint8_t *w = call->weights + q * rows * 4;
            const int8_t *x = call->x + i * call->x_stride + 4 * q;
            for (int r = 0; r < rows; r++)
                sums[r] += (uint32_t)(w[4 * r] * x[0] + w[4 * r + 1] * x[1] + w[4 * r + 2] * x[2] +
                                      w[4 * r + 3] * x[3]);
        }
        memcpy(&start, call->sums + i * call->x_stride, 4);
        int32_t *y = call->y + i * call->y_stride;
        for (int r = 0; r < rows; r++)
            y[r] = (int32_t)((call->add ? (uint32_t)y[r] : 0u - start) + sums[r]);
    }
}

static void multiply_2(const tern__ternary_call *call)
{
    multiply(call, 4 * TERN__TERNARY_BLOCK);
}

static void multiply_5(const tern__ternary_call *call)
{
    multiply(call, 5 * TERN__TERNARY_BLOCK);
}

const tern__ternary_kernel tern__ternary_t2__ref = {
    .form = TERN__TERNARY_4,
    .multiply_batch = BATCH,
    .panel_quads = PANEL_QUADS,
    .unpack = unpack_2,
    .multiply = multiply_2,
    .add_scaled = add_scaled,
};

const tern__ternary_kernel tern__ternary_t5__ref = {
    .form = TERN__TERNARY_5,
    .multiply_batch = BATCH,
    .panel_quads = PANEL_QUADS,
    .unpack = unpack_5,
    .multiply = multiply_5,
    .add_scaled = add_scaled,
};
