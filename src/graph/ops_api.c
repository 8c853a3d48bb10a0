/* ops_api.c - the functions of <tern/ops.h>: each packs its arguments and calls the recorder.
 *
 * Generated from src/graph/ops.def by tools/gen_ops.c; do not edit: change the row and `make generate`. */
/* clang-format off */
#include <tern/ops.h>

#include <string.h>

#include "graph/op.h"
#include "graph/node.h"

/* The recorder copies the list. A negative count becomes one that inference refuses. */
static tern__attr ints(int n, const int64_t *values)
{
    return (tern__attr){.ints = (int64_t *)values, .count = n < 0 ? UINT32_MAX : (uint32_t)n};
}

static tern__attr text(const char *value)
{
    size_t length = value ? strnlen(value, UINT32_MAX) : 0;
    return (tern__attr){.text = value ? value : "", .count = (uint32_t)length};
}

/* How many operands were given: optional ones at the end may be NULL. */
static int present(int least, int most, tern_tensor *const *in)
{
    while (most > least && !in[most - 1])
        most--;
    return most;
}

/* A list at NULL has nothing in it; the recorder says how many operands the op needs. */
static int given(int n, tern_tensor *const *in)
{
    return in ? n : 0;
}

static void give(tern_tensor **to, tern_tensor *result)
{
    if (to)
        *to = result;
}

tern_tensor *tern_full(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, double value)
{
    const tern__attr attrs[] = {{.i = (int64_t)dtype}, ints(rank, shape), {.f = value}};
    return tern__record(ctx, TERN__OP_full, 0, NULL, attrs);
}

tern_tensor *tern_arange(tern_ctx *ctx, tern_dtype dtype, double start, double stop, double step)
{
    const tern__attr attrs[] = {{.i = (int64_t)dtype}, {.f = start}, {.f = stop}, {.f = step}};
    return tern__record(ctx, TERN__OP_arange, 0, NULL, attrs);
}

tern_tensor *tern_eye(tern_ctx *ctx, tern_dtype dtype, int64_t rows, int64_t columns, int64_t diagonal)
{
    const tern__attr attrs[] = {{.i = (int64_t)dtype}, {.i = rows}, {.i = columns}, {.i = diagonal}};
    return tern__record(ctx, TERN__OP_eye, 0, NULL, attrs);
}

tern_tensor *tern_rand(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, int64_t seed)
{
    const tern__attr attrs[] = {{.i = (int64_t)dtype}, ints(rank, shape), {.i = seed}};
    return tern__record(ctx, TERN__OP_rand, 0, NULL, attrs);
}

tern_tensor *tern_randn(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, int64_t seed)
{
    const tern__attr attrs[] = {{.i = (int64_t)dtype}, ints(rank, shape), {.i = seed}};
    return tern__record(ctx, TERN__OP_randn, 0, NULL, attrs);
}

tern_tensor *tern_reshape(tern_tensor *x, int rank, const int64_t *shape)
{
    const tern__attr attrs[] = {ints(rank, shape)};
    return tern__record(NULL, TERN__OP_reshape, 1, &x, attrs);
}

tern_tensor *tern_permute(tern_tensor *x, int n_axes, const int64_t *axes)
{
    const tern__attr attrs[] = {ints(n_axes, axes)};
    return tern__record(NULL, TERN__OP_permute, 1, &x, attrs);
}

tern_tensor *tern_slice(tern_tensor *x, int n_start, const int64_t *start, const int64_t *stop,
                        const int64_t *step)
{
    const tern__attr attrs[] = {ints(n_start, start), ints(n_start, stop), ints(n_start, step)};
    return tern__record(NULL, TERN__OP_slice, 1, &x, attrs);
}

tern_tensor *tern_broadcast(tern_tensor *x, int rank, const int64_t *shape)
{
    const tern__attr attrs[] = {ints(rank, shape)};
    return tern__record(NULL, TERN__OP_broadcast, 1, &x, attrs);
}

tern_tensor *tern_to_device(tern_tensor *x, const char *device)
{
    const tern__attr attrs[] = {text(device)};
    return tern__record(NULL, TERN__OP_to_device, 1, &x, attrs);
}

tern_tensor *tern_again(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_again, 1, &x, NULL);
}

tern_tensor *tern_contiguous(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_contiguous, 1, &x, NULL);
}

tern_tensor *tern_cast(tern_tensor *x, tern_dtype dtype)
{
    const tern__attr attrs[] = {{.i = (int64_t)dtype}};
    return tern__record(NULL, TERN__OP_cast, 1, &x, attrs);
}

