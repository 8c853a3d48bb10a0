/* dtype_rules.c - the dtype column of ops.def: which types an op takes, what its operands are cast to, and
 * what it gives. dtype_rules.def says the same for readers. */
#include "graph/rules.h"

/* ---- parts --------------------------------------------------------------------------------------------- */

static tern_status refuse_packed(const tern__call *call, int i)
{
    const tern_dtype dtype = call->in[i]->dtype;
    return TERN__RULE_FAIL(TERN_DTYPE, "operand %s is %s, which is not accepted here: cast it to %s",
                           TERN__OPERAND_NAME(i), tern_dtype_name(dtype),
                           tern__dtype_is_block(dtype) ? "f32" : "i8 or use ternary_dequantise");
}

static tern_status refuse(const tern__call *call, int i, const char *accepted)
{
    return TERN__RULE_FAIL(TERN_DTYPE, "operand %s is %s; accepted: %s", TERN__OPERAND_NAME(i),
                           tern_dtype_name(call->in[i]->dtype), accepted);
}

static tern_status refuse_attr(const tern__call *call, tern_dtype dtype, const char *accepted)
{
    return TERN__RULE_FAIL(TERN_DTYPE, "cannot give %s; accepted: %s", tern_dtype_name(dtype), accepted);
}

static const char UNPACKED[] = "bool u8 i8 i32 i64 f16 bf16 f32 f64";
static const char INTEGERS[] = "u8 i8 i32 i64";
static const char INTEGERS_AND_BOOL[] = "bool u8 i8 i32 i64";
static const char FLOATS[] = "f16 bf16 f32 f64";
static const char TERNARY[] = "t2 t5";

static tern_status need_unpacked(const tern__call *call, int i)
{
    return TERN__UNLIKELY(tern__dtype_is_packed(call->in[i]->dtype)) ? refuse_packed(call, i) : TERN_OK;
}

static tern_status need_all_unpacked(const tern__call *call)
{
    for (int i = 0; i < call->n_in; i++)
        TERN_TRY(need_unpacked(call, i));
    return TERN_OK;
}

static tern_status need_ternary(const tern__call *call, int i)
{
    return tern__dtype_is_ternary(call->in[i]->dtype) ? TERN_OK : refuse(call, i, TERNARY);
}

/* Operand `i` holds indices: any integers, cast to `to`. */
static tern_status cast_indices(const tern__call *call, tern_dtype *operands, int i, tern_dtype to)
{
    if (!tern__dtype_is_int(call->in[i]->dtype))
        return refuse(call, i, INTEGERS);
    operands[i] = to;
    return TERN_OK;
}

static tern_status cast_to_f32(const tern__call *call, tern_dtype *operands, int i)
{
    operands[i] = TERN_F32;
    return need_unpacked(call, i);
}

/* The common type of operands first..n_in-1, none of them packed. */
static tern_status common_type(const tern__call *call, int first, tern_dtype *out)
{
    tern_dtype common = call->in[first]->dtype;
    TERN_TRY(need_unpacked(call, first));
    for (int i = first + 1; i < call->n_in; i++) {
        tern_dtype next = call->in[i]->dtype;
        if (TERN__LIKELY(next == common))
            continue;
        TERN_TRY(need_unpacked(call, i));
        TERN_TRY(tern_dtype_promote(common, next, &common));
    }
    *out = common;
    return TERN_OK;
}

static void cast_all(const tern__call *call, tern_dtype *operands, tern_dtype to)
{
    for (int i = 0; i < call->n_in; i++)
        operands[i] = to;
}

static void give_all(const tern__call *call, tern_dtype dtype)
{
    for (int i = 0; i < call->n_out; i++)
        call->out[i].dtype = dtype;
}

static tern_dtype as_float(tern_dtype dtype)
{
    return tern__dtype_is_float(dtype) ? dtype : TERN_F32;
}

static tern_dtype as_number(tern_dtype dtype)
{
    return dtype == TERN_BOOL ? TERN_I32 : dtype;
}

/* ---- results given by an attribute --------------------------------------------------------------------- */

tern_status tern__rule_dtype_attr_dtype(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    give_all(call, (tern_dtype)tern__attr_of_kind(call, TERN__ATTR_DTYPE)->i);
    return TERN_OK;
}

tern_status tern__rule_dtype_attr_dtype_number(const tern__call *call, tern_dtype *operands)
{
    tern__rule_dtype_attr_dtype(call, operands);
    return tern__dtype_is_packed(call->out[0].dtype) ? refuse_attr(call, call->out[0].dtype, UNPACKED)
                                                     : TERN_OK;
}

tern_status tern__rule_dtype_attr_dtype_float(const tern__call *call, tern_dtype *operands)
{
    tern__rule_dtype_attr_dtype(call, operands);
    return tern__dtype_is_float(call->out[0].dtype) ? TERN_OK : refuse_attr(call, call->out[0].dtype, FLOATS);
}

