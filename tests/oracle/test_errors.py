#!/usr/bin/env python3
"""Bad calls: every one gives an error tensor whose message starts with the op's name, none ends the process.

  binding     tern.py declares functions and structs as the headers do
  dtypes      every op with random dtypes: refused exactly where the rules of docs/ops.md refuse
  counts      too few and too many operands, and operands that are NULL or errors themselves
  attributes  unknown names, wrong kinds, broken text; numbers at the edges of their range
  shapes      shapes and axes that do not fit
  data        indices that point nowhere: found when it runs
"""
import ctypes
import os

import numpy as np

import elementwise  # noqa: F401  registers its oracles, like the following ones
import harness
import models       # noqa: F401
import moves        # noqa: F401
import reductions   # noqa: F401
from registry import ORACLES
from rules import Refused, apply_rule
import tern
from tern import Dtype, Error, lib
from values import DTYPES, UNPACKED, Val, is_packed

INFO = {info.name.decode(): info for info in tern.catalog()}
OPS = [name for name, info in INFO.items() if info.min_inputs > 0 or ORACLES[name].draw.__name__ != "draw_leaf"]
contexts = {}


def setup():
    contexts[1] = tern.Ctx(2)


def results_of(op, attributes):
    return len(attributes["sizes"]) if "sizes" in attributes else max(INFO[op].results, 1)


def call(ctx, op, handles, text, n_out):
    """tern_apply with anything: handles may be None."""
    out = (ctypes.c_void_p * max(n_out, 1))()
    array = (ctypes.c_void_p * max(len(handles), 1))(*handles)
    lib.tern_apply(ctx.handle, op.encode(), text.encode() if text is not None else None, len(handles), array, n_out, out)
    return [tern.Tensor(ctx, out[i]) for i in range(n_out)]


def check_error(op, out, what):
    """Problems of results that have to be errors which name the op."""
    for i, t in enumerate(out):
        if not t.error:
            return "%s: result %d is no error but %r" % (what, i, t)
        if not t.error[1].startswith(op + ":"):
            return "%s: the message does not start with the op: %r" % (what, t.error)
        if "\n" in t.error[1] or len(t.error[1]) > 500:
            return "%s: not one sentence: %r" % (what, t.error)
    try:
        out[0].eval()
        return "%s: evaluating an error tensor succeeds" % what
    except Error as error:
        if error.message != out[0].error[1]:
            return "%s: tern_eval says %r, the tensor %r" % (what, error.message, out[0].error[1])
    return None


def run_or_refuse(op, out, what):
    """A call with strange attributes: results that can be computed, or errors. Huge results are not computed."""
    if any(t.error for t in out):
        return check_error(op, out, what)
    if sum(lib.tern_nbytes(t.handle) for t in out) > 1 << 22:
        return None
    for t in out:
        try:
            t.read()
        except Error as error:
            if error.status in ("internal", "ok"):
                return "%s: %s" % (what, error)
    return None


def draw(g, op):
    """Operands that fit, small ones."""
    while True:
        operands, attributes = ORACLES[op].draw(g, op)
        if sum(o.val.a.size for o in operands) < 3000:
            return operands, attributes


# ---- dtypes ----------------------------------------------------------------------------------------------------

def case_dtypes(g):
    op = g.pick(OPS)
    operands, attributes = draw(g, op)
    types = [g.pick(DTYPES) for _ in operands]
    if "dtype" in attributes:
        attributes["dtype"] = Dtype(g.pick(DTYPES))
    try:
        _, expected = apply_rule(INFO[op].dtype_rule.decode(), types, attributes)
    except Refused:
        expected = None
    ctx = contexts[1]
    with ctx.scope():
        tensors = [ctx.from_val(g.numbers(t, o.shape, "small" if t in ("i8", "i32", "i64", "u8") else None))
                   for t, o in zip(types, operands)]
        what = "%s(%s) {%s}" % (op, ", ".join("%s%s" % (t, list(o.shape)) for t, o in zip(types, operands)),
                                tern.attributes_text(attributes))
        out = ctx.apply(op, tensors, results_of(op, attributes), **attributes)
        if expected is None:
            return check_error(op, out, what)
        if out[0].error:
            # packed rows cannot be cut: a rule about shapes
            packed = any(is_packed(t) for t in types)
            if packed and INFO[op].dtype_rule in (b"same", b"overwrite", b"attr_dtype"):
                return check_error(op, out, what)
            return "%s: should give %s, but: %s" % (what, expected, out[0].error)
        got = [t.dtype for t in out]
        wanted = expected * len(got) if op == "split" else expected
        return None if got == wanted else "%s: gives %s, should give %s" % (what, got, wanted)