tern_tensor *tern_neg(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_neg, 1, &x, NULL);
}

tern_tensor *tern_abs(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_abs, 1, &x, NULL);
}

tern_tensor *tern_sign(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_sign, 1, &x, NULL);
}

tern_tensor *tern_square(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_square, 1, &x, NULL);
}

tern_tensor *tern_relu(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_relu, 1, &x, NULL);
}

tern_tensor *tern_clamp(tern_tensor *x, double low, double high)
{
    const tern__attr attrs[] = {{.f = low}, {.f = high}};
    return tern__record(NULL, TERN__OP_clamp, 1, &x, attrs);
}

tern_tensor *tern_floor(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_floor, 1, &x, NULL);
}

tern_tensor *tern_ceil(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_ceil, 1, &x, NULL);
}

tern_tensor *tern_trunc(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_trunc, 1, &x, NULL);
}

tern_tensor *tern_round(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_round, 1, &x, NULL);
}

tern_tensor *tern_reciprocal(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_reciprocal, 1, &x, NULL);
}

tern_tensor *tern_sqrt(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_sqrt, 1, &x, NULL);
}

tern_tensor *tern_rsqrt(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_rsqrt, 1, &x, NULL);
}

tern_tensor *tern_cbrt(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_cbrt, 1, &x, NULL);
}

tern_tensor *tern_exp(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_exp, 1, &x, NULL);
}

tern_tensor *tern_exp2(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_exp2, 1, &x, NULL);
}

tern_tensor *tern_expm1(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_expm1, 1, &x, NULL);
}

tern_tensor *tern_log(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_log, 1, &x, NULL);
}

tern_tensor *tern_log2(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_log2, 1, &x, NULL);
}

tern_tensor *tern_log1p(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_log1p, 1, &x, NULL);
}

tern_tensor *tern_sin(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_sin, 1, &x, NULL);
}

tern_tensor *tern_cos(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_cos, 1, &x, NULL);
}

tern_tensor *tern_tan(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_tan, 1, &x, NULL);
}

tern_tensor *tern_asin(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_asin, 1, &x, NULL);
}

tern_tensor *tern_acos(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_acos, 1, &x, NULL);
}

tern_tensor *tern_atan(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_atan, 1, &x, NULL);
}

tern_tensor *tern_sinh(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_sinh, 1, &x, NULL);
}

tern_tensor *tern_cosh(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_cosh, 1, &x, NULL);
}

tern_tensor *tern_tanh(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_tanh, 1, &x, NULL);
}

tern_tensor *tern_erf(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_erf, 1, &x, NULL);
}

tern_tensor *tern_relu2(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_relu2, 1, &x, NULL);
}

tern_tensor *tern_leaky_relu(tern_tensor *x, double slope)
{
    const tern__attr attrs[] = {{.f = slope}};
    return tern__record(NULL, TERN__OP_leaky_relu, 1, &x, attrs);
}

tern_tensor *tern_elu(tern_tensor *x, double alpha)
{
    const tern__attr attrs[] = {{.f = alpha}};
    return tern__record(NULL, TERN__OP_elu, 1, &x, attrs);
}

tern_tensor *tern_gelu(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_gelu, 1, &x, NULL);
}

tern_tensor *tern_gelu_tanh(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_gelu_tanh, 1, &x, NULL);
}

tern_tensor *tern_silu(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_silu, 1, &x, NULL);
}

tern_tensor *tern_sigmoid(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_sigmoid, 1, &x, NULL);
}

tern_tensor *tern_softplus(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_softplus, 1, &x, NULL);
}

tern_tensor *tern_isnan(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_isnan, 1, &x, NULL);
}

tern_tensor *tern_isinf(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_isinf, 1, &x, NULL);
}

tern_tensor *tern_isfinite(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_isfinite, 1, &x, NULL);
}

tern_tensor *tern_logical_not(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_logical_not, 1, &x, NULL);
}

tern_tensor *tern_bit_not(tern_tensor *x)
{
    return tern__record(NULL, TERN__OP_bit_not, 1, &x, NULL);
}

tern_tensor *tern_add(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_add, 2, in, NULL);
}

tern_tensor *tern_sub(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_sub, 2, in, NULL);
}

tern_tensor *tern_mul(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_mul, 2, in, NULL);
}

tern_tensor *tern_div(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_div, 2, in, NULL);
}

tern_tensor *tern_floor_div(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_floor_div, 2, in, NULL);
}

tern_tensor *tern_mod(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_mod, 2, in, NULL);
}

tern_tensor *tern_pow(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_pow, 2, in, NULL);
}

