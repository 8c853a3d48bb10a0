"""Oracles of products, quantisation, of what transformers are made of, and of images."""
import numpy as np

import bounds
from elementwise import to_i8
from moves import draw_indices
from registry import oracle
from tern import Dtype
from values import FLOATS, LONG, PACKED, UNPACKED, Val, cast, exactly, is_float, is_int, is_packed, near, wide


def calm(g, dtype):
    """A style without numbers that overflow on the way."""
    return g.pick(["unit", "unit", "whole", "nonfinite"]) if is_float(dtype) else None


# ---- matrix products -------------------------------------------------------------------------------------------

def draw_matmul(g, op):
    m, n, k = (g.pick([0, 1, 1, 2, 3, 5, 8, 17]) for _ in range(3))
    if g.chance(0.06):
        m, n, k = g.pick([(70, 90, 40), (1, 300, 130), (200, 1, 65), (33, 65, 129)])
    lead = list(g.sizes(g.int(0, 3), 6)) if m * n * k < 1000 else []
    def batch():
        own = lead[g.int(0, len(lead)):] if lead else []
        return [1 if g.chance(0.3) else s for s in own]
    attributes = {}
    a, b = batch() + [m, k], (lead if g.chance(0.6) else batch()) + [k, n]
    if g.chance(0.35):
        attributes["transpose_a"] = g.chance(0.8)
        a[-2:] = [k, m] if attributes["transpose_a"] else a[-2:]
    if g.chance(0.35):
        attributes["transpose_b"] = g.chance(0.8)
        b[-2:] = [n, k] if attributes["transpose_b"] else b[-2:]
    if g.chance(0.15):
        a, attributes = [k], {name: v for name, v in attributes.items() if name != "transpose_a"}
    if g.chance(0.15):
        b, attributes = [k], {name: v for name, v in attributes.items() if name != "transpose_b"}
    dtype = g.pick(UNPACKED + ["f32"] * 4)
    other = dtype if g.chance(0.7) else g.pick(UNPACKED)
    return [g.operand(dtype, a, style=calm(g, dtype)), g.operand(other, b, style=calm(g, other))], attributes


def judge_matmul(op, vals, attributes, types):
    dtype = types[0]
    a, b = (wide(v).astype(LONG) if is_float(dtype) else v.a.astype(np.int64) for v in vals)
    a = np.swapaxes(a, -1, -2) if attributes.get("transpose_a") else a
    b = np.swapaxes(b, -1, -2) if attributes.get("transpose_b") else b
    if not is_float(dtype):
        return [exactly(cast(Val("i64", np.asarray(np.matmul(a, b))), dtype))]
    slack = a.shape[-1] * bounds.CHAIN[dtype] * np.asarray(np.matmul(np.abs(a), np.abs(b)))
    return [near(dtype, np.asarray(np.matmul(a, b)), 0.5, slack, zeros=False)]


def draw_ternary_matmul(g, op):
    k, n = g.pick([0, 1, 3, 4, 5, 7, 16, 20, 33, 64, 321, 640, 650]), g.pick([0, 1, 2, 5, 9])
    lead, scales = g.sizes(g.int(0, 3), 12), []
    if g.chance(0.4):
        blocks, k, n = g.int(1, 4), 4 * g.pick([0, 1, 2, 5, 17, 64]), g.pick([0, 1, 2, 5, 9, 70, 90])
        k, own = k * blocks, g.pick(UNPACKED + ["f32"] * 4)
        scales = [g.operand(own, (n, blocks), style=calm(g, own))]
    return [g.operand("i8", lead + [k], style=g.pick(["full", "extreme", "small"])),
            g.operand(g.pick(PACKED), (n, k))] + scales, {}


def judge_ternary_matmul(op, vals, attributes, types):
    if len(vals) > 2:       # each block exact, then one f32 after the other
        x, w, scales = vals[0].a.astype(np.int64), vals[1].a.astype(np.int64), vals[2].a
        y, width = np.zeros(x.shape[:-1] + w.shape[:1], np.float32), x.shape[-1] // scales.shape[1]
        for b in range(scales.shape[1]):
            at = slice(b * width, (b + 1) * width)
            y = y + scales[:, b] * (x[..., at] @ w[:, at].T).astype(np.float32)
        return [exactly(Val("f32", y))]
    return [exactly(Val("i32", (vals[0].a.astype(np.int64) @ vals[1].a.astype(np.int64).T).astype(np.int32)))]


