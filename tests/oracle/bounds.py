"""How far a result may be from the true one: the table of bounds, in ULPs of the result's type.

The true value is computed in float64 (longdouble for f64). f16 and bf16 compute in f32 and are rounded once more, so
for them a bound means: half an ULP of their own plus that many ULPs of f32. What is not listed here is exact:
arithmetic (+ - * / sqrt, reciprocal, floor ...) must be what IEEE 754 says in the type that computes, moves, integers,
bools and quantisation bit for bit.
"""

# elementwise functions: (f32, f64). 2.5: row programs promise at most 2 ULP from the correctly rounded result.
ELEMENTWISE = {
    "rsqrt": (2.5, 1.5),
    "cbrt": (1, 4),      # glibc states 4 for its cbrt
    "exp": (2.5, 1), "exp2": (2.5, 1), "expm1": (2.5, 2), "log": (2.5, 1), "log2": (2.5, 1), "log1p": (2.5, 2),
    "sin": (2.5, 1), "cos": (2.5, 1), "tan": (1, 1), "asin": (1, 1), "acos": (1, 1), "atan": (1, 1),
    "sinh": (2.5, 2), "cosh": (2.5, 2), "tanh": (2.5, 2.5), "erf": (2.5, 1.5),
    "sigmoid": (2.5, 4), "silu": (2.5, 4), "softplus": (2.5, 4), "elu": (3.5, 4), "leaky_relu": (1, 1),
    # in f64 the rounding of the argument of erfc or tanh is amplified: + 2 x^2 or + 6|u| ULPs
    "gelu": (2.5, 6), "gelu_tanh": (2.5, 6),
    "pow": (1.5, 1), "atan2": (1, 1),
    "clamp": (0.5, 0.5),
    "arange": (0.5, 1),
}

# Sums of every float type run in f64 and are rounded once: half an ULP, plus n * ACCUMULATE * sum|x|.
ACCUMULATE = 2.0 ** -53

# Products sum in chains of their own type (f16 and bf16 in f32): half an ULP, plus k * CHAIN * sum|a b|.
CHAIN = {"f16": 2.0 ** -24, "bf16": 2.0 ** -24, "f32": 2.0 ** -24, "f64": 2.0 ** -53}

# rmsnorm rounds after every step (mean, + eps, sqrt, 1 / x, two products)
RMSNORM = 5
# var: the squares of f32 differences are summed in f64: a difference that is half an ULP off gives a square that is
# two off at most. layernorm rounds twice where it takes off the mean, the scale, and after each of three products; its
# bound counts f32 roundings of the normalised value.
VAR = 3
LAYERNORM = 6
# softmax: e^(x - max): the rounding of x - max is amplified: + |x - max| ULPs
SOFTMAX = 4


def elementwise(op, dtype):
    if op not in ELEMENTWISE:
        raise LookupError(f"{op} has no bound: add it to ELEMENTWISE in tests/oracle/bounds.py as (ULPs in f32, in f64)")
    return ELEMENTWISE[op][1 if dtype == "f64" else 0]
