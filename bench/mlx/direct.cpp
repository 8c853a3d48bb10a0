// direct.cpp - a matrix product by MLX without Tern: arrays that MLX owns, made once.
#include <mlx/mlx.h>

#include <exception>

namespace mx = mlx::core;

extern "C" int direct_matmul(const float *a, const float *b, int n, float *corner);

// One product of two matrices n x n; 0: MLX failed. *corner receives element [0, 0].
int direct_matmul(const float *a, const float *b, int n, float *corner)
{
    static const mx::array x(a, {n, n}), y(b, {n, n});
    try {
        mx::array z = mx::matmul(x, y);
        z.eval();
        *corner = z.data<float>()[0];
        return 1;
    } catch (const std::exception &) {
        return 0;
    }
}
