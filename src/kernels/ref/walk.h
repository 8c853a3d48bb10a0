/* walk.h - what kernels that move or pick elements are built from: runs along the last axis with their
 * coordinates, and copies by the size of a unit. Private to kernels/ref. */
#ifndef TERN_KERNELS_REF_WALK_H
#define TERN_KERNELS_REF_WALK_H

#include "kernels/ref/loops.h"

/* Runs of elements along the last axis of a shape, in row-major order:
 *
 *     tern__runs r;
 *     for (bool more = tern__runs_first(&r, type, begin, end); more; more = tern__runs_next(&r))
 *         ... r.n elements from coordinates r.index ...
 *
 * A scalar is one run of one element without coordinates. */
typedef struct tern__runs {
    const tern__type *type;
    int64_t index[TERN__MAX_RANK]; /* coordinates of the run's first element */
    int64_t n;                     /* its elements, > 0 */
    int64_t left;                  /* elements of the range from this run on */
} tern__runs;

bool tern__runs_first(tern__runs *runs, const tern__type *type, int64_t begin, int64_t end);
bool tern__runs_next(tern__runs *runs);

/* Units from data to the element at `index`. */
static inline int64_t tern__at(int rank, const int64_t *index, const int64_t *strides)
{
    int64_t at = 0;
    for (int d = 0; d < rank; d++)
        at += index[d] * strides[d];
    return at;
}

/* Stride and size of the last axis; a scalar has a single element. */
static inline int64_t tern__last_stride(const tern__buffer *buffer)
{
    return buffer->type->rank == 0 ? 0 : buffer->strides[buffer->type->rank - 1];
}

static inline int64_t tern__last_size(const tern__type *type)
{
    return type->rank == 0 ? 1 : type->shape[type->rank - 1];
}

/* The axis that an attribute names: negative ones count from the end. */
static inline int tern__axis(const tern__attr *attr, int rank)
{
    return (int)(attr->i < 0 ? attr->i + rank : attr->i);
}

/* A unit of any type, for filling. */
typedef struct tern__unit {
    char bytes[8];
} tern__unit;

/* `value` in `dtype`, by the rules of tensor/convert.h. */
tern__unit tern__unit_of(tern_dtype dtype, double value);

/* Copies n units of `size` bytes (1, 2, 4 or 8); `to` and `from` count units from the data pointers. */
void tern__copy(size_t size, void *to_data, int64_t to, int64_t to_stride, const void *from_data,
                int64_t from, int64_t from_stride, int64_t n);

void tern__fill(size_t size, void *to_data, int64_t to, int64_t to_stride, tern__unit unit, int64_t n);

/* Copies a view of `from` that starts `offset` units from its data and has `strides` (one per axis of
 * `to`) into the elements [begin, end) of `to`. */
void tern__copy_view(const tern__buffer *to, const tern__buffer *from, int64_t offset, const int64_t *strides,
                     int64_t begin, int64_t end);

/* An index read from data, negative ones counted from the end, for an axis of `size`. TERN_OUT_OF_RANGE,
 * with the fault filled in, if there is no such element. */
tern_status tern__resolve_index(tern__kernel_args *args, int64_t index, int64_t size, int64_t *out);

/* Refuses a value outside [0, limit), with the fault filled in. */
tern_status tern__check_index(tern__kernel_args *args, int64_t value, int64_t limit);

#endif
