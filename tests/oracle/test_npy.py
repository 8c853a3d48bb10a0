#!/usr/bin/env python3
"""Files: .npy and .npz against NumPy, in both directions, and the program's own reader.

  written     what Tern writes, NumPy reads: the same array, and for plain ones the same bytes that NumPy writes
  read        what NumPy writes, Tern reads: dtypes, byte orders, Fortran order, format versions, empty and rank 0
  mapped      files mapped instead of read, and slices of them
  converted   a file converted in chunks of any size equals astype and one conversion at once
  archives    savez and savez_compressed, both ways
  refused     objects, records, broken and hostile files: an error, never a crash
"""
import ctypes
import io
import os
import struct
import tempfile
import zipfile

import numpy as np

import harness
import tern
from tern import Error, P, lib
from values import DTYPE_NUMBER, STORED, Val, bits, cast

FILE_TYPES = ["bool", "u8", "i8", "i32", "i64", "f16", "f32", "f64"]
state = {}


def setup():
    state["ctx"] = tern.Ctx(2)


def path(name="a.npy"):
    return os.path.join(state["folder"], name)


def load(name=None, mapped=False):
    out = P()
    function = lib.tern_npy_map if mapped else lib.tern_npy_load
    tern.check(function(state["ctx"].handle, (name or path()).encode(), ctypes.byref(out)))
    return tern.Tensor(state["ctx"], out.value)


def equal(got, expected, what):
    """Problems of a Val that has to hold this NumPy array, bit for bit (its own byte order aside)."""
    native = expected.astype(expected.dtype.newbyteorder("="), copy=False)
    if got.shape != native.shape or got.a.dtype != native.dtype:
        return "%s: %r, should be %s%s" % (what, got, native.dtype, list(native.shape))
    if not (bits(got) == bits(Val(got.dtype, np.ascontiguousarray(native).reshape(native.shape)))).all():
        return "%s: the elements of %r differ" % (what, got)
    return None


# ---- .npy ------------------------------------------------------------------------------------------------------

def case_written(g):
    ctx, dtype = state["ctx"], g.pick(FILE_TYPES)
    operand = g.operand(dtype, g.shape(most=200))
    with ctx.scope():
        t = operand.make(ctx)
        tern.check(lib.tern_npy_save(t.handle, path().encode()))
    back = np.load(path(), allow_pickle=False)
    problem = equal(Val(dtype, back) if back.dtype == STORED[dtype] else None, operand.val.a, "%r" % operand)
    if problem:
        return problem
    expected = io.BytesIO()
    np.save(expected, operand.val.a)
    with open(path(), "rb") as file:
        if file.read() != expected.getvalue():
            return "%r: not the bytes that NumPy writes" % operand
    return None


def case_read(g):
    ctx, dtype = state["ctx"], g.pick(FILE_TYPES)
    a = g.numbers(dtype, g.shape(high=8, most=200)).a
    what = "%s%s" % (dtype, list(a.shape))
    if g.chance(0.4):
        a = np.asfortranarray(a)
        what += " Fortran"
    if g.chance(0.4):
        a = a.astype(a.dtype.newbyteorder(">"))
        what += " big-endian"
    version = g.pick([None, (1, 0), (2, 0), (3, 0)])
    with open(path(), "wb") as file:
        np.lib.format.write_array(file, a, version)
    with ctx.scope():
        return equal(load().read(), a, "%s version %s" % (what, version))