# ---- counts ----------------------------------------------------------------------------------------------------

def case_counts(g):
    op = g.pick(OPS)
    operands, attributes = draw(g, op)
    ctx, info, n_out = contexts[1], INFO[op], results_of(op, attributes)
    text = tern.attributes_text(attributes)
    with ctx.scope():
        handles = [o.make(ctx).handle for o in operands]
        kind = g.int(0, 3)
        if kind == 0:
            handles = handles[:g.int(0, info.min_inputs - 1)] if info.min_inputs else handles + [ctx.op(
                "full", dtype=Dtype("f32"), shape=[2]).handle]
            return check_error(op, call(ctx, op, handles, text, n_out), "%s with %d operands" % (op, len(handles)))
        if kind == 1 and info.max_inputs >= 0:
            more = handles + [ctx.op("full", dtype=Dtype("f32"), shape=[2]).handle] * (info.max_inputs + 1 - len(handles))
            return check_error(op, call(ctx, op, more, text, n_out), "%s with %d operands" % (op, len(more)))
        if not handles:
            return check_error(op, call(ctx, op, [], text, n_out + 1), "%s with room for one result more" % op)
        at = g.int(0, len(handles) - 1)
        if kind == 2:
            handles[at] = None
            return check_error(op, call(ctx, op, handles, text, n_out), "%s with operand %d NULL" % (op, at))
        handles[at] = ctx.op("matmul", ctx.op("full", shape=[3]), ctx.op("full", shape=[2])).handle
        out = call(ctx, op, handles, text, n_out)
        # the first error goes through, as it is
        return check_error("matmul", out, "%s with operand %d an error" % (op, at))


# ---- attributes ------------------------------------------------------------------------------------------------

BROKEN = ["nonsense=1", "axis", "axis=", "axis=[", "axis=[1", "axis=]", "axis==1", "=1", "axis=1,,", "\"", "axis=\"1",
          "keepdims=maybe", "dtype=f33", "shape=[1,2,]", "shape=[-]", "value=1e", "value=--1", "{", "}", "axis=1 axis=1",
          "\x01", "é=1", "axis=99999999999999999999999999", "shape=[" + "1," * 5000 + "1]", "a" * 3000 + "=1",
          "shape=[1e400]", "%0", "#", "axis=1.5", "value=0x10", "seed=1e30", "axis=true", "keepdims=2", "dtype=\"f32\""]
EDGES = [0, 1, -1, 2, 7, 8, 9, 100, 2 ** 31, -2 ** 31 - 1, 2 ** 32, 2 ** 62, 2 ** 63 - 1, -2 ** 63]
FLOAT_EDGES = [0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300, float("inf"), -float("inf"), float("nan"), 5e-324]


def case_broken_attributes(g):
    op = g.pick(OPS)
    operands, attributes = draw(g, op)
    text, ctx = g.pick(BROKEN), contexts[1]
    if g.chance(0.3):
        text = tern.attributes_text(attributes) + " " + text
    with ctx.scope():
        handles = [o.make(ctx).handle for o in operands]
        out = call(ctx, op, handles, text, results_of(op, attributes))
        return run_or_refuse(op, out, "%s {%.80s}" % (op, text))