/* ---- one operand --------------------------------------------------------------------------------------- */

tern_status tern__rule_dtype_same(const tern__call *call, tern_dtype *operands)
{
    give_all(call, operands[0]);
    return TERN_OK;
}

tern_status tern__rule_dtype_same_unpacked(const tern__call *call, tern_dtype *operands)
{
    give_all(call, operands[0]);
    return need_unpacked(call, 0);
}

tern_status tern__rule_dtype_number(const tern__call *call, tern_dtype *operands)
{
    give_all(call, operands[0] = as_number(operands[0]));
    return need_unpacked(call, 0);
}

tern_status tern__rule_dtype_integer(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(need_unpacked(call, 0));
    if (tern__dtype_is_float(operands[0]))
        return refuse(call, 0, INTEGERS_AND_BOOL);
    give_all(call, operands[0]);
    return TERN_OK;
}

tern_status tern__rule_dtype_floating(const tern__call *call, tern_dtype *operands)
{
    give_all(call, operands[0] = as_float(operands[0]));
    return need_unpacked(call, 0);
}

tern_status tern__rule_dtype_sum(const tern__call *call, tern_dtype *operands)
{
    give_all(call, tern__dtype_is_float(operands[0]) ? operands[0] : TERN_I64);
    return need_unpacked(call, 0);
}

tern_status tern__rule_dtype_test(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    give_all(call, TERN_BOOL);
    return need_unpacked(call, 0);
}

tern_status tern__rule_dtype_index(const tern__call *call, tern_dtype *operands)
{
    (void)operands;
    give_all(call, TERN_I64);
    return need_unpacked(call, 0);
}

tern_status tern__rule_dtype_values_and_index(const tern__call *call, tern_dtype *operands)
{
    call->out[0].dtype = operands[0];
    call->out[1].dtype = TERN_I64;
    return need_unpacked(call, 0);
}

/* ---- several operands of one type ---------------------------------------------------------------------- */

tern_status tern__rule_dtype_promote(const tern__call *call, tern_dtype *operands)
{
    tern_dtype common;
    TERN_TRY(common_type(call, 0, &common));
    cast_all(call, operands, common);
    give_all(call, common);
    return TERN_OK;
}

tern_status tern__rule_dtype_promote_number(const tern__call *call, tern_dtype *operands)
{
    tern_dtype common;
    TERN_TRY(common_type(call, 0, &common));
    cast_all(call, operands, as_number(common));
    give_all(call, operands[0]);
    return TERN_OK;
}

tern_status tern__rule_dtype_promote_float(const tern__call *call, tern_dtype *operands)
{
    tern_dtype common;
    TERN_TRY(common_type(call, 0, &common));
    cast_all(call, operands, as_float(common));
    give_all(call, operands[0]);
    return TERN_OK;
}

tern_status tern__rule_dtype_floating_all(const tern__call *call, tern_dtype *operands)
{
    return tern__rule_dtype_promote_float(call, operands);
}

tern_status tern__rule_dtype_promote_integer(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(need_all_unpacked(call));
    for (int i = 0; i < call->n_in; i++) {
        if (tern__dtype_is_float(operands[i]))
            return refuse(call, i, INTEGERS_AND_BOOL);
    }
    return tern__rule_dtype_promote(call, operands);
}

tern_status tern__rule_dtype_compare(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(tern__rule_dtype_promote(call, operands));
    give_all(call, TERN_BOOL);
    return TERN_OK;
}

tern_status tern__rule_dtype_logical(const tern__call *call, tern_dtype *operands)
{
    cast_all(call, operands, TERN_BOOL);
    give_all(call, TERN_BOOL);
    return need_all_unpacked(call);
}

tern_status tern__rule_dtype_where(const tern__call *call, tern_dtype *operands)
{
    tern_dtype common;
    TERN_TRY(need_unpacked(call, 0));
    TERN_TRY(common_type(call, 1, &common));
    cast_all(call, operands, common);
    operands[0] = TERN_BOOL;
    give_all(call, common);
    return TERN_OK;
}

/* ---- indices ------------------------------------------------------------------------------------------- */

tern_status tern__rule_dtype_gather(const tern__call *call, tern_dtype *operands)
{
    const bool blocks = tern__dtype_is_block(operands[0]);
    if (!blocks)
        TERN_TRY(need_unpacked(call, 0));
    TERN_TRY(cast_indices(call, operands, 1, TERN_I64));
    give_all(call, blocks ? TERN_F32 : operands[0]);
    return TERN_OK;
}

tern_status tern__rule_dtype_take_along(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(need_unpacked(call, 0));
    return tern__rule_dtype_gather(call, operands);
}

tern_status tern__rule_dtype_scatter_add(const tern__call *call, tern_dtype *operands)
{
    tern_dtype common = operands[0];
    TERN_TRY(need_all_unpacked(call));
    TERN_TRY(tern_dtype_promote(common, operands[2], &common));
    operands[0] = operands[2] = as_number(common);
    TERN_TRY(cast_indices(call, operands, 1, TERN_I64));
    give_all(call, operands[0]);
    return TERN_OK;
}

