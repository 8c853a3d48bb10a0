#!/usr/bin/env python3
"""What only shows when several operations meet.

  chains      random expressions, evaluated at once, against the same expressions evaluated one operation at a time, on
              another number of threads, and printed, parsed and compiled at a random level: the same bits
  algebra     the same with what a compiler likes to simplify: x * 1, -(-x), casts there and back, special numbers
  rules       every op with special numbers, nested, with itself, and casts there and back: one by one and compiled
  eager       random programs of views, pending expressions and writes in place, against NumPy, which has no laziness:
              every handle reads as if each line had run when it was written
  blocks      what models are made of: products with constant weights, norms, quantised rows; compiled at every level
  decoding    a program with states, run step by step: reads before and after each update, padding, many slots
  programs    one program, run several times with other inputs: results stay what they were
  random      element i of rand and randn is a function of (seed, i) alone
  threads     large operands, cut differently by 1, 2 and 4 threads: the same bits
"""
import ctypes

import numpy as np

import elementwise  # noqa: F401  registers its oracles, like the following ones
import harness
import models       # noqa: F401
import moves        # noqa: F401
import reductions   # noqa: F401
from elementwise import ARITHMETIC
from operands import Layout, SPECIAL, edges_of
from registry import ORACLES
from rules import apply_rule
import tern
from tern import Dtype, Error, lib
from values import FLOATS, PACKED, STORED, UNPACKED, Val, bits, cast, from_working, is_float, is_packed, promote, working

contexts = {}
pairs = []


def setup():
    contexts.update({n: tern.Ctx(n) for n in (1, 2, 4)})
    # pairs of one and more threads, at every instruction set
    pairs.append((contexts[1], [contexts[1], contexts[2], contexts[4]]))
    pairs.extend((tern.Ctx(1, isa), [tern.Ctx(2, isa)]) for isa in tern.isa_levels()[:-1])


