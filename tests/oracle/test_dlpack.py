#!/usr/bin/env python3
"""Memory shared with NumPy by DLPack, without a copy, in both directions.

  exported    a tensor seen by NumPy's from_dlpack (the older capsule): values, strides, the very same address; it outlives
              the context
  imported    a NumPy array as a tensor: the same, and the array is let go when the last tensor that uses it dies
  versioned   the 1.x struct, which NumPy learnt later: looked at and built field by field
  refused     what cannot be shared: an error, and the caller keeps what it had
"""
import ctypes
import sys

import numpy as np

import harness
import tern
from operands import Layout
from tern import Error, P, lib
from values import STORED, UNPACKED, Val, bits

CPU = 1
CODES = {"bool": (6, 8), "u8": (1, 8), "i8": (0, 8), "i32": (0, 32), "i64": (0, 64), "f16": (2, 16), "bf16": (4, 16),
         "f32": (2, 32), "f64": (2, 64)}
# bool and bf16 have codes that this NumPy may not know
SHARED = ["u8", "i8", "i32", "i64", "f16", "f32", "f64"]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", P), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, P)


class Managed(ctypes.Structure):
    """The older struct, capsule "dltensor"."""
    _fields_ = [("tensor", DLTensor), ("manager", P), ("deleter", P)]


class Versioned(ctypes.Structure):
    """The struct of version 1.x, capsule "dltensor_versioned"."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", P), ("deleter", P),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


READ_ONLY = 1

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [P, ctypes.c_char_p, P]
python.PyCapsule_GetPointer.restype = P
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

USED = b"used_dltensor"     # must outlive the capsules
NAME = b"dltensor"
contexts = {}


def setup():
    contexts[1] = tern.Ctx(1)


class AllocStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("allocations", "frees", "refused", "live_bytes")]


def live_blocks():
    stats = AllocStats()
    lib.tern_alloc_get_stats.argtypes = [P]
    lib.tern_alloc_get_stats(ctypes.byref(stats))
    return stats.allocations - stats.frees


class Exporter:
    """What from_dlpack takes."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, stream=None, **newer):
        out = P()
        tern.check(lib.tern_to_dlpack_unversioned(self.tensor.handle, ctypes.byref(out)))
        return python.PyCapsule_New(out, NAME, None)


def import_array(ctx, array):
    """A tensor over the memory of a NumPy array."""
    capsule, out = array.__dlpack__(), P()
    pointer = python.PyCapsule_GetPointer(capsule, NAME)
    tern.check(lib.tern_from_dlpack_unversioned(ctx.handle, pointer, ctypes.byref(out)))
    python.PyCapsule_SetName(capsule, USED)
    return tern.Tensor(ctx, out.value)


def call_deleter(pointer, struct):
    managed = ctypes.cast(pointer, ctypes.POINTER(struct))
    ctypes.cast(managed.contents.deleter, DELETER)(pointer)


def differs(dtype, a, b):
    a, b = (Val(dtype, np.ascontiguousarray(x).reshape(x.shape)) for x in (a, b))
    return a.shape != b.shape or (bits(a) != bits(b)).any()


# ---- exported --------------------------------------------------------------------------------------------------

def writable_operand(g, dtype):
    operand = g.operand(dtype, g.shape(most=200))
    if operand.leaf == "frozen":    # a constant is refused by the older form
        operand.leaf = "leaf"
    return operand


def case_exported(g):
    dtype = g.pick(SHARED)
    operand = writable_operand(g, dtype)
    what = repr(operand)
    before = live_blocks()
    ctx = tern.Ctx(g.pick([1, 2]))
    t = operand.make(ctx)
    array = np.from_dlpack(Exporter(t))
    address, strides = t.map()
    if array.dtype != STORED[dtype] or array.shape != operand.shape or differs(dtype, array, operand.val.a):
        return "%s: NumPy sees %s%s %s" % (what, array.dtype, list(array.shape), array)
    if array.size and array.__array_interface__["data"][0] != address:
        return "%s: a copy" % what
    for n, ours, theirs in zip(array.shape, strides, array.strides):
        if n > 1 and array.size and ours * array.itemsize != theirs:
            return "%s: strides %s, NumPy's are %s" % (what, strides, array.strides)
    # a write is seen, by way of the same address; a broadcast view cannot be written to
    if array.size and not any(n > 1 and s == 0 for n, s in zip(array.shape, strides)) and not operand.is_borrowed():
        tern.check(lib.tern_fill_(t.handle, 3.0))
        if not (array == 3).all() or t.map()[0] != address:
            return "%s: a write to the tensor is not seen" % what
    expected = array.copy()
    second = np.from_dlpack(Exporter(t))
    ctx.destroy()
    # the memory outlives the context, for each that holds it
    del second
    if differs(dtype, array, expected):
        return "%s: changed when the context was destroyed" % what
    del array
    if live_blocks() != before:
        return "%s: %d blocks are left behind" % (what, live_blocks() - before)
    return None


