/* simplify_rules.c - the rules of simplify.def that are more than a pattern. Each looks at a site and says what may take
 * its place; none changes anything. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "passes/simplify.h"
#include "tensor/convert.h"

bool tern__becomes_call(tern__replacement *out, tern__opcode op, uint32_t n_in, const tern__id *in)
{
    out->kind = TERN__BECOMES_CALL;
    out->op = op;
    out->n_in = n_in;
    memcpy(out->in, in, n_in * sizeof *in);
    return true;
}

static void set_ints(tern__replacement *out, int attr, int count)
{
    out->attrs[attr] = (tern__attr){.ints = out->ints[attr], .count = (uint32_t)count};
}

static bool has_type_of_result(const tern__site *s, uint32_t i)
{
    return tern__type_equal(tern__site_type(s, i), s->type);
}

/* ---- numbers ---- */

bool tern__simplify_pow_two(const tern__site *s, tern__replacement *out)
{
    double number;
    return s->type->dtype != TERN_F64 && has_type_of_result(s, 0) &&
           tern__is_uniform(s->g, s->in[1], &number) && number == 2 &&
           tern__becomes_call(out, TERN__OP_square, 1, s->in);
}

/* Exponents k such that 2^-k is a normal number of the type too. */
static int most_exponent(tern_dtype dtype)
{
    return dtype == TERN_F64 ? 1021 : dtype == TERN_F16 ? 13 : 125;
}

bool tern__simplify_div_power_of_two(const tern__site *s, tern__replacement *out)
{
    double number;
    int exponent;
    if (!has_type_of_result(s, 0) || !tern__is_uniform(s->g, s->in[1], &number) || !isfinite(number) ||
        number == 0 || fabs(frexp(number, &exponent)) != 0.5 || exponent > most_exponent(s->type->dtype) ||
        exponent < -most_exponent(s->type->dtype))
        return false;
    out->number = 1 / number;
    return tern__becomes_call(out, TERN__OP_mul, 2, (tern__id[]){s->in[0], TERN__NO_ID});
}

bool tern__simplify_add_neg(const tern__site *s, tern__replacement *out)
{
    for (uint32_t i = 0; i < 2; i++) {
        const tern__gnode *neg = tern__site_operand(s, i);
        if (neg->op == TERN__OP_neg)
            return tern__becomes_call(out, TERN__OP_sub, 2, (tern__id[]){s->in[1 - i], neg->in[0]});
    }
    return false;
}

bool tern__simplify_sub_neg(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *neg = tern__site_operand(s, 1);
    return neg->op == TERN__OP_neg &&
           tern__becomes_call(out, TERN__OP_add, 2, (tern__id[]){s->in[0], neg->in[0]});
}

bool tern__simplify_both_negated(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *a = tern__site_operand(s, 0), *b = tern__site_operand(s, 1);
    return a->op == TERN__OP_neg && b->op == TERN__OP_neg &&
           tern__becomes_call(out, s->op, 2, (tern__id[]){a->in[0], b->in[0]});
}

bool tern__simplify_round_whole(const tern__site *s, tern__replacement *out)
{
    tern__opcode inner = tern__site_operand(s, 0)->op;
    return (inner == TERN__OP_floor || inner == TERN__OP_ceil || inner == TERN__OP_trunc ||
            inner == TERN__OP_round) &&
           tern__becomes(out, s->in[0]);
}

bool tern__simplify_clamp_clamp(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    return inner->op == s->op && tern__attrs_equal(&tern__ops[s->op], inner->attrs, s->attrs) &&
           tern__becomes(out, s->in[0]);
}

bool tern__simplify_clamp_open(const tern__site *s, tern__replacement *out)
{
    return s->attrs[TERN__ATTR_clamp_low].f == -INFINITY && s->attrs[TERN__ATTR_clamp_high].f == INFINITY &&
           tern__becomes(out, s->in[0]);
}

/* ---- logic ---- */

