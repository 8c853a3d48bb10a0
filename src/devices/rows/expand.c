/* expand.c - what each op is made of in row programs: one instruction (rowmaps.def), or the few below. The arithmetic is
 * the reference kernels', but for the order of sums and where a comment says so.
 *
 * In between, numbers are f32 (16-bit floats too: each op's result is rounded to their precision), whole numbers in f32 for
 * i8, u8 and bool, or i32; what reductions give is f64 until it meets the row again. */
#include <math.h>

#include "base/status.h"
#include "devices/rows/regions.h"

typedef const tern__row_context ctx;
typedef tern__row_id id;

/* ---- types ---- */

typedef enum lanes { LANES_NONE, LANES_FLOAT, LANES_WHOLE, LANES_I32 } lanes;

static lanes lanes_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F32:
    case TERN_F16:
    case TERN_BF16:
        return LANES_FLOAT;
    case TERN_I8:
    case TERN_U8:
    case TERN_BOOL:
        return LANES_WHOLE;
    case TERN_I32:
        return LANES_I32;
    default:
        return LANES_NONE;
    }
}

static id rounded(ctx *c, tern_dtype dtype, id x)
{
    if (dtype == TERN_F16)
        return tern__row_map(c->b, TERN__ROWOP_round_f16, x, x, x);
    if (dtype == TERN_BF16)
        return tern__row_map(c->b, TERN__ROWOP_round_bf16, x, x, x);
    return x;
}

/* ---- one instruction ---- */

enum { NO_ROWOP = -1 };
typedef struct rowmap {
    bool known;
    int16_t by_lanes[LANES_I32 + 1];
} rowmap;

