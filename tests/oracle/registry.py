"""What an oracle for one op is: how its operands are drawn, and what its results have to be."""

ORACLES = {}


class Oracle:
    def __init__(self, name, draw, judge, cases):
        self.name, self.draw, self.judge, self.cases = name, draw, judge, cases


def oracle(names, draw, judge, cases=64):
    """draw(g, op) -> (operands, attributes).
    judge(op, vals, attributes, types) -> a list with one entry for each result: an Expect, or a function of the list of
    results that returns None or a sentence. `vals` are the operands after the casts of the dtype rule, `types` the dtypes
    that it gives."""
    for name in [names] if isinstance(names, str) else names:
        assert name not in ORACLES, name
        ORACLES[name] = Oracle(name, draw, judge, cases)
