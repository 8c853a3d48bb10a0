/* shape_rules_packed.c - the rules of ops whose constant operand was packed: the layout pass makes them. */
#include "graph/rules.h"

static tern_status need_dtype(const tern__call *call, int i, tern_dtype dtype)
{
    TERN__RULE_FAIL_IF(call->in[i]->dtype != dtype, TERN_DTYPE, "operand %s is %s; accepted: %s",
                       TERN__OPERAND_NAME(i), tern_dtype_name(call->in[i]->dtype), tern_dtype_name(dtype));
    return TERN_OK;
}

tern_status tern__rule_dtype_packed_matmul(const tern__call *call, tern_dtype *operands)
{
    const tern_dtype dtype = call->in[1]->dtype;
    (void)operands;
    TERN__RULE_FAIL_IF(dtype != TERN_F32 && dtype != TERN_F16 && dtype != TERN_BF16, TERN_DTYPE,
                       "there are no packed weights of type %s", tern_dtype_name(dtype));
    TERN_TRY(need_dtype(call, 0, dtype));
    call->out[0].dtype = dtype;
    return TERN_OK;
}

tern_status tern__rule_dtype_packed_ternary_matmul(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    TERN_TRY(need_dtype(call, 0, TERN_I8));
    TERN_TRY(need_dtype(call, 1, TERN_U8));
    if (call->n_in > 2)
        TERN_TRY(need_dtype(call, 2, TERN_F32));
    call->out[0].dtype = call->n_in > 2 ? TERN_F32 : TERN_I32;
    return TERN_OK;
}

tern_status tern__rule_dtype_packed_linear(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    const tern_dtype dtype = (tern_dtype)call->attrs[1].i;
    TERN__RULE_FAIL_IF(dtype != TERN_I8 && dtype != TERN_F16 && dtype != TERN_BF16 &&
                           !tern__dtype_is_block(dtype),
                       TERN_DTYPE, "there are no packed weights of type %s", tern_dtype_name(dtype));
    TERN_TRY(need_dtype(call, 0, dtype == TERN_I8 ? TERN_I8 : TERN_F32));
    TERN_TRY(need_dtype(call, 1, TERN_U8));
    call->out[0].dtype = dtype == TERN_I8 ? TERN_I32 : TERN_F32;
    return TERN_OK;
}

tern_status tern__rule_dtype_packed_gather(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    const tern_dtype dtype = (tern_dtype)call->attrs[2].i;
    TERN__RULE_FAIL_IF(dtype != TERN_F16 && dtype != TERN_BF16 && !tern__dtype_is_block(dtype), TERN_DTYPE,
                       "there are no packed tables of type %s", tern_dtype_name(dtype));
    TERN_TRY(need_dtype(call, 0, TERN_U8));
    TERN_TRY(need_dtype(call, 1, TERN_I64));
    call->out[0].dtype = tern__dtype_is_block(dtype) ? TERN_F32 : dtype;
    return TERN_OK;
}

/* `n` items in tiles of `each`, in operand `i`. */
static tern_status check_tiles(const tern__call *call, int i, int64_t n, int64_t each)
{
    const tern__type *packed = call->in[i];
    TERN__RULE_FAIL_IF(n < 0 || each < 1 || packed->shape[0] != n / each + (n % each != 0), TERN_SHAPE,
                       "%s %s does not hold %" PRId64 " in tiles of %" PRId64, TERN__OPERAND_NAME(i),
                       TERN__SHAPE_TEXT(packed), n, each);
    return TERN_OK;
}

tern_status tern__rule_shape_packed_matmul(const tern__call *call)
{
    const tern__type *a = call->in[0], *weight = call->in[1];
    const bool across = call->attrs[1].i != 0;
    TERN__RULE_FAIL_IF(a->rank < 1 + across, TERN_SHAPE, "a %s has too few axes", TERN__SHAPE_TEXT(a));
    TERN__RULE_FAIL_IF(weight->rank != 3, TERN_SHAPE, "weight %s must be [tiles, k, columns]",
                       TERN__SHAPE_TEXT(weight));
    const int k_axis = a->rank - 1 - across, row_axis = a->rank - 2 + across;
    TERN__RULE_FAIL_IF(a->shape[k_axis] != weight->shape[1], TERN_SHAPE, "inner sizes differ: %s x %s",
                       TERN__SHAPE_TEXT(a), TERN__SHAPE_TEXT(weight));
    TERN_TRY(check_tiles(call, 1, call->attrs[0].i, weight->shape[2]));
    tern__rule_copy_shape(call, 0, a);
    if (a->rank > 1)
        call->out[0].shape[a->rank - 2] = a->shape[row_axis];
    call->out[0].shape[a->rank - 1] = call->attrs[0].i;
    return TERN_OK;
}

