// products.cpp - matrix products, rope and attention.
#include "devices/mlx/work.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern_mlx
{

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
static mx::array columns(const work &w, const mx::array &x, int first, int n)
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
static mx::array ternary_part(const work &w, const mx::array &x, int first, int k)
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

// ---- transformers ----

// Small integers (positions, slots), computed now; what lies in host memory as it is needs no computing.
static std::vector<int64_t> numbers(const work &w, const mx::array &x)
{
    if (x.is_available() && x.flags().row_contiguous && x.dtype() == mx::int32)
        return std::vector<int64_t>(x.data<int32_t>(), x.data<int32_t>() + x.size());
    if (x.is_available() && x.flags().row_contiguous && x.dtype() == mx::int64)
        return std::vector<int64_t>(x.data<int64_t>(), x.data<int64_t>() + x.size());
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
static mx::array of_slot(const work &w, int operand, int slot, int n)
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
static mx::array attend(const work &w, int first, int count, int slot, const std::vector<int64_t> &positions)
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

// The values of a slot, its first n positions: they lie in memory, where the step before has written them.
static bool are_finite(const work &w, int slot, int n)
{
    mx::array all = mx::all(mx::isfinite(of_slot(w, 2, slot, n), w.s), w.s);
    mx::eval(arrays{all});
    return all.item<bool>();
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
        bool alike = true;
        for (end = first + 1; end < rows && slots[size_t(end)] == slots[size_t(first)]; end++)
            alike = alike && positions[size_t(end)] == positions[size_t(first)];
        const int64_t given = slots[size_t(first)]; // of padding it may be anything
        const int slot = given >= 0 && given < n_slots ? int(given) : 0;
        const int64_t most = *std::max_element(positions.begin() + first, positions.begin() + end);
        // Weights of what a row does not see are 0, and 0 times infinity is no number: then each row has its own product.
        if (!alike && !are_finite(w, slot, int(std::max<int64_t>(most, 0)) + 1))
            end = first + 1;
        parts.push_back(attend(w, first, end - first, slot, positions));
    }
    return mx::concatenate(parts, 0, w.s);
}

} // namespace tern_mlx
