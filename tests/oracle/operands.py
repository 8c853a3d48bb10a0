"""Generated operands: shapes, values and layouts in memory. Everything is drawn from one generator, so a case is
rebuilt from its seed."""
import numpy as np

from values import FORMATS, STORED, Val, is_float, is_packed, store, wide

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -3.0]


def edges_of(dtype):
    """Numbers at the edges of a float format: subnormals, smallest and largest normal."""
    digits, lowest, highest = FORMATS[dtype]
    smallest = np.ldexp(1.0, lowest - digits + 1)
    normal = np.ldexp(1.0, lowest)
    largest = np.ldexp(2.0 - np.ldexp(1.0, 1 - digits), highest)
    epsilon = np.ldexp(1.0, 1 - digits)
    edges = [smallest, 3 * smallest, normal - smallest, normal, largest, 1 + epsilon, 1 - epsilon / 2]
    return edges + [-x for x in edges]


class Gen:
    """Draws everything of one case."""

    def __init__(self, *seed):
        self.rng = np.random.default_rng(list(seed))

    def chance(self, p):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        """low <= n <= high"""
        return int(self.rng.integers(low, high + 1))

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def sizes(self, n, most=64):
        """n sizes, zero and one among them now and then, whose product is at most about `most`."""
        sizes, left = [], most
        for _ in range(n):
            kind = self.rng.random()
            size = 0 if kind < 0.03 else 1 if kind < 0.2 else self.int(1, max(1, min(left, 7)))
            sizes.append(size)
            left = max(1, left // max(size, 1))
        self.rng.shuffle(sizes)
        return [int(s) for s in sizes]

    def shape(self, low=0, high=6, most=64):
        """Any shape of rank low..high; now and then one that is large enough to be split between threads."""
        if self.chance(0.02) and high >= 1:
            large = [self.int(1, 5), self.int(2000, 9000), self.int(1, 3)]
            self.rng.shuffle(large)
            return tuple(int(s) for s in large[:self.int(max(low, 1), min(high, 3))]) if low <= 3 else tuple(
                self.sizes(self.int(low, high), most))
        rank = self.pick([r for r in [0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6] if low <= r <= high])
        return tuple(self.sizes(rank, most))

    def broadcast_shapes(self, n):
        """n shapes that broadcast together."""
        full = self.shape()
        shapes = []
        for _ in range(n):
            own = full if self.chance(0.5) else full[self.int(0, len(full)):]
            shapes.append(tuple(1 if self.chance(0.2) else s for s in own))
        if self.chance(0.7):
            shapes[self.int(0, n - 1)] = full
        return shapes

    def axis(self, rank):
        """An axis, negative or not."""
        return self.int(-rank, rank - 1)

    def axes(self, rank):
        """Some different axes in any order, often none (which means all)."""
        if rank == 0 or self.chance(0.25):
            return []
        chosen = self.rng.permutation(rank)[:self.int(1, rank)]
        return [int(a) - (rank if self.chance(0.4) else 0) for a in chosen]

    # ---- values ----

    def numbers(self, dtype, shape, style=None):
        """Values of a type. Styles of floats: unit (normal, around 1), mixed (with special values), special, wide (all
        exponents), whole, halves, tiny, near one, nonfinite; of integers: small, full, extreme."""
        rng = self.rng
        if is_packed(dtype):
            return Val(dtype, rng.integers(-1, 2, shape).astype(np.int8))
        if dtype == "bool":
            return Val(dtype, rng.integers(0, 2, shape).astype(np.bool_))
        if not is_float(dtype):
            return self.integers(dtype, shape, style)
        style = style or self.pick(["unit", "unit", "unit", "mixed", "mixed", "special", "wide", "whole", "tiny"])
        if style == "wide":
            raw = rng.integers(0, 256, tuple(shape) + (STORED[dtype].itemsize,)).astype(np.uint8)
            return Val(dtype, np.ascontiguousarray(raw).view(STORED[dtype]).reshape(shape))
        x = np.asarray(rng.standard_normal(shape) * self.pick([1, 1, 3, 10, 0.1]))
        if style == "whole":
            x = np.rint(x * 3)
        elif style == "tiny":
            x = x * np.ldexp(1.0, FORMATS[dtype][1])
        elif style == "halves":
            x = np.rint(x * 6) / 2
        elif style == "near one":
            x = 1 + x / 8
        elif style == "nonfinite":
            x = np.where(rng.random(shape) < 0.1, np.array([np.nan, np.inf, -np.inf])[rng.integers(0, 3, shape)], x)
        elif style in ("mixed", "special"):
            specials = np.array(SPECIAL + edges_of(dtype))
            chosen = specials[rng.integers(0, len(specials), shape)]
            x = np.where(rng.random(shape) < (1.0 if style == "special" else 0.2), chosen, x)
        return Val(dtype, store(x, dtype))

    def integers(self, dtype, shape, style=None):
        info = np.iinfo(STORED[dtype])
        style = style or self.pick(["small", "small", "full", "extreme"])
        if style == "small":
            x = self.rng.integers(max(info.min, -10), 11, shape)
        elif style == "full":
            x = self.rng.integers(info.min, info.max, shape, endpoint=True, dtype=STORED[dtype])
        else:
            edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, info.max // 2] + ([-1] if info.min < 0 else [])
            edges = np.array(edges, STORED[dtype])
            x = edges[self.rng.integers(0, len(edges), shape)]
        return Val(dtype, np.asarray(x).astype(STORED[dtype]))

    # ---- layouts ----

    def operand(self, dtype, shape, style=None, plain=None, modify=None):
        """An operand with its place in memory. `modify` maps the wide values of floats to others (domains)."""
        shape = tuple(int(s) for s in shape)
        if plain is None:
            plain = self.chance(0.4)
        layout = Layout.plain(shape) if plain else Layout.random(self, shape, is_packed(dtype))
        base = self.numbers(dtype, layout.base_shape, style)
        if modify is not None and is_float(dtype):
            with np.errstate(all="ignore"):
                base = Val(dtype, store(modify(wide(base)), dtype))
        return Operand(dtype, base.a, layout, None if plain else self.pick(["borrow", "views", "views", "pending"]),
                       self.pick(["leaf", "leaf", "leaf", "frozen", "flips"]))

    def given(self, val, plain=None):
        """An operand with these values, which must be those of a dense base: only its place is drawn."""
        how = None if plain or is_packed(val.dtype) or self.chance(0.4) else "views"
        if how is None:
            return Operand(val.dtype, val.a, Layout.plain(val.a.shape), None, "leaf")
        layout = Layout.random(self, val.a.shape, False, broadcast=False)
        base = self.numbers(val.dtype, layout.base_shape).a.copy()
        layout.view(base)[...] = val.a
        return Operand(val.dtype, base, layout, self.pick(["borrow", "views", "pending"]), "leaf")


class Layout:
    """A view of a base: permute, then slice with steps, then broadcast."""

    def __init__(self, base_shape, axes, start, stop, step, shape):
        self.base_shape, self.axes = tuple(base_shape), list(axes)
        self.start, self.stop, self.step, self.shape = start, stop, step, tuple(shape)

    @staticmethod
    def plain(shape):
        rank = len(shape)
        return Layout(shape, range(rank), [0] * rank, list(shape), [1] * rank, shape)

    @staticmethod
    def random(g, shape, packed, broadcast=True):
        rank = len(shape)
        sizes, start, stop, step = [], [], [], []
        large = int(np.prod(shape)) > 4096
        for i, n in enumerate(shape):
            kind = g.rng.random()
            whole = (packed and i == rank - 1) or kind < 0.35 or (large and kind < 0.8)
            if broadcast and not whole and kind > 0.85:
                sizes.append(1), start.append(0), stop.append(1), step.append(1)
                continue
            s = 1 if whole else g.pick([1, 2, 3, -1, -2])
            lead, trail = (0, 0) if whole else (g.int(0, 2), g.int(0, 2))
            span = abs(s) * (n - 1) + 1 if n else 0
            size = lead + span + trail
            sizes.append(size)
            if n == 0:
                start.append(0), stop.append(0), step.append(s)
                continue
            first = lead if s > 0 else lead + span - 1
            last = first + s * (n - 1)
            end = last + (1 if s > 0 else -1)
            if s < 0 and end < 0:
                end = -size - 1  # before the first element
            elif g.chance(0.3) and 0 <= end < size:
                end -= size
            start.append(first - size if g.chance(0.3) else first)
            stop.append(end)
            step.append(s)
        order = [int(a) for a in g.rng.permutation(rank)]
        if packed and rank:
            order = [int(a) for a in g.rng.permutation(rank - 1)] + [rank - 1]
        if g.chance(0.4):
            order = list(range(rank))
        # The base has axis order[j] of the view at j; permute brings them back.
        base_shape = [sizes[a] for a in order]
        axes = [order.index(i) for i in range(rank)]
        return Layout(base_shape, axes, start, stop, step, shape)

    def view(self, base):
        """The view of a NumPy base."""
        x = base.transpose(self.axes)
        # Python slices: the numbers mean the same there
        x = x[tuple(slice(b, e, s) for b, e, s in zip(self.start, self.stop, self.step)) + (Ellipsis,)]
        return x if x.shape == self.shape else np.broadcast_to(x, self.shape)

    def apply(self, ctx, tensor):
        """The same view, recorded."""
        if not self.axes:
            return tensor
        tensor = ctx.op("permute", tensor, axes=self.axes)
        tensor = ctx.op("slice", tensor, start=self.start, stop=self.stop, step=self.step)
        return ctx.op("broadcast", tensor, shape=self.shape)


class Operand:
    """Values in a base array, seen through a layout. `how`: None (contiguous), borrow (strided memory of NumPy's, where
    its strides allow), views (a Tern base, seen through recorded views), pending (a copy of such a view that has not been
    computed yet). `leaf`: leaf, frozen (a constant), flips (the base itself is computed)."""

    def __init__(self, dtype, base, layout, how, leaf):
        self.dtype, self.base, self.layout, self.how, self.leaf = dtype, base, layout, how, leaf
        self.view = layout.view(base)
        self.val = Val(dtype, np.ascontiguousarray(self.view).reshape(layout.shape))

    @property
    def shape(self):
        return self.layout.shape

    def make_base(self, ctx):
        base = ctx.from_val(Val(self.dtype, self.base))
        if self.leaf == "frozen":
            base.freeze()
        elif self.leaf == "flips" and not is_packed(self.dtype):
            base = ctx.op("flip", ctx.op("flip", base))
        return base

    def is_borrowed(self):
        return self.how == "borrow" and not is_packed(self.dtype) and all(s >= 0 for s in self.view.strides)

    def make(self, ctx):
        if self.is_borrowed():
            return ctx.borrow(self.dtype, self.view)
        if self.how is None:
            return self.make_base(ctx) if self.leaf != "leaf" else ctx.from_val(self.val)
        viewed = self.layout.apply(ctx, self.make_base(ctx))
        return ctx.op("contiguous", viewed) if self.how == "pending" else viewed

    def __repr__(self):
        text = "%s%s" % (self.dtype, list(self.shape))
        if self.how is not None:
            strides = [s // self.view.itemsize for s in self.view.strides]
            text += " strides %s %s" % (strides, self.how)
        return text if self.leaf == "leaf" else text + " " + self.leaf
