/* pack.c - operands of any element type and strides as the f32 panels that the inner kernels read. */
#include "kernels/gemm/pack.h"

#include <string.h>

#include "base/checked.h"
#include "tensor/type.h"

bool tern__gemm_packed_bytes(const tern__gemm_kernel *kernel, int64_t k, int64_t n, size_t *bytes)
{
    size_t tiles, depth;
    return k >= 0 && n >= 0 && tern__size_from_i64(tern__gemm_tiles(kernel, n), &tiles) &&
           tern__size_from_i64(k, &depth) && tern__size_mul(tiles, (size_t)kernel->columns, &tiles) &&
           tern__size_mul(tiles, depth, &tiles) && tern__size_mul(tiles, sizeof(float), bytes);
}

/* Elements of 16 bits as they are: a short run of k at a time, so that the lines of all lanes stay in the first-level cache. */
static void pack_halves(const uint16_t *from, int64_t lane, int64_t step, int64_t lanes, int64_t width,
                        int64_t k, uint16_t *to)
{
    enum { RUN = 32 };
    for (int64_t p = 0; p < k && lanes < width; p++)
        memset(to + p * width + lanes, 0, (size_t)(width - lanes) * sizeof *to);
    for (int64_t begin = 0; begin < k; begin += RUN) {
        const int64_t end = k - begin < RUN ? k : begin + RUN;
        for (int64_t i = 0; i < lanes; i++)
            for (int64_t p = begin; p < end; p++)
                to[p * width + i] = from[i * lane + p * step];
    }
}

void tern__gemm_pack(const tern__gemm_kernel *kernel, tern_dtype type, const void *b, int64_t b_k,
                     int64_t b_column, int64_t k, int64_t n, int64_t begin, int64_t end, void *packed)
{
    const int64_t width = kernel->columns;
    for (int64_t tile = begin; tile < end; tile++) {
        const int64_t columns = n - tile * width < width ? n - tile * width : width;
        const void *from = tern__gemm_at(type, b, tile * width * b_column);
        if (type == TERN_F32)
            tern__gemm_pack_lanes(kernel, type, from, b_column, b_k, columns, width, k,
                                  (float *)packed + tile * width * k);
        else
            pack_halves(from, b_column, b_k, columns, width, k, (uint16_t *)packed + tile * width * k);
    }
}

const void *tern__gemm_at(tern_dtype type, const void *data, int64_t index)
{
    return (const char *)data + index * (int64_t)tern__dtype_unit_bytes(type);
}

/* Runs of elements along k become f32 first: a square of lanes at a time, which stays in the first-level cache. */
static void pack_runs(const tern__gemm_kernel *kernel, tern_dtype type, const void *from, int64_t lane,
                      int64_t lanes, int64_t width, int64_t k, float *to)
{
    enum { LANES = 16, RUN = 64 };
    float runs[LANES][RUN];
    for (int64_t i = 0, n; i < lanes; i += n) {
        n = lanes - i < LANES ? lanes - i : LANES;
        for (int64_t p = 0, run; p < k; p += run) {
            run = k - p < RUN ? k - p : RUN;
            for (int64_t j = 0; j < n; j++)
                kernel->unpack[type](tern__gemm_at(type, from, (i + j) * lane + p), run, runs[j]);
            kernel->pack(runs[0], RUN, 1, n, width, run, to + p * width + i);
        }
    }
}

void tern__gemm_pack_lanes(const tern__gemm_kernel *kernel, tern_dtype type, const void *from, int64_t lane,
                           int64_t step, int64_t lanes, int64_t width, int64_t k, float *to)
{
    const tern__gemm_unpack_fn unpack = kernel->unpack[type];
    for (int64_t p = 0; p < k && lanes < width; p++)
        memset(to + p * width + lanes, 0, (size_t)(width - lanes) * sizeof *to);
    if (type == TERN_F32)
        kernel->pack(from, lane, step, lanes, width, k, to);
    else if (lane == 1)
        for (int64_t p = 0; p < k; p++)
            unpack(tern__gemm_at(type, from, p * step), lanes, to + p * width);
    else if (step == 1)
        pack_runs(kernel, type, from, lane, lanes, width, k, to);
    else
        for (int64_t p = 0; p < k; p++)
            for (int64_t i = 0; i < lanes; i++)
                unpack(tern__gemm_at(type, from, p * step + i * lane), 1, to + p * width + i);
}
