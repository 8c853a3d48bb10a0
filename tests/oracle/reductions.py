"""Oracles of reductions, of ops along an axis, and of norms."""
import numpy as np

import bounds
from registry import oracle
from values import FLOATS, LONG, UNPACKED, Val, exactly, is_float, near, store, wide, working


def tame(g, dtype, extra=()):
    """A style whose sums do not overflow in the middle, whatever their order."""
    styles = ["unit", "unit", "whole", "tiny", "nonfinite"] + list(extra)
    if dtype in ("f16", "bf16", "f32"):
        styles += ["mixed", "wide"]
    return g.pick(styles) if is_float(dtype) else None


def chosen_axes(attributes, rank):
    axes = attributes.get("axes", [])
    return tuple(a % rank for a in axes) if axes else tuple(range(rank))


def terms(shape, axes):
    return int(np.prod([shape[a] for a in axes])) if axes else 1


# ---- any axes --------------------------------------------------------------------------------------------------

def draw_reduce(styles=tame):
    def draw(g, op):
        dtype = g.pick(UNPACKED + ["f32", "f64"])
        shape = g.shape(most=200)
        if g.chance(0.02):
            shape = g.pick([(40000,), (3, 20000), (20000, 3), (150, 150)])
        attributes = {}
        axes = g.axes(len(shape))
        if op in ("max", "min") and 0 in shape:
            # nothing to choose from: only allowed where there is no result either
            kept = [i for i in range(len(shape)) if axes and i not in [a % len(shape) for a in axes]]
            if not any(shape[i] == 0 for i in kept):
                shape = tuple(max(s, 1) for s in shape)
        if axes or g.chance(0.5):
            attributes["axes"] = axes
        if g.chance(0.5):
            attributes["keepdims"] = g.chance(0.7)
        if op == "var" and g.chance(0.6):
            attributes["ddof"] = g.int(0, 3)
        return [g.operand(dtype, shape, style=styles(g, dtype))], attributes
    return draw


def judge_int_reduce(op, x, axes, keepdims):
    """sum and prod of i64 wrap, like NumPy's."""
    function = np.sum if op == "sum" else np.prod
    return exactly(Val("i64", np.asarray(function(x.a, axis=axes, keepdims=keepdims, dtype=np.int64))))


def judge_reduce(op, vals, attributes, types):
    x, dtype = vals[0], types[0]
    axes, keepdims = chosen_axes(attributes, x.a.ndim), attributes.get("keepdims", False)
    if op in ("any", "all"):
        return [exactly(Val("bool", np.asarray(getattr(np, op)(x.a, axis=axes, keepdims=keepdims))))]
    if not is_float(dtype) and op in ("sum", "prod"):
        return [judge_int_reduce(op, x, axes, keepdims)]
    if op in ("max", "min"):
        if terms(x.a.shape, axes) == 0:
            kept = np.zeros(x.a.shape).sum(axis=axes, keepdims=keepdims).shape
            return [exactly(Val(dtype, np.zeros(kept, x.a.dtype)))]
        result = np.asarray(getattr(np, op)(working(x), axis=axes, keepdims=keepdims))
        return [exactly(Val(dtype, store(result.astype(np.float64), dtype) if dtype in FLOATS else result), zeros=False)]
    w, n = wide(x).astype(LONG), terms(x.a.shape, axes)
    def total(a):
        return np.asarray(a.sum(axis=axes, keepdims=keepdims))
    size = total(np.abs(w))
    slack = n * bounds.ACCUMULATE * size
    if op == "sum":
        return [near(dtype, total(w), 0.5, slack, zeros=False)]
    if op == "mean":
        return [near(dtype, total(w) / LONG(n), 0.5, slack / max(n, 1), zeros=False)]
    if op == "prod":
        product = np.asarray(np.prod(w, axis=axes, keepdims=keepdims, dtype=LONG))
        return [near(dtype, product, 0.5, 2 * n * bounds.ACCUMULATE * np.abs(product))]
    if op == "var":
        return [judge_var(dtype, w, n, axes, keepdims, attributes.get("ddof", 0))]
    return [judge_logsumexp(dtype, w, n, axes, keepdims)]


def judge_var(dtype, w, n, axes, keepdims, ddof):
    mean = w.sum(axis=axes, keepdims=True) / LONG(n)
    squares = np.asarray(((w - mean) ** 2).sum(axis=axes, keepdims=keepdims))
    freedom = LONG(max(n - ddof, 0))
    size = np.asarray(np.abs(w).sum(axis=axes, keepdims=keepdims)) / LONG(max(n, 1))
    wrong_mean = n * bounds.ACCUMULATE * size
    slack = ((n + 4) * 2 * bounds.ACCUMULATE * squares + n * wrong_mean ** 2) / np.maximum(freedom, 1)
    if n - ddof <= 0:
        # x / 0: infinite, or NaN; a deviation that is only rounding of the mean may or may not be 0
        return near(dtype, np.asarray(squares / freedom), 0, zeros=False)
    return near(dtype, np.asarray(squares / freedom), 0.5 if dtype == "f64" else bounds.VAR, slack, zeros=False)