def case_mapped(g):
    ctx, dtype = state["ctx"], g.pick(FILE_TYPES)
    a = g.numbers(dtype, g.shape(low=0, high=5, most=300)).a
    if g.chance(0.4):
        a = np.asfortranarray(a)
    swapped = g.chance(0.15) and a.itemsize > 1
    np.save(path(), a.astype(a.dtype.newbyteorder(">")) if swapped else a)
    what = "%s%s mapped" % (dtype, list(a.shape))
    with ctx.scope():
        try:
            t = load(mapped=True)
        except Error as error:
            return None if swapped and error.status == "unsupported" else "%s: %s" % (what, error)
        if swapped:
            return "%s: a big-endian file was mapped" % what
        problem = equal(t.read(), a, what)
        start = [g.int(-n - 1, n + 1) for n in a.shape]
        stop = [g.int(-n - 1, n + 1) for n in a.shape]
        step = [g.pick([1, 2, -1, -3]) for _ in a.shape]
        part = ctx.op("slice", t, start=start, stop=stop, step=step)
        index = tuple(slice(*s) for s in zip(start, stop, step)) + (Ellipsis,)
        problem = problem or equal(part.read(), a[index], "%s, slice %s" % (what, index))
        if problem:
            return problem
        if not part.shares_storage(t):
            return "%s: a slice of it is a copy" % what
        if a.size:      # read-only: a write is refused, and changes nothing
            try:
                tern.check(lib.tern_fill_(t.handle, 1.0))
                return "%s: a mapped file was written to" % what
            except Error as error:
                if error.status != "state":
                    return "%s: writing to it: %s" % (what, error)
    return equal(Val(dtype, np.ascontiguousarray(np.load(path())).reshape(a.shape)), a, what + " afterwards")


def case_odd_bools(g):
    """A file may hold any byte as a bool: not zero is true."""
    ctx = state["ctx"]
    raw = g.rng.choice(np.array([0, 1, 2, 255, 128], np.uint8), g.int(1, 40))
    np.save(path(), raw.view(np.bool_))
    truth = raw != 0
    with ctx.scope():
        for mapped in (False, True):
            t = load(mapped=mapped)
            read = {"itself": (t, truth), "u8": (ctx.op("cast", t, dtype=tern.Dtype("u8")), truth.astype(np.uint8)),
                    "sum": (ctx.op("sum", t), np.asarray(truth.sum(dtype=np.int64))),
                    "not": (ctx.op("logical_not", t), ~truth), "max": (ctx.op("max", t), np.asarray(truth.any())),
                    "eq": (ctx.op("eq", t, ctx.op("logical_not", ctx.op("logical_not", t))), np.ones(raw.shape, bool)),
                    "argmax": (ctx.op("argmax", t), np.asarray(truth.argmax(), np.int64)),
                    "and": (ctx.op("bit_and", t, ctx.from_val(Val("bool", np.ones((), bool)))), truth),
                    "f32": (ctx.op("cast", t, dtype=tern.Dtype("f32")), truth.astype(np.float32))}
            for name, (tensor, expected) in read.items():
                got = tensor.read().a
                got = got.view(np.uint8) if got.dtype == np.bool_ else got
                if mapped and name == "itself":
                    got = got != 0
                if not np.array_equal(got, expected):
                    return "bytes %s as bools, mapped %s, %s: %s" % (raw, mapped, name, got)
    return None


def case_converted(g):
    source, target = g.pick(FILE_TYPES), g.pick(FILE_TYPES)
    shape = g.shape(most=400) if g.chance(0.8) else (g.int(1000, 9000), 3)
    a = g.numbers(source, shape).a
    fortran, swapped = g.chance(0.3), g.chance(0.3)
    stored = np.asfortranarray(a) if fortran and a.ndim else a      # NumPy makes [1] of rank 0
    np.save(path(), stored.astype(stored.dtype.newbyteorder(">")) if swapped else stored)
    chunk = g.pick([0, 1, 7, 64, 1000, 1 << 20])
    in_place = g.chance(0.2)
    to = path() if in_place else path("b.npy")
    tern.check(lib.tern_npy_convert(path().encode(), to.encode(), DTYPE_NUMBER[target], chunk))
    what = "%s%s to %s in chunks of %d%s" % (source, list(shape), target, chunk, " in place" if in_place else "")
    got, expected = np.load(to), cast(Val(source, a), target)
    if got.dtype != STORED[target] or got.shape != a.shape:
        return "%s: %s%s" % (what, got.dtype, list(got.shape))
    nan = np.isnan(expected.a) & np.isnan(got) if got.dtype.kind == "f" else np.zeros(got.shape, bool)
    same = bits(Val(target, np.ascontiguousarray(got).reshape(got.shape))) == bits(expected)
    if not (same | nan).all():
        at = tuple(np.argwhere(~(same | nan))[0])
        return "%s: differs at %s: %r, should be %r" % (what, at, got[at], expected.a[at])
    with np.errstate(all="ignore"):     # where NumPy defines the conversion, it is that one
        if not (np.issubdtype(a.dtype, np.floating) and np.issubdtype(got.dtype, np.integer)):
            if not np.array_equal(got, a.astype(got.dtype), equal_nan=got.dtype.kind == "f"):
                return "%s: not what astype gives" % what
    return None