tern_tensor *tern_atan2(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_atan2, 2, in, NULL);
}

tern_tensor *tern_maximum(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_maximum, 2, in, NULL);
}

tern_tensor *tern_minimum(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_minimum, 2, in, NULL);
}

tern_tensor *tern_eq(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_eq, 2, in, NULL);
}

tern_tensor *tern_ne(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_ne, 2, in, NULL);
}

tern_tensor *tern_lt(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_lt, 2, in, NULL);
}

tern_tensor *tern_le(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_le, 2, in, NULL);
}

tern_tensor *tern_gt(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_gt, 2, in, NULL);
}

tern_tensor *tern_ge(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_ge, 2, in, NULL);
}

tern_tensor *tern_logical_and(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_logical_and, 2, in, NULL);
}

tern_tensor *tern_logical_or(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_logical_or, 2, in, NULL);
}

tern_tensor *tern_logical_xor(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_logical_xor, 2, in, NULL);
}

tern_tensor *tern_bit_and(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_bit_and, 2, in, NULL);
}

tern_tensor *tern_bit_or(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_bit_or, 2, in, NULL);
}

tern_tensor *tern_bit_xor(tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {a, b};
    return tern__record(NULL, TERN__OP_bit_xor, 2, in, NULL);
}

tern_tensor *tern_where(tern_tensor *condition, tern_tensor *a, tern_tensor *b)
{
    tern_tensor *const in[] = {condition, a, b};
    return tern__record(NULL, TERN__OP_where, 3, in, NULL);
}

tern_tensor *tern_sum(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_sum, 1, &x, attrs);
}

tern_tensor *tern_mean(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_mean, 1, &x, attrs);
}

tern_tensor *tern_prod(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_prod, 1, &x, attrs);
}

tern_tensor *tern_max(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_max, 1, &x, attrs);
}

tern_tensor *tern_min(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_min, 1, &x, attrs);
}

tern_tensor *tern_var(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims, int64_t ddof)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}, {.i = ddof}};
    return tern__record(NULL, TERN__OP_var, 1, &x, attrs);
}

tern_tensor *tern_any(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_any, 1, &x, attrs);
}

tern_tensor *tern_all(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_all, 1, &x, attrs);
}

tern_tensor *tern_logsumexp(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims)
{
    const tern__attr attrs[] = {ints(n_axes, axes), {.i = keepdims}};
    return tern__record(NULL, TERN__OP_logsumexp, 1, &x, attrs);
}

tern_tensor *tern_argmax(tern_tensor *x, int64_t axis, bool keepdims)
{
    const tern__attr attrs[] = {{.i = axis}, {.i = keepdims}};
    return tern__record(NULL, TERN__OP_argmax, 1, &x, attrs);
}

tern_tensor *tern_argmin(tern_tensor *x, int64_t axis, bool keepdims)
{
    const tern__attr attrs[] = {{.i = axis}, {.i = keepdims}};
    return tern__record(NULL, TERN__OP_argmin, 1, &x, attrs);
}

tern_tensor *tern_cumsum(tern_tensor *x, int64_t axis)
{
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_cumsum, 1, &x, attrs);
}

tern_tensor *tern_softmax(tern_tensor *x, int64_t axis)
{
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_softmax, 1, &x, attrs);
}

tern_tensor *tern_log_softmax(tern_tensor *x, int64_t axis)
{
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_log_softmax, 1, &x, attrs);
}

tern_tensor *tern_rmsnorm(tern_tensor *x, tern_tensor *weight, double eps)
{
    tern_tensor *const in[] = {x, weight};
    const tern__attr attrs[] = {{.f = eps}};
    return tern__record(NULL, TERN__OP_rmsnorm, present(1, 2, in), in, attrs);
}

tern_tensor *tern_layernorm(tern_tensor *x, tern_tensor *weight, tern_tensor *bias, double eps)
{
    tern_tensor *const in[] = {x, weight, bias};
    const tern__attr attrs[] = {{.f = eps}};
    return tern__record(NULL, TERN__OP_layernorm, present(1, 3, in), in, attrs);
}

void tern_sort(tern_tensor *x, int64_t axis, bool descending, tern_tensor **values, tern_tensor **indices)
{
    const tern__attr attrs[] = {{.i = axis}, {.i = descending}};
    tern_tensor *out[2];
    tern__record_n(NULL, TERN__OP_sort, 1, &x, attrs, 2, out);
    give(values, out[0]);
    give(indices, out[1]);
}

