/* ops.h - every operation as a function. docs/ops.md lists the rules for shapes and types.
 *
 * A call records the operation and returns a handle at once; nothing is computed until data is
 * asked for (<tern/tensor.h>). A bad call gives an error tensor that says what was wrong; none
 * returns NULL. Several results go to pointers, of which those that are not wanted may be NULL.
 * Lists are read during the call only. Negative axes count from the end.
 *
 * Generated from src/graph/ops.def by tools/gen_ops.c; do not edit: change the row and `make generate`. */
/* clang-format off */
#ifndef TERN_OPS_H
#define TERN_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Leaves and sources -------------------------------------------------------------------------------- */

/* every element is `value` */
TERN_API tern_tensor *tern_full(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                                double value);

/* start, start + step, ... below stop */
TERN_API tern_tensor *tern_arange(tern_ctx *ctx, tern_dtype dtype, double start, double stop, double step);

/* ones where column - row = diagonal, else zeros */
TERN_API tern_tensor *tern_eye(tern_ctx *ctx, tern_dtype dtype, int64_t rows, int64_t columns,
                               int64_t diagonal);

/* uniform in [0, 1); element i is a function of (seed, i) alone */
TERN_API tern_tensor *tern_rand(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                                int64_t seed);

/* normal, mean 0, variance 1; element i is a function of (seed, i) alone */
TERN_API tern_tensor *tern_randn(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                                 int64_t seed);

/* ---- Views ---------------------------------------------------------------------------------------------
 * Share storage where the layout allows, else copy. */

/* the same elements in another shape; one size may be -1 */
TERN_API tern_tensor *tern_reshape(tern_tensor *x, int rank, const int64_t *shape);

/* axis i of the result is axis axes[i] of x */
TERN_API tern_tensor *tern_permute(tern_tensor *x, int n_axes, const int64_t *axes);

/* x[start:stop:step] on every axis, as in Python (negatives count from the end, bounds are clamped) */
TERN_API tern_tensor *tern_slice(tern_tensor *x, int n_start, const int64_t *start, const int64_t *stop,
                                 const int64_t *step);

/* repeats axes of size 1, and new leading axes, up to `shape` */
TERN_API tern_tensor *tern_broadcast(tern_tensor *x, int rank, const int64_t *shape);

/* x on another device; within a graph "cpu" is the only one, since a program runs on the device it is
 * compiled for */
TERN_API tern_tensor *tern_to_device(tern_tensor *x, const char *device);

/* x itself, for what is to be computed a second time instead of kept: what reads it is not merged with
 * what reads x */
TERN_API tern_tensor *tern_again(tern_tensor *x);

TERN_API tern_tensor *tern_contiguous(tern_tensor *x);  /* a copy in row-major order */

/* x in another dtype: floats truncate and saturate to integers, NaN gives 0, integers wrap */
TERN_API tern_tensor *tern_cast(tern_tensor *x, tern_dtype dtype);

/* ---- Unary ---------------------------------------------------------------------------------------------
 * Floats compute in their own type (f16 and bf16 in f32), integers and bools are cast to f32 unless noted. */

TERN_API tern_tensor *tern_neg(tern_tensor *x);         /* -x; integers stay integers and wrap */
TERN_API tern_tensor *tern_abs(tern_tensor *x);         /* |x|; integers stay integers and wrap */
TERN_API tern_tensor *tern_sign(tern_tensor *x);        /* -1, 0, 1 or NaN; integers stay integers */
TERN_API tern_tensor *tern_square(tern_tensor *x);      /* x * x; integers stay integers and wrap */
TERN_API tern_tensor *tern_relu(tern_tensor *x);        /* max(x, 0); NaN stays NaN; integers stay integers */

/* min(max(x, low), high); NaN stays NaN; integers stay integers */
TERN_API tern_tensor *tern_clamp(tern_tensor *x, double low, double high);

