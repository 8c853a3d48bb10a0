// lower.cpp - every op that MLX runs, a row each: the types it takes, and what it becomes.
//
// Floats of 16 bits compute in f32, as on the CPU. Results that are integers are exact: products of integers are sums in f32 that
// stay below 2^24, in pieces where they would not.
#include "devices/mlx/work.h"

#include <cmath>
#include <limits>

namespace tern_mlx
{

namespace
{

enum {
    BOOLS = 1,
    INTS = 2,   // u8 i8 i32 i64
    FLOATS = 4, // f16 bf16 f32
    NUMBERS = INTS | FLOATS,
    ALL = BOOLS | NUMBERS,
    TERNARY = 8, // t2 t5
    KEEP = 16,   // 16 bits stay 16 bits: nothing is computed
};

struct row {
    tern__opcode op;
    unsigned types; // of operands and results
    arrays (*lower)(const work &w);
};

#define ROW(name, types, ...)                                                         \
    {                                                                                 \
        TERN__OP_##name, types, [](const work &w) -> arrays { return {__VA_ARGS__}; } \
    }
#define UNARY(name, types, function) ROW(name, types, mx::function(w.in[0], w.s))
#define BINARY(name, types, function) ROW(name, types, mx::function(w.in[0], w.in[1], w.s))
#define REDUCTION(name, types, function) ROW(name, types, mx::function(w.in[0], w.axes(), w.flag(1), w.s))

const row rows[] = {
    ROW(full, ALL | KEEP,
        mx::full(w.shape(), number_in(w.call.attrs[TERN__ATTR_full_value].f, w.type()), w.s)),
    ROW(reshape, ALL | KEEP, mx::reshape(w.in[0], w.shape(), w.s)),
    ROW(permute, ALL | KEEP, mx::transpose(w.in[0], w.ints(TERN__ATTR_permute_axes), w.s)),
    ROW(slice, ALL | KEEP, slice(w)),
    ROW(broadcast, ALL | KEEP, mx::broadcast_to(w.in[0], w.shape(), w.s)),
    ROW(to_device, ALL | KEEP, w.in[0]),
    ROW(contiguous, ALL | KEEP | TERNARY, w.in[0]), // of ternary types: bytes
    ROW(cast, ALL | KEEP, cast(w, w.in[0], w.type())),

    UNARY(neg, NUMBERS, negative),
    UNARY(abs, NUMBERS, abs),
    ROW(sign, NUMBERS,
        floats(w.in[0]) ? mx::where(mx::isnan(w.in[0], w.s), w.in[0], mx::sign(w.in[0], w.s), w.s)
                        : mx::sign(w.in[0], w.s)),
    UNARY(square, NUMBERS, square),
    ROW(relu, NUMBERS, relu(w, w.in[0])),
    ROW(clamp, FLOATS, clamp(w)),
    UNARY(floor, FLOATS, floor),
    UNARY(ceil, FLOATS, ceil),
    UNARY(trunc, FLOATS, trunc),
    ROW(round, FLOATS, mx::round(w.in[0], 0, w.s)),
    ROW(reciprocal, FLOATS, mx::divide(w.f(1), w.in[0], w.s)),
    UNARY(sqrt, FLOATS, sqrt),
    ROW(rsqrt, FLOATS, mx::divide(w.f(1), mx::sqrt(w.in[0], w.s), w.s)),
    UNARY(exp, FLOATS, exp),
    ROW(exp2, FLOATS, mx::power(w.f(2), w.in[0], w.s)),
    UNARY(expm1, FLOATS, expm1),
    UNARY(log, FLOATS, log),
    UNARY(log2, FLOATS, log2),
    UNARY(log1p, FLOATS, log1p),
    UNARY(sin, FLOATS, sin),
    UNARY(cos, FLOATS, cos),
    UNARY(tan, FLOATS, tan),
    UNARY(asin, FLOATS, arcsin),
    UNARY(acos, FLOATS, arccos),
    UNARY(atan, FLOATS, arctan),
    UNARY(sinh, FLOATS, sinh),
    UNARY(cosh, FLOATS, cosh),
    UNARY(tanh, FLOATS, tanh),
    UNARY(erf, FLOATS, erf),
    ROW(relu2, FLOATS, mx::square(relu(w, w.in[0]), w.s)),
    ROW(leaky_relu, FLOATS,
        mx::where(mx::greater(w.in[0], w.f(0), w.s), w.in[0], mx::multiply(w.in[0], w.f(w.number(0)), w.s),
                  w.s)),
    ROW(elu, FLOATS,
        mx::where(mx::greater(w.in[0], w.f(0), w.s), w.in[0],
                  mx::multiply(w.f(w.number(TERN__ATTR_elu_alpha)), mx::expm1(w.in[0], w.s), w.s), w.s)),
    ROW(gelu, FLOATS, gelu(w)),
    ROW(gelu_tanh, FLOATS, gelu_tanh(w)),
    ROW(silu, FLOATS, mx::multiply(w.in[0], sigmoid(w, w.in[0]), w.s)),
    ROW(sigmoid, FLOATS, sigmoid(w, w.in[0])),
    ROW(softplus, FLOATS, softplus(w)),
    UNARY(isnan, ALL, isnan),
    UNARY(isinf, ALL, isinf),
    UNARY(isfinite, ALL, isfinite),
    UNARY(logical_not, ALL, logical_not),
    ROW(bit_not, BOOLS | INTS,
        w.in[0].dtype() == mx::bool_ ? mx::logical_not(w.in[0], w.s) : mx::bitwise_invert(w.in[0], w.s)),

    ROW(add, ALL,
        w.in[0].dtype() == mx::bool_ ? mx::logical_or(w.in[0], w.in[1], w.s)
                                     : mx::add(w.in[0], w.in[1], w.s)),
    BINARY(sub, NUMBERS, subtract),
    ROW(mul, ALL,
        w.in[0].dtype() == mx::bool_ ? mx::logical_and(w.in[0], w.in[1], w.s)
                                     : mx::multiply(w.in[0], w.in[1], w.s)),
    BINARY(div, FLOATS, divide),
    BINARY(pow, FLOATS, power),
    BINARY(atan2, FLOATS, arctan2),
    ROW(maximum, ALL, extremum(w, true)),
    ROW(minimum, ALL, extremum(w, false)),
    BINARY(eq, ALL, equal),
    BINARY(ne, ALL, not_equal),
    BINARY(lt, ALL, less),
    BINARY(le, ALL, less_equal),
    BINARY(gt, ALL, greater),
    BINARY(ge, ALL, greater_equal),
    BINARY(logical_and, BOOLS, logical_and),
    BINARY(logical_or, BOOLS, logical_or),
    BINARY(logical_xor, BOOLS, not_equal),
    BINARY(bit_and, BOOLS | INTS, bitwise_and),
    BINARY(bit_or, BOOLS | INTS, bitwise_or),
    BINARY(bit_xor, BOOLS | INTS, bitwise_xor),
    ROW(where, ALL | KEEP, mx::where(w.in[0], w.in[1], w.in[2], w.s)),

    ROW(sum, NUMBERS, sum(w, w.in[0], w.axes(), w.flag(TERN__ATTR_sum_keepdims))),
    ROW(mean, FLOATS, mean(w, w.flag(TERN__ATTR_mean_keepdims))),
    ROW(prod, NUMBERS, prod(w)),
    ROW(max, ALL, reduced_extremum(w, w.in[0], w.axes(), w.flag(TERN__ATTR_max_keepdims), true)),
    ROW(min, ALL, reduced_extremum(w, w.in[0], w.axes(), w.flag(TERN__ATTR_min_keepdims), false)),
    ROW(var, FLOATS, var(w)),
    REDUCTION(any, BOOLS, any),
    REDUCTION(all, BOOLS, all),
    ROW(logsumexp, FLOATS, logsumexp(w, w.axes(), w.flag(TERN__ATTR_logsumexp_keepdims))),
    ROW(argmax, ALL, arg_extremum(w, true)),
    ROW(argmin, ALL, arg_extremum(w, false)),
    ROW(cumsum, NUMBERS, cumsum(w)),
    ROW(softmax, FLOATS, mx::softmax(w.in[0], int(w.integer(TERN__ATTR_softmax_axis)), true, w.s)),
    ROW(log_softmax, FLOATS,
        mx::subtract(w.in[0], logsumexp(w, {int(w.integer(TERN__ATTR_log_softmax_axis))}, true), w.s)),
    ROW(rmsnorm, FLOATS, rmsnorm(w)),
    ROW(layernorm, FLOATS, layernorm(w)),

    ROW(matmul, FLOATS, matmul(w)),
    ROW(linear, NUMBERS,
        w.type() == mx::int32 ? linear_i8(w, w.in[0], w.in[1]) : times_transposed(w, w.in[0], w.in[1])),
    ROW(ternary_matmul, NUMBERS | TERNARY, ternary_matmul(w)),
    ROW(ternary_dequantise, FLOATS | TERNARY,
        mx::multiply(
            digits(w, w.in[0], w.call.in[0]->dtype, int(w.call.out[0].shape[w.call.out[0].rank - 1])),
            w.in[1], w.s)),

    ROW(concat, ALL | KEEP, mx::concatenate(w.in, int(w.integer(TERN__ATTR_concat_axis)), w.s)),
    ROW(stack, ALL | KEEP, mx::stack(w.in, int(w.integer(TERN__ATTR_stack_axis)), w.s)),
    {TERN__OP_split, ALL | KEEP, split},
    ROW(pad, ALL | KEEP, pad(w)),
    ROW(gather, ALL | KEEP, gather(w)),
    ROW(take_along, ALL | KEEP, take_along(w)),
    ROW(one_hot, ALL | KEEP, one_hot(w)),
    ROW(tril, ALL | KEEP, mx::tril(w.in[0], diagonal(w), w.s)),
    ROW(triu, ALL | KEEP, mx::triu(w.in[0], diagonal(w), w.s)),
    ROW(flip, ALL | KEEP, mx::flip(w.in[0], w.axes(), w.s)),

    {TERN__OP_quantise_rows, INTS | FLOATS, [](const work &w) { return quantise_by_itself(w, true); }},
    {TERN__OP_quantise_tensor, INTS | FLOATS, [](const work &w) { return quantise_by_itself(w, false); }},
    ROW(quantise, INTS | FLOATS, to_i8(w, mx::multiply(w.in[0], w.in[1], w.s))),
    ROW(dequantise, INTS | FLOATS, mx::divide(w.as(w.in[0], mx::float32), w.in[1], w.s)),

    ROW(rope, NUMBERS, rope(w)),
    ROW(attention, NUMBERS, attention(w)),
    ROW(overwrite, ALL | KEEP, mx::broadcast_to(w.in[1], w.shape(), w.s)),
    {TERN__OP_write_slice, ALL | KEEP, nullptr}, // by the session: memory is the host's
    {TERN__OP_write_rows, ALL | KEEP, nullptr},
};

const row *row_of(tern__opcode op)
{
    for (const row &r : rows)
        if (r.op == op)
            return &r;
    return nullptr;
}

unsigned set_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_BOOL:
        return BOOLS;
    case TERN_U8:
    case TERN_I8:
    case TERN_I32:
    case TERN_I64:
        return INTS;
    case TERN_F16:
    case TERN_BF16:
    case TERN_F32:
        return FLOATS;
    case TERN_T2:
    case TERN_T5:
        return TERNARY;
    default:
        return 0;
    }
}

