"""Values of Tern's types in NumPy: storing, converting, rounding, comparing. Independent of the library.

A Val is a dtype name and an array of the stored type: bf16 is kept as its 16 bits, t2 and t5 as int8 values -1, 0
and 1; blocks have no values here (tests/tensor/test_blocks.c). Float arithmetic of the oracles happens in `wide` arrays: float64, and longdouble for f64.
"""
import numpy as np

DTYPES = ["bool", "u8", "i8", "i32", "i64", "f16", "bf16", "f32", "f64", "t2", "t5"]
DTYPE_NUMBER = {name: number for number, name in enumerate(DTYPES)}
INTS = ["u8", "i8", "i32", "i64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
UNPACKED = ["bool"] + INTS + FLOATS
PACKED = ["t2", "t5"]
STORED = {"bool": np.dtype(np.bool_), "u8": np.dtype(np.uint8), "i8": np.dtype(np.int8), "i32": np.dtype(np.int32),
          "i64": np.dtype(np.int64), "f16": np.dtype(np.float16), "bf16": np.dtype(np.uint16),
          "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "t2": np.dtype(np.int8), "t5": np.dtype(np.int8)}
# digits of the significand, exponents of the smallest and largest normal number
FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}

LONG = np.longdouble
# Where longdouble is no wider than double, an f64 oracle is as inexact as what it judges.
LONG_SLACK = 0.0 if np.finfo(LONG).nmant > 52 else 2.0


class Val:
    __slots__ = ("dtype", "a")

    def __init__(self, dtype, a):
        a = np.asarray(a)
        assert a.dtype == STORED[dtype], (dtype, a.dtype)
        self.dtype, self.a = dtype, a

    @property
    def shape(self):
        return self.a.shape

    def __repr__(self):
        return "%s%s" % (self.dtype, list(self.a.shape))


def is_float(dtype):
    return dtype in FORMATS


def is_int(dtype):
    return dtype in INTS


def is_packed(dtype):
    return dtype in PACKED


# ---- bytes -----------------------------------------------------------------------------------------------------

def pack(val):
    """The contiguous bytes of a value as Tern stores them."""
    a = np.ascontiguousarray(val.a).reshape(val.a.shape)
    if val.dtype == "bool":
        return a.view(np.uint8)
    if not is_packed(val.dtype):
        return a
    per = 4 if val.dtype == "t2" else 5
    columns = a.shape[-1] if a.ndim else 1
    rows = a.reshape(-1, columns) if columns else np.zeros((0, 0), np.int8)
    units = -(-columns // per)
    padded = np.zeros((rows.shape[0], units * per), np.int64)
    padded[:, :columns] = rows
    digits = (padded + 1).reshape(rows.shape[0], units, per)
    weights = (4 if val.dtype == "t2" else 3) ** np.arange(per)
    return np.ascontiguousarray((digits * weights).sum(-1).astype(np.uint8))


def unpack(dtype, shape, data):
    """The value of contiguous bytes (a uint8 array)."""
    if not is_packed(dtype):
        return np.frombuffer(data.tobytes(), STORED[dtype]).reshape(shape).copy()
    per, base = (4, 4) if dtype == "t2" else (5, 3)
    columns = shape[-1] if len(shape) else 1
    if not columns or 0 in shape:
        return np.zeros(shape, np.int8)
    units = -(-columns // per)
    digits = data.reshape(-1, units, 1).astype(np.int64) // base ** np.arange(per) % base
    digits = digits.reshape(-1, units * per)
    assert (digits <= 2).all() and (digits[:, columns:] == 1).all(), "not canonical " + dtype
    return (digits[:, :columns] - 1).astype(np.int8).reshape(shape)


def bits(val):
    """The stored bits, for comparing moves."""
    a = np.ascontiguousarray(val.a)
    return a.view("u%d" % a.itemsize).reshape(val.a.shape)


# ---- rounding --------------------------------------------------------------------------------------------------

def ulp(x, dtype):
    """Distance between neighbours of `dtype` around x (a wide array)."""
    digits, lowest, highest = FORMATS[dtype]
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 1))[1] - 1
    exponent = np.where(x == 0, lowest, np.clip(exponent, lowest, highest))
    one = np.ones((), LONG if dtype == "f64" else x.dtype if x.dtype == LONG else np.float64)
    return np.ldexp(one, (exponent - (digits - 1)).astype(np.int32))


def round_to(x, dtype):
    """x (wide) rounded once to `dtype`, half to even, still wide."""
    digits, lowest, highest = FORMATS[dtype]
    x = np.asarray(x)
    unit = ulp(x, dtype)
    with np.errstate(all="ignore"):
        rounded = np.rint(x / unit) * unit
        largest = np.ldexp(unit.dtype.type(2) - np.ldexp(unit.dtype.type(1), 1 - digits), highest)
        rounded = np.where(np.abs(rounded) > largest, np.copysign(unit.dtype.type(np.inf), x), rounded)
    return np.where(np.isfinite(x), np.copysign(rounded, x), x)


def overflow_at(dtype):
    """Numbers of at least this size round to infinity."""
    digits, _, highest = FORMATS[dtype]
    one = LONG(1) if dtype == "f64" else np.float64(1)
    return np.ldexp(one * 2 - np.ldexp(one, -digits), highest)


def store(x, dtype):
    """Wide -> the stored type, rounded once."""
    with np.errstate(all="ignore"):
        if dtype == "f64":
            return np.asarray(x).astype(np.float64)
        rounded = round_to(x, dtype)
        if dtype == "bf16":
            top = np.ascontiguousarray(rounded.astype(np.float32)).view(np.uint32).reshape(rounded.shape)
            return (top >> np.uint32(16)).astype(np.uint16)
        return rounded.astype(STORED[dtype])


def wide(val):
    """Float values without loss, in a type to compute in: f64, or longdouble for f64."""
    if val.dtype == "bf16":
        return (np.ascontiguousarray(val.a).astype(np.uint32) << np.uint32(16)).view(np.float32).astype(
            np.float64).reshape(val.a.shape)
    return val.a.astype(LONG if val.dtype == "f64" else np.float64)


def working(val):
    """The array in the type that its dtype computes in: f16 and bf16 in f32, everything else in its own."""
    if val.dtype in ("f16", "bf16"):
        return wide(val).astype(np.float32)
    return val.a


def from_working(a, dtype):
    """The reverse: rounded to 16 bits where that is the type."""
    if dtype in ("f16", "bf16"):
        return Val(dtype, store(np.asarray(a).astype(np.float64), dtype))
    return Val(dtype, np.asarray(a).astype(STORED[dtype]))


# ---- converting ------------------------------------------------------------------------------------------------

def promote(a, b):
    if a == b:
        return a
    if "bool" in (a, b):
        return b if a == "bool" else a
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    if {a, b} == {"u8", "i8"}:
        return "i32"
    return a if STORED[a].itemsize > STORED[b].itemsize else b


def cast(val, dtype):
    """Floats truncate and saturate to integers, NaN gives 0; integers wrap; bool is x != 0; ternary is the nearest
    of -1, 0 and 1, halves to even; floats round once."""
    if dtype == val.dtype:
        return val
    if dtype == "bool":
        return Val(dtype, (wide(val) != 0) if is_float(val.dtype) else val.a != 0)
    if is_float(val.dtype):
        x = wide(val)
        if is_float(dtype):
            return Val(dtype, store(x, dtype))
        if is_packed(dtype):
            return Val(dtype, np.nan_to_num(np.clip(np.rint(x), -1, 1), nan=0).astype(np.int8))
        info = np.iinfo(STORED[dtype])
        with np.errstate(all="ignore"):
            whole = np.trunc(np.where(np.isnan(x), 0, x))
            high, low = whole >= float(info.max) + (1 if info.max < 2**52 else 0), whole <= float(info.min)
            middle = np.where(high | low, 0, whole).astype(STORED[dtype])
        return Val(dtype, np.where(high, info.max, np.where(low, info.min, middle)).astype(STORED[dtype]))
    if is_float(dtype):
        if dtype in ("f32", "f64"):
            return Val(dtype, val.a.astype(STORED[dtype]))
        return Val(dtype, store(val.a.astype(LONG), dtype))
    if is_packed(dtype):
        return Val(dtype, np.clip(val.a.astype(np.int64), -1, 1).astype(np.int8))
    return Val(dtype, val.a.astype(STORED[dtype]))


# ---- comparing -------------------------------------------------------------------------------------------------

class Expect:
    """What a result has to be: its dtype and shape, and either
    exact: this Val; `bits`: NaN payloads and the sign of zero too, `zeros`: the sign of zero;
    or near: a wide array, `ulps` of the result's type away at most, plus `slack`, an absolute distance. For f16 and
    bf16, which compute in f32: half an ULP of their own, plus `ulps` of f32."""

    def __init__(self, dtype, exact=None, near=None, ulps=0.0, slack=None, bits=False, zeros=True):
        self.dtype, self.exact, self.near, self.ulps = dtype, exact, near, ulps
        self.slack, self.bits, self.zeros = slack, bits, zeros
        if exact is not None:
            assert exact.dtype == dtype, (exact.dtype, dtype)
        self.shape = (exact.a if exact is not None else near).shape


def exactly(val, bits=False, zeros=True):
    return Expect(val.dtype, exact=val, bits=bits, zeros=zeros)


def near(dtype, x, ulps, slack=None, zeros=True):
    return Expect(dtype, near=np.asarray(x), ulps=ulps, slack=slack, zeros=zeros)


def tolerance(expect):
    e = expect.near
    if expect.dtype in ("f16", "bf16"):
        allowed = 0.5 * ulp(e, expect.dtype) + expect.ulps * ulp(e, "f32")
    else:
        allowed = (expect.ulps + (LONG_SLACK if expect.dtype == "f64" else 0)) * ulp(e, expect.dtype)
    return allowed if expect.slack is None else allowed + expect.slack


def wrong_near(got, expect):
    """Which elements are wrong, as a bool array."""
    r, e = wide(got).astype(expect.near.dtype), expect.near
    allowed = tolerance(expect)
    with np.errstate(all="ignore"):
        ok = np.abs(r - e) <= allowed
        ok |= (r == e)
        ok |= np.isnan(r) & np.isnan(e)
        # infinite where rounding may have led there
        ok |= np.isinf(r) & (np.abs(e) + allowed >= overflow_at(got.dtype)) & (np.sign(r) == np.sign(e))
        if expect.zeros:
            tied = (r == 0) & ((e == 0) | (np.abs(e) <= ulp(e, got.dtype)))
            if expect.slack is not None:
                tied &= np.asarray(expect.slack) == 0
            ok &= ~tied | (np.signbit(r) == np.signbit(e))
    return ~ok


def wrong_exact(got, expect):
    differs = bits(got) != bits(expect.exact)
    if expect.bits or not is_float(got.dtype):
        return differs
    r, e = wide(got), wide(expect.exact)
    differs &= ~(np.isnan(r) & np.isnan(e))
    if not expect.zeros:
        differs &= ~((r == 0) & (e == 0))
    return differs


def number_text(val, index):
    """One element for people: a float with its bits."""
    if not is_float(val.dtype):
        return str(val.a[index])
    return "%s (bits %0*x)" % (repr(float(wide(val)[index])), 2 * val.a.itemsize, int(bits(val)[index]))


def compare(got, expect):
    """None, or a sentence that says what is wrong with the Val `got`."""
    if got.dtype != expect.dtype:
        return "dtype is %s, should be %s" % (got.dtype, expect.dtype)
    if got.shape != expect.shape:
        return "shape is %s, should be %s" % (list(got.shape), list(expect.shape))
    wrong = wrong_exact(got, expect) if expect.exact is not None else wrong_near(got, expect)
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = "%d of %d elements differ; " % (wrong.sum(), wrong.size)
    if expect.exact is not None:
        return "%sfirst at %s: got %s, expected exactly %s" % (
            count, list(index), number_text(got, index), number_text(expect.exact, index))
    e, r = expect.near[index], wide(got)[index]
    with np.errstate(all="ignore"):
        away = abs(r - e) / ulp(e, got.dtype) if np.isfinite(r) and np.isfinite(e) else np.inf
        allowed = np.broadcast_to(tolerance(expect), expect.near.shape)[index] / ulp(e, got.dtype)
    return "%sfirst at %s: got %s, expected %r (%.4g ULP away, %.4g allowed)" % (
        count, list(index), number_text(got, index), e, away, allowed)
