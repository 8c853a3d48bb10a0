"""Oracles of leaves and sources, of views, and of ops that move data."""
import numpy as np

import bounds
from registry import oracle
from tern import Dtype
from values import FLOATS, INTS, LONG, PACKED, STORED, UNPACKED, Val, cast, exactly, is_float, is_packed, near, wide

ANY = UNPACKED + PACKED


def moved(dtype, a):
    """The same elements elsewhere, bit for bit."""
    return [exactly(Val(dtype, np.asarray(a)), bits=True)]


# ---- leaves and sources ----------------------------------------------------------------------------------------

def draw_leaf(g, op):
    dtype = g.pick(ANY if op != "state" else UNPACKED)
    shape = g.shape()
    while op == "constant" and np.prod(shape) > 64:     # larger ones are not printed with their data
        shape = g.shape()
    return [g.operand(dtype, shape, plain=True)], {}


oracle(["input", "constant", "state"], draw_leaf, lambda op, vals, attributes, types: [
    exactly(vals[0], bits=op != "constant")], cases=40)


def draw_full(g, op):
    dtype = g.pick(UNPACKED)
    value = g.pick([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.1, 1e-40, 65519.99, 65520.0, 1e39, -1e300, np.inf, -np.inf,
                    np.nan, 255.5, -128.5, 2147483647.5, 9.3e18, 1 + 2.0 ** -11 + 2.0 ** -40, float(g.rng.normal())])
    return [], {"dtype": Dtype(dtype), "shape": list(g.shape(most=300)), "value": float(value)}


def judge_full(op, vals, attributes, types):
    value = Val("f64", np.full(attributes["shape"], attributes["value"]))
    return [exactly(cast(value, types[0]))]


def draw_arange(g, op):
    dtype = g.pick(UNPACKED)
    start, step = g.int(-20, 20) / 4, g.pick([1, 2, 0.5, 0.25, -1, -0.75, 3, 0.125])
    stop = start + step * g.int(-2, 40) + g.pick([0, 0.01, -0.01])
    if is_float(dtype) and g.chance(0.5):
        start, step = float(g.rng.normal()), float(g.rng.normal())
        stop = start + step * (g.int(0, 40) + 0.5)
    return [], {"dtype": Dtype(dtype), "start": float(start), "stop": float(stop), "step": float(step)}


def judge_arange(op, vals, attributes, types):
    start, stop, step = (attributes[name] for name in ("start", "stop", "step"))
    count = max(0, int(np.ceil((stop - start) / step)))
    exact = LONG(start) + np.arange(count).astype(LONG) * LONG(step)
    if is_float(types[0]):
        slack = np.arange(count) * abs(step) * 2.0 ** -52
        return [near(types[0], exact, bounds.elementwise(op, types[0]), slack)]
    return [exactly(cast(Val("f64", exact.astype(np.float64)), types[0]))]


def draw_eye(g, op):
    return [], {"dtype": Dtype(g.pick(UNPACKED)), "rows": g.int(0, 9), "columns": g.int(0, 9),
                "diagonal": g.pick([0, 0, 1, -1, 3, -4, 20, -20, 2 ** 62, -2 ** 62])}


def judge_eye(op, vals, attributes, types):
    rows, columns = attributes["rows"], attributes["columns"]
    on = np.arange(columns) - np.arange(rows)[:, None] == attributes["diagonal"]
    return [exactly(cast(Val("bool", on), types[0]))]


def draw_random(g, op):
    shape = g.pick([(g.int(0, 3), g.int(1, 40)), (), (5, 1, 7), (20000,), (100, 3, 100), (1,)])
    return [], {"dtype": Dtype(g.pick(FLOATS)), "shape": list(shape),
                "seed": g.pick([0, 1, -1, 42, 2 ** 63 - 1, -2 ** 63, g.int(0, 2 ** 40)])}