std::string refuse_type(const tern__type &type, unsigned types, bool operand)
{
    int64_t n = 1;
    for (int i = 0; i < type.rank; i++) {
        if (type.shape[i] > std::numeric_limits<int32_t>::max())
            return "MLX counts the elements of an axis in 32 bits";
        n *= type.shape[i];
    }
    const unsigned set = set_of(type.dtype);
    if (type.dtype == TERN_F64)
        return "MLX's GPUs have no f64";
    if (!set)
        return "there is no lowering of weights in blocks";
    if (set == TERNARY && type.rank == 0)
        return "a single ternary number has no lowering";
    // The result of a test is bool, whatever was tested.
    if (!(set & types) && (operand || set != BOOLS))
        return operand ? "an operand's type has no lowering" : "the result's type has no lowering";
    return operand && n == 0 ? "an operand is empty" : "";
}

// Those of its operands that are indices have a type of their own.
bool takes_indices(tern__opcode op, int operand)
{
    return (op == TERN__OP_where && operand == 0) || (op == TERN__OP_rope && operand == 1);
}

bool computes_in_f32(const row &r, mx::Dtype dtype)
{
    return !(r.types & KEEP) && (dtype == mx::float16 || dtype == mx::bfloat16);
}

arrays lower_one(const tern__call &call, tern__opcode op, const arrays &given, mx::Stream stream)
{
    const row *r = row_of(op);
    if (!r || !r->lower)
        throw fault(TERN_UNSUPPORTED, "there is no lowering for it");
    arrays in = given;
    for (mx::array &x : in)
        if (computes_in_f32(*r, x.dtype()))
            x = mx::astype(x, mx::float32, stream);
    arrays out = r->lower(work{call, in, stream});
    for (size_t i = 0; i < out.size(); i++) {
        const mx::Dtype wanted = dtype_of(call.out[i].dtype);
        if (computes_in_f32(*r, wanted))
            out[i] = mx::astype(out[i], wanted, stream);
        if (out[i].shape() != shape_of(call.out[i]))
            out[i] = mx::broadcast_to(out[i], shape_of(call.out[i]), stream);
    }
    return out;
}