def case_odd_attributes(g):
    """One attribute, or one number of it, replaced by a number at the edge of what there is."""
    op = g.pick([name for name in OPS if b";" in INFO[name].signature or INFO[name].min_inputs == 0])
    operands, attributes = draw(g, op)
    for part in INFO[op].signature.decode().split(";")[-1].split(") ->")[0].split("(")[-1].split(","):
        name, _, kind = part.strip().partition(":")
        kind = kind.split("=")[0]
        if not kind or not g.chance(0.5):
            continue
        if kind == "int":
            attributes[name] = g.pick(EDGES)
        elif kind == "float":
            attributes[name] = float(g.pick(FLOAT_EDGES))
        elif kind == "ints":
            values = list(attributes.get(name, []))
            if values and g.chance(0.7):
                values[g.int(0, len(values) - 1)] = g.pick(EDGES)
            else:
                values = [g.pick(EDGES) for _ in range(g.int(0, 9))]
            attributes[name] = values
    ctx = contexts[1]
    with ctx.scope():
        tensors = [o.make(ctx) for o in operands]
        n = results_of(op, attributes)
        out = ctx.apply(op, tensors, n, **attributes) if n else call(ctx, op, [t.handle for t in tensors],
                                                                       tern.attributes_text(attributes), 1)
        return run_or_refuse(op, out, "%s(%s) {%s}" % (op, operands, tern.attributes_text(attributes)))


# ---- shapes ----------------------------------------------------------------------------------------------------

def case_shapes(g):
    """An operand of another shape: it fits by chance, or is refused."""
    op = g.pick([name for name in OPS if INFO[name].min_inputs > 0])
    operands, attributes = draw(g, op)
    at = g.int(0, len(operands) - 1)
    shape = g.shape(high=8 if g.chance(0.2) else 5, most=40)
    if g.chance(0.1):
        shape = (1,) * 8
    ctx = contexts[1]
    operands[at] = g.operand(operands[at].dtype, shape, plain=True)
    with ctx.scope():
        out = ctx.apply(op, [o.make(ctx) for o in operands], results_of(op, attributes), **attributes)
        return run_or_refuse(op, out, "%s(%s) {%s}" % (op, operands, tern.attributes_text(attributes)))


REFUSED = [
    ("matmul", [(2, 3), (4, 5)], {}, "shape"), ("matmul", [(), (3,)], {}, "shape"),
    ("matmul", [(2, 2, 3), (3, 3, 4)], {}, "shape"), ("matmul", [(3,), (3,)], {"transpose_a": True}, "shape"),
    ("add", [(2, 3), (4,)], {}, "shape"), ("where", [(2,), (3,), (1,)], {}, "shape"),
    ("sum", [(2, 3)], {"axes": [2]}, "out-of-range"), ("sum", [(2, 3)], {"axes": [-3]}, "out-of-range"),
    ("sum", [(2, 3)], {"axes": [0, -2]}, "invalid-argument"), ("max", [(0,)], {}, "shape"),
    ("argmax", [(2, 0)], {"axis": 1}, "shape"), ("argmax", [()], {}, "out-of-range"),
    ("softmax", [(2, 3)], {"axis": 2}, "out-of-range"), ("cumsum", [()], {}, "out-of-range"),
    ("reshape", [(2, 3)], {"shape": [4]}, "shape"), ("reshape", [(2, 3)], {"shape": [-1, -1]}, "shape"),
    ("reshape", [(2, 3)], {"shape": [-2, 3]}, "shape"), ("reshape", [(0,)], {"shape": [-1, 0]}, "shape"),
    ("permute", [(2, 3)], {"axes": [0]}, "shape"), ("permute", [(2, 3)], {"axes": [0, 0]}, "invalid-argument"),
    ("slice", [(2,)], {"start": [0], "stop": [2], "step": [0]}, "invalid-argument"),
    ("broadcast", [(2, 3)], {"shape": [3]}, "shape"), ("broadcast", [(2, 3)], {"shape": [2, 4]}, "shape"),
    ("concat", [(2, 3), (2, 4)], {"axis": 0}, "shape"), ("stack", [(2, 3), (3, 2)], {}, "shape"),
    ("split", [(4,)], {"sizes": [1, 2]}, "shape"), ("split", [(4,)], {"sizes": [5, -1]}, "shape"),
    ("pad", [(2,)], {"before": [-1], "after": [0]}, "invalid-argument"), ("topk", [(3,)], {"k": 4}, "out-of-range"),
    ("rmsnorm", [(2, 3), (2,)], {}, "shape"), ("layernorm", [()], {}, "shape"), ("tril", [(3,)], {}, "shape"),
    ("conv2d", [(1, 3, 5, 5), (2, 2, 3, 3)], {}, "shape"), ("conv2d", [(1, 2, 2, 2), (2, 2, 3, 3)], {}, "shape"),
    ("max_pool2d", [(1, 1, 4, 4)], {"pad_h": 2}, "invalid-argument"), ("rope", [(2, 2, 3), (2,)], {}, "dtype"),
    ("quantise", [(3,), (2, 3)], {}, "shape"), ("quantise_rows", [()], {}, "shape"),
    ("clamp", [(3,)], {"low": float("nan")}, "invalid-argument"), ("to_device", [(3,)], {"device": "gpu"}, "not-found"),
    ("full", [], {"shape": [-1]}, "shape"), ("full", [], {"shape": [2 ** 40, 2 ** 40]}, "overflow"),
    ("arange", [], {"step": 0.0, "stop": 3.0}, "invalid-argument"),
    ("broadcast", [(1,)], {"shape": [2 ** 62, 4]}, "overflow"),
]