def draw_linear(g, op):
    k, n = g.pick([0, 1, 3, 4, 5, 16, 33, 64, 257]), g.pick([0, 1, 2, 5, 9, 33, 70])
    lead, weight = g.sizes(g.int(0, 3), 12), g.pick(["i8", "f16", "bf16", "f32"])
    if weight == "i8":
        return [g.operand("i8", lead + [k], style=g.pick(["full", "extreme", "small"])),
                g.operand("i8", (n, k), style=g.pick(["full", "extreme", "small"]))], {}
    x = g.pick(UNPACKED + ["f32"] * 4)
    return [g.operand(x, lead + [k], style=calm(g, x)), g.operand(weight, (n, k), style=calm(g, weight))], {}


def judge_linear(op, vals, attributes, types):
    if types[0] == "i32":
        return judge_ternary_matmul(op, vals, attributes, types)
    x, w = (wide(v).astype(LONG) for v in vals)
    slack = x.shape[-1] * bounds.CHAIN["f32"] * (np.abs(x) @ np.abs(w).T)
    return [near("f32", np.asarray(x @ w.T), 0.5, slack, zeros=False)]


oracle("linear", draw_linear, judge_linear, cases=160)
oracle("matmul", draw_matmul, judge_matmul, cases=300)
oracle("ternary_matmul", draw_ternary_matmul, judge_ternary_matmul, cases=130)


# ---- quantisation ----------------------------------------------------------------------------------------------

def draw_quantise(g, op):
    shape = g.shape(low=1 if op == "quantise_rows" else 0, most=200)
    dtype = g.pick(UNPACKED + ["f32"] * 6)
    if g.chance(0.25) and int(np.prod(shape)):      # the scale is 1, and halves are among the numbers
        x = g.numbers("f32", shape, "halves").a
        x = np.where(np.abs(x) > 127, 1, x).astype(np.float32)
        x.reshape(-1, shape[-1] if shape else 1)[:, 0] = g.pick([127, -127])
        return [g.given(Val("f32", x))], {}
    return [g.operand(dtype, shape, style=g.pick([None, "unit", "unit"]) if is_float(dtype) else None)], {}


def judge_quantise(op, vals, attributes, types):
    x = vals[0].a
    axis = -1 if op == "quantise_rows" else None
    size = np.abs(x).max(axis=axis, keepdims=op == "quantise_rows", initial=np.float32(1e-5))
    scale = np.float32(127) / np.maximum(size, np.float32(1e-5))
    return [exactly(Val("i8", np.asarray(to_i8(x * scale)))), exactly(Val("f32", np.asarray(scale, np.float32)))]


def draw_ternary_quantise(g, op):
    dtype = g.pick(UNPACKED + ["f32"] * 6)
    operands = [g.operand(dtype, g.shape(most=400), style=g.pick(["unit", "unit", "mixed", "whole", "tiny"])
                          if is_float(dtype) else None)]
    if g.chance(0.2):       # quotients that are halves
        operands = [g.operand("f32", g.shape(most=400), style="halves"),
                    g.given(Val("f32", np.asarray(g.pick([1, 2, -1, 0.5]), np.float32)))]
    elif g.chance(0.4):
        own = g.pick(UNPACKED + ["f32"] * 4)
        operands.append(g.operand(own, (), style=g.pick(["unit", "unit", "special"]) if is_float(own) else "small"))
    return operands, {"dtype": Dtype(g.pick(PACKED))}


