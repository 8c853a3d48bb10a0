/* test_null_ops.c - the functions of <tern/ops.h> with NULL for each operand and list in turn. A list
 * at NULL with a count of 1 is refused; result pointers may be NULL, and text, which then is the
 * default. Where a test does without `x`, no function of the section has a second operand or list.
 *
 * Generated from src/graph/ops.def by tools/gen_ops.c; do not edit: change the row and `make generate`. */
/* clang-format off */
#include "null_arguments.h"

static const int64_t ints[] = {1};
static tern_tensor *const list[] = {NULL};

TEST(leaves_and_sources)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_full(NULL, TERN_F32, 1, ints, 0));
        TENSOR(tern_full(ctx, TERN_F32, 1, NULL, 0));
        TENSOR(tern_arange(NULL, TERN_F32, 0, 0, 0));
        TENSOR(tern_eye(NULL, TERN_F32, 0, 0, 0));
        TENSOR(tern_rand(NULL, TERN_F32, 1, ints, 0));
        TENSOR(tern_rand(ctx, TERN_F32, 1, NULL, 0));
        TENSOR(tern_randn(NULL, TERN_F32, 1, ints, 0));
        TENSOR(tern_randn(ctx, TERN_F32, 1, NULL, 0));
    }
    tern_ctx_destroy(ctx);
}

TEST(views)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_reshape(NULL, 1, ints));
        TENSOR(tern_reshape(x, 1, NULL));
        TENSOR(tern_permute(NULL, 1, ints));
        TENSOR(tern_permute(x, 1, NULL));
        TENSOR(tern_slice(NULL, 1, ints, ints, ints));
        TENSOR(tern_slice(x, 1, NULL, ints, ints));
        TENSOR(tern_slice(x, 1, ints, NULL, ints));
        TENSOR(tern_slice(x, 1, ints, ints, NULL));
        TENSOR(tern_broadcast(NULL, 1, ints));
        TENSOR(tern_broadcast(x, 1, NULL));
        TENSOR(tern_to_device(NULL, "cpu"));
        ALLOWED(tern_to_device(x, NULL));
        TENSOR(tern_again(NULL));
        TENSOR(tern_contiguous(NULL));
        TENSOR(tern_cast(NULL, TERN_F32));
    }
    tern_ctx_destroy(ctx);
}

