/* operand.h - operands for direct tests of kernels: memory of their own, any strides, random contents.
 *
 * Around and between the elements of an operand lies the byte GUARD, and operand_is_intact tells whether a
 * kernel wrote there. Functions are static inline so that each test program takes what it needs. */
#ifndef TERN_TESTS_KERNELS_OPERAND_H
#define TERN_TESTS_KERNELS_OPERAND_H

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernels/kernel.h"
#include "tensor/convert.h"

enum { OPERAND_GUARD = 0xa5, OPERAND_MARGIN = 64, OPERAND_SHIFTS = 16 };

typedef struct operand {
    tern__type type;
    int64_t strides[TERN__MAX_RANK];
    char *memory, *data;
    size_t bytes; /* of memory */
} operand;

/* ---- random numbers: a counter, so that a test is a function of the seed ------------------------------- */

typedef struct dice {
    uint64_t seed, next;
} dice;

static inline uint32_t dice_u32(dice *d)
{
    uint32_t word[4];
    tern__philox(d->seed, d->next++, word);
    return word[0];
}

/* 0 .. n-1 */
static inline int64_t dice_below(dice *d, int64_t n)
{
    return (int64_t)(dice_u32(d) % (uint64_t)n);
}

/* A number that fits the type, now and then an awkward one. */
static inline double dice_number(dice *d, tern_dtype dtype)
{
    static const double awkward[] = {
        0,
        -0.0,
        1,
        -1,
        __builtin_inf(),
        -__builtin_inf(),
        __builtin_nan(""),
        0x1p-149,
        0x1p-24,
        -0x1.fffffep127,
        65504,
        2147483647,
        -0x1p63,
        0.5,
        2.5,
    };
    const int64_t count = sizeof awkward / sizeof awkward[0];
    double range = dtype == TERN_BOOL ? 2 : tern__dtype_is_float(dtype) ? 20 : 300;
    double x = ((double)dice_u32(d) * 0x1p-32 - 0.5) * range;
    return dice_below(d, 4) == 0 ? awkward[dice_below(d, count)] : x;
}

/* ---- operands ------------------------------------------------------------------------------------------ */

static inline int64_t operand_numel(const operand *o)
{
    return tern__type_numel(&o->type);
}

/* Address of element `index`, counted in row-major order. */
static inline char *operand_at(const operand *o, int64_t index)
{
    int64_t offset = 0;
    for (int d = o->type.rank - 1; d >= 0; d--) {
        offset += index % o->type.shape[d] * o->strides[d];
        index /= o->type.shape[d];
    }
    return o->data + offset * (int64_t)tern__dtype_unit_bytes(o->type.dtype);
}

static inline double operand_get(const operand *o, int64_t index)
{
    double value;
    tern__convert(o->type.dtype, operand_at(o, index), 1, TERN_F64, &value, 1, 1);
    return value;
}

static inline void operand_set(const operand *o, int64_t index, double value)
{
    tern__convert(TERN_F64, &value, 1, o->type.dtype, operand_at(o, index), 1, 1);
}

/* Row-major if `d` is NULL, else the axes lie in memory in a random order, with gaps and some backwards. The
 * elements are not set. Unpacked types. */
