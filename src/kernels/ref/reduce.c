/* reduce.c - the frame of the reference reductions, and those over any axes: sum, mean, prod, max, min,
 * var, any, all, logsumexp.
 *
 * Floats of every width accumulate in f64, one after the other, and are rounded once; n terms are summed
 * within n * 2^-53 * sum|x|. Integers accumulate in i64 and wrap. */
#include "kernels/ref/reduce.h"

#include <math.h>

#include "base/status.h"
#include "tensor/convert.h"

/* The tables below read best as they are. */
/* clang-format off */

/* ---- the frame ----------------------------------------------------------------------------------------- */

enum { LANES = 64 };    /* accumulators at a time */

/* The reduced axes, outermost first, neighbours merged where the strides allow it. */
typedef struct lane_axes {
    int rank;
    int64_t count;                      /* elements of a lane */
    int64_t shape[TERN__MAX_RANK];
    int64_t step[TERN__MAX_RANK];       /* bytes */
} lane_axes;

/* The arguments as tern__elementwise sees them: operand 0 without its reduced axes. */
typedef struct frame {
    tern__kernel_args args;             /* first: the loop finds the rest behind it */
    const tern__reduction *reduction;
    const tern__attr *attrs;
    lane_axes axes;
} frame;

static void add_axis(lane_axes *axes, int64_t size, int64_t step)
{
    int last = axes->rank - 1;
    axes->count *= size;
    if (size == 1)
        return;
    if (last >= 0 && axes->step[last] == step * size) {
        axes->shape[last] *= size;
        axes->step[last] = step;
        return;
    }
    axes->shape[axes->rank] = size;
    axes->step[axes->rank] = step;
    axes->rank++;
}

/* One pass over the lanes that begin at `from`. */
static void pass(const lane_axes *axes, tern__reduce_loop loop, tern__acc *acc, int64_t lanes,
                 const char *from, int64_t lane_step)
{
    if (axes->count == 0)
        return;
    int inner = axes->rank - 1;
    if (inner < 0) {
        loop(acc, lanes, from, lane_step, 0, 1);
        return;
    }
    int64_t index[TERN__MAX_RANK] = {0};
    for (;;) {
        loop(acc, lanes, from, lane_step, axes->step[inner], axes->shape[inner]);
        int d = inner - 1;
        for (; d >= 0 && index[d] + 1 == axes->shape[d]; d--) {
            from -= index[d] * axes->step[d];
            index[d] = 0;
        }
        if (d < 0)
            return;
        from += axes->step[d];
        index[d]++;
    }
}

static void reduce_lanes(const frame *f, const char *from, int64_t lane_step, char *to, int64_t to_step,
                         int64_t lanes)
{
    const tern__reduction *r = f->reduction;
    tern_dtype from_dtype = f->args.in[0].type->dtype, to_dtype = f->args.out[0].type->dtype;
    tern__acc acc[LANES];
    for (int64_t k = 0; k < lanes; k++)
        acc[k] = r->start;
    pass(&f->axes, r->first[from_dtype], acc, lanes, from, lane_step);
    if (r->second != NULL) {
        for (int64_t k = 0; k < lanes; k++)
            r->between(&acc[k], f->axes.count);
        pass(&f->axes, r->second[from_dtype], acc, lanes, from, lane_step);
    }
    if (r->finish != NULL) {
        for (int64_t k = 0; k < lanes; k++)
            r->finish(&acc[k], f->axes.count, f->attrs);
    }
    const int64_t acc_step = sizeof(tern__acc) / sizeof(double);
    if (tern__dtype_is_float(to_dtype))
        tern__convert(TERN_F64, &acc->f, acc_step, to_dtype, to, to_step, lanes);
    else
        tern__convert(TERN_I64, &acc->i, acc_step, to_dtype, to, to_step, lanes);
}

static void reduce_run(const tern__element_run *run)
{
    const frame *f = (const frame *)run->args;
    int64_t to_step = run->step[1] / (int64_t)tern__dtype_unit_bytes(f->args.out[0].type->dtype);
    for (int64_t k = 0; k < run->n; k += LANES)
        reduce_lanes(f, run->at[0] + k * run->step[0], run->step[0], run->at[1] + k * run->step[1], to_step,
                     run->n - k < LANES ? run->n - k : LANES);
}

tern_status tern__reduce(tern__kernel_args *args, int64_t begin, int64_t end,
                         const tern__reduction *reduction, unsigned reduced, bool keepdims)
{
    const tern__buffer *in = &args->in[0], *out = &args->out[0];
    tern_dtype dtype = in->type->dtype;
    if (reduction->first[dtype] == NULL || (reduction->floats_only && !tern__dtype_is_float(dtype)) ||
        tern__dtype_is_packed(out->type->dtype))
        return TERN_INTERNAL;
    if (begin >= end)
        return TERN_OK;

    int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    tern__type in_type = {.dtype = dtype}, out_type = {.dtype = out->type->dtype};
    int64_t in_strides[TERN__MAX_RANK], out_strides[TERN__MAX_RANK];
    frame f = {.reduction = reduction, .attrs = args->attrs, .axes = {.count = 1}};
    int kept = 0;
    for (int d = 0; d < in->type->rank; d++) {
        if (reduced >> d & 1) {
            add_axis(&f.axes, in->type->shape[d], in->strides[d] * bytes);
            continue;
        }
        in_type.shape[kept] = out_type.shape[kept] = in->type->shape[d];
        in_strides[kept] = in->strides[d];
        out_strides[kept] = out->strides[keepdims ? d : kept];
        kept++;
    }
    in_type.rank = out_type.rank = kept;
    if (reduction->needs_one && f.axes.count == 0)
        return TERN_INTERNAL;

    tern__buffer lanes = {in->data, &in_type, in_strides}, results = {out->data, &out_type, out_strides};
    f.args = (tern__kernel_args){.n_in = 1, .n_out = 1, .in = &lanes, .out = &results};
    return tern__elementwise(&f.args, begin, end, reduce_run);
}