# ---- .npz ------------------------------------------------------------------------------------------------------

def open_archive(name):
    out = P()
    tern.check(lib.tern_npz_open(name.encode(), ctypes.byref(out)))
    return out


def case_archive_read(g):
    ctx = state["ctx"]
    arrays = {}
    for i in range(g.int(0, 6)):
        name = g.pick(["a%d" % i, "weights/layer.%d" % i, "x y %d" % i, "\u00e4%d" % i])
        a = g.numbers(g.pick(FILE_TYPES), g.shape(most=300) if g.chance(0.9) else (5000, 3), "small").a if g.chance(
            0.5) else g.numbers(g.pick(FILE_TYPES), g.shape(most=300)).a
        arrays[name] = np.asfortranarray(a) if g.chance(0.2) else a
    save = g.pick([np.savez, np.savez_compressed])
    save(path("a.npz"), **arrays)
    what = "%s of %s" % (save.__name__, {name: (str(a.dtype), a.shape) for name, a in arrays.items()})
    npz = open_archive(path("a.npz"))
    try:
        names = [lib.tern_npz_name(npz, i).decode() for i in range(lib.tern_npz_count(npz))]
        if names != list(arrays):
            return "%s: names are %s" % (what, names)
        if lib.tern_npz_name(npz, len(names)) is not None or lib.tern_npz_name(npz, -1) is not None:
            return "%s: there are more names than arrays" % what
        with ctx.scope():
            for i, name in enumerate(names):
                out = P()
                tern.check(lib.tern_npz_load(ctx.handle, npz, i, ctypes.byref(out)))
                problem = equal(tern.Tensor(ctx, out.value).read(), arrays[name], what + ": " + name)
                if problem:
                    return problem
    finally:
        lib.tern_npz_close(npz)
    return None


def case_archive_written(g):
    ctx, n = state["ctx"], g.int(0, 6)
    names = ["t%d" % i if g.chance(0.7) else "deep/er.%d" % i for i in range(n)]
    with ctx.scope():
        operands = [g.operand(g.pick(FILE_TYPES), g.shape(most=200)) for _ in range(n)]
        tensors = [o.make(ctx) for o in operands]
        texts = (ctypes.c_char_p * max(n, 1))(*[name.encode() for name in names])
        tern.check(lib.tern_npz_save(path("b.npz").encode(), n, texts, tern.handles(tensors)))
    with zipfile.ZipFile(path("b.npz")) as archive:
        if archive.testzip() is not None:
            return "the archive is damaged: %s" % archive.testzip()
    with np.load(path("b.npz"), allow_pickle=False) as back:
        if list(back.files) != names:
            return "names %s became %s" % (names, back.files)
        for name, operand in zip(names, operands):
            array = back[name]
            problem = equal(Val(operand.dtype, array) if array.dtype == STORED[operand.dtype] else None, operand.val.a,
                            "%s %r" % (name, operand))
            if problem:
                return problem
    return None


# ---- refused ---------------------------------------------------------------------------------------------------

def refuse(statuses, name=None):
    """Every way to read this file fails with one of these statuses."""
    with state["ctx"].scope():
        for mapped in (False, True):
            try:
                t = load(name, mapped)
                return "%s: accepted as %r" % ("mapped" if mapped else "read", t)
            except Error as error:
                if error.status not in statuses or not error.message:
                    return "%s: %s" % ("mapped" if mapped else "read", error)
    return None