def case_many(g):
    """Arrays that die in any order, before and after their context."""
    before = live_blocks()
    ctx = tern.Ctx(1)
    arrays = []
    for _ in range(g.int(1, 12)):
        operand = writable_operand(g, g.pick(SHARED))
        t = operand.make(ctx)
        arrays.append((operand, np.from_dlpack(Exporter(t))))
        if g.chance(0.5):
            lib.tern_release(t.handle)
        if g.chance(0.3):
            arrays.pop(g.int(0, len(arrays) - 1))
    ctx.destroy()
    g.rng.shuffle(arrays)
    while len(arrays):
        operand, array = arrays.pop()
        if differs(operand.dtype, array, operand.val.a):
            return "%r: NumPy sees %s" % (operand, array)
        del array
    del operand
    return "%d blocks are left behind" % (live_blocks() - before) if live_blocks() != before else None


# ---- imported --------------------------------------------------------------------------------------------------

def case_imported(g):
    dtype = g.pick(SHARED)
    shape = g.shape(most=200)
    # NumPy does not export what it cannot write to, such as broadcast views
    layout = Layout.random(g, shape, False, broadcast=False) if g.chance(0.7) else Layout.plain(shape)
    base = np.array(g.numbers(dtype, layout.base_shape).a)
    array = layout.view(base)
    what = "%s%s strides %s" % (dtype, list(array.shape), array.strides)
    references = sys.getrefcount(array)
    ctx = tern.Ctx(1)
    t = import_array(ctx, array)
    if t.dtype != dtype or t.shape != array.shape or differs(dtype, t.read().a, array):
        return "%s: tern sees %r" % (what, t)
    if array.size and t.map()[0] != array.__array_interface__["data"][0]:
        return "%s: a copy" % what
    pending = ctx.op("flip", ctx.op("flip", t))
    expected = np.array(array)
    if array.size:
        view = ctx.op("permute", t, axes=list(range(array.ndim)))
        tern.check(lib.tern_fill_(t.handle, 2.0))
        if not (array == 2).all():
            return "%s: a write to the tensor is not seen by NumPy" % what
        array[...] = 5
        if not (view.read().a == 5).all():
            return "%s: a write by NumPy is not seen" % what
        if differs(dtype, pending.read().a, expected):
            return "%s: pending readers saw the write" % what
        lib.tern_release(t.handle)
        if sys.getrefcount(array) == references:
            return "%s: the array was let go while a view of it lives" % what
    ctx.destroy()
    if sys.getrefcount(array) != references:
        return "%s: the array is held %d times too often" % (what, sys.getrefcount(array) - references)
    return None


def case_there_and_back(g):
    """NumPy -> tern -> NumPy: one piece of memory all the way."""
    dtype = g.pick(SHARED)
    array = np.array(g.numbers(dtype, (3, 4)).a)
    ctx = tern.Ctx(1)
    again = np.from_dlpack(Exporter(ctx.op("permute", import_array(ctx, array), axes=[1, 0])))
    references = sys.getrefcount(array)
    if again.__array_interface__["data"][0] != array.__array_interface__["data"][0] or differs(dtype, again, array.T):
        return "%s: %s" % (dtype, again)
    ctx.destroy()
    array[1, 2] = 7
    if again[2, 1] != 7:
        return "%s: not the same memory" % dtype
    del again
    return None if sys.getrefcount(array) == references - 1 else "%s: the array is still held" % dtype


# ---- versioned -------------------------------------------------------------------------------------------------