/* ---- reductions over attribute `axes` (empty: all), keepdims ------------------------------------------- */

static tern_status reduce_axes(tern__kernel_args *args, int64_t begin, int64_t end,
                               const tern__reduction *reduction)
{
    const tern__attr *list = &args->attrs[0];
    int rank = args->in[0].type->rank;
    unsigned reduced = list->count == 0 ? (1u << rank) - 1 : 0;
    for (uint32_t k = 0; k < list->count; k++) {
        int axis;
        if (!tern__axis_normalise(list->ints[k], rank, &axis))
            return TERN_INTERNAL;
        reduced |= 1u << axis;
    }
    return tern__reduce(args, begin, end, reduction, reduced, args->attrs[1].i != 0);
}

#define REDUCE_KERNEL(op, ...)                                          \
    KERNEL(op)                                                          \
    {                                                                   \
        static const tern__reduction reduction = {__VA_ARGS__};         \
        return reduce_axes(args, begin, end, &reduction);               \
    }

BOOL_AND_INTS(REDUCE_LOOP, sum, val, acc->i = (int64_t)((uint64_t)acc->i + (uint64_t)x);)
FLOATS(REDUCE_LOOP, sum, wide, acc->f += x;)
REDUCE_TABLE(sum, UNPACKED)
REDUCE_KERNEL(sum, .first = sum_loops)

BOOL_AND_INTS(REDUCE_LOOP, prod, val, acc->i = (int64_t)((uint64_t)acc->i * (uint64_t)x);)
FLOATS(REDUCE_LOOP, prod, wide, acc->f *= x;)
REDUCE_TABLE(prod, UNPACKED)
REDUCE_KERNEL(prod, .first = prod_loops, .start = {.f = 1, .i = 1})

/* A NaN stays: nothing is larger, and only another NaN replaces it. Of equals (0 and -0) the first stays. */
BOOL_AND_INTS(REDUCE_LOOP, max, val, if (x > acc->i) acc->i = x;)
FLOATS(REDUCE_LOOP, max, wide, if (x > acc->f || __builtin_isnan(x)) acc->f = x;)
REDUCE_TABLE(max, UNPACKED)
REDUCE_KERNEL(max, .first = max_loops, .start = {.f = -INFINITY, .i = INT64_MIN}, .needs_one = true)

BOOL_AND_INTS(REDUCE_LOOP, min, val, if (x < acc->i) acc->i = x;)
FLOATS(REDUCE_LOOP, min, wide, if (x < acc->f || __builtin_isnan(x)) acc->f = x;)
REDUCE_TABLE(min, UNPACKED)
REDUCE_KERNEL(min, .first = min_loops, .start = {.f = INFINITY, .i = INT64_MAX}, .needs_one = true)

BOOLS(REDUCE_LOOP, any, val, acc->i |= x;)
REDUCE_TABLE(any, BOOLS)
REDUCE_KERNEL(any, .first = any_loops)

BOOLS(REDUCE_LOOP, all, val, acc->i &= x;)
REDUCE_TABLE(all, BOOLS)
REDUCE_KERNEL(all, .first = all_loops, .start = {.i = 1})

/* ---- mean and var: 0 / 0 over nothing ------------------------------------------------------------------ */

static void mean_finish(tern__acc *acc, int64_t count, const tern__attr *attrs)
{
    (void)attrs;
    acc->f /= (double)count;
}

REDUCE_KERNEL(mean, .first = sum_loops, .finish = mean_finish, .floats_only = true)

static void var_between(tern__acc *acc, int64_t count)
{
    acc->g = acc->f / (double)count;
    acc->f = 0;
}

/* With ddof >= count the divisor is 0, as in NumPy: infinite, or NaN if nothing deviates. */
static void var_finish(tern__acc *acc, int64_t count, const tern__attr *attrs)
{
    double freedom = (double)count - (double)attrs[2].i;
    acc->f /= freedom > 0 ? freedom : 0;
}

FLOATS(REDUCE_LOOP, deviations, wide, acc->f += (x - acc->g) * (x - acc->g);)
REDUCE_TABLE(deviations, FLOATS)
REDUCE_KERNEL(var, .first = sum_loops, .second = deviations_loops, .between = var_between,
              .finish = var_finish, .floats_only = true)

/* ---- logsumexp: relative to the largest, which decides alone if it is infinite or NaN ------------------ */

static void logsumexp_between(tern__acc *acc, int64_t count)
{
    (void)count;
    acc->g = acc->f;
    acc->f = 0;
}

static void logsumexp_finish(tern__acc *acc, int64_t count, const tern__attr *attrs)
{
    (void)count;
    (void)attrs;
    acc->f = __builtin_isfinite(acc->g) ? acc->g + log(acc->f) : acc->g;
}

FLOATS(REDUCE_LOOP, exponentials, wide, acc->f += exp(x - acc->g);)
REDUCE_TABLE(exponentials, FLOATS)
REDUCE_KERNEL(logsumexp, .first = max_loops, .second = exponentials_loops, .start = {.f = -INFINITY},
              .between = logsumexp_between, .finish = logsumexp_finish, .floats_only = true)