def judge_ternary_quantise(op, vals, attributes, types):
    x = vals[0].a
    if len(vals) > 1:
        scale = exactly(vals[1])
    else:
        mean = np.abs(x.astype(LONG)).mean() if x.size else LONG(0)
        mean = LONG(np.float32(1e-5)) if mean < np.float32(1e-5) else mean
        scale = near("f32", np.asarray(mean), 0.51)

    def verdict(results):
        """t belongs to the scale that was used, which may be one ULP off."""
        with np.errstate(all="ignore"):
            quotient = x / results[1].a
        expected = np.clip(np.rint(np.where(np.isnan(quotient), 0, quotient)), -1, 1).astype(np.int8)
        if results[0].dtype != types[0] or results[0].shape != x.shape:
            return "%r, should be %s%s" % (results[0], types[0], list(x.shape))
        wrong = np.argwhere(results[0].a != expected)
        return "%d elements differ, first at %s" % (len(wrong), list(wrong[0])) if len(wrong) else None
    return [verdict, scale]


def judge_ternary_dequantise(op, vals, attributes, types):
    return [exactly(Val("f32", np.asarray(vals[0].a.astype(np.float32) * vals[1].a)))]


oracle(["quantise_rows", "quantise_tensor"], draw_quantise, judge_quantise, cases=110)
oracle("ternary_quantise", draw_ternary_quantise, judge_ternary_quantise, cases=110)
oracle("ternary_dequantise", lambda g, op: ([g.operand(g.pick(PACKED), g.shape(most=400)),
                                             g.operand(g.pick(UNPACKED + ["f32"] * 4), ())], {}),
       judge_ternary_dequantise, cases=96)


# ---- transformers ----------------------------------------------------------------------------------------------

