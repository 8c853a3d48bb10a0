"""Files exchanged with NumPy in both directions: what one writes the other reads, bit for bit.

Uses the public API of the library that TERN_LIB names. The seed is TERN_TEST_SEED, or a fixed number.
"""
import ctypes
import os
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    print("SKIP test_npy: this Python has no NumPy")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

P, I, STR, SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t
DTYPES = {0: "?", 1: "u1", 2: "i1", 3: "<i4", 4: "<i8", 5: "<f2", 7: "<f4", 8: "<f8"}  # by Tern's number
NUMBER = {np.dtype(text): number for number, text in DTYPES.items()}
SHAPES = [(), (0,), (1,), (7,), (2, 3), (0, 3), (3, 0, 2), (4, 1, 2), (2, 3, 1, 2, 2, 3), (2, 1, 1, 2, 1, 1, 1, 2),
          (50001,)]
FUNCTIONS = {
    "tern_last_error": (STR, []), "tern_status_name": (STR, [I]),
    "tern_ctx_create": (I, [P, P]), "tern_ctx_destroy": (None, [P]),
    "tern_scope_open": (None, [P]), "tern_scope_close": (None, [P]),
    "tern_dtype_of": (I, [P]), "tern_rank": (I, [P]), "tern_shape": (ctypes.POINTER(ctypes.c_int64), [P]),
    "tern_nbytes": (SIZE, [P]), "tern_read": (I, [P, P, SIZE]),
    "tern_from_data": (P, [P, I, I, P, P]), "tern_transpose": (P, [P, I, I]),
    "tern_npy_load": (I, [P, STR, P]), "tern_npy_map": (I, [P, STR, P]), "tern_npy_save": (I, [P, STR]),
    "tern_npy_convert": (I, [STR, STR, I, SIZE]),
    "tern_npz_open": (I, [STR, P]), "tern_npz_close": (None, [P]), "tern_npz_count": (I, [P]),
    "tern_npz_name": (STR, [P, I]), "tern_npz_load": (I, [P, P, I, P]), "tern_npz_save": (I, [STR, I, P, P]),
}


class Error(Exception):
    pass


def check(status):
    if status:
        raise Error("%s: %s" % (lib.tern_status_name(status).decode(), lib.tern_last_error().decode()))


def out_call(function, *arguments):
    out = P()
    check(function(*arguments, ctypes.byref(out)))
    return out.value


def value(tensor):
    """The NumPy array of a tensor."""
    rank, sizes = lib.tern_rank(tensor), lib.tern_shape(tensor)
    shape = tuple(sizes[i] for i in range(rank))
    data = np.empty(lib.tern_nbytes(tensor), np.uint8)
    check(lib.tern_read(tensor, data.ctypes.data, data.nbytes))
    return data.view(DTYPES[lib.tern_dtype_of(tensor)]).reshape(shape)


def tensor_of(ctx, array):
    array = np.ascontiguousarray(array).reshape(array.shape)
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    return lib.tern_from_data(ctx, NUMBER[array.dtype], array.ndim, shape, array.ctypes.data)


def same(got, want):
    want = want.astype(want.dtype.newbyteorder("="), copy=False)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    assert got.tobytes() == want.tobytes(), "elements differ"


def draw(rng, dtype, shape):
    """Random bits, so that NaNs, infinities and subnormals are among them."""
    dtype = np.dtype(dtype)
    bits = rng.integers(0, 256, int(np.prod(shape)) * dtype.itemsize, np.uint8)
    return (bits % 2).view(dtype).reshape(shape) if dtype == np.bool_ else bits.view(dtype).reshape(shape)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- tests: each yields (name, function) -----------------------------------------------------------------------

def arrays(rng):
    for text in list(DTYPES.values()) + [">i4", ">i8", ">f2", ">f4", ">f8"]:
        for shape in SHAPES:
            for order in "CF":
                yield text, shape, order, np.asarray(draw(rng, text, shape), order=order)


def exchange(ctx, folder, array):
    theirs, ours, again = (os.path.join(folder, name) for name in ("theirs.npy", "ours.npy", "again.npy"))
    np.save(theirs, array)
    tensor = out_call(lib.tern_npy_load, ctx, theirs.encode())
    same(value(tensor), array)
    check(lib.tern_npy_save(tensor, ours.encode()))
    same(np.load(ours), array)
    # and the file is the one that NumPy would have written
    np.save(again, np.ascontiguousarray(np.load(ours)).reshape(array.shape))
    assert read(ours) == read(again), "the bytes of the file differ from NumPy's"
    if array.dtype.byteorder != ">":
        same(value(out_call(lib.tern_npy_map, ctx, theirs.encode())), array)