def judge_random(op, vals, attributes, types):
    """There is no second implementation of the generator here: range and distribution are checked. That element i is a
    function of (seed, i) alone is checked by test_expressions.py."""
    def verdict(results):
        if results[0].dtype != types[0] or results[0].shape != tuple(attributes["shape"]):
            return "%r, should be %s%s" % (results[0], types[0], attributes["shape"])
        x = wide(results[0]).astype(np.float64).reshape(-1)
        if not np.isfinite(x).all():
            return "not finite"
        if op == "rand" and ((x < 0) | (x >= 1)).any():
            return "outside [0, 1)"
        if x.size < 10000:
            return None
        ordered = np.sort(x)
        if op == "rand":
            expected = ordered
        else:
            from elementwise import erfc
            expected = (erfc(-ordered / np.sqrt(2)) / 2).astype(np.float64)
        # Kolmogorov and Smirnov: exceeded once in 3 * 10^10 runs, plus the grid of the type
        distance = np.abs(expected - (np.arange(x.size) + 0.5) / x.size).max()
        grid = {"f16": 2e-3, "bf16": 1.2e-2}.get(types[0], 0)
        if distance > 3.5 / np.sqrt(x.size) + grid:
            return "distribution is %.3g off" % distance
        serial = np.corrcoef(x[:-1], x[1:])[0, 1]
        return "neighbours correlate by %.3g" % serial if abs(serial) > 7 / np.sqrt(x.size) else None
    return [verdict]


oracle("full", draw_full, judge_full, cases=110)
oracle("arange", draw_arange, judge_arange, cases=110)
oracle("eye", draw_eye, judge_eye, cases=64)
oracle(["rand", "randn"], draw_random, judge_random, cases=32)


# ---- views -----------------------------------------------------------------------------------------------------

def factorings(g, shape, packed):
    """Another shape with as many elements."""
    fixed = shape[-1:] if packed and shape else ()
    if packed and not shape:
        return list(shape)
    total = int(np.prod(shape[:-1] if packed else shape))
    sizes = []
    if total == 0:
        sizes = g.sizes(g.int(1, 4))
        sizes[g.int(0, len(sizes) - 1)] = 0
    else:
        left = total
        while left > 1 and len(sizes) < 5:
            divisors = [d for d in range(2, min(left, 60) + 1) if left % d == 0] or [left]
            sizes.append(g.pick(divisors))
            left //= sizes[-1]
        sizes.append(left)
        if g.chance(0.3):
            sizes.insert(g.int(0, len(sizes)), 1)
        if len(sizes) > 1 and sizes[-1] == 1 and g.chance(0.7):
            sizes.pop()
    result = [int(s) for s in sizes] + list(fixed)
    if g.chance(0.3):
        at = g.int(0, len(result) - 1)
        if int(np.prod([s for i, s in enumerate(result) if i != at])) > 0:
            result[at] = -1
    return result[-8:] if len(result) <= 8 else list(shape)


def draw_reshape(g, op):
    dtype, shape = g.pick(ANY), g.shape()
    if is_packed(dtype) and shape and shape[-1] == 0:
        shape = shape[:-1] + (3,)
    to = factorings(g, shape, is_packed(dtype))
    return [g.operand(dtype, shape)], {"shape": to}


def draw_permute(g, op):
    dtype, shape = g.pick(ANY), g.shape()
    rank = len(shape)
    axes = [int(a) for a in g.rng.permutation(rank)]
    if is_packed(dtype) and rank:
        axes = [int(a) for a in g.rng.permutation(rank - 1)] + [rank - 1]
    axes = [a - rank if g.chance(0.3) else a for a in axes]
    return [g.operand(dtype, shape)], {"axes": axes}


def draw_slice(g, op):
    dtype, shape = g.pick(ANY), g.shape(most=300)
    start, stop, step = [], [], []
    for i, n in enumerate(shape):
        if is_packed(dtype) and i == len(shape) - 1:
            start.append(0), stop.append(g.pick([n, n + 3, 2 ** 62]) if n else 0), step.append(1)
            continue
        start.append(g.pick([0, g.int(-n - 2, n + 2), -2 ** 63, 2 ** 63 - 1] if g.chance(0.1)
                            else [0, g.int(-n - 2, n + 2)]))
        stop.append(g.pick([n, g.int(-n - 2, n + 2), 2 ** 63 - 1, -2 ** 63] if g.chance(0.1)
                           else [n, g.int(-n - 2, n + 2)]))
        step.append(g.pick([1, 1, 2, 3, -1, -2, 2 ** 63 - 1, -2 ** 63] if g.chance(0.1) else [1, 1, 2, 3, -1, -2]))
    return [g.operand(dtype, shape)], {"start": start, "stop": stop, "step": step}


def draw_broadcast(g, op):
    dtype, shape = g.pick(ANY), g.shape(high=4)
    if is_packed(dtype) and shape and shape[-1] == 1:
        shape = shape[:-1] + (5,)
    own = [1 if g.chance(0.4) and not (is_packed(dtype) and i == len(shape) - 1) else s for i, s in enumerate(shape)]
    to = (g.sizes(g.int(0, 2), 6) if not (is_packed(dtype) and not shape) else []) + list(shape)
    return [g.operand(dtype, own)], {"shape": to}