def raw_npy(header, data=b"", version=b"\x01\x00"):
    text = header.encode("latin1")
    length = struct.pack("<H", len(text)) if version[0] == 1 else struct.pack("<I", len(text))
    return b"\x93NUMPY" + version + length + text + data


def write(content, name="a.npy"):
    with open(path(name), "wb") as file:
        file.write(content)


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n"
REFUSED = {
    "objects": lambda: np.save(path(), np.array([1, "a", None], object), allow_pickle=True),
    "records": lambda: np.save(path(), np.zeros(3, [("a", "f4"), ("b", "i4")])),
    "text": lambda: np.save(path(), np.array(["abc", "de"])),
    "bytes": lambda: np.save(path(), np.array([b"abc"])),
    "complex": lambda: np.save(path(), np.zeros(3, complex)),
    "dates": lambda: np.save(path(), np.zeros(3, "M8[s]")),
    "u16": lambda: np.save(path(), np.zeros(3, np.uint16)),
    "i16": lambda: np.save(path(), np.zeros(3, np.int16)),
    "u64": lambda: np.save(path(), np.zeros(3, np.uint64)),
    "longdouble": lambda: np.save(path(), np.zeros(3, np.longdouble)),
    "rank 9": lambda: np.save(path(), np.zeros((1,) * 9)),
    "empty": lambda: write(b""),
    "magic only": lambda: write(b"\x93NUMPY"),
    "other magic": lambda: write(b"\x93NUMPX\x01\x00" + b" " * 200),
    "version 9": lambda: write(raw_npy(GOOD, bytes(12), b"\x09\x00")),
    "short data": lambda: write(raw_npy(GOOD, bytes(11))),
    "long data": lambda: write(raw_npy(GOOD, bytes(13))),
    "no data": lambda: write(raw_npy(GOOD)),
    "header cut": lambda: write(raw_npy(GOOD)[:30]),
    "header too long": lambda: write(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 1000),
    "negative size": lambda: write(raw_npy(GOOD.replace("(3,)", "(-3,)"), bytes(12))),
    "huge size": lambda: write(raw_npy(GOOD.replace("(3,)", "(%d, %d)" % (2 ** 40, 2 ** 40)), bytes(12))),
    "overflowing size": lambda: write(raw_npy(GOOD.replace("(3,)", "(99999999999999999999999,)"), bytes(12))),
    "product overflows": lambda: write(raw_npy(GOOD.replace("(3,)", "(%d, %d, 4)" % (2 ** 31, 2 ** 31)), bytes(12))),
    "no shape": lambda: write(raw_npy("{'descr': '<f4', 'fortran_order': False, }\n", bytes(12))),
    "shape twice": lambda: write(raw_npy(GOOD.replace("(3,)", "(3,), 'shape': (3,)"), bytes(12))),
    "unknown key": lambda: write(raw_npy(GOOD.replace(", }", ", 'more': 1}"), bytes(12))),
    "no dictionary": lambda: write(raw_npy("[1, 2, 3]\n", bytes(12))),
    "code": lambda: write(raw_npy("__import__('os').system('true')\n", bytes(12))),
    "open quote": lambda: write(raw_npy("{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}\n", bytes(12))),
    "zeros in it": lambda: write(raw_npy("{'descr': '<f4\0', 'fortran_order': False, 'shape': (3,)}\n", bytes(12))),
    "deep": lambda: write(raw_npy("(" * 60000 + "\n")),
    "a folder": lambda: os.path.exists(path()) and os.remove(path()) or os.mkdir(path()),
}