TERN_API tern_tensor *tern_floor(tern_tensor *x);       /* largest whole number not above x */
TERN_API tern_tensor *tern_ceil(tern_tensor *x);        /* smallest whole number not below x */
TERN_API tern_tensor *tern_trunc(tern_tensor *x);       /* x without its fraction */
TERN_API tern_tensor *tern_round(tern_tensor *x);       /* nearest whole number, halves to even */
TERN_API tern_tensor *tern_reciprocal(tern_tensor *x);  /* 1 / x */
TERN_API tern_tensor *tern_sqrt(tern_tensor *x);        /* square root; NaN below 0 */
TERN_API tern_tensor *tern_rsqrt(tern_tensor *x);       /* 1 / sqrt(x) */
TERN_API tern_tensor *tern_cbrt(tern_tensor *x);        /* cube root */
TERN_API tern_tensor *tern_exp(tern_tensor *x);         /* e^x */
TERN_API tern_tensor *tern_exp2(tern_tensor *x);        /* 2^x */
TERN_API tern_tensor *tern_expm1(tern_tensor *x);       /* e^x - 1, exact near 0 */
TERN_API tern_tensor *tern_log(tern_tensor *x);         /* natural logarithm */
TERN_API tern_tensor *tern_log2(tern_tensor *x);        /* logarithm to base 2 */
TERN_API tern_tensor *tern_log1p(tern_tensor *x);       /* log(1 + x), exact near 0 */
TERN_API tern_tensor *tern_sin(tern_tensor *x);         /* sine, radians */
TERN_API tern_tensor *tern_cos(tern_tensor *x);         /* cosine, radians */
TERN_API tern_tensor *tern_tan(tern_tensor *x);         /* tangent, radians */
TERN_API tern_tensor *tern_asin(tern_tensor *x);        /* arc sine */
TERN_API tern_tensor *tern_acos(tern_tensor *x);        /* arc cosine */
TERN_API tern_tensor *tern_atan(tern_tensor *x);        /* arc tangent */
TERN_API tern_tensor *tern_sinh(tern_tensor *x);        /* hyperbolic sine */
TERN_API tern_tensor *tern_cosh(tern_tensor *x);        /* hyperbolic cosine */
TERN_API tern_tensor *tern_tanh(tern_tensor *x);        /* hyperbolic tangent */
TERN_API tern_tensor *tern_erf(tern_tensor *x);         /* error function */
TERN_API tern_tensor *tern_relu2(tern_tensor *x);       /* max(x, 0)^2; NaN stays NaN */
TERN_API tern_tensor *tern_leaky_relu(tern_tensor *x, double slope);    /* x above 0, slope * x below */

/* x above 0, alpha * (e^x - 1) below */
TERN_API tern_tensor *tern_elu(tern_tensor *x, double alpha);

TERN_API tern_tensor *tern_gelu(tern_tensor *x);        /* x * Phi(x), exact: 0.5 x (1 + erf(x / sqrt 2)) */
TERN_API tern_tensor *tern_gelu_tanh(tern_tensor *x);   /* the tanh form of gelu */
TERN_API tern_tensor *tern_silu(tern_tensor *x);        /* x * sigmoid(x) */
TERN_API tern_tensor *tern_sigmoid(tern_tensor *x);     /* 1 / (1 + e^-x) */
TERN_API tern_tensor *tern_softplus(tern_tensor *x);    /* log(1 + e^x), without overflow */
TERN_API tern_tensor *tern_isnan(tern_tensor *x);       /* is it NaN? gives bool */
TERN_API tern_tensor *tern_isinf(tern_tensor *x);       /* is it infinite? gives bool */
TERN_API tern_tensor *tern_isfinite(tern_tensor *x);    /* neither NaN nor infinite? gives bool */
TERN_API tern_tensor *tern_logical_not(tern_tensor *x); /* x == 0; gives bool */
TERN_API tern_tensor *tern_bit_not(tern_tensor *x);     /* every bit flipped; bool: not */

/* ---- Binary --------------------------------------------------------------------------------------------
 * NumPy broadcasting; operands are cast to their promoted type (tern_dtype_promote). */

TERN_API tern_tensor *tern_add(tern_tensor *a, tern_tensor *b);         /* a + b; integers wrap; bool: or */
TERN_API tern_tensor *tern_sub(tern_tensor *a, tern_tensor *b);         /* a - b; integers wrap */
TERN_API tern_tensor *tern_mul(tern_tensor *a, tern_tensor *b);         /* a * b; integers wrap; bool: and */
TERN_API tern_tensor *tern_div(tern_tensor *a, tern_tensor *b);         /* a / b as floats (integers: f32) */