def judge_view(op, vals, attributes, types):
    a = vals[0].a
    if op == "reshape":
        return moved(types[0], a.reshape(attributes["shape"]))
    if op == "permute":
        return moved(types[0], a.transpose(attributes["axes"]))
    if op == "slice":
        return moved(types[0], a[tuple(slice(*s) for s in zip(attributes["start"], attributes["stop"],
                                                              attributes["step"]))])
    if op == "broadcast":
        return moved(types[0], np.broadcast_to(a, attributes["shape"]))
    return moved(types[0], a)


oracle("reshape", draw_reshape, judge_view, cases=200)
oracle("permute", draw_permute, judge_view, cases=110)
oracle("slice", draw_slice, judge_view, cases=260)
oracle("broadcast", draw_broadcast, judge_view, cases=110)
oracle("again", lambda g, op: ([g.operand(g.pick(ANY), g.shape())], {}), judge_view, cases=40)
oracle("to_device", lambda g, op: ([g.operand(g.pick(ANY), g.shape())], {"device": "cpu"}), judge_view, cases=40)
oracle("contiguous", lambda g, op: ([g.operand(g.pick(ANY), g.shape())], {}), judge_view, cases=150)


# ---- joining and cutting ---------------------------------------------------------------------------------------

def draw_join(g, op):
    shape = list(g.shape(low=1 if op == "concat" else 0, most=60))
    n = g.pick([1, 2, 2, 3, 4, 9])
    dtype = g.pick(UNPACKED)
    axis = g.axis(len(shape) + (op == "stack"))
    operands = []
    for _ in range(n):
        own = list(shape)
        if op == "concat":
            own[axis] = g.int(0, 4)
        operands.append(g.operand(dtype if g.chance(0.8) else g.pick(UNPACKED), own))
    return operands, {"axis": axis} if g.chance(0.9) or axis != 0 else {}


def judge_join(op, vals, attributes, types):
    join = np.concatenate if op == "concat" else np.stack
    # some may have been cast: a NaN then is any NaN
    return [exactly(Val(types[0], join([v.a for v in vals], axis=attributes.get("axis", 0))))]


def draw_split(g, op):
    shape = list(g.shape(low=1, most=100))
    axis = g.axis(len(shape))
    sizes = [g.int(0, 4) for _ in range(g.int(1, 5))]
    shape[axis] = sum(sizes)
    return [g.operand(g.pick(UNPACKED), shape)], {"sizes": sizes, "axis": axis}


def judge_split(op, vals, attributes, types):
    ends = np.cumsum(attributes["sizes"])[:-1]
    return [moved(types[0], part)[0] for part in np.split(vals[0].a, ends, axis=attributes["axis"])]


def draw_pad(g, op):
    shape = g.shape(most=60)
    value = g.pick([0.0, 1.0, -1.5, 300.0, np.nan, -np.inf, 1e20, -0.0])
    attributes = {"before": [g.int(0, 3) for _ in shape], "after": [g.int(0, 3) for _ in shape]}
    if g.chance(0.8):
        attributes["value"] = float(value)
    return [g.operand(g.pick(UNPACKED), shape)], attributes


def judge_pad(op, vals, attributes, types):
    value = cast(Val("f64", np.asarray(attributes.get("value", 0.0))), types[0]).a
    widths = list(zip(attributes["before"], attributes["after"]))
    padded = np.full([s + b + e for s, (b, e) in zip(vals[0].a.shape, widths)], value, vals[0].a.dtype)
    padded[tuple(slice(b, b + s) for s, (b, _) in zip(vals[0].a.shape, widths))] = vals[0].a
    return [exactly(Val(types[0], padded))]


def draw_triangle(g, op):
    attributes = {"diagonal": g.pick([-30, -2, -1, 0, 1, 2, 30, 2 ** 63 - 1, -2 ** 63])} if g.chance(0.8) else {}
    return [g.operand(g.pick(UNPACKED), g.shape(low=2, most=200))], attributes


def judge_triangle(op, vals, attributes, types):
    a, diagonal = vals[0].a, attributes.get("diagonal", 0)
    diagonal = max(-10 ** 6, min(10 ** 6, diagonal))
    offset = np.arange(a.shape[-1]) - np.arange(a.shape[-2])[:, None]
    keep = offset <= diagonal if op == "tril" else offset >= diagonal
    return moved(types[0], np.where(keep, a, np.zeros((), a.dtype)))


