/* layout.c - offsets and strides: contiguity, spans, and the views that move no data. */
#include "tensor/layout.h"

#include <string.h>

#include "base/checked.h"

/* A packed row is addressed as a whole, so the last axis of a packed tensor takes no part in stride
 * arithmetic: it is `row_units` bytes that follow its first. */
static int strided_axes(const tern__type *type)
{
    return tern__dtype_is_packed(type->dtype) && type->rank > 0 ? type->rank - 1 : type->rank;
}

/* Units from the first to one past the last unit of an innermost run: 1, or a packed row. */
static int64_t inner_units(const tern__type *type)
{
    if (!tern__dtype_is_packed(type->dtype))
        return 1;
    return tern__row_units(type->dtype, type->rank > 0 ? type->shape[type->rank - 1] : 1);
}

static bool is_empty(const tern__type *type)
{
    for (int i = 0; i < type->rank; i++) {
        if (type->shape[i] == 0)
            return true;
    }
    return false;
}

/* Row-major strides; a size of 0 counts as 1, so that strides stay positive. */
static void row_major(const tern__type *type, int64_t *strides)
{
    int axes = strided_axes(type);
    int64_t stride = inner_units(type);
    if (axes < type->rank) {
        strides[axes] = 1;
        stride = stride > 0 ? stride : 1;
    }
    for (int i = axes - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= type->shape[i] > 0 ? type->shape[i] : 1;
    }
}

void tern__layout_contiguous(const tern__type *type, tern__layout *out)
{
    out->offset = 0;
    row_major(type, out->strides);
}

bool tern__layout_is_contiguous(const tern__type *type, const tern__layout *layout)
{
    int64_t stride = inner_units(type);
    for (int i = strided_axes(type) - 1; i >= 0; i--) {
        if (type->shape[i] != 1 && layout->strides[i] != stride)
            return is_empty(type);
        stride *= type->shape[i];
    }
    return true;
}

bool tern__layout_fits(const tern__type *type, const tern__layout *layout, size_t storage_bytes)
{
    int64_t low = layout->offset, high = layout->offset, bytes = (int64_t)tern__dtype_unit_bytes(type->dtype);
    int64_t reach;
    if (is_empty(type))
        return true;
    for (int i = 0; i < strided_axes(type); i++) {
        int64_t *end = layout->strides[i] < 0 ? &low : &high;
        if (!tern__i64_mul(layout->strides[i], type->shape[i] - 1, &reach) ||
            !tern__i64_add(*end, reach, end))
            return false;
    }
    if (low < 0 || !tern__i64_add(high, inner_units(type), &high) || !tern__i64_mul(high, bytes, &high))
        return false;
    return (uint64_t)high <= storage_bytes;
}

void tern__layout_span(const tern__type *type, const tern__layout *layout, int64_t *low, int64_t *high)
{
    int64_t bytes = (int64_t)tern__dtype_unit_bytes(type->dtype);
    int64_t first = layout->offset, last = layout->offset;
    bool empty = is_empty(type);
    for (int i = 0; i < strided_axes(type) && !empty; i++) {
        int64_t reach = layout->strides[i] * (type->shape[i] - 1);
        *(reach < 0 ? &first : &last) += reach;
    }
    *low = first * bytes;
    *high = empty ? *low : (last + inner_units(type)) * bytes;
}

bool tern__layout_overlap(const tern__type *at, const tern__layout *al, const tern__type *bt,
                          const tern__layout *bl)
{
    int64_t a_low, a_high, b_low, b_high;
    tern__layout_span(at, al, &a_low, &a_high);
    tern__layout_span(bt, bl, &b_low, &b_high);
    return a_low < b_high && b_low < a_high && a_low < a_high && b_low < b_high;
}

bool tern__layout_same(const tern__type *at, const tern__layout *al, const tern__type *bt,
                       const tern__layout *bl)
{
    if (al->offset != bl->offset || !tern__type_equal(at, bt))
        return false;
    for (int i = 0; i < at->rank; i++) {
        if (at->shape[i] != 1 && al->strides[i] != bl->strides[i])
            return false;
    }
    return true;
}

/* One stretch of memory with a constant step: neighbouring axes of which the outer continues the inner. */
typedef struct run {
    int64_t size, stride;
} run;

