/* work.h - what the lowerings of single ops have in common. C++ only; lower.cpp has the table. */
#ifndef TERN_DEVICES_MLX_WORK_H
#define TERN_DEVICES_MLX_WORK_H

#include <limits>

#include "devices/mlx/lower.h"

namespace tern_mlx
{

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// One call that is being lowered.
struct work {
    const tern__call &call;
    const arrays &in;
    mx::Stream s;

    int64_t integer(int attr) const
    {
        return call.attrs[attr].i;
    }
    float number(int attr) const
    {
        return float(call.attrs[attr].f);
    }
    bool flag(int attr) const
    {
        return call.attrs[attr].i != 0;
    }
    std::vector<int> ints(int attr) const
    {
        const tern__attr &a = call.attrs[attr];
        return std::vector<int>(a.ints, a.ints + a.count);
    }
    // Attribute 0 of reductions: empty means all.
    std::vector<int> axes() const
    {
        std::vector<int> list = ints(0);
        const bool all = list.empty();
        for (int i = 0; all && i < call.in[0]->rank; i++)
            list.push_back(i);
        return list;
    }
    mx::Dtype type() const
    {
        return dtype_of(call.out[0].dtype);
    }
    mx::Shape shape() const
    {
        return shape_of(call.out[0]);
    }
    mx::array as(const mx::array &x, mx::Dtype dtype) const
    {
        return mx::astype(x, dtype, s);
    }
    mx::array f(float value) const
    {
        return mx::array(value);
    }
    // What is to be added up: floats in f64 where MLX has it (Metal has not), so that many terms keep their digits and partial
    // sums beyond f32 come back; `narrow` is the way back. The rest in i64: MLX itself would take 32 bits.
    mx::array wide(const mx::array &x) const
    {
        if (!mx::issubdtype(x.dtype(), mx::floating))
            return as(x, mx::int64);
        return s.device.type == mx::Device::cpu ? as(x, mx::float64) : x;
    }
    mx::array narrow(const mx::array &x) const
    {
        return x.dtype() == mx::float64 ? as(x, mx::float32) : x;
    }
};

inline bool floats(const mx::array &x)
{
    return mx::issubdtype(x.dtype(), mx::floating);
}

/* math.cpp */
mx::array relu(const work &w, const mx::array &x);
mx::array extremum(const work &w, bool largest);
mx::array clamp(const work &w);
mx::array sigmoid(const work &w, const mx::array &x);
mx::array gelu(const work &w);
mx::array gelu_tanh(const work &w);
mx::array softplus(const work &w);
mx::array cast(const work &w, const mx::array &x, mx::Dtype dtype);
mx::array number_in(double value, mx::Dtype dtype);
mx::array reduced_extremum(const work &w, const mx::array &x, const std::vector<int> &axes, bool keepdims,
                           bool largest);
mx::array sum(const work &w, const mx::array &x, const std::vector<int> &axes, bool keepdims);
mx::array prod(const work &w);
mx::array cumsum(const work &w);
mx::array mean(const work &w, bool keepdims);
mx::array var(const work &w);
mx::array logsumexp(const work &w, const std::vector<int> &axes, bool keepdims);
mx::array arg_extremum(const work &w, bool largest);
mx::array rmsnorm(const work &w);
mx::array layernorm(const work &w);
mx::array to_i8(const work &w, const mx::array &x);
arrays quantise_by_itself(const work &w, bool rows);

/* products.cpp */
mx::array matmul(const work &w);
mx::array times_transposed(const work &w, const mx::array &x, const mx::array &weight);
mx::array linear_i8(const work &w, const mx::array &x, const mx::array &weight);
mx::array digits(const work &w, const mx::array &bytes, tern_dtype dtype, int k);
mx::array ternary_matmul(const work &w);
mx::array rope(const work &w);
mx::array attention(const work &w);

/* moves.cpp */
mx::array slice(const work &w);
arrays split(const work &w);
mx::array pad(const work &w);
mx::array gather(const work &w);
mx::array take_along(const work &w);
int diagonal(const work &w);
mx::array one_hot(const work &w);

} // namespace tern_mlx

#endif