def case_versioned_out(g):
    ctx, dtype = contexts[1], g.pick(UNPACKED)
    operand = g.operand(dtype, g.shape(most=60))
    with ctx.scope():
        t = operand.make(ctx)
        out = P()
        tern.check(lib.tern_to_dlpack(t.handle, ctypes.byref(out)))
        managed = ctypes.cast(out, ctypes.POINTER(Versioned)).contents
        x = managed.tensor
        address, strides = t.map()
        problem = None
        if managed.major != 1:
            problem = "version %d.%d" % (managed.major, managed.minor)
        elif (x.code, x.bits, x.lanes) != CODES[dtype] + (1,):
            problem = "dtype %s" % [x.code, x.bits, x.lanes]
        elif (x.device_type, x.device_id) != (CPU, 0):
            problem = "device %s" % [x.device_type, x.device_id]
        elif x.ndim != len(operand.shape) or tuple(x.shape[i] for i in range(x.ndim)) != operand.shape:
            problem = "shape"
        elif tuple(x.strides[i] for i in range(x.ndim)) != strides and operand.val.a.size:
            problem = "strides"
        elif operand.val.a.size and x.data + x.byte_offset != address:
            problem = "address %x + %d, should be %x" % (x.data, x.byte_offset, address)
        elif bool(managed.flags & READ_ONLY) != (operand.leaf == "frozen" and not operand.is_borrowed() and
                                                 operand.how != "pending"):
            problem = "flags %x" % managed.flags
        call_deleter(out, Versioned)
    return "%r: %s" % (operand, problem) if problem else None


