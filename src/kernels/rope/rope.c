/* rope.c - see rope.h. A product of two floats is exact in double and a sum rounds the same way twice, so single precision
 * gives the bits of the reference, which computes in double. */
#include "kernels/rope/rope.h"

#include <math.h>
#include <string.h>

TERN__KERNEL(rope__ref);

bool tern__rope_plan(const tern__type *x, const tern__attr *attrs, tern__rope_program *out)
{
    const int64_t dims = attrs[1].i == 0 ? x->shape[2] : attrs[1].i;
    if (x->dtype != TERN_F32 || dims / 2 > TERN__ROPE_MOST_PAIRS)
        return false;
    out->pairs = dims / 2;
    for (int64_t j = 0; j < out->pairs; j++)
        out->frequency[j] = pow(attrs[0].f, -2.0 * (double)j / (double)dims);
    return true;
}

typedef struct turns {
    float cosine[TERN__ROPE_MOST_PAIRS], sine[TERN__ROPE_MOST_PAIRS];
} turns;

static void turn_row(const tern__rope_program *p, int64_t position, turns *t)
{
    for (int64_t j = 0; j < p->pairs; j++) {
        const double angle = (double)position * p->frequency[j];
        t->cosine[j] = (float)cos(angle);
        t->sine[j] = (float)sin(angle);
    }
}

static void rotate_halves(const turns *t, int64_t pairs, const float *restrict x, float *restrict y)
{
    for (int64_t j = 0; j < pairs; j++) {
        const float a = x[j], b = x[j + pairs], c = t->cosine[j], s = t->sine[j];
        y[j] = a * c - b * s;
        y[j + pairs] = b * c + a * s;
    }
}

static void rotate_neighbours(const turns *t, int64_t pairs, const float *restrict x, float *restrict y)
{
    for (int64_t j = 0; j < pairs; j++) {
        const float a = x[2 * j], b = x[2 * j + 1], c = t->cosine[j], s = t->sine[j];
        y[2 * j] = a * c - b * s;
        y[2 * j + 1] = b * c + a * s;
    }
}

static int64_t position_of(const tern__buffer *positions, int64_t row)
{
    const int64_t at = row * positions->strides[0];
    return positions->type->dtype == TERN_I64 ? ((const int64_t *)positions->data)[at]
                                              : ((const int32_t *)positions->data)[at];
}

tern_status tern_rope__turns(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__rope_program *p = args->program;
    const tern__buffer *x = &args->in[0], *positions = &args->in[1], *y = &args->out[0];
    const tern_dtype of_position = positions->type->dtype;
    if (x->strides[2] != 1 || y->strides[2] != 1 || x->data == y->data ||
        (of_position != TERN_I64 && of_position != TERN_I32))
        return tern_rope__ref(args, begin, end);
    const int64_t heads = x->type->shape[1], d = x->type->shape[2], rest = d - 2 * p->pairs;
    const bool interleaved = args->attrs[2].i != 0;
    int64_t turned = -1;
    turns t;
    for (int64_t item = begin; item < end; item++) {
        const int64_t row = item / heads, head = item % heads;
        const float *from = (const float *)x->data + row * x->strides[0] + head * x->strides[1];
        float *to = (float *)y->data + row * y->strides[0] + head * y->strides[1];
        if (row != turned)
            turn_row(p, position_of(positions, row), &t);
        turned = row;
        (interleaved ? rotate_neighbours : rotate_halves)(&t, p->pairs, from, to);
        memcpy(to + 2 * p->pairs, from + 2 * p->pairs, (size_t)rest * sizeof *to);
    }
    return TERN_OK;
}