// One op of a region, as if it stood alone.
struct region_call {
    std::vector<const tern__type *> types;
    std::vector<tern__type> results;
    tern__call call;

    region_call(const tern__region &region, int i)
    {
        const tern__region_op &op = region.ops[i];
        for (int j = 0; j < op.n_in; j++)
            types.push_back(&region.types[op.in[j]]);
        results.assign(region.types + op.out, region.types + op.out + op.n_out);
        call = {&op_table[op.op], op.n_in, op.n_out, types.data(), op.attrs, results.data()};
    }
};

} // namespace

const tern__op *op_table;

arrays lower_region(const tern__region &region, const arrays &in, mx::Stream stream)
{
    arrays values = in, out;
    for (int i = 0; i < region.n_ops; i++) {
        const tern__region_op &op = region.ops[i];
        const region_call one(region, i);
        arrays operands;
        for (int j = 0; j < op.n_in; j++)
            operands.push_back(values[op.in[j]]);
        for (mx::array &x : lower_one(one.call, op.op, operands, stream))
            values.push_back(x);
    }
    for (int i = 0; i < region.n_out; i++)
        out.push_back(values[region.out[i]]);
    return out;
}

fault out_of_range(int64_t index, int64_t limit)
{
    return fault(TERN_OUT_OF_RANGE,
                 "index " + std::to_string(index) + " is outside [0, " + std::to_string(limit) + ")");
}