bool tern__simplify_not_compare(const tern__site *s, tern__replacement *out)
{
    static const struct {
        tern__opcode op, opposite;
        bool integers_only;
    } pairs[] = {{TERN__OP_eq, TERN__OP_ne, false}, {TERN__OP_ne, TERN__OP_eq, false},
                 {TERN__OP_lt, TERN__OP_ge, true},  {TERN__OP_ge, TERN__OP_lt, true},
                 {TERN__OP_gt, TERN__OP_le, true},  {TERN__OP_le, TERN__OP_gt, true}};
    const tern__gnode *test = tern__site_operand(s, 0);
    for (size_t i = 0; i < TERN__COUNT(pairs); i++)
        if (test->op == pairs[i].op)
            return (!pairs[i].integers_only || !tern__dtype_is_float(s->g->values[test->in[0]].type.dtype)) &&
                   tern__becomes_call(out, pairs[i].opposite, 2, test->in);
    return false;
}

bool tern__simplify_where_known(const tern__site *s, tern__replacement *out)
{
    double condition;
    if (!tern__is_uniform(s->g, s->in[0], &condition))
        return false;
    uint32_t chosen = condition != 0 ? 1 : 2;
    return has_type_of_result(s, chosen) && tern__becomes(out, s->in[chosen]);
}

bool tern__simplify_where_same(const tern__site *s, tern__replacement *out)
{
    return s->in[1] == s->in[2] && has_type_of_result(s, 1) && tern__becomes(out, s->in[1]);
}

bool tern__simplify_where_not(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *condition = tern__site_operand(s, 0);
    return condition->op == TERN__OP_logical_not &&
           tern__becomes_call(out, TERN__OP_where, 3, (tern__id[]){condition->in[0], s->in[2], s->in[1]});
}

/* ---- types ---- */

bool tern__simplify_cast_same(const tern__site *s, tern__replacement *out)
{
    return has_type_of_result(s, 0) && !tern__dtype_is_packed(s->type->dtype) && tern__becomes(out, s->in[0]);
}

/* Does `to` hold every value of `from` exactly? */
static bool holds_all(tern_dtype from, tern_dtype to)
{
    /* bits of precision, and for floats those of the exponent */
    static const struct {
        int digits, exponent;
        bool negative;
    } facts[TERN_DTYPE_COUNT] = {
        [TERN_BOOL] = {1, 0, false}, [TERN_U8] = {8, 0, false},  [TERN_I8] = {7, 0, true},
        [TERN_I32] = {31, 0, true},  [TERN_I64] = {63, 0, true}, [TERN_F16] = {11, 5, true},
        [TERN_BF16] = {8, 8, true},  [TERN_F32] = {24, 8, true}, [TERN_F64] = {53, 11, true},
    };
    if (from == to)
        return true;
    if (to == TERN_BOOL || tern__dtype_is_packed(from) || tern__dtype_is_packed(to))
        return false;
    if (!tern__dtype_is_float(to))
        return !tern__dtype_is_float(from) && facts[from].digits <= facts[to].digits &&
               (facts[to].negative || !facts[from].negative);
    return facts[from].digits <= facts[to].digits && facts[from].exponent <= facts[to].exponent;
}

/* A float saturates where an integer wraps: a way round a float is only short if nothing is cut off. */
bool tern__simplify_cast_cast(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    if (inner->op != TERN__OP_cast)
        return false;
    tern_dtype from = s->g->values[inner->in[0]].type.dtype, between = tern__site_type(s, 0)->dtype,
               to = s->type->dtype;
    if (!holds_all(from, between) || tern__dtype_is_packed(to))
        return false;
    if (!tern__dtype_is_float(from) && tern__dtype_is_float(between) && !tern__dtype_is_float(to) &&
        to != TERN_BOOL && !holds_all(from, to))
        return false;
    if (from == to)
        return tern__becomes(out, inner->in[0]);
    out->attrs[TERN__ATTR_cast_dtype] = (tern__attr){.i = to};
    return tern__becomes_call(out, TERN__OP_cast, 1, inner->in);
}