TEST(unary)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_neg(NULL));
        TENSOR(tern_abs(NULL));
        TENSOR(tern_sign(NULL));
        TENSOR(tern_square(NULL));
        TENSOR(tern_relu(NULL));
        TENSOR(tern_clamp(NULL, 0, 0));
        TENSOR(tern_floor(NULL));
        TENSOR(tern_ceil(NULL));
        TENSOR(tern_trunc(NULL));
        TENSOR(tern_round(NULL));
        TENSOR(tern_reciprocal(NULL));
        TENSOR(tern_sqrt(NULL));
        TENSOR(tern_rsqrt(NULL));
        TENSOR(tern_cbrt(NULL));
        TENSOR(tern_exp(NULL));
        TENSOR(tern_exp2(NULL));
        TENSOR(tern_expm1(NULL));
        TENSOR(tern_log(NULL));
        TENSOR(tern_log2(NULL));
        TENSOR(tern_log1p(NULL));
        TENSOR(tern_sin(NULL));
        TENSOR(tern_cos(NULL));
        TENSOR(tern_tan(NULL));
        TENSOR(tern_asin(NULL));
        TENSOR(tern_acos(NULL));
        TENSOR(tern_atan(NULL));
        TENSOR(tern_sinh(NULL));
        TENSOR(tern_cosh(NULL));
        TENSOR(tern_tanh(NULL));
        TENSOR(tern_erf(NULL));
        TENSOR(tern_relu2(NULL));
        TENSOR(tern_leaky_relu(NULL, 0));
        TENSOR(tern_elu(NULL, 0));
        TENSOR(tern_gelu(NULL));
        TENSOR(tern_gelu_tanh(NULL));
        TENSOR(tern_silu(NULL));
        TENSOR(tern_sigmoid(NULL));
        TENSOR(tern_softplus(NULL));
        TENSOR(tern_isnan(NULL));
        TENSOR(tern_isinf(NULL));
        TENSOR(tern_isfinite(NULL));
        TENSOR(tern_logical_not(NULL));
        TENSOR(tern_bit_not(NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(binary)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_add(NULL, x));
        TENSOR(tern_add(x, NULL));
        TENSOR(tern_sub(NULL, x));
        TENSOR(tern_sub(x, NULL));
        TENSOR(tern_mul(NULL, x));
        TENSOR(tern_mul(x, NULL));
        TENSOR(tern_div(NULL, x));
        TENSOR(tern_div(x, NULL));
        TENSOR(tern_floor_div(NULL, x));
        TENSOR(tern_floor_div(x, NULL));
        TENSOR(tern_mod(NULL, x));
        TENSOR(tern_mod(x, NULL));
        TENSOR(tern_pow(NULL, x));
        TENSOR(tern_pow(x, NULL));
        TENSOR(tern_atan2(NULL, x));
        TENSOR(tern_atan2(x, NULL));
        TENSOR(tern_maximum(NULL, x));
        TENSOR(tern_maximum(x, NULL));
        TENSOR(tern_minimum(NULL, x));
        TENSOR(tern_minimum(x, NULL));
        TENSOR(tern_eq(NULL, x));
        TENSOR(tern_eq(x, NULL));
        TENSOR(tern_ne(NULL, x));
        TENSOR(tern_ne(x, NULL));
        TENSOR(tern_lt(NULL, x));
        TENSOR(tern_lt(x, NULL));
        TENSOR(tern_le(NULL, x));
        TENSOR(tern_le(x, NULL));
        TENSOR(tern_gt(NULL, x));
        TENSOR(tern_gt(x, NULL));
        TENSOR(tern_ge(NULL, x));
        TENSOR(tern_ge(x, NULL));
        TENSOR(tern_logical_and(NULL, x));
        TENSOR(tern_logical_and(x, NULL));
        TENSOR(tern_logical_or(NULL, x));
        TENSOR(tern_logical_or(x, NULL));
        TENSOR(tern_logical_xor(NULL, x));
        TENSOR(tern_logical_xor(x, NULL));
        TENSOR(tern_bit_and(NULL, x));
        TENSOR(tern_bit_and(x, NULL));
        TENSOR(tern_bit_or(NULL, x));
        TENSOR(tern_bit_or(x, NULL));
        TENSOR(tern_bit_xor(NULL, x));
        TENSOR(tern_bit_xor(x, NULL));
        TENSOR(tern_where(NULL, x, x));
        TENSOR(tern_where(x, NULL, x));
        TENSOR(tern_where(x, x, NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(reductions)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_sum(NULL, 1, ints, false));
        TENSOR(tern_sum(x, 1, NULL, false));
        TENSOR(tern_mean(NULL, 1, ints, false));
        TENSOR(tern_mean(x, 1, NULL, false));
        TENSOR(tern_prod(NULL, 1, ints, false));
        TENSOR(tern_prod(x, 1, NULL, false));
        TENSOR(tern_max(NULL, 1, ints, false));
        TENSOR(tern_max(x, 1, NULL, false));
        TENSOR(tern_min(NULL, 1, ints, false));
        TENSOR(tern_min(x, 1, NULL, false));
        TENSOR(tern_var(NULL, 1, ints, false, 0));
        TENSOR(tern_var(x, 1, NULL, false, 0));
        TENSOR(tern_any(NULL, 1, ints, false));
        TENSOR(tern_any(x, 1, NULL, false));
        TENSOR(tern_all(NULL, 1, ints, false));
        TENSOR(tern_all(x, 1, NULL, false));
        TENSOR(tern_logsumexp(NULL, 1, ints, false));
        TENSOR(tern_logsumexp(x, 1, NULL, false));
        TENSOR(tern_argmax(NULL, 0, false));
        TENSOR(tern_argmin(NULL, 0, false));
    }
    tern_ctx_destroy(ctx);
}