mx::Dtype dtype_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_BOOL:
        return mx::bool_;
    case TERN_I8:
        return mx::int8;
    case TERN_I32:
        return mx::int32;
    case TERN_I64:
        return mx::int64;
    case TERN_F16:
        return mx::float16;
    case TERN_BF16:
        return mx::bfloat16;
    case TERN_F32:
        return mx::float32;
    default:
        return mx::uint8; // u8, and the bytes of ternary types
    }
}

mx::Shape shape_of(const tern__type &type)
{
    mx::Shape shape;
    for (int i = 0; i < type.rank; i++)
        shape.push_back(mx::safe_cast(type.shape[i], "shape"));
    if (type.dtype == TERN_T2)
        shape.back() = (shape.back() + TERN_T2_PER_BYTE - 1) / TERN_T2_PER_BYTE;
    if (type.dtype == TERN_T5)
        shape.back() = (shape.back() + TERN_T5_PER_BYTE - 1) / TERN_T5_PER_BYTE;
    return shape;
}

arrays lower(const tern__call &call, const arrays &in, mx::Stream stream)
{
    const tern__opcode op = tern__opcode(call.op - op_table);
    return op == TERN__OP_fused ? lower_region(*call.attrs[TERN__ATTR_fused_body].region, in, stream)
                                : lower_one(call, op, in, stream);
}

std::string refuse(const tern__call &call)
{
    const tern__opcode op = tern__opcode(call.op - op_table);
    const tern__region *region = op == TERN__OP_fused ? call.attrs[TERN__ATTR_fused_body].region : nullptr;
    for (int i = 0; region && i < region->n_ops; i++) {
        const region_call one(*region, i);
        const std::string why = refuse(one.call);
        if (!why.empty())
            return why;
    }
    if (region)
        return "";
    const row *r = row_of(op);
    if (!r)
        return "there is no lowering for it";
    for (int i = 0; i < call.n_in; i++) {
        const std::string why =
            refuse_type(*call.in[i], takes_indices(op, i) ? unsigned(ALL) : r->types, true);
        if (!why.empty())
            return why;
    }
    for (int i = 0; i < call.n_out; i++) {
        const std::string why = refuse_type(call.out[i], r->types, false);
        if (!why.empty())
            return why;
    }
    const tern_dtype to = call.n_out > 0 ? call.out[0].dtype : TERN_F32;
    if (op == TERN__OP_cast && (to == TERN_F16 || to == TERN_BF16) &&
        (call.in[0]->dtype == TERN_I32 || call.in[0]->dtype == TERN_I64))
        return "MLX rounds wide integers twice on their way to 16 bits";
    if (op == TERN__OP_ternary_matmul && call.in[1]->shape[1] >= 1 << 16)
        return "sums of so many columns are not exact in f32";
    return "";
}

} // namespace tern_mlx