def judge_logsumexp(dtype, w, n, axes, keepdims):
    if n == 0:
        return near(dtype, np.full(np.asarray(w.sum(axis=axes, keepdims=keepdims)).shape, -LONG(np.inf)), 0)
    largest = np.asarray(w.max(axis=axes, keepdims=True))
    finite = np.isfinite(largest)
    shifted = np.exp(w - np.where(finite, largest, 0))
    result = np.where(finite, largest + np.log(shifted.sum(axis=axes, keepdims=True)), largest)
    result = result if keepdims else result.squeeze(axis=axes)
    slack = (n + 8) * 2 * bounds.ACCUMULATE * (1 + np.abs(np.asarray(largest if keepdims else largest.squeeze(axis=axes))))
    if dtype != "f64":
        # f32 rounds x - max, which is amplified by |x - max|, and e^(x - max) is an ULP off
        distance = np.abs(np.where(shifted > 0, w - np.where(finite, largest, 0), 0))
        wrong = ((distance + 2) * shifted).sum(axis=axes, keepdims=keepdims) / shifted.sum(axis=axes, keepdims=keepdims)
        slack = slack + np.asarray(wrong) * bounds.CHAIN["f32"]
    return near(dtype, result, 0.5, np.where(np.isfinite(slack), slack, 0), zeros=False)


def product_style(g, dtype):
    return g.pick(["unit", "whole", "nonfinite", "near one"]) if is_float(dtype) else None


oracle(["sum", "mean"], draw_reduce(), judge_reduce, cases=130)
oracle(["var", "logsumexp"], draw_reduce(lambda g, dtype: g.pick(["unit", "whole", "nonfinite"])
                                         if is_float(dtype) else None), judge_reduce, cases=96)
oracle("prod", draw_reduce(product_style), judge_reduce, cases=96)
oracle(["max", "min"], draw_reduce(lambda g, dtype: None), judge_reduce, cases=96)
oracle(["any", "all"], draw_reduce(lambda g, dtype: g.pick(["special", "whole", "tiny"]) if is_float(dtype) else None),
       judge_reduce, cases=64)


# ---- order: argmax, argmin, sort, topk -------------------------------------------------------------------------

def ranks(val):
    """Integers in the order of the values; NaN above all, -0 like 0."""
    a = wide(val) if is_float(val.dtype) else val.a
    nan = np.isnan(a) if is_float(val.dtype) else np.zeros(a.shape, bool)
    ordered = np.unique(a[~nan])
    return np.where(nan, len(ordered), np.searchsorted(ordered, np.where(nan, ordered[:1] if len(ordered) else 0, a)))


def draw_ordered(g, op):
    dtype = g.pick(UNPACKED + ["f32"])
    shape = g.shape(low=1, most=150)
    axis = g.axis(len(shape))
    if op in ("argmax", "argmin") and shape[axis] == 0:
        shape = tuple(max(s, 1) for s in shape)
    attributes = {"axis": axis} if g.chance(0.8) or shape[-1] == 0 else {}
    axis = attributes.get("axis", -1)
    if op in ("argmax", "argmin"):
        if g.chance(0.5):
            attributes["keepdims"] = g.chance(0.6)
    elif op == "sort":
        attributes["descending"] = g.chance(0.5)
    else:
        attributes["k"] = g.int(0, shape[axis])
        attributes["largest"] = g.chance(0.6)
    style = g.pick([None, "special", "whole"]) if is_float(dtype) else g.pick([None, "small"])
    return [g.operand(dtype, shape, style=style)], attributes


def judge_arg(op, vals, attributes, types):
    axis, order = attributes.get("axis", -1), ranks(vals[0]).astype(np.int64)
    if is_float(vals[0].dtype) and op == "argmin":
        order = np.where(np.isnan(wide(vals[0])), -1, order)
    result = np.argmax(order if op == "argmax" else -order, axis=axis)
    if attributes.get("keepdims"):
        result = np.expand_dims(result, axis)
    return [exactly(Val("i64", np.asarray(result, np.int64)))]


def judge_sorted(op, vals, attributes, types):
    axis, order = attributes.get("axis", -1), ranks(vals[0]).astype(np.int64)
    nan = np.isnan(wide(vals[0])) if is_float(vals[0].dtype) else np.zeros(order.shape, bool)
    if op == "sort":
        order = np.where(nan, 1 << 40, -order if attributes["descending"] else order)
        k = order.shape[axis]
    else:
        order = -order if attributes["largest"] else order
        k = attributes["k"]
    index = np.take(np.argsort(order, axis=axis, kind="stable"), range(k), axis=axis)
    values = np.take_along_axis(vals[0].a, index, axis=axis)
    return [exactly(Val(types[0], values), bits=True), exactly(Val("i64", index.astype(np.int64)))]


oracle(["argmax", "argmin"], draw_ordered, judge_arg, cases=96)
oracle(["sort", "topk"], draw_ordered, judge_sorted, cases=130)


# ---- along an axis ---------------------------------------------------------------------------------------------

