/* type.c - element type and shape: making, comparing, printing and broadcasting them. On the recording path
 * of every op, so nothing here allocates and the loops run over the rank only. */
#include "tensor/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"

/* clang-format off */
static const uint8_t UNIT_BYTES[TERN_DTYPE_COUNT] = {
#define ROW(id, number, label, kind, elements, bytes, text) [number] = bytes,
    TERN_DTYPE_LIST(ROW)
#undef ROW
};
/* clang-format on */

/* clang-format off */
static const uint16_t UNIT_ELEMENTS[TERN_DTYPE_COUNT] = {
#define ROW(id, number, label, kind, elements, bytes, text) [number] = elements,
    TERN_DTYPE_LIST(ROW)
#undef ROW
};
/* clang-format on */

size_t tern__dtype_unit_bytes(tern_dtype dtype)
{
    return UNIT_BYTES[dtype];
}

int64_t tern__row_units(tern_dtype dtype, int64_t columns)
{
    if (!tern__dtype_is_packed(dtype))
        return columns;
    /* divide first: columns may be near INT64_MAX */
    const int64_t each = UNIT_ELEMENTS[dtype];
    return columns / each + (columns % each != 0);
}

/* The product of the sizes, zeros counted as ones, must fit: then strides of zero-size tensors fit as
 * well. */
static bool sizes_fit(tern_dtype dtype, int rank, const int64_t *shape)
{
    int64_t elements = 1, bytes = UNIT_BYTES[dtype];
    for (int i = 0; i < rank; i++) {
        int64_t size = shape[i] > 0 ? shape[i] : 1;
        int64_t units = i == rank - 1 ? tern__row_units(dtype, size) : size;
        if (!tern__i64_mul(elements, size, &elements) || !tern__i64_mul(bytes, units, &bytes))
            return false;
    }
    return (uint64_t)bytes <= SIZE_MAX / 2;
}

tern_status tern__type_make(const char *who, tern_dtype dtype, int rank, const int64_t *shape,
                            tern__type *out)
{
    char text[TERN__TYPE_TEXT];
    TERN__FAIL_IF((unsigned)dtype >= TERN_DTYPE_COUNT, TERN_INVALID_ARGUMENT, "%s: %d is not a dtype", who,
                  (int)dtype);
    TERN__FAIL_IF(rank < 0 || rank > TERN__MAX_RANK, TERN_INVALID_ARGUMENT, "%s: rank %d is outside 0..%d",
                  who, rank, TERN__MAX_RANK);
    TERN__FAIL_IF(rank > 0 && !shape, TERN_INVALID_ARGUMENT, "%s: shape is NULL", who);
    for (int i = 0; i < rank; i++)
        TERN__FAIL_IF(shape[i] < 0, TERN_SHAPE, "%s: axis %d of %s has a negative size", who, i,
                      tern__shape_text(rank, shape, text));
    TERN__FAIL_IF(!sizes_fit(dtype, rank, shape), TERN_OVERFLOW, "%s: %s%s does not fit in memory", who,
                  tern_dtype_name(dtype), tern__shape_text(rank, shape, text));

    out->dtype = dtype;
    out->rank = rank;
    for (int i = 0; i < TERN__MAX_RANK; i++)
        out->shape[i] = i < rank ? shape[i] : 0; /* `shape` may be out's own */
    return TERN_OK;
}

int64_t tern__type_numel(const tern__type *type)
{
    int64_t n = 1;
    for (int i = 0; i < type->rank; i++)
        n *= type->shape[i];
    return n;
}

size_t tern__type_bytes(const tern__type *type)
{
    size_t bytes = UNIT_BYTES[type->dtype];
    if (type->rank == 0)
        return bytes;
    for (int i = 0; i < type->rank - 1; i++)
        bytes *= (size_t)type->shape[i];
    return bytes * (size_t)tern__row_units(type->dtype, type->shape[type->rank - 1]);
}

bool tern__shape_equal(const tern__type *a, const tern__type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] != b->shape[i])
            return false;
    }
    return true;
}

bool tern__type_equal(const tern__type *a, const tern__type *b)
{
    return a->dtype == b->dtype && tern__shape_equal(a, b);
}

char *tern__shape_text(int rank, const int64_t *shape, char buffer[TERN__TYPE_TEXT])
{
    size_t at = 0;
    int shown = rank < TERN__MAX_RANK ? rank : TERN__MAX_RANK;
    buffer[at++] = '[';
    for (int i = 0; i < shown; i++)
        at += (size_t)snprintf(buffer + at, TERN__TYPE_TEXT - at, "%s%" PRId64, i ? "," : "", shape[i]);
    snprintf(buffer + at, TERN__TYPE_TEXT - at, "%s]", shown < rank ? ",..." : "");
    return buffer;
}

char *tern__type_text(const tern__type *type, char buffer[TERN__TYPE_TEXT])
{
    char shape[TERN__TYPE_TEXT];
    size_t name = strlen(tern_dtype_name(type->dtype));
    tern__shape_text(type->rank, type->shape, shape);
    memcpy(buffer, tern_dtype_name(type->dtype), name);
    memcpy(buffer + name, shape, TERN__TYPE_TEXT - name);
    buffer[TERN__TYPE_TEXT - 1] = '\0';
    return buffer;
}

bool tern__shape_broadcast(const tern__type *a, const tern__type *b, tern__type *out)
{
    const tern__type *longer = a->rank >= b->rank ? a : b;
    const tern__type *other = a->rank >= b->rank ? b : a;
    int lead = longer->rank - other->rank;
    int64_t shape[TERN__MAX_RANK];
    for (int i = 0; i < longer->rank; i++) {
        int64_t x = longer->shape[i], y = i < lead ? 1 : other->shape[i - lead];
        if (x != y && x != 1 && y != 1)
            return false;
        shape[i] = x == 1 ? y : x;
    }
    out->rank = longer->rank;
    memcpy(out->shape, shape, sizeof(int64_t) * (size_t)longer->rank);
    return true;
}

bool tern__axis_normalise(int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}
