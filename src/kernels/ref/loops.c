/* loops.c - the walk of the elementwise kernels: one run for dense operands, else an odometer over merged
 * axes. */
#include "kernels/ref/loops.h"

#include "base/status.h"

/* Is `buffer` a row-major block of exactly this shape? */
static bool dense_in_shape(const tern__buffer *buffer, const tern__type *shape)
{
    const tern__type *type = buffer->type;
    if (type->rank != shape->rank)
        return false;
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (type->shape[d] != shape->shape[d])
            return false;
        if (shape->shape[d] != 1 && buffer->strides[d] != stride)
            return false;
        stride *= shape->shape[d];
    }
    return true;
}

bool tern__is_dense(const tern__buffer *buffer)
{
    return dense_in_shape(buffer, buffer->type);
}

int64_t tern__offset_of(const tern__buffer *buffer, int64_t index)
{
    int64_t offset = 0;
    for (int d = buffer->type->rank - 1; d >= 0 && index > 0; d--) {
        int64_t size = buffer->type->shape[d];
        offset += index % size * buffer->strides[d];
        index /= size;
    }
    return offset;
}

int64_t tern__lane_offset(const tern__buffer *buffer, int axis, int64_t lane)
{
    int64_t offset = 0;
    for (int d = buffer->type->rank - 1; d >= 0 && lane > 0; d--) {
        if (d == axis)
            continue;
        int64_t size = buffer->type->shape[d];
        offset += lane % size * buffer->strides[d];
        lane /= size;
    }
    return offset;
}

/* The axes of the result, innermost first, neighbours merged wherever every operand allows it. */
typedef struct walk {
    int rank; /* >= 1 */
    int64_t shape[TERN__MAX_RANK];
    int64_t step[TERN__MAX_RANK][TERN__RUN_OPERANDS]; /* bytes */
} walk;

/* Bytes from one index of the result's axis `d` to the next: 0 where the operand repeats. */
static int64_t step_of(const tern__buffer *buffer, int64_t bytes, int d, int rank)
{
    int own = d - (rank - buffer->type->rank);
    return own < 0 || buffer->type->shape[own] == 1 ? 0 : buffer->strides[own] * bytes;
}

static void walk_make(const tern__buffer *const *operands, int count, walk *w)
{
    const tern__type *shape = operands[count - 1]->type;
    int64_t bytes[TERN__RUN_OPERANDS];
    for (int k = 0; k < count; k++)
        bytes[k] = (int64_t)tern__dtype_unit_bytes(operands[k]->type->dtype);
    w->rank = 0;
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (shape->shape[d] == 1)
            continue;
        bool merges = w->rank > 0;
        for (int k = 0; k < count; k++) {
            w->step[w->rank][k] = step_of(operands[k], bytes[k], d, shape->rank);
            merges = merges && w->step[w->rank][k] == w->step[w->rank - 1][k] * w->shape[w->rank - 1];
        }
        if (merges)
            w->shape[w->rank - 1] *= shape->shape[d];
        else
            w->shape[w->rank++] = shape->shape[d];
    }
    if (w->rank == 0) {
        w->rank = 1;
        w->shape[0] = 1;
        for (int k = 0; k < count; k++)
            w->step[0][k] = 0;
    }
}

/* Moves the run's pointers by `count` steps of axis d. */
static void advance(const walk *w, int operands, int d, int64_t count, tern__element_run *run)
{
    for (int k = 0; k < operands; k++)
        run->at[k] += w->step[d][k] * count;
}

static void walk_run(const walk *w, int operands, int64_t begin, int64_t end, tern__element_run *run,
                     tern__loop loop)
{
    int64_t index[TERN__MAX_RANK], rest = begin;
    for (int d = 0; d < w->rank; d++) {
        index[d] = rest % w->shape[d];
        rest /= w->shape[d];
        advance(w, operands, d, index[d], run);
    }
    for (int k = 0; k < operands; k++)
        run->step[k] = w->step[0][k];
    for (int64_t at = begin;;) {
        int64_t row = w->shape[0] - index[0];
        run->first = at;
        run->n = row < end - at ? row : end - at;
        loop(run);
        at += run->n;
        if (at >= end)
            return;
        /* the row is done: back to its start, and one step along the next axis that has one left */
        advance(w, operands, 0, -index[0], run);
        index[0] = 0;
        int d = 1;
        for (; index[d] + 1 == w->shape[d]; d++) {
            advance(w, operands, d, -index[d], run);
            index[d] = 0;
        }
        advance(w, operands, d, 1, run);
        index[d]++;
    }
}

tern_status tern__elementwise(tern__kernel_args *args, int64_t begin, int64_t end, tern__loop loop)
{
    if (TERN__UNLIKELY(loop == NULL || args->n_in >= TERN__RUN_OPERANDS))
        return TERN_INTERNAL;
    if (begin >= end)
        return TERN_OK;

    const tern__buffer *operands[TERN__RUN_OPERANDS];
    const tern__type *shape = args->out[0].type;
    int count = args->n_in + 1;
    bool dense = true;
    tern__element_run run = {.n = end - begin, .first = begin, .args = args};
    for (int k = 0; k < count; k++) {
        operands[k] = k < args->n_in ? &args->in[k] : &args->out[0];
        run.at[k] = operands[k]->data;
        run.step[k] = (int64_t)tern__dtype_unit_bytes(operands[k]->type->dtype);
        if (!dense_in_shape(operands[k], shape)) {
            dense = dense && operands[k]->type->rank == 0; /* a scalar fits any run */
            run.step[k] = 0;
        }
    }
    if (!dense) {
        walk w;
        walk_make(operands, count, &w);
        walk_run(&w, count, begin, end, &run, loop);
        return TERN_OK;
    }
    for (int k = 0; k < count; k++)
        run.at[k] += run.step[k] * begin;
    loop(&run);
    return TERN_OK;
}
