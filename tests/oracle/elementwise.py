"""Oracles of the elementwise ops."""
import numpy as np

import bounds
from registry import oracle
from tern import Dtype
from values import (FLOATS, FORMATS, INTS, LONG, PACKED, STORED, UNPACKED, Val, cast, exactly, from_working, is_float,
                    is_int, near, store, wide, working)

PI = LONG("3.14159265358979323846264338327950288")


# ---- functions that NumPy lacks, in longdouble -----------------------------------------------------------------

def erfc_tail(x):
    """erfc(x) * exp(x * x) for x >= 2, by the continued fraction."""
    t = np.zeros_like(x)
    for k in range(160, 0, -1):
        t = (LONG(k) / 2) / (x + t)
    return 1 / (np.sqrt(PI) * (x + t))


def exp_minus_square(x):
    """exp(-x^2), the square taken in two parts so that its rounding does not show."""
    high = np.rint(x * 1024) / 1024
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def erf_series(x):
    """erf(x) for |x| < 2.5: exp(-x^2) times a series without cancellation."""
    term = total = 2 * x / np.sqrt(PI)
    for n in range(1, 70):
        term = term * 2 * x * x / (2 * n + 1)
        total = total + term
    return exp_minus_square(x) * total


def erf(x):
    x = x.astype(LONG)
    size = np.abs(x)
    small = erf_series(np.where(size < 2.5, x, 0))
    tail = 1 - erfc_tail(np.clip(size, 2, 20)) * exp_minus_square(np.clip(size, 2, 20))
    result = np.where(size < 2.5, small, np.copysign(tail, x))
    return np.where(np.isnan(x), x, np.where(size > 20, np.sign(x), result))


def erfc(x):
    x = x.astype(LONG)
    safe = np.clip(np.where(np.isnan(x), 0, x), 2, 110)
    large = erfc_tail(safe) * exp_minus_square(safe)
    return np.where(np.isnan(x), x, np.where(x > 110, 0, np.where(x >= 2, large, 1 - erf(np.minimum(x, 2.4)))))


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def tanh_argument(x):
    """2 u, where gelu_tanh is x * 0.5 * (1 + tanh(u))."""
    return 2 * np.sqrt(2 / PI) * (x + LONG("0.044715") * x * x * x)


# At -inf, x * sigmoid(x) and x * Phi(x) are -inf * 0: NaN, as in other libraries.
FUNCTIONS = {
    "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": erf,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "gelu": lambda x: x.astype(LONG) * erfc(-x.astype(LONG) / np.sqrt(LONG(2))) / 2,
    "gelu_tanh": lambda x: x.astype(LONG) * sigmoid(tanh_argument(x.astype(LONG))),
}

# Ranges where the function is interesting: values are drawn times these.
SCALES = {"exp": [1, 10, 90], "exp2": [1, 10, 140], "expm1": [1e-3, 1, 90], "sinh": [1, 90], "cosh": [1, 90],
          "sigmoid": [1, 20, 100], "silu": [1, 20, 100], "softplus": [1, 20, 100], "gelu": [1, 4, 10],
          "gelu_tanh": [1, 4], "log1p": [1e-3, 1], "sin": [1, 100, 1e6], "cos": [1, 100, 1e6], "tan": [1, 100, 1e6],
          "asin": [0.4], "acos": [0.4], "erf": [1, 3]}


# ---- one operand -----------------------------------------------------------------------------------------------

def draw_unary(types):
    def draw(g, op):
        dtype = g.pick(types)
        scale = g.pick(SCALES.get(op, [1]))
        modify = (lambda x: x * scale) if scale != 1 and g.chance(0.7) else None
        if op in ("log", "log2", "log1p", "sqrt", "rsqrt", "acos", "asin") and g.chance(0.6):
            modify = (lambda x: np.abs(x) * scale)
        return [g.operand(dtype, g.shape(), modify=modify)], {}
    return draw


def judge_function(op, vals, attributes, types):
    x = wide(vals[0])
    ulps = bounds.elementwise(op, types[0])
    if types[0] == "f64" and op == "gelu":
        ulps = ulps + 2 * np.minimum(x * x, 2000)
    if types[0] == "f64" and op == "gelu_tanh":
        ulps = ulps + 3 * np.minimum(np.abs(tanh_argument(x)), 2000)
    if op == "softplus" and types[0] == "f64":
        x = x.astype(LONG)
    return [near(types[0], FUNCTIONS[op](x), ulps, zeros=op not in ("gelu", "gelu_tanh", "silu"))]


def relu(a):
    return np.where(a <= 0, np.zeros((), a.dtype), a)


EXACT = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": lambda a: a * a, "relu": relu,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "reciprocal": lambda a: np.ones((), a.dtype) / a, "sqrt": np.sqrt, "relu2": lambda a: relu(a) * relu(a),
}
TESTS = {
    "isnan": lambda a: np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool),
    "isinf": lambda a: np.isinf(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool),
    "isfinite": lambda a: np.isfinite(a) if a.dtype.kind == "f" else np.ones(a.shape, bool),
    "logical_not": np.logical_not,
}