bool tern__simplify_cast_full(const tern__site *s, tern__replacement *out)
{
    double number;
    if (tern__site_operand(s, 0)->op != TERN__OP_full || tern__dtype_is_packed(s->type->dtype) ||
        !tern__is_uniform(s->g, s->in[0], &number) ||
        (tern__site_type(s, 0)->dtype == TERN_I64 && fabs(number) > 1e15))
        return false;
    /* Cast as the kernel does, then back: what `full` is given must be a value of the type. Integers wrap where `full`
     * saturates, so the number has to survive the way. */
    uint64_t element = 0, result = 0;
    tern__convert(TERN_F64, &number, 1, tern__site_type(s, 0)->dtype, &element, 1, 1);
    tern__convert(tern__site_type(s, 0)->dtype, &element, 1, s->type->dtype, &result, 1, 1);
    tern__convert(s->type->dtype, &result, 1, TERN_F64, &out->number, 1, 1);
    out->kind = TERN__BECOMES_NUMBER;
    return s->type->dtype != TERN_I64 || fabs(out->number) < 1e15;
}

static bool is_normal_constant(const tern_graph *g, tern__id scale)
{
    const tern__leaf *leaf = tern__constant_of(g, scale);
    const tern__type *type = &g->values[scale].type;
    int64_t count = tern__type_numel(type);
    if (!leaf || leaf->storage->deferred || type->dtype != TERN_F32 || count > 4096 ||
        !tern__layout_is_contiguous(type, &leaf->layout))
        return false;
    const float *data = (const float *)leaf->storage->host + leaf->layout.offset;
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(data[i]) >= 1e-30f && fabsf(data[i]) <= 1e30f))
            return false;
    return true;
}

bool tern__simplify_quantise_dequantised(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    if (inner->op != TERN__OP_dequantise || inner->in[1] != s->in[1])
        return false;
    const tern__value *q = &s->g->values[inner->in[0]], *scale = &s->g->values[s->in[1]];
    tern__opcode maker = s->g->nodes[q->node].op;
    bool one_maker =
        q->node == scale->node && (maker == TERN__OP_quantise_rows || maker == TERN__OP_quantise_tensor);
    return tern__type_equal(&q->type, s->type) && (one_maker || is_normal_constant(s->g, s->in[1])) &&
           tern__becomes(out, inner->in[0]);
}

/* ---- views and moves ---- */

bool tern__simplify_same_type(const tern__site *s, tern__replacement *out)
{
    out->same_memory = tern__ops[s->op].flags & TERN__VIEW;
    return has_type_of_result(s, 0) && tern__becomes(out, s->in[0]);
}

bool tern__simplify_reshape_reshape(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    if (inner->op != TERN__OP_reshape || !tern__lies_dense(s->g, inner->in[0]))
        return false;
    memcpy(out->ints[0], s->type->shape, sizeof s->type->shape);
    set_ints(out, 0, s->type->rank);
    out->same_memory = true;
    return tern__becomes_call(out, TERN__OP_reshape, 1, inner->in);
}

static int64_t axis_of(const tern__attr *axes, int64_t i)
{
    int64_t axis = axes->ints[i];
    return axis < 0 ? axis + axes->count : axis;
}

bool tern__simplify_permute_same(const tern__site *s, tern__replacement *out)
{
    for (int i = 0; i < s->type->rank; i++)
        if (axis_of(&s->attrs[TERN__ATTR_permute_axes], i) != i)
            return false;
    out->same_memory = true;
    return tern__becomes(out, s->in[0]);
}

bool tern__simplify_permute_permute(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    if (inner->op != TERN__OP_permute)
        return false;
    for (int i = 0; i < s->type->rank; i++)
        out->ints[0][i] =
            axis_of(&inner->attrs[TERN__ATTR_permute_axes], axis_of(&s->attrs[TERN__ATTR_permute_axes], i));
    set_ints(out, 0, s->type->rank);
    out->same_memory = true;
    return tern__becomes_call(out, TERN__OP_permute, 1, inner->in);
}