def draw_rope(g, op):
    rows, heads, d = g.int(0, 5), g.int(1, 4), 2 * g.int(0, 8)
    if g.chance(0.3):
        d += 1
    dims = 2 * g.int(0, d // 2) if g.chance(0.4) or d % 2 else 0
    if d % 2 and dims == 0:
        if d == 1:
            d = 2
        dims = 2 * g.int(1, d // 2)
    dtype = g.pick(UNPACKED + ["f32"] * 4)
    index_type = g.pick(["u8", "i8", "i32", "i64"])
    high = {"u8": 255, "i8": 127}.get(index_type, g.pick([100, 5000, 1000000]))
    positions = cast(Val("i64", g.rng.integers(0, high, rows, endpoint=True)), index_type)
    attributes = {"dims": dims}
    if g.chance(0.6):
        attributes["interleaved"] = g.chance(0.7)
    if g.chance(0.4):
        attributes["theta"] = float(g.pick([10000.0, 500000.0, 1.0, 100.0]))
    return [g.operand(dtype, (rows, heads, d), style=calm(g, dtype)), g.given(positions)], attributes


def judge_rope(op, vals, attributes, types):
    dtype, x = types[0], wide(vals[0]).astype(LONG)
    d = x.shape[-1]
    dims = attributes.get("dims", 0) or d
    j = np.arange(dims // 2)
    first, second = (2 * j, 2 * j + 1) if attributes.get("interleaved") else (j, j + dims // 2)
    frequency = LONG(attributes.get("theta", 10000.0)) ** (-2 * j.astype(LONG) / LONG(max(dims, 1)))
    angle = vals[1].a.astype(LONG)[:, None, None] * frequency
    a, b = x[..., first], x[..., second]
    y, slack = x.copy(), np.zeros(x.shape, LONG)
    y[..., first] = a * np.cos(angle) - b * np.sin(angle)
    y[..., second] = b * np.cos(angle) + a * np.sin(angle)
    # the angle in f64, its sine, two products and a sum
    bound = (np.abs(a) + np.abs(b)) * (np.abs(angle) * 2.0 ** -50 + 2 * bounds.CHAIN[dtype])
    slack[..., first] = slack[..., second] = np.where(np.isfinite(bound), bound, 0)
    return [near(dtype, y, 0.5, slack, zeros=False)]


def draw_attention(g, op):
    rows, kv_heads, group, d = g.int(0, 5), g.int(1, 3), g.int(1, 3), g.pick([0, 1, 2, 3, 8, 16])
    slots, capacity = g.int(1, 3), g.int(1, 9) if g.chance(0.8) else g.int(120, 300)
    q_type = g.pick(["f32", "f32", "f32"] + UNPACKED)
    scaled = g.chance(0.25)
    k_type, v_type = ("i8", "i8") if scaled else (g.pick(["f32", "f32"] + FLOATS) for _ in range(2))
    positions = g.rng.integers(-1, capacity, rows)
    slot = g.rng.integers(0, slots, rows)
    cache = (slots, capacity, kv_heads, d)
    k, v = (g.numbers(t, cache, "small" if scaled else "unit") for t in (k_type, v_type))
    scales = [Val("f32", g.rng.uniform(50, 200, cache[:3] + (1,)).astype(np.float32)) for _ in range(2 * scaled)]
    # what no row may see is poisoned
    seen = np.zeros((slots, capacity), bool)
    for s, p in zip(slot, positions):
        seen[s, :p + 1] = True
    for val in scales or (k, v):
        poison = cast(Val("f32", np.asarray(g.pick([np.nan, np.inf]), np.float32)), val.dtype).a
        val.a[~seen] = poison
    if not scaled and g.chance(0.1) and seen.any() and v.a.size:
        v.a[tuple(np.argwhere(seen)[0]) + (0, 0)] = cast(Val("f32", np.asarray(np.nan, np.float32)), v_type).a
    attributes = {"scale": float(g.pick([0.0, 0.125, 1.0, 0.3]))} if g.chance(0.5) else {}
    index = [cast(Val("i64", x.astype(np.int64)), g.pick(["i32", "i64"] + ["i8"] * (capacity < 128))) for x in (slot, positions)]
    q = g.operand(q_type, (rows, kv_heads * group, d), style="unit" if is_float(q_type) else "small")
    return [q] + [g.given(x) for x in [k, v] + index + scales], attributes


def judge_attention(op, vals, attributes, types):
    q, k, v = (wide(x).astype(LONG) for x in vals[:3])
    if len(vals) > 5:
        k, v = k / wide(vals[5]).astype(LONG), v / wide(vals[6]).astype(LONG)
    slots, positions = vals[3].a, vals[4].a
    rows, heads, d = q.shape
    scale = LONG(attributes.get("scale", 0.0)) or 1 / np.sqrt(LONG(max(d, 1)))
    group = heads // k.shape[2]
    u = 2.0 ** -53 if "f64" in [x.dtype for x in vals[:3]] else 2.0 ** -24
    y, slack = np.zeros(q.shape, LONG), np.zeros(q.shape, LONG)
    for r in range(rows):
        if positions[r] < 0:
            continue
        n = positions[r] + 1
        for h in range(heads):
            keys, values = k[slots[r], :n, h // group], v[slots[r], :n, h // group]
            scores = keys @ q[r, h] * scale
            p = np.exp(scores - scores.max())
            p = p / p.sum()
            y[r, h] = p @ values
            wrong = (d + 4) * u * (np.abs(keys) @ np.abs(q[r, h])).max() * abs(scale) + 8 * u * (
                1 + np.abs(scores - scores.max()).max())
            bound = (2 * wrong + (n + 8) * u) * (p @ np.abs(values))
            slack[r, h] = np.where(np.isfinite(bound), bound, 0)
    return [near(types[0], y, 0.5, slack, zeros=False)]


oracle("rope", draw_rope, judge_rope, cases=130)
oracle("attention", draw_attention, judge_attention, cases=130)


# ---- state -----------------------------------------------------------------------------------------------------

def draw_overwrite(g, op):
    dtype = g.pick(UNPACKED + PACKED)
    shape = g.shape()
    own = shape if g.chance(0.5) else shape[g.int(0, len(shape)):]
    own = [1 if g.chance(0.2) else s for s in own]
    if is_packed(dtype):
        own = list(shape)
    return [g.operand(dtype, shape, plain=True), g.operand(dtype if g.chance(0.5) else g.pick(UNPACKED), own)], {}


def judge_overwrite(op, vals, attributes, types):
    return [exactly(Val(types[0], np.broadcast_to(vals[1].a, vals[0].a.shape).copy()))]


def draw_write_slice(g, op):
    shape = g.shape(most=100)
    own = [g.int(0, s) for s in shape]
    at = [g.int(0, s - n) for s, n in zip(shape, own)]
    index = cast(Val("i64", np.array(at, np.int64)), g.pick(["i32", "i64"]))
    dtype = g.pick(UNPACKED)
    return [g.operand(dtype, shape, plain=True), g.operand(dtype if g.chance(0.5) else g.pick(UNPACKED), own),
            g.given(index)], {}


def judge_write_slice(op, vals, attributes, types):
    y = vals[0].a.copy()
    y[tuple(slice(a, a + n) for a, n in zip(vals[2].a, vals[1].a.shape))] = vals[1].a
    return [exactly(Val(types[0], y))]


def draw_write_rows(g, op):
    slots, capacity, rows = g.int(1, 3), g.int(1, 6), g.int(0, 6)
    rest = g.sizes(g.int(0, 3), 20)
    dtype = g.pick(UNPACKED)
    index = [cast(Val("i64", x.astype(np.int64)), g.pick(["i32", "i64", "i8"]))
             for x in (g.rng.integers(0, slots, rows), g.rng.integers(-1, capacity, rows))]
    return [g.operand(dtype, [slots, capacity] + rest, plain=True),
            g.operand(dtype if g.chance(0.5) else g.pick(UNPACKED), [rows] + rest),
            g.given(index[0]), g.given(index[1])], {}


def judge_write_rows(op, vals, attributes, types):
    y = vals[0].a.copy()
    for r, (slot, position) in enumerate(zip(vals[2].a, vals[3].a)):
        if position >= 0:
            y[slot, position] = vals[1].a[r]
    return [exactly(Val(types[0], y))]


oracle("overwrite", draw_overwrite, judge_overwrite, cases=96)
oracle("write_slice", draw_write_slice, judge_write_slice, cases=110)
oracle("write_rows", draw_write_rows, judge_write_rows, cases=110)


# ---- images ----------------------------------------------------------------------------------------------------

def window_attributes(g, h, w, pooling):
    attributes, kernel = {}, []
    for name, size in (("h", h), ("w", w)):
        dilation = 1 if pooling else g.pick([1, 1, 1, 2, 3])
        own = g.int(1, 4)
        pad = g.int(0, own // 2) if pooling else g.int(0, 3)
        while dilation * (own - 1) + 1 > size + 2 * pad:
            own, dilation = max(1, own - 1), 1
            pad = min(pad, own // 2) if pooling else pad + (size == 0)
        kernel.append(own)
        attributes["stride_" + name] = g.int(1, 3)
        attributes["pad_" + name] = pad
        if not pooling:
            attributes["dilation_" + name] = dilation
        else:
            attributes["kernel_" + name] = own
    return attributes, kernel


def to_nchw(a, nhwc):
    return np.moveaxis(a, -1, 1) if nhwc else a


def from_nchw(a, nhwc):
    return np.moveaxis(a, 1, -1) if nhwc else a


def draw_conv2d(g, op):
    n, h, w, groups = g.int(0, 2), g.int(1, 8), g.int(1, 8), g.pick([1, 1, 1, 2, 3])
    group_in, group_out = g.int(1, 3), g.int(1, 3)
    attributes, kernel = window_attributes(g, h, w, pooling=False)
    attributes["groups"] = groups
    attributes["nhwc"] = g.chance(0.4)
    channels = group_in * groups
    shape = (n, h, w, channels) if attributes["nhwc"] else (n, channels, h, w)
    dtype = g.pick(UNPACKED + ["f32"] * 4)
    others = [dtype if g.chance(0.7) else g.pick(UNPACKED) for _ in range(2)]
    operands = [g.operand(dtype, shape, style=calm(g, dtype)),
                g.operand(others[0], [group_out * groups, group_in] + kernel, style=calm(g, others[0]))]
    if g.chance(0.5):
        operands.append(g.operand(others[1], [group_out * groups], style=calm(g, others[1])))
    return operands, attributes


def convolve(x, weight, attributes, places):
    """[n, c, h, w] with [out, c / groups, kh, kw]; what lies in the padding takes no part."""
    groups, (kh, kw) = attributes["groups"], weight.shape[2:]
    outputs, channels = weight.shape[0] // groups, weight.shape[1]
    y = np.zeros((x.shape[0], weight.shape[0]) + places, LONG)
    ph, pw = attributes["pad_h"], attributes["pad_w"]
    sh, sw, dh, dw = (attributes[name] for name in ("stride_h", "stride_w", "dilation_h", "dilation_w"))
    for o in range(places[0]):
        for p in range(places[1]):
            for i in range(kh):
                for j in range(kw):
                    r, c = o * sh - ph + i * dh, p * sw - pw + j * dw
                    if not (0 <= r < x.shape[2] and 0 <= c < x.shape[3]):
                        continue
                    pixel = x[:, :, r, c].reshape(x.shape[0], groups, channels)
                    tap = weight[:, :, i, j].reshape(groups, outputs, channels)
                    y[:, :, o, p] += (pixel[:, :, None, :] * tap[None]).sum(-1).reshape(y.shape[:2])
    return y


def judge_conv2d(op, vals, attributes, types):
    dtype, nhwc = types[0], attributes["nhwc"]
    x, weight = to_nchw(wide(vals[0]).astype(LONG), nhwc), wide(vals[1]).astype(LONG)
    places = tuple((x.shape[2 + i] + 2 * attributes["pad_" + s] - attributes["dilation_" + s] *
                    (weight.shape[2 + i] - 1) - 1) // attributes["stride_" + s] + 1 for i, s in enumerate("hw"))
    y, size = convolve(x, weight, attributes, places), convolve(np.abs(x), np.abs(weight), attributes, places)
    n = weight[0].size
    if len(vals) > 2:
        bias = wide(vals[2]).astype(LONG)[:, None, None]
        y, size, n = y + bias, size + np.abs(bias), n + 1
    slack = n * bounds.CHAIN[dtype] * size
    return [near(dtype, from_nchw(y, nhwc), 0.5, from_nchw(slack, nhwc), zeros=False)]


def draw_pool2d(g, op):
    n, c, h, w = g.int(0, 2), g.int(0, 3), g.int(1, 8), g.int(1, 8)
    attributes, _ = window_attributes(g, h, w, pooling=True)
    attributes["nhwc"] = g.chance(0.4)
    if op == "avg_pool2d":
        attributes["count_padding"] = g.chance(0.5)
    shape = (n, h, w, c) if attributes["nhwc"] else (n, c, h, w)
    dtype = g.pick(UNPACKED + ["f32"] * 3)
    style = calm(g, dtype) if op == "avg_pool2d" else g.pick([None, "special"]) if is_float(dtype) else None
    return [g.operand(dtype, shape, style=style)], attributes


def judge_pool2d(op, vals, attributes, types):
    dtype, nhwc = types[0], attributes["nhwc"]
    x = to_nchw(wide(vals[0]).astype(LONG), nhwc)
    kh, kw, sh, sw, ph, pw = (attributes[name] for name in ("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h",
                                                            "pad_w"))
    places = ((x.shape[2] + 2 * ph - kh) // sh + 1, (x.shape[3] + 2 * pw - kw) // sw + 1)
    y, slack = np.zeros(x.shape[:2] + places, LONG), np.zeros(x.shape[:2] + places, LONG)
    for o in range(places[0]):
        for p in range(places[1]):
            r, c = o * sh - ph, p * sw - pw
            window = x[:, :, max(r, 0):max(r + kh, 0), max(c, 0):max(c + kw, 0)]
            if op == "max_pool2d":
                y[:, :, o, p] = window.max(axis=(2, 3))
                continue
            count = kh * kw if attributes["count_padding"] else window.shape[2] * window.shape[3]
            y[:, :, o, p] = window.sum(axis=(2, 3)) / LONG(count)
            slack[:, :, o, p] = np.abs(window).sum(axis=(2, 3)) * kh * kw * bounds.ACCUMULATE
    ulps = 0.5 if op == "avg_pool2d" else 0
    return [near(dtype, from_nchw(y, nhwc), ulps, from_nchw(slack, nhwc) if ulps else None, zeros=False)]


oracle("conv2d", draw_conv2d, judge_conv2d, cases=130)
oracle(["max_pool2d", "avg_pool2d"], draw_pool2d, judge_pool2d, cases=110)
