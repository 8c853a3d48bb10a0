// lower.cpp - every op that MLX runs, a row each: the types it takes, and what it becomes.
//
// Floats of 16 bits compute in f32, as on the CPU. Results that are integers are exact: products of integers are sums in f32 that
// stay below 2^24, in pieces where they would not.
#include "devices/mlx/lower.h"

#include <cmath>
#include <limits>

namespace tern_mlx
{

namespace
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
};

bool floats(const mx::array &x)
{
    return mx::issubdtype(x.dtype(), mx::floating);
}

// ---- elementwise ----

mx::array relu(const work &w, const mx::array &x)
{
    const mx::array zero = mx::array(0, x.dtype());
    return mx::where(mx::less(x, zero, w.s), zero, x, w.s);
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
mx::array to_integer(const work &w, const mx::array &x, mx::Dtype dtype)
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

float count_of(const work &w)
{
    double n = 1;
    for (int axis : w.axes())
        n *= double(w.in[0].shape(axis));
    return float(n);
}

mx::array mean(const work &w, bool keepdims)
{
    return mx::divide(mx::sum(w.in[0], w.axes(), keepdims, w.s), w.f(count_of(w)), w.s);
}

mx::array var(const work &w)
{
    const mx::array squares = mx::square(mx::subtract(w.in[0], mean(w, true), w.s), w.s);
    const float n = std::max(count_of(w) - float(w.integer(TERN__ATTR_var_ddof)), 0.0f);
    return mx::divide(mx::sum(squares, w.axes(), w.flag(TERN__ATTR_var_keepdims), w.s), w.f(n), w.s);
}

mx::array logsumexp(const work &w, const std::vector<int> &axes, bool keepdims)
{
    const mx::array &x = w.in[0];
    const mx::array top = reduced_extremum(w, x, axes, true, true);
    const mx::array base = mx::where(mx::isfinite(top, w.s), top, w.f(0), w.s);
    const mx::array sum = mx::sum(mx::exp(mx::subtract(x, base, w.s), w.s), axes, keepdims, w.s);
    return mx::add(mx::log(sum, w.s), keepdims ? base : mx::squeeze(base, axes, w.s), w.s);
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

// The mean goes first, or rows far from 0 would lose their digits.
mx::array layernorm(const work &w)
{
    const mx::array far = mx::subtract(w.in[0], mx::mean(w.in[0], -1, true, w.s), w.s);
    const mx::array var = mx::mean(mx::square(far, w.s), -1, true, w.s);
    mx::array out =
        mx::divide(far, mx::sqrt(mx::add(var, w.f(w.number(TERN__ATTR_layernorm_eps)), w.s), w.s), w.s);
    if (w.in.size() > 1)
        out = mx::multiply(out, w.in[1], w.s);
    return w.in.size() > 2 ? mx::add(out, w.in[2], w.s) : out;
}

// ---- products ----

mx::array matmul(const work &w)
{
    mx::array a = w.in[0], b = w.in[1];
    if (w.flag(TERN__ATTR_matmul_transpose_a))
        a = mx::swapaxes(a, -1, -2, w.s);
    if (w.flag(TERN__ATTR_matmul_transpose_b))
        b = mx::swapaxes(b, -1, -2, w.s);
    return mx::matmul(a, b, w.s);
}

// Columns [first, first + n) of the last axis.
mx::array columns(const work &w, const mx::array &x, int first, int n)
{
    mx::Shape start(x.ndim(), 0), stop = x.shape();
    start[x.ndim() - 1] = first;
    stop[x.ndim() - 1] = first + n;
    return mx::slice(x, start, stop, w.s);
}

mx::array times_transposed(const work &w, const mx::array &x, const mx::array &weight)
{
    return mx::matmul(w.as(x, mx::float32), mx::transpose(w.as(weight, mx::float32), w.s), w.s);
}

// i8 by i8: so many columns at a time that 128 * 128 * columns <= 2^24.
mx::array linear_i8(const work &w, const mx::array &x, const mx::array &weight)
{
    const int k = x.shape(-1), most = 1024;
    mx::array out = mx::zeros(w.shape(), mx::int32, w.s);
    for (int first = 0; first < k; first += most) {
        const int n = std::min(most, k - first);
        const mx::array part = times_transposed(w, columns(w, x, first, n), columns(w, weight, first, n));
        out = mx::add(out, w.as(part, mx::int32), w.s);
    }
    return out;
}

// The digits of packed bytes [n, bytes] as -1, 0, 1 in f32 [n, k]: base 4 or 3, the first in the lowest place.
mx::array digits(const work &w, const mx::array &bytes, tern_dtype dtype, int k)
{
    const uint8_t base = dtype == TERN_T2 ? 4 : 3;
    arrays places;
    uint8_t power = 1;
    for (int i = 0; i < (dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE);
         i++, power = uint8_t(power * base)) {
        const mx::array rest = mx::floor_divide(bytes, mx::array(power, mx::uint8), w.s);
        places.push_back(mx::remainder(rest, mx::array(base, mx::uint8), w.s));
    }
    mx::Shape flat = bytes.shape();
    flat.back() = -1;
    const mx::array codes = columns(w, mx::reshape(mx::stack(places, -1, w.s), flat, w.s), 0, k);
    return mx::subtract(w.as(codes, mx::float32), w.f(1), w.s);
}

// x (f32 of whole numbers) by columns [first, first + k) of t2 rows: exact in f32, where k < 2^16. The bytes of t2 are MLX's
// affine quantisation in 2 bits as they stand: code - 1, a scale of 1 and an offset of -1 for every group.
mx::array ternary_part(const work &w, const mx::array &x, int first, int k)
{
    const mx::array &bytes = w.in[1];
    const int n = bytes.shape(0), all = int(w.call.in[1]->shape[1]);
    const tern_dtype dtype = w.call.in[1]->dtype;
    const int group = k % 128 == 0 ? 128 : k % 64 == 0 ? 64 : 32;
    if (dtype == TERN_T2 && all % 16 == 0 && first % 16 == 0 && k % 32 == 0) {
        const mx::array words = columns(w, mx::view(bytes, mx::uint32, w.s), first / 16, k / 16);
        const mx::array ones = mx::ones({n, k / group}, mx::float32, w.s);
        return mx::quantized_matmul(x, words, ones, mx::negative(ones, w.s), true, group, 2, "affine", w.s);
    }
    return times_transposed(w, x, columns(w, digits(w, bytes, dtype, all), first, k));
}

mx::array ternary_matmul(const work &w)
{
    const int k = int(w.call.in[1]->shape[1]), n = w.in[1].shape(0);
    const mx::array x = mx::reshape(w.as(w.in[0], mx::float32), {-1, k}, w.s);
    if (w.in.size() < 3)
        return mx::reshape(w.as(ternary_part(w, x, 0, k), mx::int32), w.shape(), w.s);
    const int blocks = w.in[2].shape(1), each = k / blocks;
    mx::array out = mx::zeros({x.shape(0), n}, mx::float32, w.s);
    for (int b = 0; b < blocks; b++) {
        const mx::array scale = mx::reshape(columns(w, w.in[2], b, 1), {n}, w.s);
        out = mx::add(
            out, mx::multiply(ternary_part(w, columns(w, x, b * each, each), b * each, each), scale, w.s),
            w.s);
    }
    return mx::reshape(out, w.shape(), w.s);
}

// ---- moves ----

// Where an index of a slice starts, as in Python.
int64_t slice_start(int64_t start, int64_t step, int64_t size)
{
    if (start < 0)
        start += size;
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    return start < low ? low : start > high ? high : start;
}

mx::array slice(const work &w)
{
    mx::array x = w.in[0];
    const tern__attr *a = w.call.attrs;
    for (int i = 0; i < w.call.in[0]->rank; i++) {
        const int64_t step = a[TERN__ATTR_slice_step].ints[i], size = w.call.in[0]->shape[i];
        const int count = int(w.call.out[0].shape[i]);
        const int first = int(slice_start(a[TERN__ATTR_slice_start].ints[i], step, size));
        if (step == 1 && first == 0 && count == size)
            continue;
        const mx::array at = mx::add(mx::multiply(mx::arange(0, count, 1, w.s), mx::array(int(step)), w.s),
                                     mx::array(first), w.s);
        x = mx::take(x, at, i, w.s);
    }
    return x;
}

arrays split(const work &w)
{
    arrays out;
    const int rank = w.call.in[0]->rank;
    const int64_t given = w.integer(TERN__ATTR_split_axis);
    const int axis = int(given < 0 ? given + rank : given);
    mx::Shape start(size_t(rank), 0), stop = w.in[0].shape();
    stop[axis] = 0;
    for (int i = 0; i < w.call.n_out; i++) {
        start[axis] = stop[axis];
        stop[axis] += int(w.call.out[i].shape[axis]);
        out.push_back(mx::slice(w.in[0], start, stop, w.s));
    }
    return out;
}

mx::array pad(const work &w)
{
    std::vector<int> axes;
    mx::Shape before, after;
    for (int i = 0; i < w.call.in[0]->rank; i++) {
        axes.push_back(i);
        before.push_back(int(w.call.attrs[TERN__ATTR_pad_before].ints[i]));
        after.push_back(int(w.call.attrs[TERN__ATTR_pad_after].ints[i]));
    }
    const mx::array value = number_in(w.call.attrs[TERN__ATTR_pad_value].f, w.type());
    return mx::pad(w.in[0], axes, before, after, value, "constant", w.s);
}

// Indices of i64, computed now: those outside [-size, size) are bad data.
mx::array checked_indices(const work &w, const mx::array &given, int64_t size)
{
    const mx::array at = mx::contiguous(given, false, w.s);
    mx::eval(arrays{at});
    const int64_t *index = at.data<int64_t>();
    for (size_t i = 0; i < at.size(); i++)
        if (index[i] < -size || index[i] >= size)
            throw out_of_range(index[i], size);
    return mx::where(mx::less(at, mx::array(int64_t(0)), w.s), mx::add(at, mx::array(size), w.s), at, w.s);
}

mx::array gather(const work &w)
{
    const int64_t given = w.integer(TERN__ATTR_gather_axis);
    const int axis = int(given < 0 ? given + w.call.in[0]->rank : given);
    return mx::take(w.in[0], checked_indices(w, w.in[1], w.in[0].shape(axis)), axis, w.s);
}

mx::array take_along(const work &w)
{
    const int axis = int(w.integer(TERN__ATTR_take_along_axis));
    return mx::take_along_axis(w.in[0], checked_indices(w, w.in[1], w.in[0].shape(axis)), axis, w.s);
}

// Beyond the corners all diagonals are alike.
int diagonal(const work &w)
{
    const int64_t most = int64_t(w.in[0].shape(-1)) + w.in[0].shape(-2);
    return int(std::min(std::max(w.integer(0), -most), most));
}

mx::array one_hot(const work &w)
{
    const mx::array classes =
        w.as(mx::arange(0, int(w.integer(TERN__ATTR_one_hot_classes)), 1, w.s), mx::int64);
    return w.as(mx::equal(mx::expand_dims(w.in[0], -1, w.s), classes, w.s), w.type());
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

// ---- transformers ----

// Small integers (positions, slots), computed now.
std::vector<int64_t> numbers(const work &w, const mx::array &x)
{
    const mx::array wide = mx::contiguous(w.as(x, mx::int64), false, w.s);
    mx::eval(arrays{wide});
    return std::vector<int64_t>(wide.data<int64_t>(), wide.data<int64_t>() + wide.size());
}

// Angles are computed in double, as on the CPU.
mx::array rope(const work &w)
{
    const mx::array &x = w.in[0];
    const int rows = x.shape(0), heads = x.shape(1), d = x.shape(2);
    const int dims = w.integer(TERN__ATTR_rope_dims) ? int(w.integer(TERN__ATTR_rope_dims)) : d,
              half = dims / 2;
    const std::vector<int64_t> positions = numbers(w, w.in[1]);
    std::vector<float> cosines, sines;
    for (int64_t position : positions)
        for (int j = 0; j < half; j++) {
            const double angle =
                double(position) * std::pow(w.call.attrs[TERN__ATTR_rope_theta].f, -2.0 * j / dims);
            cosines.push_back(float(std::cos(angle)));
            sines.push_back(float(std::sin(angle)));
        }
    const mx::array c(cosines.begin(), {rows, 1, half}), n(sines.begin(), {rows, 1, half});
    const mx::array turned = columns(w, x, 0, dims);
    const bool pairs = w.flag(TERN__ATTR_rope_interleaved);
    const mx::array by_two =
        mx::reshape(turned, pairs ? mx::Shape{rows, heads, half, 2} : mx::Shape{rows, heads, 2, half}, w.s);
    const int axis = pairs ? 3 : 2;
    const mx::array a = mx::take(by_two, 0, axis, w.s), b = mx::take(by_two, 1, axis, w.s);
    const mx::array first = mx::subtract(mx::multiply(a, c, w.s), mx::multiply(b, n, w.s), w.s);
    const mx::array second = mx::add(mx::multiply(b, c, w.s), mx::multiply(a, n, w.s), w.s);
    const mx::array out = mx::reshape(mx::stack({first, second}, axis, w.s), {rows, heads, dims}, w.s);
    return dims == d ? out : mx::concatenate({out, columns(w, x, dims, d - dims)}, 2, w.s);
}

// k or v of a slot, its first n positions: f32 [kv_heads, n, d].
mx::array of_slot(const work &w, int operand, int slot, int n)
{
    const auto part = [&](const mx::array &x) {
        mx::Shape start(4, 0), stop = x.shape();
        start[0] = slot;
        stop[0] = slot + 1;
        stop[1] = n;
        return w.as(mx::squeeze(mx::slice(x, start, stop, w.s), 0, w.s), mx::float32);
    };
    mx::array x = part(w.in[size_t(operand)]);
    if (w.in.size() > size_t(operand) + 4)
        x = mx::divide(x, part(w.in[size_t(operand) + 4]), w.s);
    return mx::transpose(x, {1, 0, 2}, w.s);
}

// Rows [first, first + count) of q, which share a slot.
mx::array attend(const work &w, int first, int count, int slot, const std::vector<int64_t> &positions)
{
    const int heads = w.in[0].shape(1), d = w.in[0].shape(2), kv = w.in[1].shape(2), group = heads / kv;
    int64_t most = 0;
    std::vector<int> seen;
    for (int r = 0; r < count; r++)
        for (int g = 0; g < group; g++) {
            seen.push_back(int(positions[size_t(first + r)]));
            most = std::max(most, positions[size_t(first + r)]);
        }
    const int n = int(most) + 1;
    const float given = w.number(TERN__ATTR_attention_scale);
    const float scale = given != 0 ? given : float(1 / std::sqrt(double(d)));
    mx::array q = mx::slice(w.in[0], {first, 0, 0}, {first + count, heads, d}, w.s);
    q = mx::transpose(mx::reshape(q, {count, kv, group, d}, w.s), {1, 0, 2, 3}, w.s);
    q = mx::reshape(q, {kv, count * group, d}, w.s);
    mx::array scores = mx::matmul(q, mx::swapaxes(of_slot(w, 1, slot, n), 1, 2, w.s), w.s);
    const mx::array until(seen.begin(), {count * group, 1});
    const mx::array visible = mx::less_equal(mx::arange(0, n, 1, w.s), until, w.s);
    scores = mx::where(visible, mx::multiply(scores, w.f(scale), w.s), w.f(-infinity), w.s);
    mx::array y = mx::matmul(mx::softmax(scores, -1, true, w.s), of_slot(w, 2, slot, n), w.s);
    y = mx::where(mx::less(until, mx::array(0), w.s), w.f(0), y, w.s);
    y = mx::transpose(mx::reshape(y, {kv, count, group, d}, w.s), {1, 0, 2, 3}, w.s);
    return mx::reshape(y, {count, heads, d}, w.s);
}

mx::array attention(const work &w)
{
    const std::vector<int64_t> slots = numbers(w, w.in[3]), positions = numbers(w, w.in[4]);
    const int rows = w.in[0].shape(0), n_slots = w.in[1].shape(0), capacity = w.in[1].shape(1);
    for (int r = 0; r < rows; r++) {
        if (positions[size_t(r)] == -1)
            continue;
        if (positions[size_t(r)] < 0 || positions[size_t(r)] >= capacity)
            throw out_of_range(positions[size_t(r)], capacity);
        if (slots[size_t(r)] < 0 || slots[size_t(r)] >= n_slots)
            throw out_of_range(slots[size_t(r)], n_slots);
    }
    arrays parts;
    for (int first = 0, end; first < rows; first = end) {
        for (end = first + 1; end < rows && slots[size_t(end)] == slots[size_t(first)]; end++)
            ;
        const int64_t slot = slots[size_t(first)]; // of padding it may be anything
        parts.push_back(
            attend(w, first, end - first, slot >= 0 && slot < n_slots ? int(slot) : 0, positions));
    }
    return mx::concatenate(parts, 0, w.s);
}

// ---- the table ----

enum {
    BOOLS = 1,
    INTS = 2,   // u8 i8 i32 i64
    FLOATS = 4, // f16 bf16 f32
    NUMBERS = INTS | FLOATS,
    ALL = BOOLS | NUMBERS,
    TERNARY = 8, // t2 t5
    KEEP = 16,   // 16 bits stay 16 bits: nothing is computed
};

struct row {
    tern__opcode op;
    unsigned types; // of operands and results
    arrays (*lower)(const work &w);
};

#define ROW(name, types, ...)                                                         \
    {                                                                                 \
        TERN__OP_##name, types, [](const work &w) -> arrays { return {__VA_ARGS__}; } \
    }
#define UNARY(name, types, function) ROW(name, types, mx::function(w.in[0], w.s))
#define BINARY(name, types, function) ROW(name, types, mx::function(w.in[0], w.in[1], w.s))
#define REDUCTION(name, types, function) ROW(name, types, mx::function(w.in[0], w.axes(), w.flag(1), w.s))

const row rows[] = {
    ROW(full, ALL | KEEP,
        mx::full(w.shape(), number_in(w.call.attrs[TERN__ATTR_full_value].f, w.type()), w.s)),
    ROW(reshape, ALL | KEEP, mx::reshape(w.in[0], w.shape(), w.s)),
    ROW(permute, ALL | KEEP, mx::transpose(w.in[0], w.ints(TERN__ATTR_permute_axes), w.s)),
    ROW(slice, ALL | KEEP, slice(w)),
    ROW(broadcast, ALL | KEEP, mx::broadcast_to(w.in[0], w.shape(), w.s)),
    ROW(to_device, ALL | KEEP, w.in[0]),
    ROW(contiguous, ALL | KEEP, w.in[0]),
    ROW(cast, ALL | KEEP, cast(w, w.in[0], w.type())),

    UNARY(neg, NUMBERS, negative),
    UNARY(abs, NUMBERS, abs),
    ROW(sign, NUMBERS,
        floats(w.in[0]) ? mx::where(mx::isnan(w.in[0], w.s), w.in[0], mx::sign(w.in[0], w.s), w.s)
                        : mx::sign(w.in[0], w.s)),
    UNARY(square, NUMBERS, square),
    ROW(relu, NUMBERS, relu(w, w.in[0])),
    ROW(clamp, FLOATS, clamp(w)),
    UNARY(floor, FLOATS, floor),
    UNARY(ceil, FLOATS, ceil),
    UNARY(trunc, FLOATS, trunc),
    ROW(round, FLOATS, mx::round(w.in[0], 0, w.s)),
    ROW(reciprocal, FLOATS, mx::divide(w.f(1), w.in[0], w.s)),
    UNARY(sqrt, FLOATS, sqrt),
    ROW(rsqrt, FLOATS, mx::divide(w.f(1), mx::sqrt(w.in[0], w.s), w.s)),
    UNARY(exp, FLOATS, exp),
    ROW(exp2, FLOATS, mx::power(w.f(2), w.in[0], w.s)),
    UNARY(expm1, FLOATS, expm1),
    UNARY(log, FLOATS, log),
    UNARY(log2, FLOATS, log2),
    UNARY(log1p, FLOATS, log1p),
    UNARY(sin, FLOATS, sin),
    UNARY(cos, FLOATS, cos),
    UNARY(tan, FLOATS, tan),
    UNARY(asin, FLOATS, arcsin),
    UNARY(acos, FLOATS, arccos),
    UNARY(atan, FLOATS, arctan),
    UNARY(sinh, FLOATS, sinh),
    UNARY(cosh, FLOATS, cosh),
    UNARY(tanh, FLOATS, tanh),
    UNARY(erf, FLOATS, erf),
    ROW(relu2, FLOATS, mx::square(relu(w, w.in[0]), w.s)),
    ROW(leaky_relu, FLOATS,
        mx::where(mx::greater(w.in[0], w.f(0), w.s), w.in[0], mx::multiply(w.in[0], w.f(w.number(0)), w.s),
                  w.s)),
    ROW(elu, FLOATS,
        mx::where(mx::greater(w.in[0], w.f(0), w.s), w.in[0],
                  mx::multiply(w.f(w.number(TERN__ATTR_elu_alpha)), mx::expm1(w.in[0], w.s), w.s), w.s)),
    ROW(gelu, FLOATS, gelu(w)),
    ROW(gelu_tanh, FLOATS, gelu_tanh(w)),
    ROW(silu, FLOATS, mx::multiply(w.in[0], sigmoid(w, w.in[0]), w.s)),
    ROW(sigmoid, FLOATS, sigmoid(w, w.in[0])),
    ROW(softplus, FLOATS, softplus(w)),
    UNARY(isnan, ALL, isnan),
    UNARY(isinf, ALL, isinf),
    UNARY(isfinite, ALL, isfinite),
    UNARY(logical_not, ALL, logical_not),
    ROW(bit_not, BOOLS | INTS,
        w.in[0].dtype() == mx::bool_ ? mx::logical_not(w.in[0], w.s) : mx::bitwise_invert(w.in[0], w.s)),

    ROW(add, ALL,
        w.in[0].dtype() == mx::bool_ ? mx::logical_or(w.in[0], w.in[1], w.s)
                                     : mx::add(w.in[0], w.in[1], w.s)),
    BINARY(sub, NUMBERS, subtract),
    ROW(mul, ALL,
        w.in[0].dtype() == mx::bool_ ? mx::logical_and(w.in[0], w.in[1], w.s)
                                     : mx::multiply(w.in[0], w.in[1], w.s)),
    BINARY(div, FLOATS, divide),
    BINARY(pow, FLOATS, power),
    BINARY(atan2, FLOATS, arctan2),
    ROW(maximum, ALL, extremum(w, true)),
    ROW(minimum, ALL, extremum(w, false)),
    BINARY(eq, ALL, equal),
    BINARY(ne, ALL, not_equal),
    BINARY(lt, ALL, less),
    BINARY(le, ALL, less_equal),
    BINARY(gt, ALL, greater),
    BINARY(ge, ALL, greater_equal),
    BINARY(logical_and, BOOLS, logical_and),
    BINARY(logical_or, BOOLS, logical_or),
    BINARY(logical_xor, BOOLS, not_equal),
    BINARY(bit_and, BOOLS | INTS, bitwise_and),
    BINARY(bit_or, BOOLS | INTS, bitwise_or),
    BINARY(bit_xor, BOOLS | INTS, bitwise_xor),
    ROW(where, ALL | KEEP, mx::where(w.in[0], w.in[1], w.in[2], w.s)),

    REDUCTION(sum, NUMBERS, sum),
    ROW(mean, FLOATS, mean(w, w.flag(TERN__ATTR_mean_keepdims))),
    REDUCTION(prod, NUMBERS, prod),
    ROW(max, ALL, reduced_extremum(w, w.in[0], w.axes(), w.flag(TERN__ATTR_max_keepdims), true)),
    ROW(min, ALL, reduced_extremum(w, w.in[0], w.axes(), w.flag(TERN__ATTR_min_keepdims), false)),
    ROW(var, FLOATS, var(w)),
    REDUCTION(any, BOOLS, any),
    REDUCTION(all, BOOLS, all),
    ROW(logsumexp, FLOATS, logsumexp(w, w.axes(), w.flag(TERN__ATTR_logsumexp_keepdims))),
    ROW(argmax, ALL, arg_extremum(w, true)),
    ROW(argmin, ALL, arg_extremum(w, false)),
    ROW(cumsum, NUMBERS, mx::cumsum(w.in[0], int(w.integer(TERN__ATTR_cumsum_axis)), false, true, w.s)),
    ROW(softmax, FLOATS, mx::softmax(w.in[0], int(w.integer(TERN__ATTR_softmax_axis)), true, w.s)),
    ROW(log_softmax, FLOATS,
        mx::subtract(w.in[0], logsumexp(w, {int(w.integer(TERN__ATTR_log_softmax_axis))}, true), w.s)),
    ROW(rmsnorm, FLOATS,
        mx::fast::rms_norm(w.in[0], w.in.size() > 1 ? std::optional(w.in[1]) : std::nullopt,
                           w.number(TERN__ATTR_rmsnorm_eps), w.s)),
    ROW(layernorm, FLOATS, layernorm(w)),

    ROW(matmul, FLOATS, matmul(w)),
    ROW(linear, NUMBERS,
        w.type() == mx::int32 ? linear_i8(w, w.in[0], w.in[1]) : times_transposed(w, w.in[0], w.in[1])),
    ROW(ternary_matmul, NUMBERS | TERNARY, ternary_matmul(w)),
    ROW(ternary_dequantise, FLOATS | TERNARY,
        mx::multiply(
            digits(w, w.in[0], w.call.in[0]->dtype, int(w.call.out[0].shape[w.call.out[0].rank - 1])),
            w.in[1], w.s)),

    ROW(concat, ALL | KEEP, mx::concatenate(w.in, int(w.integer(TERN__ATTR_concat_axis)), w.s)),
    ROW(stack, ALL | KEEP, mx::stack(w.in, int(w.integer(TERN__ATTR_stack_axis)), w.s)),
    {TERN__OP_split, ALL | KEEP, split},
    ROW(pad, ALL | KEEP, pad(w)),
    ROW(gather, ALL | KEEP, gather(w)),
    ROW(take_along, ALL | KEEP, take_along(w)),
    ROW(one_hot, ALL | KEEP, one_hot(w)),
    ROW(tril, ALL | KEEP, mx::tril(w.in[0], diagonal(w), w.s)),
    ROW(triu, ALL | KEEP, mx::triu(w.in[0], diagonal(w), w.s)),
    ROW(flip, ALL | KEEP, mx::flip(w.in[0], w.axes(), w.s)),

    {TERN__OP_quantise_rows, INTS | FLOATS, [](const work &w) { return quantise_by_itself(w, true); }},
    {TERN__OP_quantise_tensor, INTS | FLOATS, [](const work &w) { return quantise_by_itself(w, false); }},
    ROW(quantise, INTS | FLOATS, to_i8(w, mx::multiply(w.in[0], w.in[1], w.s))),
    ROW(dequantise, INTS | FLOATS, mx::divide(w.as(w.in[0], mx::float32), w.in[1], w.s)),

    ROW(rope, NUMBERS, rope(w)),
    ROW(attention, NUMBERS, attention(w)),
    ROW(overwrite, ALL | KEEP, mx::broadcast_to(w.in[1], w.shape(), w.s)),
    {TERN__OP_write_slice, ALL | KEEP, nullptr}, // by the session: memory is the host's
    {TERN__OP_write_rows, ALL | KEEP, nullptr},
};

const row *row_of(tern__opcode op)
{
    for (const row &r : rows)
        if (r.op == op)
            return &r;
    return nullptr;
}

unsigned set_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_BOOL:
        return BOOLS;
    case TERN_U8:
    case TERN_I8:
    case TERN_I32:
    case TERN_I64:
        return INTS;
    case TERN_F16:
    case TERN_BF16:
    case TERN_F32:
        return FLOATS;
    case TERN_T2:
    case TERN_T5:
        return TERNARY;
    default:
        return 0;
    }
}

std::string refuse_type(const tern__type &type, unsigned types, bool operand)
{
    int64_t n = 1;
    for (int i = 0; i < type.rank; i++) {
        if (type.shape[i] > std::numeric_limits<int32_t>::max())
            return "MLX counts the elements of an axis in 32 bits";
        n *= type.shape[i];
    }
    const unsigned set = set_of(type.dtype);
    if (type.dtype == TERN_F64)
        return "MLX's GPUs have no f64";
    if (!set)
        return "there is no lowering of weights in blocks";
    if (set == TERNARY && type.rank == 0)
        return "a single ternary number has no lowering";
    // The result of a test is bool, whatever was tested.
    if (!(set & types) && (operand || set != BOOLS))
        return operand ? "an operand's type has no lowering" : "the result's type has no lowering";
    return operand && n == 0 ? "an operand is empty" : "";
}

// Those of its operands that are indices have a type of their own.
bool takes_indices(tern__opcode op, int operand)
{
    return (op == TERN__OP_where && operand == 0) || (op == TERN__OP_rope && operand == 1);
}

bool computes_in_f32(const row &r, mx::Dtype dtype)
{
    return !(r.types & KEEP) && (dtype == mx::float16 || dtype == mx::bfloat16);
}

arrays lower_one(const tern__call &call, tern__opcode op, const arrays &given, mx::Stream stream)
{
    const row *r = row_of(op);
    if (!r || !r->lower)
        throw fault(TERN_UNSUPPORTED, "there is no lowering for it");
    arrays in = given;
    for (mx::array &x : in)
        if (computes_in_f32(*r, x.dtype()))
            x = mx::astype(x, mx::float32, stream);
    arrays out = r->lower(work{call, in, stream});
    for (size_t i = 0; i < out.size(); i++) {
        const mx::Dtype wanted = dtype_of(call.out[i].dtype);
        if (computes_in_f32(*r, wanted))
            out[i] = mx::astype(out[i], wanted, stream);
        if (out[i].shape() != shape_of(call.out[i]))
            out[i] = mx::broadcast_to(out[i], shape_of(call.out[i]), stream);
    }
    return out;
}

// A region op by op: MLX fuses as it likes.
arrays lower_region(const tern__region &region, const tern__op *ops, const arrays &in, mx::Stream stream)
{
    arrays values = in, out;
    for (int i = 0; i < region.n_ops; i++) {
        const tern__region_op &op = region.ops[i];
        std::vector<const tern__type *> types;
        arrays operands;
        for (int j = 0; j < op.n_in; j++) {
            types.push_back(&region.types[op.in[j]]);
            operands.push_back(values[op.in[j]]);
        }
        std::vector<tern__type> results(region.types + op.out, region.types + op.out + op.n_out);
        const tern__call call = {&ops[op.op], op.n_in, op.n_out, types.data(), op.attrs, results.data()};
        for (mx::array &x : lower_one(call, op.op, operands, stream))
            values.push_back(x);
    }
    for (int i = 0; i < region.n_out; i++)
        out.push_back(values[region.out[i]]);
    return out;
}

} // namespace