def case_refused(kind):
    def run(g):
        if os.path.isdir(path()):
            os.rmdir(path())
        REFUSED[kind]()
        problem = refuse(("unsupported", "format", "io", "overflow", "dtype"))
        if not problem:
            try:
                tern.check(lib.tern_npy_convert(path().encode(), path("c.npy").encode(), DTYPE_NUMBER["f32"], 0))
                problem = "converted"
            except Error:
                if os.path.exists(path("c.npy")):
                    problem = "a conversion that failed left a file behind"
        if os.path.isdir(path()):
            os.rmdir(path())
        return "%s: %s" % (kind, problem) if problem else None
    return run


def case_missing(g):
    problem = refuse(("not-found",), path("there is none.npy"))
    try:
        open_archive(path("there is none.npz"))
        problem = "an archive that is not there was opened"
    except Error as error:
        if error.status != "not-found":
            problem = str(error)
    return problem


def case_damaged(g):
    """A good file with some bytes changed, cut or added: read or refused, never a crash."""
    archive = g.chance(0.5)
    a = g.numbers(g.pick(FILE_TYPES), g.shape(most=100)).a
    name = path("d.npz") if archive else path("d.npy")
    if archive:
        g.pick([np.savez, np.savez_compressed])(name, a=a, b=a[None])
    else:
        np.save(name, a)
    with open(name, "rb") as file:
        data = bytearray(file.read())
    for _ in range(g.int(1, 4)):
        kind, at = g.rng.random(), g.int(0, len(data) - 1)
        if g.chance(0.5) and not archive:
            at = g.int(0, min(len(data) - 1, 128))
        if kind < 0.6:
            data[at] = g.int(0, 255)
        elif kind < 0.8:
            del data[at:at + g.int(1, 40)]
        else:
            data[at:at] = bytes(g.rng.integers(0, 256, g.int(1, 40)).astype(np.uint8))
        if not data:
            data = bytearray(b"\0")
    write(data, os.path.basename(name))
    ctx = state["ctx"]
    with ctx.scope():
        try:
            if archive:
                npz = open_archive(name)
                try:
                    for i in range(lib.tern_npz_count(npz)):
                        lib.tern_npz_name(npz, i)
                        out = P()
                        if lib.tern_npz_load(ctx.handle, npz, i, ctypes.byref(out)) == 0:
                            tern.Tensor(ctx, out.value).read()
                finally:
                    lib.tern_npz_close(npz)
            else:
                load(name).read()
                load(name, mapped=True).read()
        except Error as error:
            if error.status in ("internal", "ok"):
                return str(error)
    return None


def case_not_written(g):
    """bf16, t2 and t5 have no form in a file; a failed write leaves the old file as it was."""
    ctx = state["ctx"]
    np.save(path("old.npy"), np.arange(3))
    with open(path("old.npy"), "rb") as file:
        before = file.read()
    for dtype in ("bf16", "t2", "t5"):
        with ctx.scope():
            t = g.operand(dtype, (2, 3)).make(ctx)
            try:
                tern.check(lib.tern_npy_save(t.handle, path("old.npy").encode()))
                return "%s was written" % dtype
            except Error as error:
                if error.status not in ("dtype", "unsupported"):
                    return "%s: %s" % (dtype, error)
        with open(path("old.npy"), "rb") as file:
            if file.read() != before:
                return "%s: a failed write changed the file" % dtype
    left = [name for name in os.listdir(state["folder"]) if name.startswith("old.npy") and name != "old.npy"]
    return "left behind: %s" % left if left else None


def all_cases():
    kinds = [("written", case_written, 150), ("read", case_read, 200), ("mapped", case_mapped, 150),
             ("bools", case_odd_bools, 20), ("converted", case_converted, 250), ("archive_read", case_archive_read, 60),
             ("archive_written", case_archive_written, 60), ("missing", case_missing, 1),
             ("damaged", case_damaged, 500), ("not_written", case_not_written, 1)]
    cases = [(name, k, function) for name, function, count in kinds for k in range(count)]
    cases += [("refused", k, case_refused(kind)) for k, kind in enumerate(REFUSED)]
    return cases


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tern-npy-") as folder:
        state["folder"] = folder
        harness.main(all_cases(), setup)
