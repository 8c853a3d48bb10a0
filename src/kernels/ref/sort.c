/* sort.c - sort and topk: the best k of a lane in order, where sort takes k = all.
 *
 * Every element becomes a 64-bit key whose unsigned order is the order wanted (direction, NaN and the two
 * zeros are decided there), and equal keys are ordered by index, so any correct algorithm is stable. A
 * heap of k entries, the worst on top, passes over the lane once and is then taken apart. */
#include <string.h>

#include "kernels/ref/number.h"
#include "kernels/ref/walk.h"

typedef struct entry {
    uint64_t key;
    int64_t index;
} entry;

size_t tern_sort__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);
size_t tern_topk__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

size_t tern_sort__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in;
    const tern__type *x = in[0];
    int64_t n = x->rank == 0 ? 1 : x->shape[tern__axis(&attrs[0], x->rank)];
    return (size_t)n * sizeof(entry);
}

size_t tern_topk__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in;
    (void)in;
    return (size_t)attrs[0].i * sizeof(entry);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static const uint64_t sign_bit = UINT64_C(1) << 63;

/* Ascending for ascending numbers; -0 and +0 alike. Not for NaN. */
static uint64_t key_of_float(double x)
{
    uint64_t bits;
    x += 0.0; /* -0 becomes +0 */
    memcpy(&bits, &x, sizeof bits);
    return bits & sign_bit ? ~bits : bits | sign_bit;
}

/* How a lane is ordered: the smallest key comes first. */
typedef struct order {
    tern_dtype dtype;
    bool descending;
    uint64_t nan_key;
} order;

static uint64_t key_at(const order *o, const tern__buffer *x, int64_t at)
{
    uint64_t key;
    if (tern__dtype_is_float(o->dtype)) {
        double value = tern__load_float(o->dtype, x->data, at);
        if (isnan(value))
            return o->nan_key;
        key = key_of_float(value);
    } else {
        key = (uint64_t)tern__load_int(o->dtype, x->data, at) ^ sign_bit;
    }
    return o->descending ? ~key : key;
}

/* ---- the heap: heap[0] comes last of all --------------------------------------------------------------- */

static bool before(entry a, entry b)
{
    return a.key != b.key ? a.key < b.key : a.index < b.index;
}

/* Lets `e` sink from place `i` of a heap of n. */
static void sink(entry *heap, int64_t n, int64_t i, entry e)
{
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && before(heap[child], heap[child + 1]))
            child++;
        if (!before(e, heap[child]))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = e;
}

/* The first k of n elements in order, into best[k]. */
static void select_best(const order *o, const tern__buffer *x, int64_t from, int64_t step, int64_t n,
                        int64_t k, entry *best)
{
    for (int64_t i = 0; i < k; i++)
        best[i] = (entry){key_at(o, x, from + i * step), i};
    for (int64_t i = k / 2 - 1; i >= 0; i--)
        sink(best, k, i, best[i]);
    for (int64_t i = k; i < n && k > 0; i++) {
        entry e = {key_at(o, x, from + i * step), i};
        if (before(e, best[0]))
            sink(best, k, 0, e);
    }
    for (int64_t size = k - 1; size > 0; size--) {
        entry last = best[0];
        sink(best, size, 0, best[size]);
        best[size] = last;
    }
}

static tern_status run(tern__kernel_args *args, int64_t begin, int64_t end, int axis, const order *o)
{
    const tern__buffer *x = &args->in[0], *values = &args->out[0], *indices = &args->out[1];
    const size_t size = tern__dtype_unit_bytes(o->dtype);
    const bool scalar = x->type->rank == 0;
    const int64_t n = scalar ? 1 : x->type->shape[axis], k = scalar ? 1 : values->type->shape[axis];
    const int64_t x_step = scalar ? 0 : x->strides[axis], values_step = scalar ? 0 : values->strides[axis];
    const int64_t indices_step = scalar ? 0 : indices->strides[axis];
    entry *best = args->scratch;
    for (int64_t lane = begin; lane < end; lane++) {
        int64_t from = tern__lane_offset(x, axis, lane);
        int64_t values_at = tern__lane_offset(values, axis, lane);
        int64_t indices_at = tern__lane_offset(indices, axis, lane);
        select_best(o, x, from, x_step, n, k, best);
        for (int64_t i = 0; i < k; i++) {
            tern__copy(size, values->data, values_at + i * values_step, 0, x->data,
                       from + best[i].index * x_step, 0, 1);
            ((int64_t *)indices->data)[indices_at + i * indices_step] = best[i].index;
        }
    }
    return TERN_OK;
}

/* NaN comes last in both directions. */
KERNEL(sort)
{
    const tern__type *x = args->in[0].type;
    const order o = {x->dtype, args->attrs[1].i != 0, UINT64_MAX};
    return run(args, begin, end, tern__axis(&args->attrs[0], x->rank), &o);
}

/* NaN counts as largest: first among the largest, last among the smallest. */
KERNEL(topk)
{
    const tern__type *x = args->in[0].type;
    const bool largest = args->attrs[2].i != 0;
    const order o = {x->dtype, largest, largest ? 0 : UINT64_MAX};
    return run(args, begin, end, tern__axis(&args->attrs[1], x->rank), &o);
}