def npy_tests(ctx, folder, rng):
    for text, shape, order, array in arrays(rng):
        yield "npy %s %s %s" % (text, list(shape), order), lambda a=array: exchange(ctx, folder, a)

    def versions():
        for version in ((1, 0), (2, 0), (3, 0)):
            path = os.path.join(folder, "version.npy")
            with open(path, "wb") as file:
                np.lib.format.write_array(file, np.arange(12).reshape(3, 4), version)
            same(value(out_call(lib.tern_npy_load, ctx, path.encode())), np.arange(12).reshape(3, 4))
    yield "npy versions", versions

    def views():
        array = draw(rng, "<f4", (5, 7))
        path = os.path.join(folder, "view.npy")
        check(lib.tern_npy_save(lib.tern_transpose(tensor_of(ctx, array), 0, 1), path.encode()))
        same(np.load(path), np.ascontiguousarray(array.T))
    yield "npy of a view", views

    for text in ("<u2", "<u4", "<u8", "<i2", "<c8", "<U3", "|S2", "<M8[s]", "|V2", "|O", [("a", "<f4")]):
        def refused(text=text):
            path = os.path.join(folder, "refused.npy")
            np.save(path, np.zeros(3, text), allow_pickle=True)
            try:
                out_call(lib.tern_npy_load, ctx, path.encode())
            except Error as error:
                assert str(error).startswith("unsupported: " + path + ": "), error
            else:
                raise AssertionError("it was read")
        yield "npy refuses %s" % text, refused


def convert_tests(folder, rng):
    # NumPy agrees wherever its conversion is defined: no float out of an integer's range
    values = {"f": rng.uniform(-100, 100, 30000), "u": rng.integers(0, 128, 30000), "i": rng.integers(-100, 100, 30000),
              "b": rng.integers(0, 2, 30000)}
    for source in DTYPES.values():
        for number, target in DTYPES.items():
            array = values[np.dtype(source).kind].astype(source).reshape(100, 300)
            if np.dtype(target).kind == "u" and np.dtype(source).kind == "f":
                array = np.abs(array)

            def convert(array=array, number=number, target=target):
                a, b = os.path.join(folder, "a.npy"), os.path.join(folder, "b.npy")
                np.save(a, array)
                check(lib.tern_npy_convert(a.encode(), b.encode(), number, 5000))
                same(np.load(b), array.astype(target))
            yield "convert %s to %s" % (source, target), convert


def npz_tests(ctx, folder, rng):
    arrays_ = {"a": draw(rng, "<i8", (2, 3)), "größe": draw(rng, "<f4", (3,)), "x/../y": np.zeros((0, 2)),
               "f": np.asfortranarray(draw(rng, "<f8", (50, 60))), "big": draw(rng, ">i4", (100, 10)),
               "s": np.float32(2.5), "zeros": np.zeros((300, 300))}
    for save in (np.savez, np.savez_compressed):
        def exchange_npz(save=save):
            theirs, ours = os.path.join(folder, "theirs.npz"), os.path.join(folder, "ours.npz")
            save(theirs, **arrays_)
            npz = out_call(lib.tern_npz_open, theirs.encode())
            try:
                names = [lib.tern_npz_name(npz, i) for i in range(lib.tern_npz_count(npz))]
                assert [n.decode() for n in names] == list(arrays_), names
                tensors = [out_call(lib.tern_npz_load, ctx, npz, i) for i in range(len(names))]
            finally:
                lib.tern_npz_close(npz)
            for name, tensor in zip(arrays_, tensors):
                same(value(tensor), np.asarray(arrays_[name]))
            n = len(names)
            check(lib.tern_npz_save(ours.encode(), n, (STR * n)(*names), (P * n)(*tensors)))
            assert zipfile.ZipFile(ours).testzip() is None
            with np.load(ours) as back:
                assert sorted(back.files) == sorted(arrays_)
                for name in arrays_:
                    same(back[name], np.asarray(arrays_[name]))
        yield save.__name__, exchange_npz


def main():
    seed = int(os.environ.get("TERN_TEST_SEED") or 20240229)
    print("seed %d (repeat with TERN_TEST_SEED=%d)" % (seed, seed))
    rng = np.random.default_rng(seed)
    passed = failed = 0
    ctx = out_call(lib.tern_ctx_create, None)
    with tempfile.TemporaryDirectory(prefix="tern-test-") as folder:
        for tests in (npy_tests(ctx, folder, rng), convert_tests(folder, rng), npz_tests(ctx, folder, rng)):
            for name, test in tests:
                lib.tern_scope_open(ctx)
                try:
                    test()
                    passed += 1
                except (AssertionError, Error) as problem:
                    print("FAIL %s: %s" % (name, problem))
                    failed += 1
                lib.tern_scope_close(ctx)
    lib.tern_ctx_destroy(ctx)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    if not os.environ.get("TERN_LIB"):
        sys.exit("TERN_LIB is not set: run by scripts/run-tests.sh, or name the shared library")
    lib = ctypes.CDLL(os.environ["TERN_LIB"])
    for function_name, (result_type, argument_types) in FUNCTIONS.items():
        function_ = getattr(lib, function_name)
        function_.restype, function_.argtypes = result_type, argument_types
    sys.exit(main())