def differ(a, b):
    """None, or where two Vals differ in any bit; of a NaN only that it is one counts."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return "%r and %r" % (a, b)
    wrong = bits(a) != bits(b)
    if is_float(a.dtype):
        wrong &= ~(np.isnan(working(a)) & np.isnan(working(b)))
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return "%d of %d elements, first at %s: %r and %r" % (wrong.sum(), a.a.size, [int(i) for i in at], a.a[at], b.a[at])


# ---- chains ----------------------------------------------------------------------------------------------------

# Each takes (g, dtype, shape) of operand 0 and gives (op, number of further operands, attributes); operands that do
# not fit give error tensors, which are no less worth comparing.
def axis_of(g, shape):
    return g.axis(max(len(shape), 1))


UNARY = ["neg", "abs", "sign", "square", "relu", "floor", "ceil", "trunc", "round", "reciprocal", "sqrt", "rsqrt", "exp",
         "log", "sin", "cos", "tanh", "erf", "relu2", "gelu", "silu", "sigmoid", "softplus", "isnan", "isfinite",
         "logical_not"]
BINARY = ["add", "sub", "mul", "div", "floor_div", "mod", "pow", "atan2", "maximum", "minimum", "eq", "ne", "lt", "le",
          "gt", "ge", "logical_and", "logical_or"]


def draw_step(g, dtype, shape):
    """(op, how many more operands, attributes, results)"""
    rank = len(shape)
    kind = g.rng.random()
    if kind < 0.3:
        return g.pick(UNARY), 0, {}, 1
    if kind < 0.55:
        return g.pick(BINARY), 1, {}, 1
    if kind < 0.6:
        return "where", 2, {}, 1
    if kind < 0.66:
        return "cast", 0, {"dtype": Dtype(g.pick(UNPACKED))}, 1
    if kind < 0.74:
        return g.pick(["sum", "mean", "max", "min", "prod", "var", "any", "all", "logsumexp"]), 0, {
            "axes": g.axes(rank), "keepdims": g.chance(0.8)}, 1
    if kind < 0.8:
        return g.pick(["softmax", "log_softmax", "cumsum"]), 0, {"axis": axis_of(g, shape)}, 1
    if kind < 0.83:
        return "permute", 0, {"axes": [int(a) for a in g.rng.permutation(rank)]}, 1
    if kind < 0.86:
        layout = Layout.random(g, shape, False)
        return "slice", 0, {"start": [g.int(0, 1) for _ in shape], "stop": list(shape),
                            "step": [g.pick([1, 1, 2, -1]) for _ in shape]}, 1
    if kind < 0.89:
        total = int(np.prod(shape))
        return "reshape", 0, {"shape": g.pick([[-1], [total], [1] + list(shape), list(shape) + [1], list(shape[::-1])])}, 1
    if kind < 0.92:
        return g.pick(["concat", "stack"]), g.int(0, 2), {"axis": axis_of(g, shape)}, 1
    if kind < 0.94:
        return "matmul", 1, {"transpose_b": g.chance(0.5)}, 1
    if kind < 0.95:
        return g.pick(["rmsnorm", "layernorm"]), 0, {}, 1
    if kind < 0.97:
        return "flip", 0, {"axes": g.axes(rank)}, 1
    if kind < 0.98:
        return "sort", 0, {"axis": axis_of(g, shape)}, 2
    if kind < 0.99:
        return "quantise_rows", 0, {}, 2
    return "pad", 0, {"before": [g.int(0, 1) for _ in shape], "after": [g.int(0, 1) for _ in shape], "value": 2.0}, 1


NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 4.0, -2.0, 3.0, 0.25, float("inf"), float("nan"), 1e38, 2.0 ** -126]
NESTING = ["neg", "abs", "sign", "square", "relu", "floor", "ceil", "trunc", "round", "logical_not", "bit_not", "reciprocal",
           "sqrt", "relu2", "isnan", "contiguous"]
PAIRING = ["add", "sub", "mul", "div", "floor_div", "mod", "pow", "maximum", "minimum", "bit_and", "bit_or", "bit_xor", "eq",
           "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"]


def draw_algebra(g, dtype, shape):
    """What rules of algebra are about: nested signs and roundings, special numbers, x with itself, types and views there
    and back."""
    rank, kind = len(shape), g.rng.random()
    if kind < 0.15:
        return "full", -1, {"dtype": Dtype(dtype if g.chance(0.8) else g.pick(UNPACKED)), "shape": [],
                            "value": float(g.pick(NUMBERS))}, 1
    if kind < 0.4:
        return g.pick(NESTING), 0, {}, 1
    if kind < 0.7:
        return g.pick(PAIRING), 1, {}, 1
    if kind < 0.74:
        return "where", 2, {}, 1
    if kind < 0.8:
        return "clamp", 0, {"low": float(g.pick([-1, 0, 0, 1])), "high": float(g.pick([0, 1, 6, float("inf")]))}, 1
    if kind < 0.9:
        return "cast", 0, {"dtype": Dtype(g.pick(UNPACKED))}, 1
    if kind < 0.93:
        return "permute", 0, {"axes": [int(a) for a in g.rng.permutation(rank)]}, 1
    if kind < 0.95:
        return "slice", 0, {"start": [0 if g.chance(0.6) else n - 1 for n in shape], "stop": [n if g.chance(0.6) else -n - 1
                                                                                             for n in shape],
                            "step": [1 if g.chance(0.6) else -1 for n in shape]}, 1
    if kind < 0.97:
        return "reshape", 0, {"shape": g.pick([[-1], [1] + list(shape), list(shape)])}, 1
    if kind < 0.98:
        return "broadcast", 0, {"shape": [g.int(1, 2)] + list(shape)}, 1
    return g.pick(["sum", "max", "softmax", "flip"]), 0, {}, 1


class Recording:
    """A random expression as a list of steps over numbered values, the first of which are leaves."""

    def __init__(self, g, draw_step=draw_step):
        self.leaves, self.steps, self.draw_step = [], [], draw_step
        full = g.shape(high=4, most=40)
        if g.chance(0.03):
            full = g.pick([(30000,), (150, 150), (40, 20, 30)])
        # Shapes are those of the leaves until one step changes them; Tern itself says what came out.
        types = [g.pick(["f32"] * 5 + UNPACKED)] * 2 + [g.pick(UNPACKED)]
        for dtype in types[:g.int(1, 3)]:
            shape = full if g.chance(0.6) else tuple(1 if g.chance(0.4) else s for s in full)
            styles = ["unit", "unit", "mixed"] if draw_step is not draw_algebra else ["special", "mixed", "halves"]
            self.leaves.append(g.operand(dtype, shape, style=g.pick(styles) if is_float(dtype) else None))

    def extend(self, g, ctx, n):
        """Draws n steps, evaluating each on `ctx`, and gives the Vals (None for errors) of everything."""
        made = [leaf.make(ctx) for leaf in self.leaves]
        for _ in range(n):
            at = g.pick(range(max(0, len(made) - 4), len(made))) if g.chance(0.7) else g.int(0, len(made) - 1)
            if made[at].error and g.chance(0.9):
                continue
            if g.chance(0.06):
                self.meet_reversed(g, ctx, made, at)
                continue
            op, more, attributes, results = self.draw_step(g, made[at].dtype, made[at].shape)
            operands = ([at] + [at if g.chance(0.15) else g.int(max(0, len(made) - 6), len(made) - 1) if g.chance(0.6) else
                                g.int(0, len(made) - 1) for _ in range(more)])[:more + 1]
            if len(operands) == 2 and g.chance(0.3):
                operands.reverse()
            out = ctx.apply(op, [made[i] for i in operands], results, **attributes)
            if not out[0].error and np.prod(out[0].shape) > 300000:
                continue
            for t in out:
                if not t.error:
                    t.eval()
            self.steps.append((op, operands, attributes, results))
            made += out
        return made

    def meet_reversed(self, g, ctx, made, at):
        """A value and itself backwards, as a view, meet in one operation: neither may be written over while it is read."""
        shape = made[at].shape
        steps = [("slice", [at], {"start": [n - 1 for n in shape], "stop": [-n - 1 for n in shape], "step": [-1] * len(shape)},
                  1), (g.pick(["add", "mul", "maximum", "sub"]), [at, len(made)], {}, 1)]
        if g.chance(0.5):
            steps[1][1].reverse()
        for op, operands, attributes, results in steps:
            made += ctx.apply(op, [made[i] for i in operands], results, **attributes)
            if not made[-1].error:
                made[-1].eval()
        self.steps += steps

    def replay(self, ctx, leaves):
        made = list(leaves)
        for op, operands, attributes, results in self.steps:
            made += ctx.apply(op, [made[i] for i in operands], results, **attributes)
        return made

    def text(self):
        lines = ["%%%d = %r" % (i, leaf) for i, leaf in enumerate(self.leaves)]
        n = len(self.leaves)
        for op, operands, attributes, results in self.steps:
            lines.append("%s = %s(%s) {%s}" % (", ".join("%%%d" % (n + i) for i in range(results)), op, ", ".join(
                "%%%d" % i for i in operands), tern.attributes_text(attributes)))
            n += results
        return "\n".join(lines)


def case_algebra(g):
    return case_chain(g, draw_algebra)


def case_chain(g, draw=draw_step):
    recording = Recording(g, draw)
    steps = g.pick([3, 6, 12, 25])
    one, others = pairs[0] if g.chance(0.6) else g.pick(pairs)
    other = g.pick(others)
    problems = []
    with one.scope(), other.scope():
        stepwise = recording.extend(g, one, steps)
        expected = [None if t.error else t.read() for t in stepwise]
        at_once = recording.replay(other, [leaf.make(other) for leaf in recording.leaves])
        good = [i for i, t in enumerate(at_once) if not t.error]
        for i, (a, b) in enumerate(zip(stepwise, at_once)):
            if a.error != b.error:
                problems.append("%%%d: %r one by one, %r at once" % (i, a.error, b.error))
        wanted = [i for i in good if i >= len(at_once) - g.int(1, 4)] or good[-1:]
        other.eval_all([at_once[i] for i in wanted])
        # what was not asked for keeps its recipe
        for i in wanted + [g.pick(good)]:
            problem = differ(expected[i], at_once[i].read())
            if problem:
                problems.append("%%%d at once: %s" % (i, problem))
        if g.chance(0.5):
            level = g.int(-2, 1)
            problems += chain_as_text(other, recording, expected, wanted, level)
    return [recording.text()] + problems if problems else None


def chain_as_text(ctx, recording, expected, wanted, level):
    # small constants are part of the text, everything else is given when it runs
    inputs = [leaf.make(ctx) if leaf.leaf == "frozen" and leaf.how is None and leaf.val.a.size <= 64 else
              ctx.input("x%d" % i, leaf.dtype, leaf.shape) for i, leaf in enumerate(recording.leaves)]
    made = recording.replay(ctx, inputs)
    captured = ctx.capture([made[i] for i in wanted])
    text = captured.print()
    captured.dot()
    captured.free()
    parsed = ctx.parse(text)
    problems = []
    if parsed.print() != text:
        problems.append("printed and parsed, the text differs:\n%s\n%s" % (text, parsed.print()))
    bound = {"x%d" % i: leaf.make(ctx) for i, leaf in enumerate(recording.leaves)}
    for i, t in zip(wanted, parsed.run(bound, level)):
        problem = differ(expected[i], t.read())
        if problem:
            problems.append("%%%d as text at level %d: %s" % (i, level, problem))
    parsed.free()
    return problems


# ---- rules -----------------------------------------------------------------------------------------------------

def special_numbers(g, dtype):
    """All special values of a type, and some others."""
    parts = [g.numbers(dtype, (20,), style).a for style in (["unit", "whole", "halves", "tiny", "wide"] if is_float(dtype)
                                                           else ["small", "full", "extreme"])]
    if is_float(dtype):
        parts.append(cast(Val("f64", np.array(SPECIAL + edges_of(dtype))), dtype).a)
    return Val(dtype, np.concatenate(parts))


def pair_with_numbers(op):
    def record(ctx, x, dtype):
        numbers = [ctx.op("full", dtype=Dtype(dtype), shape=[], value=n) for n in NUMBERS]
        return [ctx.op(op, x, n) for n in numbers] + [ctx.op(op, n, x) for n in numbers] + [ctx.op(op, x, x)]
    return record


def nest(outer):
    def record(ctx, x, dtype):
        return [ctx.op(outer, ctx.op(inner, x)) for inner in NESTING]
    return record


def pair_of_nested(op):
    def record(ctx, x, dtype):
        results = []
        for inner in ("neg", "abs", "logical_not", "relu", "square"):
            y = ctx.op(inner, x)
            results += [ctx.op(op, x, y), ctx.op(op, y, x), ctx.op(op, y, y), ctx.op("logical_not", ctx.op(op, x, y))]
        return results
    return record


def cast_twice(between):
    def record(ctx, x, dtype):
        y = ctx.op("cast", x, dtype=Dtype(between))
        return [ctx.op("cast", y, dtype=Dtype(to)) for to in UNPACKED]
    return record


def clamp_twice(ctx, x, dtype):
    pairs_of = [(-1.0, 1.0), (0.0, 6.0), (1.0, -1.0), (-0.0, 0.0), (float("-inf"), float("inf")), (0.5, 2.5)]
    clamped = [ctx.op("clamp", x, low=low, high=high) for low, high in pairs_of]
    return clamped + [ctx.op("clamp", t, low=low, high=high) for t in clamped for low, high in pairs_of]


def choose(ctx, x, dtype):
    y = ctx.op("neg", x)
    condition = ctx.op("gt", x, y)
    known = [ctx.op("full", dtype=Dtype("bool"), shape=[], value=v) for v in (0.0, 1.0)]
    return [ctx.op("where", c, x, y) for c in known + [condition, ctx.op("logical_not", condition)]] + [
        ctx.op("where", condition, x, x)]


RULES_OF = [(op, pair_with_numbers(op)) for op in PAIRING] + [(op, nest(op)) for op in NESTING] + [
    (op + " nested", pair_of_nested(op)) for op in PAIRING] + [("cast", cast_twice(t)) for t in UNPACKED] + [
    ("clamp", clamp_twice), ("where", choose)]


class Stepwise:
    """A context that evaluates every operation when it is called."""

    def __init__(self, ctx):
        self.ctx = ctx

    def op(self, *arguments, **attributes):
        t = self.ctx.op(*arguments, **attributes)
        return t if t.error else t.eval()


def case_rules(number):
    """Everything that one op might be simplified to, for one dtype and all special values: first one by one, then compiled."""
    def run(g):
        (name, record), dtype = RULES_OF[number // len(UNPACKED)], UNPACKED[number % len(UNPACKED)]
        ctx, val = contexts[g.pick([1, 2])], special_numbers(g, dtype)
        problems = []
        with ctx.scope():
            # an intermediate, as leaves themselves cannot be results; each result in a buffer of its own
            def expression(on, x):
                padded = on.op("pad", x, before=[1], after=[0])
                return [on.op("concat", t, t) for t in record(on, padded, dtype) if not t.error]
            expected = [t.read() for t in expression(Stepwise(ctx), ctx.from_val(val))]
            lazy = expression(ctx, ctx.input("x", dtype, val.shape))
            if not lazy:
                return None
            graph = ctx.capture(lazy)
            for level in (-1, 0, 1):
                for i, t in enumerate(graph.run({"x": ctx.from_val(val)}, level)):
                    problem = differ(expected[i], t.read())
                    if problem:
                        problems.append("result %d at level %d: %s" % (i, level, problem))
            text = graph.print() if problems else ""
            graph.free()
        return ["%s, %s" % (name, dtype)] + problems[:4] + [text] if problems else None
    return run


# ---- eager -----------------------------------------------------------------------------------------------------

class Handle:
    """A tensor and the NumPy array that it has to equal; views share memory in both worlds."""

    def __init__(self, tensor, dtype, array, writable=True, name=""):
        self.tensor, self.dtype, self.array, self.writable, self.name = tensor, dtype, array, writable, name

    def val(self):
        return Val(self.dtype, np.ascontiguousarray(self.array).reshape(self.array.shape))


class Eager:
    """A random program, run by Tern and by NumPy."""

    TYPES = ["i32", "f32", "f32", "u8", "i64", "bf16", "bool"]
    IN_PLACE = ["add", "mul", "sub", "maximum", "minimum"]

    def __init__(self, g, ctx):
        self.g, self.ctx, self.handles, self.lines = g, ctx, [], []
        for _ in range(g.int(1, 2)):
            self.new_leaf()

    def say(self, *words):
        self.lines.append(" ".join(str(w) for w in words))

    def add(self, tensor, dtype, array, writable=True):
        assert not tensor.error, tensor.error
        handle = Handle(tensor, dtype, array, writable, "h%d" % len(self.lines))
        self.handles.append(handle)
        return handle

    def new_leaf(self):
        g = self.g
        dtype = g.pick(self.TYPES)
        val = g.numbers(dtype, g.shape(low=0, high=4, most=40), "whole" if is_float(dtype) else "small")
        self.say(self.add(self.ctx.from_val(val), dtype, val.a.copy()).name, "= leaf", val)

    def pick(self):
        return self.g.pick(self.handles[-6:] if self.g.chance(0.6) else self.handles)

    def new_view(self):
        g, of = self.g, self.pick()
        kind, rank = g.rng.random(), of.array.ndim
        writable = of.writable
        if kind < 0.45:
            start, stop, step = [], [], []
            for n in of.array.shape:
                start.append(g.int(-n - 1, n + 1)), stop.append(g.pick([n, g.int(-n - 1, n + 1)]))
                step.append(g.pick([1, 1, 2, -1, -2]))
            attributes = {"start": start, "stop": stop, "step": step}
            op, array = "slice", of.array[tuple(slice(*s) for s in zip(start, stop, step)) + (Ellipsis,)]
        elif kind < 0.65:
            axes = [int(a) for a in g.rng.permutation(rank)]
            attributes = {"axes": axes}
            op, array = "permute", of.array.transpose(axes)
        elif kind < 0.75 and rank < 5:
            shape = [g.int(1, 3)] + [s for s in of.array.shape]
            attributes = {"shape": shape}
            op, array = "broadcast", of.array[None] if shape[0] == 1 else np.broadcast_to(of.array, shape)
            writable = writable and shape[0] == 1
        else:
            total = of.array.size
            shape = g.pick([[-1], [total], list(of.array.shape) + [1], [1] + list(of.array.shape),
                            list(of.array.shape[::-1])])
            if total == 0:
                shape = [s if s >= 0 else 0 for s in shape]
            attributes = {"shape": shape}
            array = of.array.reshape(shape)
            if array.size and not np.shares_memory(array, of.array):
                array, writable = array.copy(), True
            op = "reshape"
        view = self.add(self.ctx.op(op, of.tensor, **attributes), of.dtype, array, writable)
        self.say(view.name, "=", op, of.name, attributes)

    def new_value(self):
        """A pending expression over one or two handles."""
        g, a = self.g, self.pick()
        b = self.pick()
        try:
            shape = np.broadcast_shapes(a.array.shape, b.array.shape)
        except ValueError:
            b, shape = a, a.array.shape
        op = g.pick(["add", "mul", "maximum", "minimum"])
        if np.prod(shape, dtype=float) > 2000:
            return
        dtype = promote(a.dtype, b.dtype)
        result = from_working(ARITHMETIC[op](working(cast(a.val(), dtype)), working(cast(b.val(), dtype))), dtype)
        value = self.add(self.ctx.op(op, a.tensor, b.tensor), dtype, np.array(result.a))
        self.say(value.name, "=", op, a.name, b.name)

    def write(self):
        g, target = self.g, self.pick()
        if not target.writable:
            return
        fitting = [h for h in self.handles if self.fits(h.array.shape, target.array.shape)]
        other = self.new_overlap(target) if g.chance(0.25) else g.pick(fitting)
        kind = g.rng.random()
        old = target.val()
        if kind < 0.25:
            self.say("assign", target.name, other.name)
            value = cast(other.val(), target.dtype)
            target.tensor.assign(other.tensor)
        elif kind < 0.35:
            self.say("neg", target.name)
            if target.dtype == "bool":
                return
            value = from_working(np.negative(working(old)), target.dtype)
            target.tensor.in_place("neg")
        elif kind < 0.4:
            if target.dtype == "bool":
                return
            self.say("clamp", target.name)
            value = from_working(np.clip(working(old), 0, 3), target.dtype)
            target.tensor.in_place("clamp", low=0.0, high=3.0)
        elif kind < 0.48:
            number = float(g.int(-3, 3))
            self.say("fill", target.name, number)
            value = cast(Val("f64", np.asarray(number)), target.dtype)
            tern.check(lib.tern_fill_(target.tensor.handle, number))
        else:
            op = g.pick(self.IN_PLACE)
            dtype = promote(target.dtype, other.dtype)
            dtype = "i32" if op == "sub" and dtype == "bool" else dtype
            self.say(op + "_", target.name, other.name)
            value = cast(from_working(ARITHMETIC[op](working(cast(old, dtype)), working(cast(other.val(), dtype))),
                                      dtype), target.dtype)
            target.tensor.in_place(op, other.tensor)
        target.array[...] = value.a

    def new_overlap(self, target):
        """A view of the target itself: backwards, or its first row for all rows."""
        start, stop, step = [], [], []
        backwards = self.g.chance(0.6)
        for i, n in enumerate(target.array.shape):
            row = not backwards and i == 0 and n > 0
            start.append(n - 1 if backwards else 0), stop.append(-n - 1 if backwards else 1 if row else n)
            step.append(-1 if backwards else 1)
        attributes = {"start": start, "stop": stop, "step": step}
        view = self.add(self.ctx.op("slice", target.tensor, **attributes), target.dtype,
                        target.array[tuple(slice(*s) for s in zip(start, stop, step)) + (Ellipsis,)], target.writable)
        self.say(view.name, "= slice", target.name, attributes)
        return view

    @staticmethod
    def fits(shape, into):
        try:
            return np.broadcast_shapes(shape, into) == into
        except ValueError:
            return False

    def check(self, handle):
        self.say("read", handle.name)
        got, expected = handle.tensor.read(), handle.val()
        if got.dtype != handle.dtype or got.shape != handle.array.shape:
            return "%s is %r, should be %r" % (handle.name, got, expected)
        wrong = bits(got) != bits(expected)
        if is_float(handle.dtype):
            wrong &= ~(np.isnan(working(got)) & np.isnan(working(expected)))
            wrong &= ~((working(got) == 0) & (working(expected) == 0))
        if not wrong.any():
            return None
        at = tuple(np.argwhere(wrong)[0])
        return "%s differs at %s: %r, should be %r" % (handle.name, [int(i) for i in at], got.a[at], expected.a[at])

    def run(self, n):
        g = self.g
        for _ in range(n):
            kind = g.rng.random()
            if kind < 0.28:
                self.new_view()
            elif kind < 0.5:
                self.new_value()
            elif kind < 0.78:
                self.write()
            elif kind < 0.83:
                handle = self.pick()
                self.say("eval", handle.name)
                handle.tensor.eval()
            elif kind < 0.88:
                problem = self.check(self.pick())
                if problem:
                    return problem
            elif kind < 0.93 and len(self.handles) > 2:
                handle = self.handles.pop(g.int(0, len(self.handles) - 1))
                self.say("release", handle.name)
                lib.tern_release(handle.tensor.handle)
            elif kind < 0.96:
                a, b = self.pick(), self.pick()
                self.say("eval", a.name, b.name)
                self.ctx.eval_all([a.tensor, b.tensor])
            else:
                self.new_leaf()
        for handle in self.handles:
            problem = self.check(handle)
            if problem:
                return problem
        return None


def case_eager(g):
    ctx = contexts[g.pick([1, 2])]
    before = ctx.live_nodes()
    program = Eager(g, ctx)
    try:
        problem = program.run(g.pick([6, 12, 25, 50]))
    except Error as error:
        problem = "refused: %s" % error
    for handle in program.handles:
        lib.tern_release(handle.tensor.handle)
    if not problem and ctx.live_nodes() != before:
        problem = "%d nodes are left behind" % (ctx.live_nodes() - before)
    return ["\n".join(program.lines), problem] if problem else None


# ---- blocks ----------------------------------------------------------------------------------------------------

class Block:
    """A piece of a model: records itself on any context, with any x, calling `each` for every tensor that it makes."""

    def __init__(self, g):
        self.rows, self.d, self.hidden = g.pick([1, 1, 2, 5, 17]), g.pick([4, 5, 16, 33, 64]), g.pick([3, 8, 32])
        self.ternary = g.chance(0.6)
        self.dtype = g.pick(PACKED)
        self.norm, self.activation = g.pick(["rmsnorm", "layernorm"]), g.pick(["relu2", "silu", "gelu", "relu"])
        self.gated, self.biased, self.transposed = g.chance(0.5), g.chance(0.5), g.chance(0.5)
        self.softmax, self.residual = g.chance(0.4), g.chance(0.6)
        self.x = [g.numbers("f32", (self.rows, self.d), g.pick(["unit", "unit", "mixed"])) for _ in range(2)]
        self.weights = {"norm": g.numbers("f32", (self.d,), "unit"), "bias": g.numbers("f32", (self.hidden,), "unit")}
        for name in ("up", "gate"):
            shape = (self.hidden, self.d) if self.ternary or self.transposed else (self.d, self.hidden)
            self.weights[name] = g.numbers(self.dtype if self.ternary else "f32", shape, "unit")
        self.weights["down"] = g.numbers("f32", (self.hidden, self.d), "unit")
        self.scale = Val("f32", np.asarray(g.rng.random(), np.float32))

    def product(self, ctx, h, weight, each):
        if not self.ternary:
            return each(ctx.op("matmul", h, weight, transpose_b=self.transposed))
        q, scale = ctx.apply("quantise_rows", [h], 2)
        y = each(ctx.op("ternary_matmul", each(q), weight))
        return each(ctx.op("mul", each(ctx.op("dequantise", y, each(scale))), each(ctx.from_val(self.scale).freeze())))

    def record(self, ctx, x, weights, each):
        """[the block's result, and one from the middle]"""
        h = each(ctx.op(self.norm, x, weights["norm"]))
        up = self.product(ctx, h, weights["up"], each)
        if self.gated:
            gate = self.product(ctx, h, weights["gate"], each)
            up = each(ctx.op("mul", each(ctx.op(self.activation, gate)), up))
        else:
            up = each(ctx.op(self.activation, up))
        if self.biased:
            up = each(ctx.op("add", up, weights["bias"]))
        y = each(ctx.op("matmul", up, weights["down"]))
        y = each(ctx.op("add", x, y)) if self.residual else y
        return [each(ctx.op("softmax", y)) if self.softmax else y, up]

    def constants(self, ctx):
        return {name: ctx.from_val(val).freeze() for name, val in self.weights.items()}

    def text(self):
        return " ".join("%s=%s" % (name, value) for name, value in vars(self).items() if name not in ("x", "weights"))


def case_block(g):
    block = Block(g)
    one, others = pairs[0] if g.chance(0.5) else g.pick(pairs)
    other, problems = g.pick(others), []
    with one.scope(), other.scope():
        constants = block.constants(one)
        expected = [[t.read() for t in block.record(one, one.from_val(x), constants, lambda t: t.eval())] for x in block.x]
        constants = block.constants(other)
        for k, x in enumerate(block.x):
            for i, t in enumerate(block.record(other, other.from_val(x), constants, lambda t: t)):
                problem = differ(expected[k][i], t.read())
                if problem:
                    problems.append("input %d, result %d at once: %s" % (k, i, problem))
        graph = other.capture(block.record(other, other.input("x", "f32", block.x[0].shape), constants, lambda t: t))
        for level in range(-2, 2):
            for k, x in enumerate(block.x):
                for i, t in enumerate(graph.run({"x": other.from_val(x)}, level)):
                    problem = differ(expected[k][i], t.read())
                    if problem:
                        problems.append("input %d, result %d compiled at level %d: %s" % (k, i, level, problem))
        graph.free()
    return [block.text()] + problems if problems else None


# ---- decoding --------------------------------------------------------------------------------------------------

def case_decode(g):
    """Keys and values of several sequences in two states. NumPy keeps what the states have to be."""
    slots, capacity, heads, d = g.int(1, 3), g.int(4, 9), g.int(1, 2), g.pick([2, 8])
    rows, group = g.int(1, 4), g.int(1, 2)
    dtype = g.pick(["f32", "f32", "f16", "bf16"])
    ctx, level = contexts[g.pick([1, 2])], g.int(-2, 1)
    cache = (slots, capacity, heads, d)
    kept = [np.zeros(cache, STORED[dtype]) for _ in range(2)]
    what = "slots %d, capacity %d, heads %d x %d, d %d, rows %d, %s, level %d" % (slots, capacity, heads, group, d, rows,
                                                                                  dtype, level)
    with ctx.scope():
        inputs = {"k": ctx.input("k", "f32", (rows, heads, d)), "v": ctx.input("v", "f32", (rows, heads, d)),
                  "q": ctx.input("q", "f32", (rows, heads * group, d)), "slots": ctx.input("slots", "i32", (rows,)),
                  "positions": ctx.input("positions", "i32", (rows,))}
        states = [ctx.state(name, dtype, cache) for name in ("keys", "values")]
        before = ctx.op("sum", states[0])      # reads the old value, whenever it runs
        written = [ctx.op("write_rows", s, inputs[x], inputs["slots"], inputs["positions"])
                   for s, x in zip(states, ("k", "v"))]
        y = ctx.op("attention", inputs["q"], written[0], written[1], inputs["slots"], inputs["positions"])
        after = ctx.op("sum", written[0])
        outputs = [before, y, after]
        g.rng.shuffle(outputs)
        order = [outputs.index(t) for t in (before, y, after)]
        program, execution = ctypes.c_void_p(), ctypes.c_void_p()
        options = lib.tern_compile_options_default()
        options.level = level
        tern.check(lib.tern_compile(ctx.handle, 3, tern.handles(outputs), None, ctypes.byref(options),
                                    ctypes.byref(program)))
        tern.check(lib.tern_exec_create(ctx.handle, program, ctypes.byref(execution)))
        names = []
        for i in range(tern.program_info(program).n_inputs):
            port = tern.Port()
            tern.check(lib.tern_program_input(program, i, ctypes.byref(port)))
            names.append(port.name.decode())
        for step in range(g.int(2, 5)):
            position = g.rng.integers(-1, capacity, rows).astype(np.int32)
            slot = g.rng.integers(0, slots, rows).astype(np.int32)
            given = {"k": g.numbers("f32", (rows, heads, d), "unit"), "v": g.numbers("f32", (rows, heads, d), "unit"),
                     "q": g.numbers("f32", (rows, heads * group, d), "unit"), "slots": Val("i32", slot),
                     "positions": Val("i32", position)}
            old_sum = ctx.op("sum", ctx.from_val(Val(dtype, kept[0]))).read()
            for array, name in zip(kept, ("k", "v")):
                new = cast(given[name], dtype).a
                for r in range(rows):
                    if position[r] >= 0:
                        array[slot[r], position[r]] = new[r]
            expected = [old_sum, ctx.op("attention", ctx.from_val(given["q"]), ctx.from_val(Val(dtype, kept[0])),
                                        ctx.from_val(Val(dtype, kept[1])), ctx.from_val(given["slots"]),
                                        ctx.from_val(given["positions"])).read(),
                        ctx.op("sum", ctx.from_val(Val(dtype, kept[0]))).read()]
            out = (ctypes.c_void_p * 3)()
            tensors = [ctx.from_val(given[name]) for name in names]
            tern.check(lib.tern_exec_run(execution, len(tensors), tern.handles(tensors), 3, out))
            for name, at, want in zip(("sum before", "attention", "sum after"), order, expected):
                problem = differ(want, tern.Tensor(ctx, out[at]).read())
                if problem:
                    return "%s: step %d, %s: %s" % (what, step, name, problem)
        lib.tern_exec_free(execution)
        lib.tern_program_free(program)
    return None


# ---- programs --------------------------------------------------------------------------------------------------

PROGRAM_OPS = ["add", "relu", "reshape", "permute", "slice", "broadcast", "contiguous", "matmul", "softmax", "split", "cast",
               "concat", "sum", "sort", "gather", "to_device"]


def case_program(g):
    """One exec, three runs: each gives what the op gives directly, and the results of earlier runs stay."""
    op = g.pick(PROGRAM_OPS)
    ctx = contexts[g.pick([1, 2])]
    operands, attributes = ORACLES[op].draw(g, op)
    n = len(attributes["sizes"]) if op == "split" else 2 if op == "sort" else 1
    runs, borrowed = [], []
    program, execution = ctypes.c_void_p(), ctypes.c_void_p()
    problems = []
    with ctx.scope():
        inputs = [ctx.input("x%d" % i, o.dtype, o.shape) for i, o in enumerate(operands)]
        out = ctx.apply(op, inputs, n, **attributes)
        twice = out + out[:1]   # one result under two names
        names = (ctypes.c_char_p * len(twice))(*[b"y%d" % i for i in range(len(twice))])
        tern.check(lib.tern_compile(ctx.handle, len(twice), tern.handles(twice), names, None, ctypes.byref(program)))
        tern.check(lib.tern_exec_create(ctx.handle, program, ctypes.byref(execution)))
        for _ in range(3):
            fresh = [o if i and op == "gather" else g.operand(o.dtype, o.shape) for i, o in enumerate(operands)]
            borrowed.append(fresh)      # results may be views of memory that these own
            tensors = [o.make(ctx) for o in fresh]
            direct = [t.read() for t in ctx.apply(op, tensors, n, **attributes)]
            results = (ctypes.c_void_p * len(twice))()
            tern.check(lib.tern_exec_run(execution, len(tensors), tern.handles(tensors), len(twice), results))
            runs.append((direct + direct[:1], [tern.Tensor(ctx, results[i]) for i in range(len(twice))]))
            first = runs[-1][1][0]
            if op != "broadcast" and g.chance(0.5) and not is_packed(first.dtype) and not any(
                    first.shares_storage(t) for t in tensors):
                # what is no view of an input is the caller's: writing into it changes nothing else
                first.in_place("logical_not" if first.dtype == "bool" else "abs")
                for i, (t, o) in enumerate(zip(tensors, fresh)):
                    problem = differ(o.val, t.read())
                    if problem:
                        problems.append("writing into a result changed input %d: %s" % (i, problem))
                runs[-1] = (direct[1:], runs[-1][1][1:n])
        lib.tern_exec_free(execution)
        lib.tern_program_free(program)
        for k, (direct, results) in enumerate(runs):
            for i, (a, b) in enumerate(zip(direct, results)):
                problem = differ(a, b.read())
                if problem:
                    problems.append("run %d, result %d: %s" % (k, i, problem))
    return ["%s(%s) {%s}" % (op, operands, tern.attributes_text(attributes))] + problems if problems else None


# ---- random numbers and threads --------------------------------------------------------------------------------

def case_random(g):
    op, dtype, seed = g.pick(["rand", "randn"]), g.pick(FLOATS), g.int(-10, 2 ** 40)
    read = {}
    for threads, shape in ((1, [60000]), (2, [60000]), (4, [200, 300]), (1, [7, 11]), (2, [1])):
        ctx = contexts[threads]
        with ctx.scope():
            read[threads, tuple(shape)] = ctx.op(op, dtype=Dtype(dtype), shape=shape, seed=seed).read().a.reshape(-1)
    with contexts[1].scope():
        other = contexts[1].op(op, dtype=Dtype(dtype), shape=[60000], seed=seed + 1).read().a
    longest = read[1, (60000,)]
    for key, values in read.items():
        if not (values == longest[:values.size]).all():
            return "%s %s, seed %d: %s differs from the beginning of [60000]" % (op, dtype, seed, key)
    if (other == longest).mean() > 0.02:
        return "%s %s: seeds %d and %d give much the same numbers" % (op, dtype, seed, seed + 1)
    return None


def case_threads(g):
    """An op on operands that are worth splitting."""
    op = g.pick(["add", "exp", "sum", "mean", "softmax", "matmul", "cumsum", "rmsnorm", "sort", "argmax", "permute",
                 "cast", "concat", "gather", "quantise_rows", "conv2d", "layernorm", "logsumexp", "where", "pad"])
    rows, columns = g.pick([(700, 100), (3, 40000), (40000, 3), (257, 311)])
    x = g.operand("f32", (rows, columns), style=g.pick(["unit", "mixed"]))
    y = g.operand("f32", (rows, columns), style="unit")
    operands, attributes, n = [x], {}, 1
    if op in ("add", "concat"):
        operands = [x, y]
    elif op == "where":
        operands = [g.operand("bool", (rows, 1)), x, y]
    elif op in ("sum", "mean", "logsumexp"):
        attributes = {"axes": g.pick([[0], [1], []])}
    elif op in ("softmax", "cumsum", "argmax", "sort"):
        attributes, n = {"axis": g.int(0, 1)}, 2 if op == "sort" else 1
    elif op == "matmul":
        operands = [g.operand("f32", (g.int(60, 90), 120), style="unit"), g.operand("f32", (120, g.int(60, 90)), style="unit")]
    elif op == "permute":
        attributes = {"axes": [1, 0]}
    elif op == "cast":
        attributes = {"dtype": Dtype(g.pick(["f16", "i8", "f64"]))}
    elif op == "gather":
        operands.append(g.given(Val("i32", g.rng.integers(0, rows, 2 * rows).astype(np.int32))))
    elif op == "quantise_rows":
        n = 2
    elif op == "conv2d":
        operands = [g.operand("f32", (2, 3, 40, 50), style="unit"), g.operand("f32", (4, 3, 3, 3), style="unit")]
        attributes = {"pad_h": 1, "pad_w": 1}
    elif op == "pad":
        attributes = {"before": [1, 2], "after": [3, 0], "value": 1.0}
    read = {}
    for threads, ctx in contexts.items():
        with ctx.scope():
            tensors = [o.make(ctx) for o in operands]
            out = ctx.apply(op, tensors, n, **attributes)
            if op == "permute":     # a view by itself
                out = [ctx.op("contiguous", out[0])]
            read[threads] = [t.read() for t in out]
    for threads in (2, 4):
        for a, b in zip(read[1], read[threads]):
            problem = differ(a, b)
            if problem:
                return "%s(%s) {%s} on %d threads: %s" % (op, operands, tern.attributes_text(attributes), threads, problem)
    return None


def all_cases():
    kinds = [("chains", case_chain, 500), ("algebra", case_algebra, 300), ("eager", case_eager, 800), ("blocks", case_block, 60),
             ("decoding", case_decode, 60), ("programs", case_program, 150),
             ("random", case_random, 12), ("threads", case_threads, 60)]
    cases = [(name, k, function) for name, function, count in kinds for k in range(count)]
    return cases + [("rules", k, case_rules(k)) for k in range(len(RULES_OF) * len(UNPACKED))]


if __name__ == "__main__":
    harness.main(all_cases(), setup)