bool tern__simplify_slice_all(const tern__site *s, tern__replacement *out)
{
    const tern__type *from = tern__site_type(s, 0);
    for (int i = 0; i < from->rank; i++) {
        int64_t first, count;
        tern__slice_resolve(from->shape[i], s->attrs[TERN__ATTR_slice_start].ints[i],
                            s->attrs[TERN__ATTR_slice_stop].ints[i], s->attrs[TERN__ATTR_slice_step].ints[i],
                            &first, &count);
        if (count != from->shape[i] || (s->attrs[TERN__ATTR_slice_step].ints[i] != 1 && count > 1))
            return false;
    }
    out->same_memory = true;
    return tern__becomes(out, s->in[0]);
}

bool tern__simplify_slice_slice(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    if (inner->op != TERN__OP_slice || tern__dtype_is_packed(s->type->dtype))
        return false;
    const tern__type *whole = &s->g->values[inner->in[0]].type, *part = tern__site_type(s, 0);
    for (int i = 0; i < s->type->rank; i++) {
        int64_t a_step = inner->attrs[TERN__ATTR_slice_step].ints[i],
                b_step = s->attrs[TERN__ATTR_slice_step].ints[i], a_first, a_count, b_first, b_count, step;
        tern__slice_resolve(whole->shape[i], inner->attrs[TERN__ATTR_slice_start].ints[i],
                            inner->attrs[TERN__ATTR_slice_stop].ints[i], a_step, &a_first, &a_count);
        tern__slice_resolve(part->shape[i], s->attrs[TERN__ATTR_slice_start].ints[i],
                            s->attrs[TERN__ATTR_slice_stop].ints[i], b_step, &b_first, &b_count);
        if (a_step < 1 || b_step < 1 || !tern__i64_mul(a_step, b_step, &step))
            return false;
        int64_t first = b_count > 0 ? a_first + b_first * a_step : 0; /* inside the axis: cannot overflow */
        out->ints[0][i] = first;
        out->ints[1][i] = b_count > 0 ? first + (b_count - 1) * step + 1 : 0;
        out->ints[2][i] = b_count > 1 ? step : 1;
    }
    for (int a = 0; a < 3; a++)
        set_ints(out, a, s->type->rank);
    out->same_memory = true;
    return tern__becomes_call(out, TERN__OP_slice, 1, inner->in);
}

bool tern__simplify_broadcast_broadcast(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    if (inner->op != TERN__OP_broadcast)
        return false;
    memcpy(out->ints[0], s->type->shape, sizeof s->type->shape);
    set_ints(out, 0, s->type->rank);
    out->same_memory = true;
    return tern__becomes_call(out, TERN__OP_broadcast, 1, inner->in);
}

bool tern__simplify_contiguous_dense(const tern__site *s, tern__replacement *out)
{
    return tern__lies_dense(s->g, s->in[0]) && tern__becomes(out, s->in[0]);
}

bool tern__simplify_only_operand(const tern__site *s, tern__replacement *out)
{
    return s->n_in == 1 && s->n_out == 1 && tern__becomes(out, s->in[0]);
}

bool tern__simplify_stack_one(const tern__site *s, tern__replacement *out)
{
    if (s->n_in != 1)
        return false;
    memcpy(out->ints[0], s->type->shape, sizeof s->type->shape);
    set_ints(out, 0, s->type->rank);
    out->makes_view = true;
    return tern__becomes_call(out, TERN__OP_reshape, 1, s->in);
}

bool tern__simplify_flip_flip(const tern__site *s, tern__replacement *out)
{
    const tern__gnode *inner = tern__site_operand(s, 0);
    return inner->op == TERN__OP_flip && tern__attrs_equal(&tern__ops[s->op], inner->attrs, s->attrs) &&
           tern__becomes(out, inner->in[0]);
}