#define TERN__ROWOP_none NO_ROWOP
static const rowmap rowmaps[TERN__OP_COUNT] = {
#define TERN_ROWMAP(op, floats, whole, i32) \
    [TERN__OP_##op] = {true, {NO_ROWOP, TERN__ROWOP_##floats, TERN__ROWOP_##whole, TERN__ROWOP_##i32}},
#include "devices/rows/rowmaps.def"
#undef TERN_ROWMAP
};

static bool expand_map(ctx *c, const tern__call *call, const id *in, id *out)
{
    int op = rowmaps[tern__op_code(call->op)].by_lanes[lanes_of(call->in[0]->dtype)];
    if (op == NO_ROWOP || !c->table->map[op][0])
        return false;
    if (call->op->n_attrs > 0) /* bounds, a slope */
        out[0] = tern__row_map_imm(c->b, (tern__rowop)op, in[0], call->attrs[0].f,
                                   call->op->n_attrs > 1 ? call->attrs[1].f : 0);
    else
        out[0] = tern__row_map(c->b, (tern__rowop)op, in[0], call->n_in > 1 ? in[1] : in[0], in[0]);
    return true;
}

/* ---- several ---- */

static id map1(ctx *c, tern__rowop op, id x)
{
    return tern__row_map(c->b, op, x, x, x);
}

static id map2(ctx *c, tern__rowop op, id x, id y)
{
    return tern__row_map(c->b, op, x, y, x);
}

static id scalar(ctx *c, tern__rowscalar op, id x, double number)
{
    return tern__row_compute(c->b, op, x, x, number);
}

static id narrowed(ctx *c, id x)
{
    return scalar(c, TERN__ROWSCALAR_narrow, x, 0);
}

static id is_not_zero(ctx *c, id x)
{
    return map2(c, TERN__ROWOP_ne, x, tern__row_constant(c->b, 0));
}

/* NaN gives 0, and so does -0. */
static id truncated_u8(ctx *c, id x)
{
    id zero = tern__row_constant(c->b, 0);
    id whole = tern__row_map_imm(c->b, TERN__ROWOP_clamp, map1(c, TERN__ROWOP_trunc, x), 0, 255);
    return map2(c, TERN__ROWOP_add,
                tern__row_map(c->b, TERN__ROWOP_where, map2(c, TERN__ROWOP_eq, x, x), whole, zero), zero);
}

static bool expand_cast(ctx *c, const tern__call *call, const id *in, id *out)
{
    const id x = in[0];
    tern_dtype from = call->in[0]->dtype, to = call->out[0].dtype;
    lanes source = lanes_of(from), target = lanes_of(to);
    *out = x;
    if (from == to || source == LANES_NONE || target == LANES_NONE)
        return from == to;
    if (source == LANES_I32) {
        /* i32 -> bf16 must round once; through f32 it would twice. f16 has so few numbers that it does not matter. */
        if (to != TERN_F32 && to != TERN_F16)
            return false;
        *out = map1(c, TERN__ROWOP_f32_from_i32, x);
        return true;
    }
    if (to == TERN_BOOL)
        *out = is_not_zero(c, x);
    else if (target == LANES_I32)
        *out = map1(c, TERN__ROWOP_i32_from_f32, x);
    else if (source == LANES_FLOAT &&
             to == TERN_I8) /* of whole numbers quantise_i8 only saturates, and NaN gives 0 */
        *out = map1(c, TERN__ROWOP_quantise_i8, map1(c, TERN__ROWOP_trunc, x));
    else if (source == LANES_FLOAT && to == TERN_U8)
        *out = truncated_u8(c, x);
    else if (source == LANES_WHOLE && target == LANES_WHOLE)
        return from == TERN_BOOL; /* u8 <-> i8 wraps */
    return true;
}

static bool expand_where(ctx *c, const tern__call *call, const id *in, id *out)
{
    if (lanes_of(call->out[0].dtype) == LANES_NONE || call->in[0]->dtype != TERN_BOOL)
        return false;
    *out = tern__row_map(c->b, TERN__ROWOP_where, in[0], in[1], in[2]);
    return true;
}

/* sum / n, and the row less that. The mean is taken off in two parts: rounded to f32 it would be as wrong as the row is
 * large, not as it is wide. */
static id centred(ctx *c, id x)
{
    id mean = scalar(c, TERN__ROWSCALAR_divide, tern__row_reduce(c->b, TERN__ROWOP_sum, x), (double)c->row);
    id coarse = map2(c, TERN__ROWOP_sub, x, tern__row_value_of(c->b, mean));
    return map2(c, TERN__ROWOP_sub, coarse,
                tern__row_value_of(c->b, scalar(c, TERN__ROWSCALAR_rest, mean, 0)));
}

static bool expand_reduce(ctx *c, const tern__call *call, const id *in, id *out)
{
    const id x = in[0];
    tern__opcode op = tern__op_code(call->op);
    lanes l = lanes_of(call->in[0]->dtype);
    double n = (double)c->row, freedom;
    id r, max;
    if (l != LANES_FLOAT && !(l == LANES_WHOLE && (op == TERN__OP_max || op == TERN__OP_min)))
        return false;
    switch (op) {
    case TERN__OP_sum:
        r = tern__row_reduce(c->b, TERN__ROWOP_sum, x);
        break;
    case TERN__OP_mean:
        r = scalar(c, TERN__ROWSCALAR_divide, tern__row_reduce(c->b, TERN__ROWOP_sum, x), n);
        break;
    case TERN__OP_max:
        r = tern__row_reduce(c->b, TERN__ROWOP_max, x);
        break;
    case TERN__OP_min:
        r = tern__row_reduce(c->b, TERN__ROWOP_min, x);
        break;
    case TERN__OP_var:
        freedom = n - (double)call->attrs[2].i;
        r = tern__row_reduce(c->b, TERN__ROWOP_sum_squares, centred(c, x));
        r = scalar(c, TERN__ROWSCALAR_divide, r, freedom > 0 ? freedom : 0);
        break;
    case TERN__OP_logsumexp:
        max = tern__row_reduce(c->b, TERN__ROWOP_max, x);
        r = tern__row_reduce(
            c->b, TERN__ROWOP_sum,
            map1(c, TERN__ROWOP_exp, map2(c, TERN__ROWOP_sub, x, tern__row_value_of(c->b, max))));
        r = tern__row_compute(c->b, TERN__ROWSCALAR_sum_finite, max, scalar(c, TERN__ROWSCALAR_log, r, 0), 0);
        break;
    default:
        return false;
    }
    *out = tern__row_value_of(c->b, r);
    return true;
}

static bool expand_softmax(ctx *c, const tern__call *call, const id *in, id *out)
{
    const id x = in[0];
    if (lanes_of(call->in[0]->dtype) != LANES_FLOAT)
        return false;
    id max = tern__row_reduce(c->b, TERN__ROWOP_max, x);
    id shifted = map2(c, TERN__ROWOP_sub, x, tern__row_value_of(c->b, max)),
       e = map1(c, TERN__ROWOP_exp, shifted);
    id sum = tern__row_reduce(c->b, TERN__ROWOP_sum, e);
    if (tern__op_code(call->op) == TERN__OP_softmax) {
        /* The reciprocal is rounded once more than a quotient would be, and several times as fast. */
        *out = map2(c, TERN__ROWOP_mul, e, tern__row_value_of(c->b, scalar(c, TERN__ROWSCALAR_over, sum, 1)));
        return true;
    }
    /* an infinite largest element is the logsumexp itself */
    id log_sum =
        tern__row_compute(c->b, TERN__ROWSCALAR_unless_inf, scalar(c, TERN__ROWSCALAR_log, sum, 0), max, 0);
    *out = map2(c, TERN__ROWOP_sub, shifted, tern__row_value_of(c->b, log_sum));
    return true;
}

/* Every operation on the mean is one of f32, as BitNet's own implementations have it. */
static bool expand_rmsnorm(ctx *c, const tern__call *call, const id *in, id *out)
{
    if (lanes_of(call->in[0]->dtype) != LANES_FLOAT)
        return false;
    id r = tern__row_reduce(c->b, TERN__ROWOP_sum_squares, in[0]);
    r = narrowed(c, scalar(c, TERN__ROWSCALAR_divide, r, (double)c->row));
    r = narrowed(c, scalar(c, TERN__ROWSCALAR_add, r, (double)(float)call->attrs[0].f));
    r = narrowed(c, scalar(c, TERN__ROWSCALAR_sqrt, r, 0));
    *out = map2(c, TERN__ROWOP_mul, in[0], tern__row_value_of(c->b, scalar(c, TERN__ROWSCALAR_over, r, 1)));
    if (call->n_in > 1)
        *out = map2(c, TERN__ROWOP_mul, *out, in[1]);
    return true;
}

static bool expand_layernorm(ctx *c, const tern__call *call, const id *in, id *out)
{
    if (lanes_of(call->in[0]->dtype) != LANES_FLOAT)
        return false;
    id centre = centred(c, in[0]), r = tern__row_reduce(c->b, TERN__ROWOP_sum_squares, centre);
    r = scalar(c, TERN__ROWSCALAR_divide, r, (double)c->row);
    r = scalar(c, TERN__ROWSCALAR_sqrt, scalar(c, TERN__ROWSCALAR_add, r, call->attrs[0].f), 0);
    *out = map2(c, TERN__ROWOP_mul, centre, tern__row_value_of(c->b, scalar(c, TERN__ROWSCALAR_over, r, 1)));
    if (call->n_in > 1)
        *out = map2(c, TERN__ROWOP_mul, *out, in[1]);
    if (call->n_in > 2)
        *out = map2(c, TERN__ROWOP_add, *out, in[2]);
    return true;
}

static bool expand_quantise_rows(ctx *c, const tern__call *call, const id *in, id *out)
{
    (void)call;
    id max = scalar(c, TERN__ROWSCALAR_at_least, tern__row_reduce(c->b, TERN__ROWOP_max_abs, in[0]),
                    (double)1e-5f);
    out[1] = tern__row_value_of(c->b, scalar(c, TERN__ROWSCALAR_over, max, 127));
    out[0] = map1(c, TERN__ROWOP_quantise_i8, map2(c, TERN__ROWOP_mul, in[0], out[1]));
    return true;
}

static bool expand_quantise(ctx *c, const tern__call *call, const id *in, id *out)
{
    (void)call;
    *out = map1(c, TERN__ROWOP_quantise_i8, map2(c, TERN__ROWOP_mul, in[0], in[1]));
    return true;
}

static bool expand_dequantise(ctx *c, const tern__call *call, const id *in, id *out)
{
    *out = map2(c, TERN__ROWOP_div,
                call->in[0]->dtype == TERN_I32 ? map1(c, TERN__ROWOP_f32_from_i32, in[0]) : in[0], in[1]);
    return true;
}

static bool expand_not(ctx *c, const tern__call *call, const id *in, id *out)
{
    (void)call;
    *out = map2(c, TERN__ROWOP_eq, in[0], tern__row_constant(c->b, 0));
    return true;
}

static bool expand_test(ctx *c, const tern__call *call, const id *in, id *out)
{
    const id x = in[0];
    if (lanes_of(call->in[0]->dtype) != LANES_FLOAT)
        return false;
    if (tern__op_code(call->op) == TERN__OP_isnan)
        *out = map2(c, TERN__ROWOP_ne, x, x);
    else
        *out = map2(c, tern__op_code(call->op) == TERN__OP_isinf ? TERN__ROWOP_eq : TERN__ROWOP_lt,
                    map1(c, TERN__ROWOP_abs, x), tern__row_constant(c->b, INFINITY));
    return true;
}

/* Ops that are more than one instruction. */
static bool (*const expanders[TERN__OP_COUNT])(ctx *c, const tern__call *call, const id *in, id *out) = {
    [TERN__OP_cast] = expand_cast,
    [TERN__OP_where] = expand_where,
    [TERN__OP_isnan] = expand_test,
    [TERN__OP_isinf] = expand_test,
    [TERN__OP_isfinite] = expand_test,
    [TERN__OP_logical_not] = expand_not,
    [TERN__OP_sum] = expand_reduce,
    [TERN__OP_mean] = expand_reduce,
    [TERN__OP_max] = expand_reduce,
    [TERN__OP_min] = expand_reduce,
    [TERN__OP_var] = expand_reduce,
    [TERN__OP_logsumexp] = expand_reduce,
    [TERN__OP_softmax] = expand_softmax,
    [TERN__OP_log_softmax] = expand_softmax,
    [TERN__OP_rmsnorm] = expand_rmsnorm,
    [TERN__OP_layernorm] = expand_layernorm,
    [TERN__OP_quantise_rows] = expand_quantise_rows,
    [TERN__OP_quantise] = expand_quantise,
    [TERN__OP_dequantise] = expand_dequantise,
};

bool tern__row_knows(tern__opcode op)
{
    return expanders[op] || rowmaps[op].known;
}

static bool expand(ctx *c, const tern__call *call, const id *in, id *out)
{
    const tern__opcode op = tern__op_code(call->op);
    return expanders[op] ? expanders[op](c, call, in, out)
                         : rowmaps[op].known && expand_map(c, call, in, out);
}

bool tern__row_expand(ctx *c, const tern__call *call, const id *in, id *out)
{
    for (int i = 0; i < call->n_in; i++)
        if (lanes_of(call->in[i]->dtype) == LANES_NONE)
            return false;
    for (int i = 0; i < call->n_out; i++)
        if (lanes_of(call->out[i].dtype) == LANES_NONE)
            return false;
    if (!expand(c, call, in, out))
        return false;
    for (int i = 0; i < call->n_out; i++)
        if (lanes_of(call->in[0]->dtype) != LANES_WHOLE) /* 8-bit numbers are numbers of every float type */
            out[i] = rounded(c, call->out[i].dtype, out[i]);
    return true;
}
