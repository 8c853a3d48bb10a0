#!/usr/bin/env python3
"""NumPy's own table of hard arguments (umath-validation-set-*.csv, part of the numpy package) for the functions that
Tern has. A row gives an argument, the result to the last bit, and how many ULPs a function may be off; a case is one
row."""
import csv
import glob
import os

import numpy as np

import harness
import tern
from values import Val

NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
TYPES = {"np.float32": ("f32", np.uint32, np.float32), "np.float64": ("f64", np.uint64, np.float64)}
OPS = {info.name.decode() for info in tern.catalog()}
contexts = {}
results = {}


def setup():
    contexts[1] = tern.Ctx(1)


def data_folder():
    root = os.path.dirname(np.__file__)
    for folder in ("core/tests/data", "_core/tests/data"):
        if os.path.isdir(os.path.join(root, folder)):
            return os.path.join(root, folder)
    return None


def read_rows(path):
    """{dtype: (arguments, results, tolerances)} of a file."""
    rows = {}
    with open(path) as file:
        for row in csv.reader(line for line in file if not line.startswith(("#", "dtype"))):
            if len(row) == 4 and row[0].strip() in TYPES:
                dtype, unsigned, _ = TYPES[row[0].strip()]
                rows.setdefault(dtype, []).append((int(row[1], 16), int(row[2], 16), int(row[3])))
    return {dtype: (np.array([r[0] for r in found], np.uint32 if dtype == "f32" else np.uint64),
                    np.array([r[1] for r in found], np.uint32 if dtype == "f32" else np.uint64),
                    np.array([r[2] for r in found])) for dtype, found in rows.items()}


def ordered(bits):
    """Integers whose differences count ULPs; both zeros are one."""
    half = 1 << (bits.itemsize * 8 - 1)
    return [int(b) if int(b) < half else half - int(b) for b in np.atleast_1d(bits)]


def evaluate(op, dtype, bits):
    key = (op, dtype)
    if key not in results:
        ctx = contexts[1]
        with ctx.scope():
            x = ctx.from_val(Val(dtype, bits.view(np.float32 if dtype == "f32" else np.float64)))
            results[key] = ctx.op(op, x).read().a
    return results[key]


def check_row(op, dtype, arguments, expected, tolerance, i):
    got = evaluate(op, dtype, arguments)[i]
    want = expected[i:i + 1].view(got.dtype)[0]
    argument = arguments[i:i + 1].view(got.dtype)[0]
    if np.isnan(got) and np.isnan(want):
        return None
    if not (np.isnan(got) or np.isnan(want)):
        away = abs(ordered(got.view(expected.dtype))[0] - ordered(expected[i:i + 1])[0])
        if away <= tolerance[i]:
            return None
    else:
        away = "NaN"
    return "%s(%r), %s: got %r, expected %r: %s ULP away, %d allowed" % (op, argument, dtype, got, want, away,
                                                                       tolerance[i])


def no_data(g):
    raise harness.Skip("this NumPy has no umath-validation-set-*.csv (Debian's python3-numpy does)")


def all_cases():
    folder = data_folder()
    files = sorted(glob.glob(os.path.join(folder, "umath-validation-set-*.csv"))) if folder else []
    if not files:
        return [("umath", 0, no_data)]
    cases = []
    for path in files:
        function = os.path.basename(path)[len("umath-validation-set-"):-len(".csv")]
        op = NAMES.get(function, function)
        if op not in OPS:
            print("%s is no op of Tern" % function)
            continue
        number = 0
        for dtype, (arguments, expected, tolerance) in read_rows(path).items():
            for i in range(len(arguments)):
                cases.append((op, number, lambda g, a=(op, dtype, arguments, expected, tolerance, i): check_row(*a)))
                number += 1
    return cases


if __name__ == "__main__":
    harness.main(all_cases(), setup)