TEST(along_an_axis)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_cumsum(NULL, 0));
        TENSOR(tern_softmax(NULL, 0));
        TENSOR(tern_log_softmax(NULL, 0));
        TENSOR(tern_rmsnorm(NULL, x, 0));
        TENSOR(tern_layernorm(NULL, x, x, 0));
        RESULTS(2, tern_sort(NULL, 0, false, &o.tensors[0], &o.tensors[1]));
        ALLOWED(tern_sort(x, 0, false, NULL, &o.tensors[1]));
        ALLOWED(tern_sort(x, 0, false, &o.tensors[0], NULL));
        RESULTS(2, tern_topk(NULL, 0, 0, false, &o.tensors[0], &o.tensors[1]));
        ALLOWED(tern_topk(x, 0, 0, false, NULL, &o.tensors[1]));
        ALLOWED(tern_topk(x, 0, 0, false, &o.tensors[0], NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(matrix_products)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_matmul(NULL, x, false, false));
        TENSOR(tern_matmul(x, NULL, false, false));
        TENSOR(tern_ternary_matmul(NULL, x, x));
        TENSOR(tern_ternary_matmul(x, NULL, x));
        TENSOR(tern_linear(NULL, x));
        TENSOR(tern_linear(x, NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(moving_data)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_concat(2, NULL, 0));
        TENSOR(tern_concat(0, NULL, 0));
        TENSOR(tern_concat(0, list, 0));
        TENSOR(tern_concat(-1, list, 0));
        TENSOR(tern_concat(1, list, 0));
        TENSOR(tern_stack(2, NULL, 0));
        TENSOR(tern_stack(0, NULL, 0));
        TENSOR(tern_stack(0, list, 0));
        TENSOR(tern_stack(-1, list, 0));
        TENSOR(tern_stack(1, list, 0));
        RESULTS(1, tern_split(NULL, 1, ints, 0, &o.tensors[0]));
        RESULTS(1, tern_split(x, 1, NULL, 0, &o.tensors[0]));
        ALLOWED(tern_split(x, 1, ints, 0, NULL));
        TENSOR(tern_pad(NULL, 1, ints, ints, 0));
        TENSOR(tern_pad(x, 1, NULL, ints, 0));
        TENSOR(tern_pad(x, 1, ints, NULL, 0));
        TENSOR(tern_gather(NULL, x, 0));
        TENSOR(tern_gather(x, NULL, 0));
        TENSOR(tern_take_along(NULL, x, 0));
        TENSOR(tern_take_along(x, NULL, 0));
        TENSOR(tern_scatter_add(NULL, x, x));
        TENSOR(tern_scatter_add(x, NULL, x));
        TENSOR(tern_scatter_add(x, x, NULL));
        TENSOR(tern_one_hot(NULL, 0, TERN_F32));
        TENSOR(tern_tril(NULL, 0));
        TENSOR(tern_triu(NULL, 0));
        TENSOR(tern_flip(NULL, 1, ints));
        TENSOR(tern_flip(x, 1, NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(quantisation)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        RESULTS(2, tern_quantise_rows(NULL, &o.tensors[0], &o.tensors[1]));
        ALLOWED(tern_quantise_rows(x, NULL, &o.tensors[1]));
        ALLOWED(tern_quantise_rows(x, &o.tensors[0], NULL));
        RESULTS(2, tern_quantise_tensor(NULL, &o.tensors[0], &o.tensors[1]));
        ALLOWED(tern_quantise_tensor(x, NULL, &o.tensors[1]));
        ALLOWED(tern_quantise_tensor(x, &o.tensors[0], NULL));
        TENSOR(tern_quantise(NULL, x));
        TENSOR(tern_quantise(x, NULL));
        TENSOR(tern_dequantise(NULL, x));
        TENSOR(tern_dequantise(x, NULL));
        RESULTS(2, tern_ternary_quantise(NULL, x, TERN_F32, &o.tensors[0], &o.tensors[1]));
        ALLOWED(tern_ternary_quantise(x, x, TERN_F32, NULL, &o.tensors[1]));
        ALLOWED(tern_ternary_quantise(x, x, TERN_F32, &o.tensors[0], NULL));
        TENSOR(tern_ternary_dequantise(NULL, x));
        TENSOR(tern_ternary_dequantise(x, NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(transformers)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_rope(NULL, x, 0, 0, false));
        TENSOR(tern_rope(x, NULL, 0, 0, false));
        TENSOR(tern_attention(NULL, x, x, x, x, x, x, 0));
        TENSOR(tern_attention(x, NULL, x, x, x, x, x, 0));
        TENSOR(tern_attention(x, x, NULL, x, x, x, x, 0));
        TENSOR(tern_attention(x, x, x, NULL, x, x, x, 0));
        TENSOR(tern_attention(x, x, x, x, NULL, x, x, 0));
        TENSOR(tern_overwrite(NULL, x));
        TENSOR(tern_overwrite(x, NULL));
        TENSOR(tern_write_slice(NULL, x, x));
        TENSOR(tern_write_slice(x, NULL, x));
        TENSOR(tern_write_slice(x, x, NULL));
        TENSOR(tern_write_rows(NULL, x, x, x));
        TENSOR(tern_write_rows(x, NULL, x, x));
        TENSOR(tern_write_rows(x, x, NULL, x));
        TENSOR(tern_write_rows(x, x, x, NULL));
    }
    tern_ctx_destroy(ctx);
}

TEST(images)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);
        (void)x;
        TENSOR(tern_conv2d(NULL, x, x, 0, 0, 0, 0, 0, 0, 0, false));
        TENSOR(tern_conv2d(x, NULL, x, 0, 0, 0, 0, 0, 0, 0, false));
        TENSOR(tern_max_pool2d(NULL, 0, 0, 0, 0, 0, 0, false));
        TENSOR(tern_avg_pool2d(NULL, 0, 0, 0, 0, 0, 0, false, false));
    }
    tern_ctx_destroy(ctx);
}