tern_status tern__rule_shape_packed_ternary_matmul(const tern__call *call)
{
    const tern__type *x = call->in[0], *weight = call->in[1];
    const int64_t form = call->attrs[1].i;
    TERN__RULE_FAIL_IF(x->rank == 0, TERN_SHAPE, "%s", "x needs at least one axis");
    TERN__RULE_FAIL_IF(form != 4 && form != 5, TERN_INVALID_ARGUMENT, "form %" PRId64 " is neither 4 nor 5",
                       form);
    const int64_t k = x->shape[x->rank - 1];
    TERN__RULE_FAIL_IF(
        weight->rank != 3 || weight->shape[2] != 64 || weight->shape[1] != k / 4 + (k % 4 != 0), TERN_SHAPE,
        "weight %s must be [tiles, %" PRId64 ", 64]", TERN__SHAPE_TEXT(weight), k / 4 + (k % 4 != 0));
    TERN_TRY(check_tiles(call, 1, call->attrs[0].i, 16 * form));
    TERN_TRY(tern__rule_check_block_scales(call, call->attrs[0].i));
    TERN_TRY(tern__rule_check_exact_sums(call, TERN__LARGEST_I8_BY_TERNARY));
    tern__rule_copy_shape(call, 0, x);
    call->out[0].shape[x->rank - 1] = call->attrs[0].i;
    return TERN_OK;
}

/* Bytes of 32 rows of k columns: as many as they have unpacked, i8 in whole quads. */
static int64_t linear_tile_bytes(tern_dtype dtype, int64_t k)
{
    const int64_t units = dtype == TERN_I8 ? (k / 4 + (k % 4 != 0)) * 4 : tern__row_units(dtype, k);
    return 32 * units * (int64_t)tern__dtype_unit_bytes(dtype);
}

/* Operand `i` is n rows of k elements in tiles. */
static tern_status check_linear(const tern__call *call, int i, tern_dtype dtype, int64_t n, int64_t k)
{
    const tern__type *packed = call->in[i];
    const int64_t most = INT64_MAX / 32 / 256 - 4;
    TERN__RULE_FAIL_IF(k < 0 || k > most, TERN_SHAPE, "rows of %" PRId64 " elements: 0 to %" PRId64 " fit", k,
                       most);
    TERN__RULE_FAIL_IF(packed->rank != 2 || packed->shape[1] != linear_tile_bytes(dtype, k), TERN_SHAPE,
                       "%s %s must be [tiles, %" PRId64 "]", TERN__OPERAND_NAME(i), TERN__SHAPE_TEXT(packed),
                       linear_tile_bytes(dtype, k));
    return check_tiles(call, i, n, 32);
}

tern_status tern__rule_shape_packed_linear(const tern__call *call)
{
    const tern__type *x = call->in[0];
    TERN__RULE_FAIL_IF(x->rank == 0, TERN_SHAPE, "%s", "x needs at least one axis");
    TERN_TRY(check_linear(call, 1, (tern_dtype)call->attrs[1].i, call->attrs[0].i, x->shape[x->rank - 1]));
    if (call->attrs[1].i == TERN_I8)
        TERN_TRY(tern__rule_check_exact_sums(call, TERN__LARGEST_I8_BY_I8));
    tern__rule_copy_shape(call, 0, x);
    call->out[0].shape[x->rank - 1] = call->attrs[0].i;
    return TERN_OK;
}

tern_status tern__rule_shape_packed_gather(const tern__call *call)
{
    const tern__type *indices = call->in[1];
    TERN_TRY(check_linear(call, 0, (tern_dtype)call->attrs[2].i, call->attrs[0].i, call->attrs[1].i));
    TERN__RULE_FAIL_IF(indices->rank == TERN__MAX_RANK, TERN_SHAPE, "indices %s have too many axes",
                       TERN__SHAPE_TEXT(indices));
    tern__rule_copy_shape(call, 0, indices);
    call->out[0].shape[call->out[0].rank++] = call->attrs[1].i;
    return TERN_OK;
}

double tern__rule_cost_packed_linear(const tern__call *call, double per_item)
{
    return tern__rule_cost_packed_ternary_matmul(call, per_item);
}

double tern__rule_cost_packed_matmul(const tern__call *call, double per_item)
{
    return per_item * (double)tern__type_numel(&call->out[0]) * (double)call->in[1]->shape[1];
}

double tern__rule_cost_packed_ternary_matmul(const tern__call *call, double per_item)
{
    return per_item * (double)tern__type_numel(&call->out[0]) *
           (double)call->in[0]->shape[call->in[0]->rank - 1];
}