const tern__op *op_table;

fault out_of_range(int64_t index, int64_t limit)
{
    return fault(TERN_OUT_OF_RANGE,
                 "index " + std::to_string(index) + " is outside [0, " + std::to_string(limit) + ")");
}

mx::Dtype dtype_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_BOOL:
        return mx::bool_;
    case TERN_I8:
        return mx::int8;
    case TERN_I32:
        return mx::int32;
    case TERN_I64:
        return mx::int64;
    case TERN_F16:
        return mx::float16;
    case TERN_BF16:
        return mx::bfloat16;
    case TERN_F32:
        return mx::float32;
    default:
        return mx::uint8; // u8, and the bytes of ternary types
    }
}

mx::Shape shape_of(const tern__type &type)
{
    mx::Shape shape;
    for (int i = 0; i < type.rank; i++)
        shape.push_back(mx::safe_cast(type.shape[i], "shape"));
    if (type.dtype == TERN_T2)
        shape.back() = (shape.back() + TERN_T2_PER_BYTE - 1) / TERN_T2_PER_BYTE;
    if (type.dtype == TERN_T5)
        shape.back() = (shape.back() + TERN_T5_PER_BYTE - 1) / TERN_T5_PER_BYTE;
    return shape;
}

arrays lower(const tern__call &call, const arrays &in, mx::Stream stream)
{
    const tern__opcode op = tern__opcode(call.op - op_table);
    return op == TERN__OP_fused
               ? lower_region(*call.attrs[TERN__ATTR_fused_body].region, op_table, in, stream)
               : lower_one(call, op, in, stream);
}

std::string refuse(const tern__call &call)
{
    const tern__opcode op = tern__opcode(call.op - op_table);
    const row *r = row_of(op);
    if (!r)
        return "there is no lowering for it";
    for (int i = 0; i < call.n_in; i++) {
        const std::string why =
            refuse_type(*call.in[i], takes_indices(op, i) ? unsigned(ALL) : r->types, true);
        if (!why.empty())
            return why;
    }
    for (int i = 0; i < call.n_out; i++) {
        const std::string why = refuse_type(call.out[i], r->types, false);
        if (!why.empty())
            return why;
    }
    const tern_dtype to = call.n_out > 0 ? call.out[0].dtype : TERN_F32;
    if (op == TERN__OP_cast && (to == TERN_F16 || to == TERN_BF16) &&
        (call.in[0]->dtype == TERN_I32 || call.in[0]->dtype == TERN_I64))
        return "MLX rounds wide integers twice on their way to 16 bits";
    if (op == TERN__OP_ternary_matmul && call.in[1]->shape[1] >= 1 << 16)
        return "sums of so many columns are not exact in f32";
    return "";
}

} // namespace tern_mlx
