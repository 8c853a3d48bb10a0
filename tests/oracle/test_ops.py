#!/usr/bin/env python3
"""Every op of the table against NumPy, over generated shapes, strides, dtypes, attributes and special values.

The list of ops comes from the library: an op without an oracle is a failure that names it. What results have to be is
computed here, from docs/ops.md alone; bounds.py says how exactly. A part of the cases runs a second time, as a program
with named inputs that was printed, parsed and compiled, and has to give the same bits.
"""
import numpy as np

import elementwise  # noqa: F401  registers its oracles, like the following ones
import harness
import models       # noqa: F401
import moves        # noqa: F401
import reductions   # noqa: F401
from registry import ORACLES
from rules import apply_rule
import tern
from values import bits, cast, compare, is_float, working

INFO = {info.name.decode(): info for info in tern.catalog()}
THROUGH_TEXT = 0.35     # share of cases that run as a program too
WRITES = ("overwrite", "write_slice", "write_rows")
contexts = []


def setup():
    """One and two threads, and every instruction set that this machine has."""
    contexts.extend([tern.Ctx(1), tern.Ctx(2), tern.Ctx(2)] + [tern.Ctx(1, isa) for isa in tern.isa_levels()])


def n_results(op, attributes):
    return len(attributes["sizes"]) if op == "split" else INFO[op].results


def same_bits(what, first, second):
    """Problems where two lists of results differ in any bit; of a NaN only that it is one counts."""
    problems = []
    for i, (a, b) in enumerate(zip(first, second)):
        if a.dtype != b.dtype or a.shape != b.shape:
            problems.append("%s: result %d is %r, directly it is %r" % (what, i, b, a))
            continue
        wrong = bits(a) != bits(b)
        if is_float(a.dtype):
            wrong &= ~(np.isnan(working(a)) & np.isnan(working(b)))
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            problems.append("%s: result %d differs at %s: %r, directly %r" % (what, i, [int(k) for k in at], b.a[at],
                                                                               a.a[at]))
    return problems


def run_as_text(ctx, op, tensors, attributes, level):
    """The results of the op as a program that went through the text form."""
    inputs = [ctx.input("x%d" % i, t.dtype, t.shape) for i, t in enumerate(tensors)]
    if op in WRITES:
        inputs[0] = ctx.op("contiguous", inputs[0])
    captured = ctx.capture(ctx.apply(op, inputs, n_results(op, attributes), **attributes))
    text = captured.print()
    captured.free()
    parsed = ctx.parse(text)
    try:
        again = parsed.print()
        assert again == text, "printed and parsed, the text differs:\n%s\n%s" % (text, again)
        parsed.verify()
        return [t.read() for t in parsed.run({"x%d" % i: t for i, t in enumerate(tensors)}, level)]
    finally:
        parsed.free()


def run_leaf(ctx, op, operand):
    """input, constant and state hold data: they are what comes out of a program."""
    if op == "state":
        state = ctx.state("s", operand.dtype, operand.shape)
        assert not bits(state.read()).any(), "a new state is not zero"
        return [ctx.op("overwrite", state, operand.make(ctx)).read()]
    if op == "input":
        leaf = ctx.input("x", operand.dtype, operand.shape)
    else:
        leaf = operand.make(ctx).freeze()
    captured = ctx.capture([leaf], ["y"])
    parsed = ctx.parse(captured.print())
    results = [t.read() for t in parsed.run({"x": operand.make(ctx)})]
    captured.free(), parsed.free()
    return results


def describe(op, operands, attributes):
    return "%s(%s) {%s}" % (op, ", ".join(map(repr, operands)), tern.attributes_text(attributes))


def run_case(g, op):
    info, oracle = INFO[op], ORACLES[op]
    operands, attributes = oracle.draw(g, op)
    if op in WRITES:
        operands[0].leaf = g.pick(["leaf", "flips"])
    if info.min_inputs == 0 and operands:
        to, types = [operands[0].dtype], [operands[0].dtype]    # a leaf
    else:
        to, types = apply_rule(info.dtype_rule.decode(), [o.dtype for o in operands], attributes)
    expects = oracle.judge(op, [cast(o.val, t) for o, t in zip(operands, to)], attributes, types)
    as_text, ctx = g.chance(THROUGH_TEXT), g.pick(contexts)
    problems = []
    with ctx.scope():
        if info.min_inputs == 0 and operands:
            results = run_leaf(ctx, op, operands[0])
        else:
            made = {id(o): o.make(ctx) for o in operands}
            tensors = [made[id(o)] for o in operands]
            out = ctx.apply(op, tensors, n_results(op, attributes), **attributes)
            for t, expect in zip(out, expects):
                if t.error:
                    return "%s\nrefused: %s: %s" % ((describe(op, operands, attributes),) + t.error)
            results = [t.read() for t in out]
            if as_text:
                if op in WRITES:    # the target has its new value: a fresh one
                    tensors[0] = operands[0].make(ctx)
                level = g.pick([-2, -2, -1, 0, 1])
                problems += same_bits("as text, level %d" % level, results,
                                      run_as_text(ctx, op, tensors, attributes, level))
    for i, expect in enumerate(expects):
        problem = expect(results) if callable(expect) else compare(results[i], expect)
        if problem:
            problems.append("result %d: %s" % (i, problem))
    return [describe(op, operands, attributes)] + problems if problems else None


def no_oracle(op):
    return lambda g: "there is no oracle for op '%s': add one to elementwise.py or its kin (docs/add-an-op.md)" % op


def all_cases():
    cases = []
    for op in INFO:
        if op in ORACLES:
            cases += [(op, k, lambda g, op=op: run_case(g, op)) for k in range(ORACLES[op].cases)]
        else:
            cases.append((op, 0, no_oracle(op)))
    return cases


if __name__ == "__main__":
    harness.main(all_cases(), setup)
