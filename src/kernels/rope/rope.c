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

/* Rows until the position of the first one comes again; all of them if it does not. Sequences of a batch have the same positions one
 * after the other, and sines cost more than rotating. */
static int64_t period_of(const tern__buffer *positions, int64_t first, int64_t last)
{
    const int64_t position = position_of(positions, first);
    int64_t row = first + 1;
    while (row <= last && position_of(positions, row) != position)
        row++;
    return row - first;
}

/* Heads [begin, end) of a row. */
static void rotate(const tern__kernel_args *args, const turns *t, int64_t row, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    const int64_t pairs = ((const tern__rope_program *)args->program)->pairs,
                  rest = x->type->shape[2] - 2 * pairs;
    for (int64_t head = begin; head < end; head++) {
        const float *from = (const float *)x->data + row * x->strides[0] + head * x->strides[1];
        float *to = (float *)y->data + row * y->strides[0] + head * y->strides[1];
        (args->attrs[2].i ? rotate_neighbours : rotate_halves)(t, pairs, from, to);
        memcpy(to + 2 * pairs, from + 2 * pairs, (size_t)rest * sizeof *to);
    }
}

tern_status tern_rope__turns(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__buffer *x = &args->in[0], *positions = &args->in[1], *y = &args->out[0];
    const tern_dtype of_position = positions->type->dtype;
    if (x->strides[2] != 1 || y->strides[2] != 1 || x->data == y->data ||
        (of_position != TERN_I64 && of_position != TERN_I32))
        return tern_rope__ref(args, begin, end);
    if (begin >= end)
        return TERN_OK;
    const int64_t heads = x->type->shape[1], first = begin / heads, last = (end - 1) / heads,
                  period = period_of(positions, first, last);
    turns t;
    for (int64_t start = first; start <= last && start < first + period; start++) {
        int64_t turned = 0;
        for (int64_t row = start; row <= last; row += period) {
            const int64_t position = position_of(positions, row);
            if (row == start || position != turned)
                turn_row(args->program, position, &t);
            turned = position;
            rotate(args, &t, row, row == first ? begin - first * heads : 0,
                   row == last ? end - last * heads : heads);
        }
    }
    return TERN_OK;
}
