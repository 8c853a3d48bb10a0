/* views.c - everyday forms of reshape, permute and slice, and tensors packed side by side. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "runtime/context.h"

/* `x` if it is an error, passed on; one that says so if it is NULL; NULL if it can be used. */
static tern_tensor *unusable(tern_tensor *x, const char *who)
{
    if (!x)
        return tern__error_tensor(NULL, tern__fail(TERN_INVALID_ARGUMENT, "%s: the tensor is NULL", who));
    return tern__tensor_is_error(x) ? tern__record(NULL, TERN__OP_contiguous, 1, &x, NULL) : NULL;
}

static tern_tensor *bad_axis(tern_tensor *x, const char *who, int axis)
{
    return tern__error_tensor(
        x->node->ctx,
        tern__fail(TERN_OUT_OF_RANGE, "%s: axis %d of a tensor of rank %d", who, axis, x->type.rank));
}

tern_tensor *tern_transpose(tern_tensor *x, int axis_a, int axis_b)
{
    tern_tensor *error = unusable(x, "transpose");
    if (error)
        return error;
    int a, b;
    if (!tern__axis_normalise(axis_a, x->type.rank, &a))
        return bad_axis(x, "transpose", axis_a);
    if (!tern__axis_normalise(axis_b, x->type.rank, &b))
        return bad_axis(x, "transpose", axis_b);
    int64_t axes[TERN__MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        axes[i] = i == a ? b : i == b ? a : i;
    tern__attr attr = {.ints = axes, .count = (uint32_t)x->type.rank};
    return tern__record(NULL, TERN__OP_permute, 1, &x, &attr);
}

static tern_tensor *reshape(tern_tensor *x, int rank, int64_t *shape)
{
    tern__attr attr = {.ints = shape, .count = (uint32_t)rank};
    return tern__record(NULL, TERN__OP_reshape, 1, &x, &attr);
}

tern_tensor *tern_squeeze(tern_tensor *x, int axis)
{
    tern_tensor *error = unusable(x, "squeeze");
    if (error)
        return error;
    int at;
    if (!tern__axis_normalise(axis, x->type.rank, &at))
        return bad_axis(x, "squeeze", axis);
    if (x->type.shape[at] != 1)
        return tern__error_tensor(x->node->ctx,
                                  tern__fail(TERN_SHAPE, "squeeze: axis %d has size %lld, not 1", axis,
                                             (long long)x->type.shape[at]));
    int64_t shape[TERN__MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->type.rank; i++)
        if (i != at)
            shape[rank++] = x->type.shape[i];
    return reshape(x, rank, shape);
}

tern_tensor *tern_unsqueeze(tern_tensor *x, int axis)
{
    tern_tensor *error = unusable(x, "unsqueeze");
    if (error)
        return error;
    int at, rank = x->type.rank;
    if (rank == TERN__MAX_RANK)
        return tern__error_tensor(x->node->ctx,
                                  tern__fail(TERN_SHAPE, "unsqueeze: rank %d is the highest", rank));
    if (!tern__axis_normalise(axis, rank + 1, &at))
        return bad_axis(x, "unsqueeze", axis);
    int64_t shape[TERN__MAX_RANK];
    memcpy(shape, x->type.shape, (size_t)at * sizeof *shape);
    shape[at] = 1;
    memcpy(shape + at + 1, x->type.shape + at, (size_t)(rank - at) * sizeof *shape);
    return reshape(x, rank + 1, shape);
}

tern_tensor *tern_narrow(tern_tensor *x, int axis, int64_t start, int64_t stop)
{
    int64_t starts[TERN__MAX_RANK], stops[TERN__MAX_RANK], steps[TERN__MAX_RANK];
    tern__attr attrs[3] = {{.ints = starts}, {.ints = stops}, {.ints = steps}};
    tern_tensor *error = unusable(x, "narrow");
    if (error)
        return error;
    int at;
    if (!tern__axis_normalise(axis, x->type.rank, &at))
        return bad_axis(x, "narrow", axis);
    for (int i = 0; i < x->type.rank; i++) {
        starts[i] = i == at ? start : 0;
        stops[i] = i == at ? stop : x->type.shape[i];
        steps[i] = 1;
    }
    for (int i = 0; i < 3; i++)
        attrs[i].count = (uint32_t)x->type.rank;
    return tern__record(NULL, TERN__OP_slice, 1, &x, attrs);
}

tern_status tern_batch_layout(int n, tern_tensor *const *tensors, tern_tensor **batch, tern_tensor **out)
{
    TERN__FAIL_IF(n < 1 || !tensors || !batch || !out, TERN_INVALID_ARGUMENT,
                  "batch_layout: needs tensors and room");
    for (int i = 0; i < n; i++) {
        TERN_TRY(tern__tensor_check(tensors[i]));
        TERN__FAIL_IF(!tern__type_equal(&tensors[i]->type, &tensors[0]->type), TERN_SHAPE,
                      "batch_layout: tensor %d differs in shape or dtype from tensor 0", i);
    }
    tern_tensor **rows =
        tern__alloc_zero((size_t)n, sizeof *rows); /* the caller's array is filled when all exist */
    if (!rows)
        return tern__out_of_memory((size_t)n * sizeof *rows);
    tern__attr axis = {.i = 0};
    tern_tensor *all = tern__record(NULL, TERN__OP_stack, n, tensors, &axis);
    tern_status status = tern_eval(all);
    int made = 0;
    for (; made < n && status == TERN_OK; made++) {
        tern_tensor *row = tern_narrow(all, 0, made, made + 1);
        rows[made] = tern_squeeze(row, 0);
        status = tern__tensor_check(rows[made]);
        tern__tensor_discard(row);
    }
    if (status == TERN_OK) {
        memcpy(out, rows, (size_t)n * sizeof *rows);
        *batch = all;
    } else {
        while (made > 0)
            tern__tensor_discard(rows[--made]);
        tern__tensor_discard(all);
    }
    tern__free(rows);
    return status;
}