void tern_topk(tern_tensor *x, int64_t k, int64_t axis, bool largest, tern_tensor **values,
               tern_tensor **indices)
{
    const tern__attr attrs[] = {{.i = k}, {.i = axis}, {.i = largest}};
    tern_tensor *out[2];
    tern__record_n(NULL, TERN__OP_topk, 1, &x, attrs, 2, out);
    give(values, out[0]);
    give(indices, out[1]);
}

tern_tensor *tern_matmul(tern_tensor *a, tern_tensor *b, bool transpose_a, bool transpose_b)
{
    tern_tensor *const in[] = {a, b};
    const tern__attr attrs[] = {{.i = transpose_a}, {.i = transpose_b}};
    return tern__record(NULL, TERN__OP_matmul, 2, in, attrs);
}

tern_tensor *tern_ternary_matmul(tern_tensor *x, tern_tensor *weight, tern_tensor *scales)
{
    tern_tensor *const in[] = {x, weight, scales};
    return tern__record(NULL, TERN__OP_ternary_matmul, present(2, 3, in), in, NULL);
}

tern_tensor *tern_linear(tern_tensor *x, tern_tensor *weight)
{
    tern_tensor *const in[] = {x, weight};
    return tern__record(NULL, TERN__OP_linear, 2, in, NULL);
}

tern_tensor *tern_concat(int n_xs, tern_tensor *const *xs, int64_t axis)
{
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_concat, given(n_xs, xs), xs, attrs);
}

tern_tensor *tern_stack(int n_xs, tern_tensor *const *xs, int64_t axis)
{
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_stack, given(n_xs, xs), xs, attrs);
}

void tern_split(tern_tensor *x, int n_sizes, const int64_t *sizes, int64_t axis, tern_tensor **parts)
{
    const tern__attr attrs[] = {ints(n_sizes, sizes), {.i = axis}};
    if (parts)
        tern__record_n(NULL, TERN__OP_split, 1, &x, attrs, n_sizes, parts);
}

tern_tensor *tern_pad(tern_tensor *x, int n_before, const int64_t *before, const int64_t *after,
                      double value)
{
    const tern__attr attrs[] = {ints(n_before, before), ints(n_before, after), {.f = value}};
    return tern__record(NULL, TERN__OP_pad, 1, &x, attrs);
}

tern_tensor *tern_gather(tern_tensor *x, tern_tensor *indices, int64_t axis)
{
    tern_tensor *const in[] = {x, indices};
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_gather, 2, in, attrs);
}

tern_tensor *tern_take_along(tern_tensor *x, tern_tensor *indices, int64_t axis)
{
    tern_tensor *const in[] = {x, indices};
    const tern__attr attrs[] = {{.i = axis}};
    return tern__record(NULL, TERN__OP_take_along, 2, in, attrs);
}

tern_tensor *tern_scatter_add(tern_tensor *x, tern_tensor *indices, tern_tensor *updates)
{
    tern_tensor *const in[] = {x, indices, updates};
    return tern__record(NULL, TERN__OP_scatter_add, 3, in, NULL);
}

tern_tensor *tern_one_hot(tern_tensor *indices, int64_t classes, tern_dtype dtype)
{
    const tern__attr attrs[] = {{.i = classes}, {.i = (int64_t)dtype}};
    return tern__record(NULL, TERN__OP_one_hot, 1, &indices, attrs);
}

tern_tensor *tern_tril(tern_tensor *x, int64_t diagonal)
{
    const tern__attr attrs[] = {{.i = diagonal}};
    return tern__record(NULL, TERN__OP_tril, 1, &x, attrs);
}

tern_tensor *tern_triu(tern_tensor *x, int64_t diagonal)
{
    const tern__attr attrs[] = {{.i = diagonal}};
    return tern__record(NULL, TERN__OP_triu, 1, &x, attrs);
}

tern_tensor *tern_flip(tern_tensor *x, int n_axes, const int64_t *axes)
{
    const tern__attr attrs[] = {ints(n_axes, axes)};
    return tern__record(NULL, TERN__OP_flip, 1, &x, attrs);
}

void tern_quantise_rows(tern_tensor *x, tern_tensor **q, tern_tensor **scale)
{
    tern_tensor *out[2];
    tern__record_n(NULL, TERN__OP_quantise_rows, 1, &x, NULL, 2, out);
    give(q, out[0]);
    give(scale, out[1]);
}

void tern_quantise_tensor(tern_tensor *x, tern_tensor **q, tern_tensor **scale)
{
    tern_tensor *out[2];
    tern__record_n(NULL, TERN__OP_quantise_tensor, 1, &x, NULL, 2, out);
    give(q, out[0]);
    give(scale, out[1]);
}