def judge_exact(op, vals, attributes, types):
    result = np.asarray(EXACT[op](working(vals[0])))
    return [exactly(from_working(result, types[0]), zeros=op not in ("relu", "relu2"))]


def judge_test(op, vals, attributes, types):
    return [exactly(Val("bool", np.asarray(TESTS[op](working(vals[0])))))]


oracle(list(FUNCTIONS), draw_unary(["f32", "f32", "f64"] + UNPACKED), judge_function, cases=56)
oracle(list(EXACT), draw_unary(UNPACKED + ["f32"]), judge_exact, cases=56)
oracle(list(TESTS), draw_unary(UNPACKED), judge_test, cases=48)
oracle("bit_not", draw_unary(["bool"] + INTS), lambda op, vals, attributes, types: [
    exactly(Val(types[0], np.asarray(np.invert(vals[0].a))))], cases=48)


# ---- with attributes -------------------------------------------------------------------------------------------

def draw_clamp(g, op):
    dtype = g.pick(UNPACKED)
    bounds_of = [-np.inf, -300.0, -2.5, -1.0, -0.1, 0.0, 0.1, 1.0, 2.5, 7.0, 300.0, 1e10, -1e300, 1e300, np.inf]
    attributes = {}
    if g.chance(0.85):
        attributes["low"] = float(g.pick(bounds_of))
    if g.chance(0.85):
        attributes["high"] = float(g.pick(bounds_of))
    return [g.operand(dtype, g.shape())], attributes


def judge_clamp(op, vals, attributes, types):
    low, high = attributes.get("low", -np.inf), attributes.get("high", np.inf)
    if is_float(types[0]):
        x = wide(vals[0])
        return [near(types[0], np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high)),
                     bounds.elementwise(op, types[0]), zeros=False)]
    # the whole numbers inside [low, high]
    info = np.iinfo(vals[0].a.dtype)
    def inside(x):
        return int(max(info.min, min(info.max, x))) if np.isfinite(x) else info.min if x < 0 else info.max
    clamped = np.minimum(np.maximum(vals[0].a, vals[0].a.dtype.type(inside(np.ceil(low)))),
                         vals[0].a.dtype.type(inside(np.floor(high))))
    return [exactly(Val(types[0], np.asarray(clamped)))]


def draw_slope(name, values):
    def draw(g, op):
        attributes = {name: float(g.pick(values))} if g.chance(0.8) else {}
        return [g.operand(g.pick(UNPACKED + ["f32"]), g.shape())], attributes
    return draw


def judge_leaky(op, vals, attributes, types):
    x, slope = wide(vals[0]), attributes.get("slope", 0.01)
    return [near(types[0], np.where(x < 0, x.dtype.type(slope) * x, x), bounds.elementwise(op, types[0]), zeros=False)]


def judge_elu(op, vals, attributes, types):
    x, alpha = wide(vals[0]), attributes.get("alpha", 1.0)
    return [near(types[0], np.where(x < 0, x.dtype.type(alpha) * np.expm1(np.minimum(x, 0)), x),
                 bounds.elementwise(op, types[0]), zeros=False)]


oracle("clamp", draw_clamp, judge_clamp, cases=110)
oracle("leaky_relu", draw_slope("slope", [0.01, 0.5, 0.0, -1.0, 0.1, 2.0]), judge_leaky)
oracle("elu", draw_slope("alpha", [1.0, 0.5, 1.67326324, 0.1]), judge_elu)


def ties(g, source, target, shape):
    """Numbers of the source type at, and just beside, the middle between two neighbours of a float type: they show where
    rounding happens twice."""
    digits = FORMATS[target][0]
    if is_float(source):
        low, high = FORMATS[target][1] - 2, min(FORMATS[target][2], FORMATS[source][2]) - 1
        exponent = g.rng.integers(max(low, -30) if g.chance(0.7) else low, min(high, 30) if g.chance(0.7) else high, shape)
        middle = np.ldexp(g.rng.integers(2 ** (digits - 1), 2 ** digits, shape) + 0.5, exponent - digits + 1)
        beside = np.ldexp(middle, -g.pick([20, 24, 30, 45, 52])) * g.rng.integers(-1, 2, shape)
        x = (middle + beside) * g.rng.choice([-1.0, 1.0], shape)
        return Val(source, store(np.asarray(x).astype(LONG if source == "f64" else np.float64), source))
    width = STORED[source].itemsize * 8 - 1
    shift = g.rng.integers(1, max(width - digits, 1) + 1, shape)
    whole = g.rng.integers(2 ** (digits - 1), 2 ** digits, shape)
    x = (whole << shift) + (1 << (shift - 1)) + g.rng.integers(-1, 2, shape)
    return Val(source, np.asarray(x * g.rng.choice([-1, 1], shape)).astype(STORED[source]))