def draw_along(g, op):
    dtype = g.pick(UNPACKED + ["f32", "f32"])
    shape = g.shape(low=1, most=150)
    attributes = {"axis": g.axis(len(shape))} if g.chance(0.8) else {}
    style = tame(g, dtype) if op == "cumsum" else g.pick([None, "unit"])
    return [g.operand(dtype, shape, style=style)], attributes


def judge_cumsum(op, vals, attributes, types):
    axis = attributes.get("axis", -1)
    if types[0] == "i64":
        return [exactly(Val("i64", np.cumsum(vals[0].a, axis=axis, dtype=np.int64)))]
    w = wide(vals[0]).astype(LONG)
    slack = w.shape[axis] * bounds.ACCUMULATE * np.cumsum(np.abs(w), axis=axis)
    return [near(types[0], np.cumsum(w, axis=axis), 0.5, slack, zeros=False)]


def judge_softmax(op, vals, attributes, types):
    axis, dtype, w = attributes.get("axis", -1), types[0], wide(vals[0]).astype(LONG)
    n, u = w.shape[axis], bounds.CHAIN[dtype]
    if w.size == 0:
        return [near(dtype, w, 0)]
    largest = w.max(axis=axis, keepdims=True)
    shifted = w - largest
    distance = np.where(np.isfinite(shifted), np.abs(shifted), 0)
    if op == "softmax":
        e = np.exp(shifted)
        return [near(dtype, e / e.sum(axis=axis, keepdims=True),
                     bounds.SOFTMAX + np.minimum(distance, 2000) + (n if dtype == "f64" else 0))]
    total = np.log(np.exp(np.where(np.isfinite(largest), shifted, 0)).sum(axis=axis, keepdims=True))
    # x - logsumexp(x); an infinite largest element is the logsumexp itself
    result = np.where(np.isinf(largest), w - largest, shifted - total)
    slack = 2 * u * (distance + np.abs(total) + 1) + n * 4 * bounds.ACCUMULATE
    return [near(dtype, result, 1, slack, zeros=False)]


oracle("cumsum", draw_along, judge_cumsum, cases=110)
oracle(["softmax", "log_softmax"], draw_along, judge_softmax, cases=110)


# ---- norms over the last axis ----------------------------------------------------------------------------------

def draw_norm(g, op):
    shape = g.shape(low=1, high=5, most=150)
    if g.chance(0.1):
        shape = shape[:-1] + (g.int(100, 600),)
    eps = g.pick([None, 1e-5, 1e-6, 1e-3, 1.0])
    most = 2 if op == "rmsnorm" else 3
    dtype = g.pick(UNPACKED + ["f32", "f32"])
    operands = [g.operand(dtype, shape, style=g.pick(["unit", "unit", "whole", "tiny", "nonfinite"])
                          if is_float(dtype) else "small")]
    for _ in range(g.int(0, most - 1)):
        own = dtype if g.chance(0.6) else g.pick(UNPACKED)
        operands.append(g.operand(own, shape[-1:], style="unit" if is_float(own) else "small"))
    return operands, {} if eps is None else {"eps": eps}


def judge_rmsnorm(op, vals, attributes, types):
    dtype, w = types[0], wide(vals[0]).astype(LONG)
    if w.size == 0:
        return [near(dtype, w, 0)]
    n = w.shape[-1]
    eps = LONG(attributes.get("eps", 1e-5))
    result = w / np.sqrt((w * w).mean(axis=-1, keepdims=True) + eps)
    if len(vals) > 1:
        result = result * wide(vals[1]).astype(LONG)
    return [near(dtype, result, bounds.RMSNORM + (n if dtype == "f64" else 0), zeros=False)]


def judge_layernorm(op, vals, attributes, types):
    dtype, w = types[0], wide(vals[0]).astype(LONG)
    if w.size == 0:
        return [near(dtype, w, 0)]
    n, eps = w.shape[-1], LONG(attributes.get("eps", 1e-5))
    mean = w.mean(axis=-1, keepdims=True)
    variance = ((w - mean) ** 2).mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt(variance + eps)
    weight = wide(vals[1]).astype(LONG) if len(vals) > 1 else LONG(1)
    bias = wide(vals[2]).astype(LONG) if len(vals) > 2 else LONG(0)
    y = (w - mean) * scale * weight
    wrong_mean = n * 2 * bounds.ACCUMULATE * np.abs(w).mean(axis=-1, keepdims=True)
    slack = np.abs(scale * weight) * wrong_mean + (n + 16) * 2 * bounds.ACCUMULATE * (np.abs(y) + np.abs(bias))
    slack = slack + np.abs(y) * wrong_mean * scale
    if dtype != "f64":
        # the mean is taken off in f32, whose smallest number counts where x is subnormal
        slack = slack + bounds.LAYERNORM * bounds.CHAIN["f32"] * np.abs(y) + 2.0 ** -149 * np.abs(scale * weight)
    return [near(dtype, y + bias, 0.5, slack, zeros=False)]


oracle("rmsnorm", draw_norm, judge_rmsnorm, cases=110)
oracle("layernorm", draw_norm, judge_layernorm, cases=110)