def case_refused(number):
    def run(g):
        op, shapes, attributes, status = REFUSED[number]
        ctx = contexts[1]
        with ctx.scope():
            tensors = [ctx.from_val(Val("f32", np.ones(s, np.float32))) for s in shapes]
            out = ctx.apply(op, tensors, results_of(op, attributes), **attributes)
            what = "%s(%s) {%s}" % (op, shapes, tern.attributes_text(attributes))
            problem = check_error(op, out, what)
            if not problem and out[0].error[0] != status:
                problem = "%s: status %s, should be %s: %s" % ((what, out[0].error[0], status, out[0].error[1]))
            return problem
    return run


# ---- data ------------------------------------------------------------------------------------------------------

def replace(operand, values):
    """Gives an operand these values, in a plain layout."""
    operand.val, operand.how, operand.leaf = Val(operand.dtype, values), None, "leaf"


def case_data(g):
    """An index that points nowhere, somewhere among good ones."""
    op = g.pick(["gather", "take_along", "scatter_add", "attention", "write_slice", "write_rows"])
    operands, attributes = draw(g, op)
    at = {"attention": [3, 4], "write_slice": [2], "write_rows": [2, 3]}.get(op, [1])
    index = operands[g.pick(at)]
    if index.val.a.size == 0 or (op == "attention" and (operands[0].val.a.size == 0)):
        return None
    if op in ("attention", "write_rows"):   # a bad slot of a padding row means nothing: no padding here
        positions = operands[at[1]]
        replace(positions, np.maximum(positions.val.a, 0))
    values = index.val.a.copy()
    # of i64, what stays outside when it is cast to i32
    low, high = (np.iinfo(values.dtype).min, np.iinfo(values.dtype).max) if values.itemsize < 8 else (-2 ** 31, 2 ** 31 - 1)
    values[tuple(g.int(0, n - 1) for n in values.shape)] = g.pick([100, high] if low == 0 else [100, -100, low, high])
    replace(index, values)
    ctx = contexts[1]
    what = "%s(%s) {%s}" % (op, operands, tern.attributes_text(attributes))
    with ctx.scope():
        tensors = [o.make(ctx) for o in operands]
        if op in ("write_slice", "write_rows"):
            tensors[0] = ctx.from_val(operands[0].val)
        out = ctx.op(op, *tensors, **attributes)
        if out.error:
            return "%s: refused before its data were known: %s" % (what, out.error)
        if out.read_size() == 0:
            return None
        pending = ctx.op("neg" if out.dtype != "bool" else "logical_not", out)
        for t in (out, pending, out):
            try:
                t.read()
                return "%s: an index that points nowhere is accepted" % what
            except Error as error:
                if error.status != "out-of-range" or not error.message.startswith(op + ":"):
                    return "%s: %s" % (what, error)
    return None


def case_binding(g):
    """That the calls below mean what they say: the tests' own view of the API is that of the headers."""
    source = os.environ.get("TERN_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    return tern.differences_from_headers(os.path.join(source, "include", "tern")) or None


def all_cases():
    kinds = [("dtypes", case_dtypes, 900), ("counts", case_counts, 400), ("broken", case_broken_attributes, 400),
             ("odd", case_odd_attributes, 700), ("shapes", case_shapes, 700), ("data", case_data, 150)]
    cases = [("binding", 0, case_binding)] + [(name, k, function) for name, function, count in kinds for k in range(count)]
    return cases + [("refused", k, case_refused(k)) for k in range(len(REFUSED))]


if __name__ == "__main__":
    harness.main(all_cases(), setup)
