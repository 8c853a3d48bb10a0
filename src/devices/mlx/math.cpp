// math.cpp - elementwise ops, reductions and quantisation that are more than one function of MLX.
#include "devices/mlx/work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tern_mlx
{

// ---- elementwise ----

mx::array relu(const work &w, const mx::array &x)
{
    const mx::array zero = mx::array(0, x.dtype());
    return mx::where(mx::less_equal(x, zero, w.s), zero, x, w.s); // -0 gives 0
}

// The larger (or smaller) of two; NaN if either is.
mx::array extremum(const work &w, bool largest)
{
    const mx::array &a = w.in[0], &b = w.in[1];
    const mx::array first = largest ? mx::greater(a, b, w.s) : mx::less(a, b, w.s);
    const mx::array out = mx::where(first, a, b, w.s);
    return floats(a) ? mx::where(mx::isnan(a, w.s), a, out, w.s) : out;
}

mx::array clamp(const work &w)
{
    mx::array x = w.in[0];
    x = mx::where(mx::less(x, w.f(w.number(TERN__ATTR_clamp_low)), w.s), w.f(w.number(TERN__ATTR_clamp_low)),
                  x, w.s);
    return mx::where(mx::greater(x, w.f(w.number(TERN__ATTR_clamp_high)), w.s),
                     w.f(w.number(TERN__ATTR_clamp_high)), x, w.s);
}

mx::array sigmoid(const work &w, const mx::array &x)
{
    return mx::divide(w.f(1), mx::add(w.f(1), mx::exp(mx::negative(x, w.s), w.s), w.s), w.s);
}

mx::array gelu(const work &w)
{
    const mx::array &x = w.in[0];
    const mx::array e = mx::erf(mx::multiply(x, w.f(float(M_SQRT1_2)), w.s), w.s);
    return mx::multiply(mx::multiply(w.f(0.5f), x, w.s), mx::add(w.f(1), e, w.s), w.s);
}

mx::array gelu_tanh(const work &w)
{
    const mx::array &x = w.in[0];
    const mx::array cubic = mx::multiply(mx::multiply(mx::square(x, w.s), x, w.s), w.f(0.044715f), w.s);
    const mx::array t =
        mx::tanh(mx::multiply(w.f(float(M_2_SQRTPI * M_SQRT1_2)), mx::add(x, cubic, w.s), w.s), w.s);
    return mx::multiply(mx::multiply(w.f(0.5f), x, w.s), mx::add(w.f(1), t, w.s), w.s);
}

mx::array softplus(const work &w)
{
    const mx::array &x = w.in[0];
    return mx::add(relu(w, x), mx::log1p(mx::exp(mx::negative(mx::abs(x, w.s), w.s), w.s), w.s), w.s);
}

// Floats truncate and saturate to integers, NaN gives 0; integers wrap.
static mx::array to_integer(const work &w, const mx::array &x, mx::Dtype dtype)
{
    const auto limits = mx::iinfo(dtype);
    const float low = float(limits.min), high = float(limits.max); // the second is rounded up: 2^31, 2^63
    const mx::array below = mx::less_equal(x, w.f(low), w.s), above = mx::greater_equal(x, w.f(high), w.s);
    const mx::array ordinary =
        mx::logical_not(mx::logical_or(mx::logical_or(below, above, w.s), mx::isnan(x, w.s), w.s), w.s);
    mx::array out = w.as(mx::where(ordinary, x, w.f(0), w.s), dtype);
    out = mx::where(below, mx::array(limits.min, dtype), out, w.s);
    return mx::where(above, mx::array(int64_t(limits.max), dtype), out, w.s);
}

mx::array cast(const work &w, const mx::array &x, mx::Dtype dtype)
{
    if (dtype == x.dtype())
        return x;
    if (dtype == mx::bool_)
        return mx::not_equal(x, mx::array(0, x.dtype()), w.s);
    if (floats(x) && mx::issubdtype(dtype, mx::integer))
        return to_integer(w, w.as(x, mx::float32), dtype);
    return w.as(x, dtype);
}

// An attribute's number in a type: integers saturate, as in casts.
mx::array number_in(double value, mx::Dtype dtype)
{
    if (dtype == mx::bool_)
        return mx::array(value != 0);
    if (!mx::issubdtype(dtype, mx::integer))
        return mx::array(float(value), dtype);
    const auto limits = mx::iinfo(dtype);
    const int64_t most = int64_t(limits.max);
    const int64_t whole = std::isnan(value)             ? 0
                          : value <= double(limits.min) ? limits.min
                          : value >= double(most)       ? most
                                                        : int64_t(value);
    return mx::array(whole, dtype);
}

// ---- reductions ----

// NaN if any is NaN.
mx::array reduced_extremum(const work &w, const mx::array &x, const std::vector<int> &axes, bool keepdims,
                           bool largest)
{
    const mx::array out = largest ? mx::max(x, axes, keepdims, w.s) : mx::min(x, axes, keepdims, w.s);
    if (!floats(x))
        return out;
    return mx::where(mx::any(mx::isnan(x, w.s), axes, keepdims, w.s), mx::array(not_a_number, x.dtype()), out,
                     w.s);
}

static double count_of(const work &w)
{
    double n = 1;
    for (int axis : w.axes())
        n *= double(w.in[0].shape(axis));
    return n;
}

// A piece at a time, along the longest axis: a whole operand in f64 would take twice its memory.
static mx::array wide_sum(const work &w, const mx::array &x, const std::vector<int> &axes, bool keepdims)
{
    constexpr size_t piece = 1 << 14, most_pieces = 512;
    if (x.size() <= piece || !floats(x) || axes.empty())
        return mx::sum(w.wide(x), axes, keepdims, w.s);
    int along = axes[0] < 0 ? axes[0] + int(x.ndim()) : axes[0];
    for (int axis : axes)
        along = x.shape(axis) > x.shape(along) ? (axis < 0 ? axis + int(x.ndim()) : axis) : along;
    const size_t each = x.size() / size_t(x.shape(along));
    const size_t least = (size_t(x.shape(along)) + most_pieces - 1) / most_pieces;
    const int step = int(std::max({piece / each, least, size_t(1)}));
    mx::Shape from(x.ndim(), 0), to = x.shape();
    std::optional<mx::array> total;
    for (int at = 0; at < x.shape(along); at += step) {
        from[along] = at;
        to[along] = std::min(at + step, x.shape(along));
        const mx::array part = mx::sum(w.wide(mx::slice(x, from, to, w.s)), axes, keepdims, w.s);
        total = total ? mx::add(*total, part, w.s) : part;
    }
    return *total;
}

mx::array sum(const work &w, const mx::array &x, const std::vector<int> &axes, bool keepdims)
{
    return w.narrow(wide_sum(w, x, axes, keepdims));
}

mx::array prod(const work &w)
{
    return w.narrow(mx::prod(w.wide(w.in[0]), w.axes(), w.flag(TERN__ATTR_prod_keepdims), w.s));
}

mx::array cumsum(const work &w)
{
    return w.narrow(mx::cumsum(w.wide(w.in[0]), int(w.integer(TERN__ATTR_cumsum_axis)), false, true, w.s));
}

static mx::array wide_mean(const work &w, const mx::array &x, const std::vector<int> &axes, double n,
                           bool keepdims)
{
    const mx::array total = wide_sum(w, x, axes, keepdims);
    return mx::divide(total, mx::array(n, total.dtype()), w.s);
}

mx::array mean(const work &w, bool keepdims)
{
    return w.narrow(wide_mean(w, w.in[0], w.axes(), count_of(w), keepdims));
}

mx::array var(const work &w)
{
    const mx::array middle = wide_mean(w, w.in[0], w.axes(), count_of(w), true);
    const mx::array squares = mx::square(mx::subtract(w.wide(w.in[0]), middle, w.s), w.s);
    const double n = std::max(count_of(w) - double(w.integer(TERN__ATTR_var_ddof)), 0.0);
    return w.narrow(wide_mean(w, squares, w.axes(), n, w.flag(TERN__ATTR_var_keepdims)));
}

mx::array logsumexp(const work &w, const std::vector<int> &axes, bool keepdims)
{
    const mx::array &x = w.in[0];
    const mx::array top = reduced_extremum(w, x, axes, true, true);
    const mx::array base = mx::where(mx::isfinite(top, w.s), top, w.f(0), w.s);
    const mx::array total = sum(w, mx::exp(mx::subtract(x, base, w.s), w.s), axes, keepdims);
    return mx::add(mx::log(total, w.s), keepdims ? base : mx::squeeze(base, axes, w.s), w.s);
}

mx::array arg_extremum(const work &w, bool largest)
{
    const int axis = int(w.integer(0));
    const bool keepdims = w.flag(1);
    const mx::array x = w.in[0].dtype() == mx::bool_ ? w.as(w.in[0], mx::uint8) : w.in[0];
    mx::array at = largest ? mx::argmax(x, axis, keepdims, w.s) : mx::argmin(x, axis, keepdims, w.s);
    if (floats(x)) {
        const mx::array bad = w.as(mx::isnan(x, w.s), mx::uint8);
        at = mx::where(mx::any(w.as(bad, mx::bool_), axis, keepdims, w.s),
                       mx::argmax(bad, axis, keepdims, w.s), at, w.s);
    }
    return w.as(at, mx::int64);
}

// MLX's own sums in f32, which do for rows as models have them.
mx::array rmsnorm(const work &w)
{
    constexpr int long_row = 8192;
    const mx::array &x = w.in[0];
    const float eps = w.number(TERN__ATTR_rmsnorm_eps);
    if (x.shape(-1) < long_row)
        return mx::fast::rms_norm(x, w.in.size() > 1 ? std::optional(w.in[1]) : std::nullopt, eps, w.s);
    const mx::array wide = w.wide(x);
    const mx::array square = wide_mean(w, mx::square(wide, w.s), {-1}, double(x.shape(-1)), true);
    const mx::array out =
        w.narrow(mx::divide(wide, mx::sqrt(mx::add(square, mx::array(eps, square.dtype()), w.s), w.s), w.s));
    return w.in.size() > 1 ? mx::multiply(out, w.in[1], w.s) : out;
}

// The mean goes first, or rows far from 0 would lose their digits.
mx::array layernorm(const work &w)
{
    const double n = double(w.in[0].shape(-1));
    const mx::array far = mx::subtract(w.wide(w.in[0]), wide_mean(w, w.in[0], {-1}, n, true), w.s);
    const mx::array var = wide_mean(w, mx::square(far, w.s), {-1}, n, true);
    const mx::array eps = mx::array(w.number(TERN__ATTR_layernorm_eps), var.dtype());
    mx::array out = w.narrow(mx::divide(far, mx::sqrt(mx::add(var, eps, w.s), w.s), w.s));
    if (w.in.size() > 1)
        out = mx::multiply(out, w.in[1], w.s);
    return w.in.size() > 2 ? mx::add(out, w.in[2], w.s) : out;
}

// ---- quantisation ----

mx::array to_i8(const work &w, const mx::array &x)
{
    const mx::array rounded = mx::round(x, 0, w.s);
    const mx::array inside =
        mx::clip(mx::where(mx::isnan(rounded, w.s), w.f(0), rounded, w.s), w.f(-128), w.f(127), w.s);
    return w.as(inside, mx::int8);
}

arrays quantise_by_itself(const work &w, bool rows)
{
    const mx::array &x = w.in[0];
    std::vector<int> axes;
    for (int i = rows ? int(x.ndim()) - 1 : 0; i < int(x.ndim()); i++)
        axes.push_back(i);
    mx::array top = reduced_extremum(w, mx::abs(x, w.s), axes, true, true);
    top = mx::where(mx::less(top, w.f(1e-5f), w.s), w.f(1e-5f), top, w.s);
    const mx::array scale = mx::divide(w.f(127), top, w.s);
    return {to_i8(w, mx::multiply(x, scale, w.s)), mx::reshape(scale, shape_of(w.call.out[1]), w.s)};
}

} // namespace tern_mlx