static inline operand operand_make(tern_dtype dtype, int rank, const int64_t *shape, dice *d)
{
    operand o = {.type = {.dtype = dtype, .rank = rank}};
    int order[TERN__MAX_RANK];
    for (int i = 0; i < rank; i++) {
        o.type.shape[i] = shape[i];
        order[i] = i;
    }
    for (int i = rank - 1; i > 0 && d != NULL; i--) {
        int j = (int)dice_below(d, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    int64_t next = 1, first = 0;
    for (int k = rank - 1; k >= 0; k--) {
        int axis = order[k];
        int64_t stride = next * (d != NULL ? 1 + dice_below(d, 2) : 1);
        next = stride * (shape[axis] > 0 ? shape[axis] : 1);
        bool backwards = d != NULL && shape[axis] > 0 && dice_below(d, 3) == 0;
        o.strides[axis] = backwards ? -stride : stride;
        first += backwards ? stride * (shape[axis] - 1) : 0;
    }
    size_t unit = tern__dtype_unit_bytes(dtype);
    const size_t shift = (size_t)(next + rank) * 5 % OPERAND_SHIFTS * unit; /* aligned to the element only */
    o.bytes = (size_t)next * unit + OPERAND_SHIFTS * unit + 2 * OPERAND_MARGIN;
    o.memory = malloc(o.bytes);
    if (o.memory == NULL)
        abort();
    memset(o.memory, OPERAND_GUARD, o.bytes);
    o.data = o.memory + OPERAND_MARGIN + shift + (size_t)first * unit;
    return o;
}

static inline void operand_free(operand *o)
{
    free(o->memory);
    o->memory = NULL;
}

static inline void operand_randomise(const operand *o, dice *d)
{
    for (int64_t i = 0; i < operand_numel(o); i++)
        operand_set(o, i, dice_number(d, o->type.dtype));
}

static inline tern__buffer operand_buffer(const operand *o)
{
    return (tern__buffer){o->data, &o->type, o->strides};
}

/* Are the bytes outside the elements still the guard's? */
static inline bool operand_is_intact(const operand *o)
{
    size_t unit = tern__dtype_unit_bytes(o->type.dtype);
    char *copy = malloc(o->bytes);
    if (copy == NULL)
        abort();
    memcpy(copy, o->memory, o->bytes);
    for (int64_t i = 0; i < operand_numel(o); i++)
        memset(copy + (operand_at(o, i) - o->memory), OPERAND_GUARD, unit);
    bool intact = true;
    for (size_t i = 0; i < o->bytes; i++)
        intact = intact && (unsigned char)copy[i] == OPERAND_GUARD;
    free(copy);
    return intact;
}

/* Same shape, same bits, whatever the strides? Any NaN equals any NaN. */
static inline bool operand_same(const operand *a, const operand *b)
{
    size_t unit = tern__dtype_unit_bytes(a->type.dtype);
    if (a->type.dtype != b->type.dtype || !tern__shape_equal(&a->type, &b->type))
        return false;
    for (int64_t i = 0; i < operand_numel(a); i++) {
        if (memcmp(operand_at(a, i), operand_at(b, i), unit) != 0 &&
            !(__builtin_isnan(operand_get(a, i)) && __builtin_isnan(operand_get(b, i))))
            return false;
    }
    return true;
}

/* A row-major operand with the same elements. */
static inline operand operand_dense(const operand *o)
{
    operand copy = operand_make(o->type.dtype, o->type.rank, o->type.shape, NULL);
    size_t unit = tern__dtype_unit_bytes(o->type.dtype);
    for (int64_t i = 0; i < operand_numel(o); i++)
        memcpy(operand_at(&copy, i), operand_at(o, i), unit);
    return copy;
}

/* `small` in the shape of `type`, row-major: what broadcasting means. */
static inline operand operand_spread(const operand *small, const tern__type *type)
{
    operand full = operand_make(small->type.dtype, type->rank, type->shape, NULL);
    size_t unit = tern__dtype_unit_bytes(small->type.dtype);
    for (int64_t i = 0; i < operand_numel(&full); i++) {
        int64_t rest = i, from = 0, size = 1;
        for (int d = type->rank - 1, own = small->type.rank - 1; own >= 0; d--, own--) {
            from += (small->type.shape[own] == 1 ? 0 : rest % type->shape[d]) * size;
            size *= small->type.shape[own];
            rest /= type->shape[d];
        }
        memcpy(operand_at(&full, i), operand_at(small, from), unit);
    }
    return full;
}

/* A shape that broadcasts to `type`. */
static inline operand operand_random_part(tern_dtype dtype, const tern__type *type, dice *d)
{
    int64_t shape[TERN__MAX_RANK];
    int dropped = dice_below(d, 3) == 0 ? (int)dice_below(d, type->rank + 1) : 0, rank = type->rank - dropped;
    for (int i = 0; i < rank; i++)
        shape[i] = dice_below(d, 4) == 0 ? 1 : type->shape[i + dropped];
    operand o = operand_make(dtype, rank, shape, dice_below(d, 4) == 0 ? NULL : d);
    operand_randomise(&o, d);
    return o;
}

static inline tern__type dice_type(tern_dtype dtype, dice *d)
{
    tern__type type = {.dtype = dtype, .rank = (int)dice_below(d, 7)};
    for (int i = 0; i < type.rank; i++)
        type.shape[i] = dice_below(d, 12) == 0 ? 0 : 1 + dice_below(d, type.rank > 3 ? 3 : 9);
    return type;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* Runs `kernel` on items [0, items), in random pieces if `d` is given. */
static inline tern_status operand_run(tern__kernel_fn kernel, int n_in, const operand *in, const operand *out,
                                      const tern__attr *attrs, int64_t items, dice *d)
{
    tern__buffer ins[4], outs[1] = {operand_buffer(out)};
    for (int k = 0; k < n_in; k++)
        ins[k] = operand_buffer(&in[k]);
    tern__kernel_args args = {.n_in = n_in, .n_out = 1, .in = ins, .out = outs, .attrs = attrs};
    for (int64_t begin = 0, end; begin < items; begin = end) {
        end = d == NULL ? items : begin + 1 + dice_below(d, items - begin);
        tern_status status = kernel(&args, begin, end);
        if (status != TERN_OK)
            return status;
    }
    return items > 0 ? TERN_OK : kernel(&args, 0, 0);
}

#endif