class Foreign:
    """A managed tensor made by hand, that counts how often it is given back."""

    def __init__(self, array, dtype, versioned, strides=True, **changes):
        self.array, self.calls = array, 0
        self.shape = tern.ints(array.shape)
        self.strides = tern.ints(s // array.itemsize for s in array.strides)
        self.deleter = DELETER(self.deleted)
        code, width = CODES[dtype]
        self.managed = Versioned() if versioned else Managed()
        x = self.managed.tensor
        x.data, x.device_type, x.ndim = array.ctypes.data, CPU, array.ndim
        x.code, x.bits, x.lanes = code, width, 1
        x.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if strides:
            x.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        if versioned:
            self.managed.major, self.managed.minor = 1, 0
        self.managed.deleter = ctypes.cast(self.deleter, P)
        for name, value in changes.items():
            setattr(self.managed if hasattr(type(self.managed), name) and name not in dict(DLTensor._fields_) else x,
                    name, value)
        self.function = lib.tern_from_dlpack if versioned else lib.tern_from_dlpack_unversioned

    def deleted(self, pointer):
        self.calls += 1

    def take(self, ctx):
        out = P()
        tern.check(self.function(ctx.handle, ctypes.addressof(self.managed), ctypes.byref(out)))
        return tern.Tensor(ctx, out.value)


def case_versioned_in(g):
    dtype, versioned = g.pick(UNPACKED), g.chance(0.7)
    array = np.array(g.numbers(dtype, g.shape(most=60)).a)
    plain = g.chance(0.4)
    if not plain and array.ndim > 1:
        array = array.transpose([int(a) for a in g.rng.permutation(array.ndim)])
    changes = {}
    offset = g.pick([0, 64]) if array.flags.c_contiguous else 0
    if offset:      # the array starts behind a part of the buffer
        padded = np.zeros(array.nbytes + offset, np.uint8)
        whole = padded[offset:].view(array.dtype).reshape(array.shape)
        whole[...] = array
        array = whole
        changes = {"data": padded.ctypes.data, "byte_offset": offset}
    read_only = versioned and g.chance(0.3)
    if read_only:
        changes["flags"] = READ_ONLY
    foreign = Foreign(array, dtype, versioned, strides=not array.flags.c_contiguous or g.chance(0.5), **changes)
    what = "%s%s strides %s %s" % (dtype, list(array.shape), array.strides, changes)
    ctx = tern.Ctx(1)
    t = foreign.take(ctx)
    if differs(dtype, t.read().a, array):
        return "%s: tern sees %s" % (what, t.read().a)
    if array.size:
        status = lib.tern_fill_(t.handle, 1.0)
        if bool(status) != read_only:
            return "%s: writing to it gives status %d" % (what, status)
    if foreign.calls:
        return "%s: given back while in use" % what
    view = ctx.op("reshape", t, shape=[-1] if array.size else [0])
    view.eval()
    lib.tern_release(t.handle)
    held = array.size and array.flags.c_contiguous
    if held and foreign.calls:
        return "%s: given back while a view of it lives" % what
    ctx.destroy()
    return None if foreign.calls == 1 else "%s: given back %d times" % (what, foreign.calls)


# ---- refused ---------------------------------------------------------------------------------------------------

BAD = {
    "another major version": ({"major": 2}, True), "a GPU": ({"device_type": 2}, True), "GPU, older": ({"device_type": 2}, False),
    "two lanes": ({"lanes": 2}, False), "no lanes": ({"lanes": 0}, False), "16-bit integers": ({"bits": 16, "code": 0}, False),
    "complex": ({"code": 5, "bits": 64}, False), "4 bits": ({"bits": 4}, True), "opaque": ({"code": 3}, True),
    "rank 9": ({"ndim": 9}, False), "rank -1": ({"ndim": -1}, False), "off alignment": ({"byte_offset": 2}, False),
    "no data": ({"data": None}, False),
}


def case_refused_in(kind):
    def run(g):
        changes, versioned = BAD[kind]
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        foreign = Foreign(array, "f32", versioned, **changes)
        nine = tern.ints([1] * 9)
        if changes.get("ndim") == 9:
            foreign.managed.tensor.shape = ctypes.cast(nine, ctypes.POINTER(ctypes.c_int64))
            foreign.managed.tensor.strides = ctypes.cast(nine, ctypes.POINTER(ctypes.c_int64))
        try:
            t = foreign.take(contexts[1])
            return "%s: accepted as %r" % (kind, t)
        except Error as error:
            if error.status in ("internal", "out-of-memory") or not error.message:
                return "%s: %s" % (kind, error)
        return "%s: given back although refused" % kind if foreign.calls else None
    return run


def case_bad_shape(g):
    array = np.arange(6, dtype=np.float32)
    foreign = Foreign(array, "f32", g.chance(0.5))
    foreign.shape[0] = g.pick([-1, 2 ** 62, -2 ** 63])
    foreign.strides[0] = g.pick([1, 2 ** 62, -2 ** 63])
    try:
        t = foreign.take(contexts[1])
        return "shape %d, stride %d: accepted as %r" % (foreign.shape[0], foreign.strides[0], t)
    except Error as error:
        return str(error) if error.status in ("internal", "out-of-memory") else None


def case_refused_out(g):
    """Ternary tensors in both forms, read-only ones in the older form, errors."""
    ctx = contexts[1]
    with ctx.scope():
        ternary = g.operand(g.pick(["t2", "t5"]), (2, 3), plain=True).make(ctx)
        frozen = ctx.from_val(Val("f32", np.ones(3, np.float32))).freeze()
        error = ctx.op("add", ctx.from_val(Val("f32", np.ones(3, np.float32))), ctx.from_val(Val("f32", np.ones(2, np.float32))))
        attempts = [("ternary", lib.tern_to_dlpack, ternary), ("ternary", lib.tern_to_dlpack_unversioned, ternary),
                    ("constant", lib.tern_to_dlpack_unversioned, frozen), ("error", lib.tern_to_dlpack, error),
                    ("error", lib.tern_to_dlpack_unversioned, error)]
        for what, function, t in attempts:
            out = P()
            if function(t.handle, ctypes.byref(out)) == 0:
                return "%s: exported" % what
            if out.value is not None:
                return "%s: refused, but the result was touched" % what
    return None


def all_cases():
    kinds = [("exported", case_exported, 200), ("many", case_many, 40), ("imported", case_imported, 200),
             ("there_and_back", case_there_and_back, 10), ("versioned_out", case_versioned_out, 150),
             ("versioned_in", case_versioned_in, 150), ("bad_shape", case_bad_shape, 10),
             ("refused_out", case_refused_out, 4)]
    cases = [(name, k, function) for name, function, count in kinds for k in range(count)]
    return cases + [("refused_in", k, case_refused_in(kind)) for k, kind in enumerate(BAD)]


if __name__ == "__main__":
    harness.main(all_cases(), setup)