/* floor(a / b); integers by zero give 0 */
TERN_API tern_tensor *tern_floor_div(tern_tensor *a, tern_tensor *b);

/* a - b * floor(a / b), with the sign of b; integers by zero give 0 */
TERN_API tern_tensor *tern_mod(tern_tensor *a, tern_tensor *b);

TERN_API tern_tensor *tern_pow(tern_tensor *a, tern_tensor *b);         /* a to the power b as floats */
TERN_API tern_tensor *tern_atan2(tern_tensor *a, tern_tensor *b);       /* angle of the point (b, a) */
TERN_API tern_tensor *tern_maximum(tern_tensor *a, tern_tensor *b);     /* the larger; NaN if either is NaN */

/* the smaller; NaN if either is NaN */
TERN_API tern_tensor *tern_minimum(tern_tensor *a, tern_tensor *b);

TERN_API tern_tensor *tern_eq(tern_tensor *a, tern_tensor *b);          /* a == b; gives bool */
TERN_API tern_tensor *tern_ne(tern_tensor *a, tern_tensor *b);          /* a != b; gives bool */
TERN_API tern_tensor *tern_lt(tern_tensor *a, tern_tensor *b);          /* a < b; gives bool */
TERN_API tern_tensor *tern_le(tern_tensor *a, tern_tensor *b);          /* a <= b; gives bool */
TERN_API tern_tensor *tern_gt(tern_tensor *a, tern_tensor *b);          /* a > b; gives bool */
TERN_API tern_tensor *tern_ge(tern_tensor *a, tern_tensor *b);          /* a >= b; gives bool */
TERN_API tern_tensor *tern_logical_and(tern_tensor *a, tern_tensor *b); /* both non-zero; gives bool */
TERN_API tern_tensor *tern_logical_or(tern_tensor *a, tern_tensor *b);  /* either non-zero; gives bool */
TERN_API tern_tensor *tern_logical_xor(tern_tensor *a, tern_tensor *b); /* exactly one non-zero; gives bool */
TERN_API tern_tensor *tern_bit_and(tern_tensor *a, tern_tensor *b);     /* bitwise and of integers or bools */
TERN_API tern_tensor *tern_bit_or(tern_tensor *a, tern_tensor *b);      /* bitwise or of integers or bools */

/* bitwise exclusive or of integers or bools */
TERN_API tern_tensor *tern_bit_xor(tern_tensor *a, tern_tensor *b);

/* a where the condition is non-zero, else b; the three broadcast */
TERN_API tern_tensor *tern_where(tern_tensor *condition, tern_tensor *a, tern_tensor *b);

/* ---- Reductions ----------------------------------------------------------------------------------------
 * Axes empty = all of them. */

