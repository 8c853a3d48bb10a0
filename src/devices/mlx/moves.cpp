// moves.cpp - slices, joins and indices.
#include "devices/mlx/work.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern_mlx
{

// ---- moves ----

// Where an index of a slice starts, as in Python.
static int64_t slice_start(int64_t start, int64_t step, int64_t size)
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
static mx::array checked_indices(const work &w, const mx::array &given, int64_t size)
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

} // namespace tern_mlx