/* The axes of a layout, innermost first, merged as far as they go; axes of size 1 vanish. */
static int merge_runs(int axes, const int64_t *shape, const int64_t *strides, run *runs)
{
    int count = 0;
    for (int i = axes - 1; i >= 0; i--) {
        if (shape[i] == 1)
            continue;
        if (count > 0 && strides[i] == runs[count - 1].size * runs[count - 1].stride)
            runs[count - 1].size *= shape[i];
        else
            runs[count++] = (run){shape[i], strides[i]};
    }
    return count;
}

/* Cuts the runs into the axes of `shape`, innermost first. false: an axis would straddle two runs. */
static bool split_runs(const run *runs, int count, int axes, const int64_t *shape, int64_t inner,
                       int64_t *strides)
{
    int at = 0;
    int64_t left = count > 0 ? runs[0].size : 1; /* of the current run */
    int64_t stride = count > 0 ? runs[0].stride : inner;
    for (int i = axes - 1; i >= 0; i--) {
        strides[i] = stride;
        if (shape[i] == 1)
            continue;
        if (left == 1 && at + 1 < count) {
            at++;
            left = runs[at].size;
            strides[i] = stride = runs[at].stride;
        }
        if (left % shape[i] != 0)
            return false;
        left /= shape[i];
        stride *= shape[i];
    }
    return left == 1 && at + 1 >= count;
}

bool tern__view_reshape(const tern__type *from, const tern__layout *layout, const tern__type *to,
                        tern__layout *out)
{
    run runs[TERN__MAX_RANK];
    tern__layout made = {.offset = layout->offset};
    if (is_empty(from)) {
        row_major(to, made.strides);
        *out = made;
        return true;
    }
    if (tern__dtype_is_packed(from->dtype)) {
        int64_t from_row = from->rank > 0 ? from->shape[from->rank - 1] : 1;
        int64_t to_row = to->rank > 0 ? to->shape[to->rank - 1] : 1;
        if (from_row != to_row)
            return false; /* rows are padded to bytes: a row cannot be cut or joined */
        if (to->rank > 0)
            made.strides[to->rank - 1] = 1;
    }
    int count = merge_runs(strided_axes(from), from->shape, layout->strides, runs);
    if (!split_runs(runs, count, strided_axes(to), to->shape, inner_units(from), made.strides))
        return false;
    *out = made;
    return true;
}

/* Writes a view whose sizes and strides were computed apart, because outputs may be the inputs. */
static void set_view(tern_dtype dtype, int rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                     tern__type *to, tern__layout *out)
{
    to->dtype = dtype;
    to->rank = rank;
    out->offset = offset;
    for (int i = 0; i < rank; i++) {
        to->shape[i] = shape[i];
        out->strides[i] = strides[i];
    }
    for (int i = rank; i < TERN__MAX_RANK; i++)
        to->shape[i] = out->strides[i] = 0;
}

void tern__view_permute(const tern__type *from, const tern__layout *layout, const int64_t *axes,
                        tern__type *to, tern__layout *out)
{
    int64_t shape[TERN__MAX_RANK], strides[TERN__MAX_RANK];
    for (int i = 0; i < from->rank; i++) {
        shape[i] = from->shape[axes[i]];
        strides[i] = layout->strides[axes[i]];
    }
    set_view(from->dtype, from->rank, shape, strides, layout->offset, to, out);
}

void tern__view_slice(const tern__type *from, const tern__layout *layout, const int64_t *start,
                      const int64_t *count, const int64_t *step, tern__type *to, tern__layout *out)
{
    int64_t strides[TERN__MAX_RANK], offset = layout->offset;
    for (int i = 0; i < from->rank; i++) {
        /* the step of an axis with one element says nothing, and might overflow */
        strides[i] = count[i] > 1 ? layout->strides[i] * step[i] : layout->strides[i];
        if (count[i] > 0)
            offset += layout->strides[i] * start[i];
    }
    set_view(from->dtype, from->rank, count, strides, offset, to, out);
}

void tern__view_broadcast(const tern__type *from, const tern__layout *layout, const tern__type *to,
                          tern__layout *out)
{
    tern__layout made = {.offset = layout->offset};
    int lead = to->rank - from->rank;
    for (int i = lead; i < to->rank; i++) {
        bool repeated = from->shape[i - lead] == 1 && to->shape[i] != 1;
        made.strides[i] = repeated ? 0 : layout->strides[i - lead];
    }
    *out = made;
}