tern_tensor *tern_quantise(tern_tensor *x, tern_tensor *scale)
{
    tern_tensor *const in[] = {x, scale};
    return tern__record(NULL, TERN__OP_quantise, 2, in, NULL);
}

tern_tensor *tern_dequantise(tern_tensor *q, tern_tensor *scale)
{
    tern_tensor *const in[] = {q, scale};
    return tern__record(NULL, TERN__OP_dequantise, 2, in, NULL);
}

void tern_ternary_quantise(tern_tensor *x, tern_tensor *scale, tern_dtype dtype, tern_tensor **t,
                           tern_tensor **scale_used)
{
    tern_tensor *const in[] = {x, scale};
    const tern__attr attrs[] = {{.i = (int64_t)dtype}};
    tern_tensor *out[2];
    tern__record_n(NULL, TERN__OP_ternary_quantise, present(1, 2, in), in, attrs, 2, out);
    give(t, out[0]);
    give(scale_used, out[1]);
}

tern_tensor *tern_ternary_dequantise(tern_tensor *t, tern_tensor *scale)
{
    tern_tensor *const in[] = {t, scale};
    return tern__record(NULL, TERN__OP_ternary_dequantise, 2, in, NULL);
}

tern_tensor *tern_rope(tern_tensor *x, tern_tensor *positions, double theta, int64_t dims, bool interleaved)
{
    tern_tensor *const in[] = {x, positions};
    const tern__attr attrs[] = {{.f = theta}, {.i = dims}, {.i = interleaved}};
    return tern__record(NULL, TERN__OP_rope, 2, in, attrs);
}

tern_tensor *tern_attention(tern_tensor *q, tern_tensor *k, tern_tensor *v, tern_tensor *slots,
                            tern_tensor *positions, tern_tensor *k_scale, tern_tensor *v_scale, double scale)
{
    tern_tensor *const in[] = {q, k, v, slots, positions, k_scale, v_scale};
    const tern__attr attrs[] = {{.f = scale}};
    return tern__record(NULL, TERN__OP_attention, present(5, 7, in), in, attrs);
}

tern_tensor *tern_overwrite(tern_tensor *state, tern_tensor *x)
{
    tern_tensor *const in[] = {state, x};
    return tern__record(NULL, TERN__OP_overwrite, 2, in, NULL);
}

tern_tensor *tern_write_slice(tern_tensor *state, tern_tensor *x, tern_tensor *at)
{
    tern_tensor *const in[] = {state, x, at};
    return tern__record(NULL, TERN__OP_write_slice, 3, in, NULL);
}

tern_tensor *tern_write_rows(tern_tensor *state, tern_tensor *x, tern_tensor *slots, tern_tensor *positions)
{
    tern_tensor *const in[] = {state, x, slots, positions};
    return tern__record(NULL, TERN__OP_write_rows, 4, in, NULL);
}

tern_tensor *tern_conv2d(tern_tensor *x, tern_tensor *weight, tern_tensor *bias, int64_t stride_h,
                         int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                         int64_t dilation_w, int64_t groups, bool nhwc)
{
    tern_tensor *const in[] = {x, weight, bias};
    const tern__attr attrs[] = {{.i = stride_h}, {.i = stride_w}, {.i = pad_h}, {.i = pad_w},
                                {.i = dilation_h}, {.i = dilation_w}, {.i = groups}, {.i = nhwc}};
    return tern__record(NULL, TERN__OP_conv2d, present(2, 3, in), in, attrs);
}

tern_tensor *tern_max_pool2d(tern_tensor *x, int64_t kernel_h, int64_t kernel_w, int64_t stride_h,
                             int64_t stride_w, int64_t pad_h, int64_t pad_w, bool nhwc)
{
    const tern__attr attrs[] = {{.i = kernel_h}, {.i = kernel_w}, {.i = stride_h}, {.i = stride_w},
                                {.i = pad_h}, {.i = pad_w}, {.i = nhwc}};
    return tern__record(NULL, TERN__OP_max_pool2d, 1, &x, attrs);
}

tern_tensor *tern_avg_pool2d(tern_tensor *x, int64_t kernel_h, int64_t kernel_w, int64_t stride_h,
                             int64_t stride_w, int64_t pad_h, int64_t pad_w, bool nhwc, bool count_padding)
{
    const tern__attr attrs[] = {{.i = kernel_h}, {.i = kernel_w}, {.i = stride_h}, {.i = stride_w},
                                {.i = pad_h}, {.i = pad_w}, {.i = nhwc}, {.i = count_padding}};
    return tern__record(NULL, TERN__OP_avg_pool2d, 1, &x, attrs);
}
