/* walk.c - runs along the last axis, and copies by the size of a unit. */
#include "kernels/ref/walk.h"

#include <string.h>

#include "tensor/convert.h"

static void measure_run(tern__runs *runs)
{
    int rank = runs->type->rank;
    int64_t row = rank == 0 ? 1 : runs->type->shape[rank - 1] - runs->index[rank - 1];
    runs->n = row < runs->left ? row : runs->left;
}

bool tern__runs_first(tern__runs *runs, const tern__type *type, int64_t begin, int64_t end)
{
    runs->type = type;
    runs->left = end - begin;
    if (begin >= end)
        return false;
    int64_t rest = begin;
    for (int d = type->rank - 1; d >= 0; d--) {
        runs->index[d] = rest % type->shape[d];
        rest /= type->shape[d];
    }
    measure_run(runs);
    return true;
}

bool tern__runs_next(tern__runs *runs)
{
    runs->left -= runs->n;
    if (runs->left <= 0)
        return false;
    int d = runs->type->rank - 1;
    runs->index[d] = 0;
    for (d--; d >= 0; d--) {
        if (++runs->index[d] < runs->type->shape[d])
            break;
        runs->index[d] = 0;
    }
    measure_run(runs);
    return true;
}

tern__unit tern__unit_of(tern_dtype dtype, double value)
{
    union {
        tern__unit unit;
        double align;
    } target = {.align = 0};
    tern__convert(TERN_F64, &value, 0, dtype, &target, 0, 1);
    return target.unit;
}

/* memcpy of a constant size is one move, whatever type the memory was written as. */
#define COPY_LOOP(size)             \
    for (int64_t i = 0; i < n; i++) \
    memcpy(target + i * to_stride * (size), source + i * from_stride * (size), (size))

void tern__copy(size_t size, void *to_data, int64_t to, int64_t to_stride, const void *from_data,
                int64_t from, int64_t from_stride, int64_t n)
{
    char *target = (char *)to_data + to * (int64_t)size;
    const char *source = (const char *)from_data + from * (int64_t)size;
    if (to_stride == 1 && from_stride == 1 && n > 0) {
        memmove(target, source, (size_t)n * size); /* memory borrowed twice may overlap */
        return;
    }
    switch (size) {
    case 1:
        COPY_LOOP(1);
        return;
    case 2:
        COPY_LOOP(2);
        return;
    case 4:
        COPY_LOOP(4);
        return;
    default:
        COPY_LOOP(8);
        return;
    }
}

void tern__fill(size_t size, void *to_data, int64_t to, int64_t to_stride, tern__unit unit, int64_t n)
{
    tern__copy(size, to_data, to, to_stride, unit.bytes, 0, 0, n);
}

void tern__copy_view(const tern__buffer *to, const tern__buffer *from, int64_t offset, const int64_t *strides,
                     int64_t begin, int64_t end)
{
    const int rank = to->type->rank;
    const size_t size = tern__dtype_unit_bytes(to->type->dtype);
    const int64_t to_step = tern__last_stride(to), from_step = rank == 0 ? 0 : strides[rank - 1];
    tern__runs r;
    for (bool more = tern__runs_first(&r, to->type, begin, end); more; more = tern__runs_next(&r))
        tern__copy(size, to->data, tern__at(rank, r.index, to->strides), to_step, from->data,
                   offset + tern__at(rank, r.index, strides), from_step, r.n);
}

tern_status tern__check_index(tern__kernel_args *args, int64_t value, int64_t limit)
{
    if (value >= 0 && value < limit)
        return TERN_OK;
    args->fault = (tern__fault){value, limit};
    return TERN_OUT_OF_RANGE;
}

tern_status tern__resolve_index(tern__kernel_args *args, int64_t index, int64_t size, int64_t *out)
{
    if (index < -size || index >= size) {
        args->fault = (tern__fault){index, size};
        return TERN_OUT_OF_RANGE;
    }
    *out = index < 0 ? index + size : index;
    return TERN_OK;
}