tern_status tern__rule_dtype_one_hot(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(cast_indices(call, operands, 0, TERN_I64));
    return tern__rule_dtype_attr_dtype_number(call, operands);
}

/* ---- quantised types ----------------------------------------------------------------------------------- */

tern_status tern__rule_dtype_ternary_matmul(const tern__call *call, tern_dtype *operands)
{
    if (operands[0] != TERN_I8)
        return refuse(call, 0, "i8 (quantise_rows makes it)");
    if (!tern__dtype_is_ternary(operands[1]))
        return refuse(call, 1, "t2 t5 (ternary_quantise makes them)");
    give_all(call, call->n_in > 2 ? TERN_F32 : TERN_I32);
    return call->n_in > 2 ? cast_to_f32(call, operands, 2) : TERN_OK;
}

tern_status tern__rule_dtype_linear(const tern__call *call, tern_dtype *operands)
{
    const tern_dtype weight = operands[1];
    if (weight == TERN_I8) {
        give_all(call, TERN_I32);
        return operands[0] == TERN_I8 ? TERN_OK
                                      : refuse(call, 0, "i8 with i8 weights (quantise_rows makes it)");
    }
    if (!tern__dtype_is_block(weight) && weight != TERN_F16 && weight != TERN_BF16 && weight != TERN_F32)
        return refuse(call, 1, "i8 f16 bf16 f32 q8_0 q6_k q4_0 q4_k");
    give_all(call, TERN_F32);
    return cast_to_f32(call, operands, 0);
}

tern_status tern__rule_dtype_quantise(const tern__call *call, tern_dtype *operands)
{
    call->out[0].dtype = TERN_I8;
    call->out[1].dtype = TERN_F32;
    return cast_to_f32(call, operands, 0);
}

tern_status tern__rule_dtype_quantise_given(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(cast_to_f32(call, operands, 0));
    give_all(call, TERN_I8);
    return cast_to_f32(call, operands, 1);
}

tern_status tern__rule_dtype_dequantise(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(need_unpacked(call, 0));
    if (operands[0] != TERN_I8 && operands[0] != TERN_I32)
        return refuse(call, 0, "i8 i32");
    give_all(call, TERN_F32);
    return cast_to_f32(call, operands, 1);
}

tern_status tern__rule_dtype_ternary_quantise(const tern__call *call, tern_dtype *operands)
{
    tern_dtype to = (tern_dtype)tern__attr_of_kind(call, TERN__ATTR_DTYPE)->i;
    if (!tern__dtype_is_ternary(to))
        return refuse_attr(call, to, TERNARY);
    call->out[0].dtype = to;
    call->out[1].dtype = TERN_F32;
    for (int i = 0; i < call->n_in; i++)
        TERN_TRY(cast_to_f32(call, operands, i));
    return TERN_OK;
}

tern_status tern__rule_dtype_ternary_dequantise(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(need_ternary(call, 0));
    give_all(call, TERN_F32);
    return cast_to_f32(call, operands, 1);
}

/* ---- transformers -------------------------------------------------------------------------------------- */

tern_status tern__rule_dtype_rope(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(tern__rule_dtype_floating(call, operands));
    return cast_indices(call, operands, 1, TERN_I32);
}

tern_status tern__rule_dtype_attention(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(tern__rule_dtype_floating(call, operands));
    const bool scaled = call->n_in > 5;
    for (int i = 1; i <= 2; i++) {
        if (scaled ? operands[i] != TERN_I8 : !tern__dtype_is_float(operands[i]))
            return refuse(call, i,
                          scaled ? "i8 where there are scales" : "f16 bf16 f32 f64, or i8 with scales");
    }
    for (int i = 5; i < call->n_in; i++)
        TERN_TRY(cast_to_f32(call, operands, i));
    TERN_TRY(cast_indices(call, operands, 3, TERN_I32));
    return cast_indices(call, operands, 4, TERN_I32);
}

tern_status tern__rule_dtype_overwrite(const tern__call *call, tern_dtype *operands)
{
    operands[1] = operands[0];
    give_all(call, operands[0]);
    return TERN_OK;
}

/* The state stays as it is; x becomes what it is written into. */
static tern_status cast_to_state(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(need_unpacked(call, 0));
    TERN_TRY(need_unpacked(call, 1));
    return tern__rule_dtype_overwrite(call, operands);
}

tern_status tern__rule_dtype_write_slice(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(cast_to_state(call, operands));
    return cast_indices(call, operands, 2, TERN_I64);
}

tern_status tern__rule_dtype_write_rows(const tern__call *call, tern_dtype *operands)
{
    TERN_TRY(cast_to_state(call, operands));
    TERN_TRY(cast_indices(call, operands, 2, TERN_I32));
    return cast_indices(call, operands, 3, TERN_I32);
}