def draw_cast(g, op):
    source, target = g.pick(UNPACKED + PACKED), g.pick(UNPACKED + PACKED)
    modify = None
    if g.chance(0.25):
        source, target = g.pick(["f32", "f64", "f64", "i32", "i64"]), g.pick(["f16", "bf16", "f32"])
        if source != target and not (source == "i32" and target == "f64"):
            return [g.given(ties(g, source, target, g.shape(most=200)))], {"dtype": Dtype(target)}
    if g.chance(0.5):
        scale = g.pick([100.0, 1e5, 3e9, 1e19, 2.0 ** -24, 2.0 ** -130, 0.4])
        modify = lambda x: x * scale
    return [g.operand(source, g.shape(), modify=modify)], {"dtype": Dtype(target)}


def judge_cast(op, vals, attributes, types):
    return [exactly(cast(vals[0], types[0]), bits=vals[0].dtype == types[0])]


oracle("cast", draw_cast, judge_cast, cases=500)


# ---- two operands ----------------------------------------------------------------------------------------------

def draw_binary(types):
    def draw(g, op):
        a, b = g.pick(types), g.pick(types)
        if g.chance(0.5):
            b = a
        shapes = g.broadcast_shapes(2)
        # extremes meet each other now and then
        style = "extreme" if is_int(a) and is_int(b) and g.chance(0.5) else None
        operands = [g.operand(a, shapes[0], style), g.operand(b, shapes[1], style)]
        if g.chance(0.05) and shapes[0] == shapes[1] and a == b:
            operands[1] = operands[0]
        return operands, {}
    return draw


def int_safe(function):
    """Integer division by zero gives 0."""
    def safe(a, b):
        if a.dtype.kind == "f":
            return function(a, b)
        a, b = np.broadcast_arrays(a, b)
        return np.where(b == 0, 0, function(a, np.where(b == 0, 1, b))).astype(a.dtype)
    return safe


ARITHMETIC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum,
    "minimum": np.minimum, "floor_div": int_safe(np.floor_divide), "mod": int_safe(np.remainder),
}
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BITS = {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}


def judge_arithmetic(op, vals, attributes, types):
    result = np.asarray(ARITHMETIC[op](working(vals[0]), working(vals[1])))
    return [exactly(from_working(result, types[0]), zeros=op not in ("maximum", "minimum"))]


def judge_comparison(op, vals, attributes, types):
    return [exactly(Val("bool", np.asarray(COMPARISONS[op](working(vals[0]), working(vals[1])))))]


def judge_bits(op, vals, attributes, types):
    return [exactly(Val(types[0], np.asarray(BITS[op](vals[0].a, vals[1].a))))]


def judge_binary_function(op, vals, attributes, types):
    function = {"pow": np.power, "atan2": np.arctan2}[op]
    return [near(types[0], function(wide(vals[0]), wide(vals[1])), bounds.elementwise(op, types[0]))]


oracle(list(ARITHMETIC), draw_binary(UNPACKED + ["f32"]), judge_arithmetic, cases=120)
oracle(list(COMPARISONS), draw_binary(UNPACKED), judge_comparison)
oracle(list(BITS), draw_binary(["bool"] + INTS), judge_bits)
oracle(["pow", "atan2"], draw_binary(UNPACKED + FLOATS + ["f32"]), judge_binary_function, cases=96)


def draw_where(g, op):
    shapes = g.broadcast_shapes(3)
    a = g.pick(UNPACKED)
    b = a if g.chance(0.5) else g.pick(UNPACKED)
    condition = "bool" if g.chance(0.6) else g.pick(UNPACKED)
    return [g.operand(condition, shapes[0]), g.operand(a, shapes[1]), g.operand(b, shapes[2])], {}


def judge_where(op, vals, attributes, types):
    return [exactly(Val(types[0], np.asarray(np.where(vals[0].a, vals[1].a, vals[2].a))))]


oracle("where", draw_where, judge_where, cases=110)


# ---- int8 with a given scale -----------------------------------------------------------------------------------

def to_i8(x):
    """clamp(round_half_even(x), -128, 127) of an f32 array; NaN gives 0."""
    return np.clip(np.rint(np.where(np.isnan(x), 0, x)), -128, 127).astype(np.int8)


def draw_scaled(types):
    def draw(g, op):
        shape = g.shape()
        own = shape if g.chance(0.4) else shape[g.int(0, len(shape)):]
        own = tuple(1 if g.chance(0.3) else s for s in own)
        if g.chance(0.3):   # products that are halves
            dtype = g.pick(types)
            scale = Val("f32", g.rng.choice(np.array([0.5, 1, 2, -0.5], np.float32), own))
            return [g.operand(dtype, shape, "halves" if is_float(dtype) else None), g.given(scale)], {}
        return [g.operand(g.pick(types), shape), g.operand(g.pick(UNPACKED + ["f32"] * 6), own)], {}
    return draw


def judge_quantise(op, vals, attributes, types):
    return [exactly(Val("i8", np.asarray(to_i8(vals[0].a * vals[1].a))))]


def judge_dequantise(op, vals, attributes, types):
    return [exactly(Val("f32", np.asarray(vals[0].a.astype(np.float32) / vals[1].a)))]


oracle("quantise", draw_scaled(UNPACKED + ["f32"] * 6), judge_quantise, cases=96)
oracle("dequantise", draw_scaled(["i8", "i32"]), judge_dequantise, cases=96)