def draw_flip(g, op):
    shape = g.shape()
    axes = g.axes(len(shape))
    return [g.operand(g.pick(UNPACKED), shape)], {"axes": axes} if axes or g.chance(0.5) else {}


oracle(["concat", "stack"], draw_join, judge_join, cases=130)
oracle("split", draw_split, judge_split, cases=96)
oracle("pad", draw_pad, judge_pad, cases=110)
oracle(["tril", "triu"], draw_triangle, judge_triangle, cases=80)
oracle("flip", draw_flip, lambda op, vals, attributes, types: moved(
    types[0], np.flip(vals[0].a, axis=attributes.get("axes") or None)), cases=96)


# ---- picking by index ------------------------------------------------------------------------------------------

def draw_indices(g, shape, size, negative=True):
    """An operand of any integer type with indices into an axis of `size` (not 0 unless the shape is empty)."""
    dtype = g.pick(INTS)
    info = np.iinfo(STORED[dtype])
    low = -size if negative and info.min < 0 else 0
    high = min(size - 1, info.max)
    if int(np.prod(shape)) == 0:
        low, high = 0, 0
    values = g.rng.integers(max(low, info.min), high, shape, endpoint=True).astype(STORED[dtype])
    return g.given(Val(dtype, np.asarray(values)))


def draw_gather(g, op):
    shape = list(g.shape(low=1, high=4, most=60))
    axis = g.axis(len(shape))
    index_shape = g.shape(high=8 - len(shape) + 1 if len(shape) < 4 else 3, most=30)
    if len(index_shape) + len(shape) - 1 > 8:
        index_shape = index_shape[:2]
    if op == "take_along":
        index_shape = list(shape)
        index_shape[axis] = g.int(0, 6)
    if shape[axis] == 0 and int(np.prod(index_shape)) > 0:
        shape[axis] = 3
    attributes = {"axis": axis} if g.chance(0.8) else {}
    default = 0 if op == "gather" else -1
    if not attributes and axis % len(shape) != default % len(shape):
        attributes = {"axis": axis}
    return [g.operand(g.pick(UNPACKED), shape), draw_indices(g, tuple(index_shape), shape[axis])], attributes


def judge_gather(op, vals, attributes, types):
    x, indices = vals[0].a, vals[1].a
    if op == "gather":
        axis = attributes.get("axis", 0)
        if indices.size == 0:
            axis %= x.ndim
            return moved(types[0], np.zeros(x.shape[:axis] + indices.shape + x.shape[axis + 1:], x.dtype))
        return moved(types[0], np.take(x, indices, axis=axis))
    axis = attributes.get("axis", -1)
    return moved(types[0], np.take_along_axis(x, indices, axis=axis))


def draw_scatter(g, op):
    shape = list(g.shape(low=1, high=4, most=80))
    shape[0] = max(shape[0], 1)
    n = g.int(0, 12)
    a = g.pick(UNPACKED + ["f32"])
    b = a if g.chance(0.6) else g.pick(UNPACKED)
    return [g.operand(a, shape), draw_indices(g, (n,), shape[0]), g.operand(b, [n] + shape[1:])], {}


def judge_scatter(op, vals, attributes, types):
    """Sums are rounded to the result's type one by one, in ascending order."""
    dtype = types[0]
    y = Val(dtype, vals[0].a.copy())
    for i, row in enumerate(vals[1].a):
        if is_float(dtype) and dtype not in ("f32", "f64"):
            total = wide(Val(dtype, y.a[row])) + wide(Val(dtype, vals[2].a[i]))
            y.a[row] = cast(Val("f64", total), dtype).a
        else:
            y.a[row] = y.a[row] + vals[2].a[i]
    return [exactly(y)]


def draw_one_hot(g, op):
    dtype = g.pick(INTS)
    classes = g.int(0, 7)
    indices = g.operand(dtype, g.shape(high=5, most=40), style=g.pick(["small", "small", "extreme"]))
    return [indices], {"classes": classes, "dtype": Dtype(g.pick(UNPACKED))}


def judge_one_hot(op, vals, attributes, types):
    hot = vals[0].a[..., None] == np.arange(attributes["classes"])
    return [exactly(cast(Val("bool", hot), types[0]))]


oracle(["gather", "take_along"], draw_gather, judge_gather, cases=120)
oracle("scatter_add", draw_scatter, judge_scatter, cases=110)
oracle("one_hot", draw_one_hot, judge_one_hot, cases=80)