/* sum; bools and integers give i64, f16 and bf16 accumulate in f32 or wider */
TERN_API tern_tensor *tern_sum(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* mean; NaN over nothing */
TERN_API tern_tensor *tern_mean(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* product; types as for sum */
TERN_API tern_tensor *tern_prod(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* largest; NaN if any is NaN */
TERN_API tern_tensor *tern_max(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* smallest; NaN if any is NaN */
TERN_API tern_tensor *tern_min(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* variance: sum((x - mean)^2) / (n - ddof) */
TERN_API tern_tensor *tern_var(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims, int64_t ddof);

/* is any non-zero? gives bool */
TERN_API tern_tensor *tern_any(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* are all non-zero? gives bool */
TERN_API tern_tensor *tern_all(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* log(sum(e^x)), without overflow; -inf over nothing */
TERN_API tern_tensor *tern_logsumexp(tern_tensor *x, int n_axes, const int64_t *axes, bool keepdims);

/* index of the largest, the first of equals, the first NaN if there is one; gives i64 */
TERN_API tern_tensor *tern_argmax(tern_tensor *x, int64_t axis, bool keepdims);

/* index of the smallest, the first of equals, the first NaN if there is one; gives i64 */
TERN_API tern_tensor *tern_argmin(tern_tensor *x, int64_t axis, bool keepdims);

/* ---- Along an axis ------------------------------------------------------------------------------------- */

TERN_API tern_tensor *tern_cumsum(tern_tensor *x, int64_t axis);        /* running sum; types as for sum */
TERN_API tern_tensor *tern_softmax(tern_tensor *x, int64_t axis);       /* e^(x - max) / sum */
TERN_API tern_tensor *tern_log_softmax(tern_tensor *x, int64_t axis);   /* x - logsumexp(x) */

/* weight * x / sqrt(mean(x^2) + eps) over the last axis; weight may be NULL */
TERN_API tern_tensor *tern_rmsnorm(tern_tensor *x, tern_tensor *weight, double eps);

/* weight * (x - mean) / sqrt(var + eps) + bias over the last axis; weight and bias may be NULL */
TERN_API tern_tensor *tern_layernorm(tern_tensor *x, tern_tensor *weight, tern_tensor *bias, double eps);

/* stable order, NaN last; indices are i64 */
TERN_API void tern_sort(tern_tensor *x, int64_t axis, bool descending, tern_tensor **values,
                        tern_tensor **indices);

/* the k largest (or smallest) in order, the first of equals first, NaN counts as largest */
TERN_API void tern_topk(tern_tensor *x, int64_t k, int64_t axis, bool largest, tern_tensor **values,
                        tern_tensor **indices);

/* ---- Matrix products ----------------------------------------------------------------------------------- */

/* matrix product of the last two axes, leading axes broadcast; a vector operand as in NumPy; f16 and bf16
 * accumulate in f32, integers wrap */
TERN_API tern_tensor *tern_matmul(tern_tensor *a, tern_tensor *b, bool transpose_a, bool transpose_b);

/* i8 x[..., k] times ternary weight[n, k] transposed, exact in i32 (k up to 16777215): y[..., n]; with
 * scales[n, b] the b blocks of k / b columns (b = 1: any k, else blocks of a multiple of 4) are exact, and
 * their sums times their scales are added in f32, in ascending order; scales may be NULL */
TERN_API tern_tensor *tern_ternary_matmul(tern_tensor *x, tern_tensor *weight, tern_tensor *scales);

/* x[..., k] times weight[n, k] transposed: y[..., n], weights of 16 bits or in blocks counted as the f32
 * that they stand for, i8 exact in i32 (k up to 131071) */
TERN_API tern_tensor *tern_linear(tern_tensor *x, tern_tensor *weight);

/* ---- Moving data --------------------------------------------------------------------------------------- */

/* joins along an existing axis */
TERN_API tern_tensor *tern_concat(int n_xs, tern_tensor *const *xs, int64_t axis);

/* joins along a new axis */
TERN_API tern_tensor *tern_stack(int n_xs, tern_tensor *const *xs, int64_t axis);

/* cuts an axis into parts of the given sizes; parts has room for n_sizes */
TERN_API void tern_split(tern_tensor *x, int n_sizes, const int64_t *sizes, int64_t axis,
                         tern_tensor **parts);

/* `value` before and after every axis */
TERN_API tern_tensor *tern_pad(tern_tensor *x, int n_before, const int64_t *before, const int64_t *after,
                               double value);

/* slices of x along an axis, chosen by integer indices of any shape (an embedding for axis 0); negative
 * indices count from the end */
TERN_API tern_tensor *tern_gather(tern_tensor *x, tern_tensor *indices, int64_t axis);

/* y[.., i, ..] = x[.., indices[.., i, ..], ..]; shapes equal but for the axis */
TERN_API tern_tensor *tern_take_along(tern_tensor *x, tern_tensor *indices, int64_t axis);

/* a copy of x with updates[i] added to row indices[i], in ascending order of i */
TERN_API tern_tensor *tern_scatter_add(tern_tensor *x, tern_tensor *indices, tern_tensor *updates);

/* a new last axis with 1 at the index and 0 elsewhere; an index outside [0, classes) gives zeros */
TERN_API tern_tensor *tern_one_hot(tern_tensor *indices, int64_t classes, tern_dtype dtype);

/* zero where column - row > diagonal */
TERN_API tern_tensor *tern_tril(tern_tensor *x, int64_t diagonal);

/* zero where column - row < diagonal */
TERN_API tern_tensor *tern_triu(tern_tensor *x, int64_t diagonal);

/* reverses the axes named (empty = all) */
TERN_API tern_tensor *tern_flip(tern_tensor *x, int n_axes, const int64_t *axes);

/* ---- Quantisation --------------------------------------------------------------------------------------
 * An int8 scale s means q = x * s; a ternary scale s means w = t * s. */

/* int8 per row (last axis): s = 127 / max(max|x|, 1e-5), q = clamp(round_half_even(x * s), -128, 127);
 * scale has a last axis of 1 */
TERN_API void tern_quantise_rows(tern_tensor *x, tern_tensor **q, tern_tensor **scale);

/* int8 with one scale for the whole tensor (rank 0), rules as for quantise_rows */
TERN_API void tern_quantise_tensor(tern_tensor *x, tern_tensor **q, tern_tensor **scale);

/* int8 with a given scale: clamp(round_half_even(x * scale), -128, 127); scale broadcasts; NaN gives 0 */
TERN_API tern_tensor *tern_quantise(tern_tensor *x, tern_tensor *scale);

/* q / scale in f32, for i8 or i32 q; scale broadcasts */
TERN_API tern_tensor *tern_dequantise(tern_tensor *q, tern_tensor *scale);

/* s = max(mean|x|, 1e-5) (or the given rank-0 scale), t = clamp(round_half_even(x / s), -1, 1); scale may
 * be NULL */
TERN_API void tern_ternary_quantise(tern_tensor *x, tern_tensor *scale, tern_dtype dtype, tern_tensor **t,
                                    tern_tensor **scale_used);

/* t * scale in f32; scale has rank 0 */
TERN_API tern_tensor *tern_ternary_dequantise(tern_tensor *t, tern_tensor *scale);

/* ---- Transformers -------------------------------------------------------------------------------------- */

/* rotary embedding of x[rows, heads, d] by positions[rows]; pairs (j, j + dims/2), or (2j, 2j + 1) if
 * interleaved; dims 0 = d */
TERN_API tern_tensor *tern_rope(tern_tensor *x, tern_tensor *positions, double theta, int64_t dims,
                                bool interleaved);

/* causal grouped attention: row r of q[rows, heads, d] sees keys 0..positions[r] of k[slots, capacity,
 * kv_heads, d] at slots[r]; position -1 = padding, gives zeros; scale 0 = 1 / sqrt(d); int8 k and v come
 * with k_scale and v_scale[slots, capacity, kv_heads, 1], as quantise_rows makes them; k_scale and v_scale
 * may be NULL */
TERN_API tern_tensor *tern_attention(tern_tensor *q, tern_tensor *k, tern_tensor *v, tern_tensor *slots,
                                     tern_tensor *positions, tern_tensor *k_scale, tern_tensor *v_scale,
                                     double scale);

/* state with every element replaced by x, which broadcasts to it and is cast to its dtype */
TERN_API tern_tensor *tern_overwrite(tern_tensor *state, tern_tensor *x);

/* state with x written at the start indices at[rank], which are read when it runs */
TERN_API tern_tensor *tern_write_slice(tern_tensor *state, tern_tensor *x, tern_tensor *at);

/* state[slots, capacity, ...] with x[rows, ...] written at (slots[r], positions[r]); position -1 is
 * skipped */
TERN_API tern_tensor *tern_write_rows(tern_tensor *state, tern_tensor *x, tern_tensor *slots,
                                      tern_tensor *positions);

/* ---- Images -------------------------------------------------------------------------------------------- */

/* 2-D convolution of x[n, c, h, w] (or nhwc) with weight[out, c / groups, kh, kw]; bias may be NULL */
TERN_API tern_tensor *tern_conv2d(tern_tensor *x, tern_tensor *weight, tern_tensor *bias, int64_t stride_h,
                                  int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                                  int64_t dilation_w, int64_t groups, bool nhwc);

/* largest in each window; padding never wins; NaN if any is NaN */
TERN_API tern_tensor *tern_max_pool2d(tern_tensor *x, int64_t kernel_h, int64_t kernel_w, int64_t stride_h,
                                      int64_t stride_w, int64_t pad_h, int64_t pad_w, bool nhwc);

/* mean of each window, padding counted or not */
TERN_API tern_tensor *tern_avg_pool2d(tern_tensor *x, int64_t kernel_h, int64_t kernel_w, int64_t stride_h,
                                      int64_t stride_w, int64_t pad_h, int64_t pad_w, bool nhwc,
                                      bool count_padding);

#ifdef __cplusplus
}
#endif
#endif
