"""A minimal ctypes binding over libtern's public API, for tests only.

The library is the one that TERN_LIB names. Handles are plain integers (void pointers); the classes below only
hold them together with their context. Values cross the border as values.Val: a dtype name and a NumPy array.
"""
import contextlib
import ctypes
import os
import re
import sys

import numpy as np

from values import DTYPES, DTYPE_NUMBER, Val, pack, unpack, STORED

P = ctypes.c_void_p
I = ctypes.c_int
I64 = ctypes.c_int64
SIZE = ctypes.c_size_t
STR = ctypes.c_char_p
F64 = ctypes.c_double
DROP = ctypes.CFUNCTYPE(None, P, P)


class PoolOptions(ctypes.Structure):
    _fields_ = [("small_max", SIZE), ("small_slab", SIZE), ("large_region", SIZE), ("cap_bytes", SIZE),
                ("no_huge_pages", ctypes.c_bool)]


class CtxOptions(ctypes.Structure):
    _fields_ = [("threads", I), ("cpu", STR), ("tuning", STR), ("pool", PoolOptions), ("compile", P),
                ("device", STR), ("fallback", ctypes.c_bool), ("kernels", STR), ("dump_kernels", STR),
                ("retries", I), ("check", ctypes.c_bool), ("background", ctypes.c_bool),
                ("device_memory", ctypes.c_size_t)]


class BatchRange(ctypes.Structure):
    _fields_ = [("least", I64), ("most", I64), ("n_inputs", I), ("inputs", P)]


class CompileOptions(ctypes.Structure):
    _fields_ = [("level", I), ("n_disabled", I), ("disabled", P), ("memory_limit", SIZE), ("goal", I), ("threads", I),
                ("cpu", STR), ("library", STR), ("device", STR), ("precision", I), ("batch", BatchRange), ("n_passes", I), ("passes", P), ("n_patterns", I),
                ("patterns", P), ("observe", P), ("observe_user", P)]


class CtxStats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("evaluations", "steps", "nodes_live", "arena_peak_bytes",
                                                     "cache_hits", "cache_misses", "cache_evictions",
                                                     "cache_entries", "fused_ops", "single_ops", "device_steps",
                                                     "fallback_steps", "device_failures", "device_retries",
                                                     "device_moves", "checked_steps", "check_failures",
                                                     "predicted_ns", "measured_ns")]


class DeviceInfo(ctypes.Structure):
    _fields_ = [(name, STR) for name in ("name", "backend", "model", "isa", "isa_limit", "isa_available", "features", "kernels")] + \
               [("cores_online", I), ("cores_usable", I), ("cores_reason", STR), ("memory_bytes", I64),
                ("l1d_bytes", I64), ("l2_bytes", I64), ("l3_bytes", I64)] + \
               [(name, STR) for name in ("unavailable", "driver", "precision", "limits", "memory_use")] + [("ternary_bits", ctypes.c_double)]


class OpInfo(ctypes.Structure):
    _fields_ = [(name, STR) for name in ("name", "section", "signature", "description", "shape_rule", "dtype_rule",
                                         "cost_rule", "gradient", "kernel")] + \
               [("min_inputs", I), ("max_inputs", I), ("results", I), ("elementwise", ctypes.c_bool),
                ("view", ctypes.c_bool), ("commutative", ctypes.c_bool)]


class Port(ctypes.Structure):
    _fields_ = [("name", STR), ("dtype", I), ("rank", I), ("shape", ctypes.POINTER(I64))]


class SessionRow(ctypes.Structure):
    _fields_ = [("token", ctypes.c_int32), ("slot", ctypes.c_int32), ("position", I64)]


class ProgramInfo(ctypes.Structure):
    _fields_ = [("n_inputs", I), ("n_outputs", I), ("nodes_before", I), ("nodes_after", I), ("steps", I),
                ("arena_bytes", SIZE), ("scratch_bytes", SIZE), ("live_bytes", SIZE), ("naive_bytes", SIZE),
                ("flops", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("compile_ns", ctypes.c_uint64),
                ("batch", I64), ("batch_least", I64), ("batch_most", I64)]


class TrainShape(ctypes.Structure):
    _fields_ = [(name, I64) for name in ("vocabulary", "context", "layers", "width", "feed_forward", "heads",
                                         "kv_heads")] + [("rope_theta", F64), ("norm_eps", F64), ("weights", I)]


class OptimiserOptions(ctypes.Structure):
    _fields_ = [("kind", I), ("beta1", F64), ("beta2", F64), ("eps", F64), ("momentum", F64), ("weight_decay", F64),
                ("clip", F64)]


class TrainOptions(ctypes.Structure):
    _fields_ = [("shape", TrainShape), ("batch", I64), ("accumulate", I64), ("recompute", I), ("activations", I),
                ("optimiser", OptimiserOptions), ("decay_table", F64), ("decay_norms", F64), ("seed", ctypes.c_uint64)]


class TrainResult(ctypes.Structure):
    _fields_ = [("loss", F64), ("norm", F64), ("skipped", ctypes.c_bool)]


# name: (result, arguments)
FUNCTIONS = {
    "tern_last_error": (STR, []),
    "tern_status_name": (STR, [I]),
    "tern_catalog_op": (I, [I, P]),
    "tern_catalog_device": (I, [I, P]),
    "tern_dtype_promote": (I, [I, I, P]),
    "tern_ctx_options_default": (CtxOptions, []),
    "tern_ctx_create": (I, [P, P]),
    "tern_ctx_destroy": (None, [P]),
    "tern_ctx_get_stats": (None, [P, P]),
    "tern_scope_open": (None, [P]),
    "tern_scope_close": (None, [P]),
    "tern_keep": (P, [P]),
    "tern_release": (None, [P]),
    "tern_from_data": (P, [P, I, I, P, P]),
    "tern_borrow": (P, [P, I, I, P, P, P, P, P]),
    "tern_input": (P, [P, STR, I, I, P]),
    "tern_state": (P, [P, STR, I, I, P]),
    "tern_freeze": (I, [P]),
    "tern_name": (I, [P, STR]),
    "tern_dtype_of": (I, [P]),
    "tern_rank": (I, [P]),
    "tern_shape": (ctypes.POINTER(I64), [P]),
    "tern_nbytes": (SIZE, [P]),
    "tern_status_of": (I, [P]),
    "tern_message_of": (STR, [P]),
    "tern_is_evaluated": (ctypes.c_bool, [P]),
    "tern_eval": (I, [P]),
    "tern_eval_all": (I, [I, P]),
    "tern_data": (P, [P]),
    "tern_read": (I, [P, P, SIZE]),
    "tern_map": (I, [P, P, P]),
    "tern_shares_storage": (I, [P, P, P]),
    "tern_transpose": (P, [P, I, I]),
    "tern_squeeze": (P, [P, I]),
    "tern_unsqueeze": (P, [P, I]),
    "tern_narrow": (P, [P, I, I64, I64]),
    "tern_batch_layout": (I, [I, P, P, P]),
    "tern_assign": (I, [P, P]),
    "tern_add_": (I, [P, P]),
    "tern_sub_": (I, [P, P]),
    "tern_mul_": (I, [P, P]),
    "tern_div_": (I, [P, P]),
    "tern_fill_": (I, [P, F64]),
    "tern_apply_": (I, [P, STR, STR, I, P]),
    "tern_apply": (None, [P, STR, STR, I, P, I, P]),
    "tern_graph_capture": (I, [P, I, P, P, P]),
    "tern_graph_parse": (I, [P, STR, SIZE, P]),
    "tern_graph_print": (I, [P, P]),
    "tern_graph_dot": (I, [P, P]),
    "tern_graph_verify": (I, [P]),
    "tern_graph_free": (None, [P]),
    "tern_string_free": (None, [P]),
    "tern_compile_options_default": (CompileOptions, []),
    "tern_graph_compile": (I, [P, P, P, P]),
    "tern_compile": (I, [P, I, P, P, P, P]),
    "tern_program_free": (None, [P]),
    "tern_program_get_info": (None, [P, P]),
    "tern_program_input": (I, [P, I, P]),
    "tern_program_output": (I, [P, I, P]),
    "tern_exec_create": (I, [P, P, P]),
    "tern_exec_free": (None, [P]),
    "tern_exec_run": (I, [P, I, P, I, P]),
    "tern_npy_load": (I, [P, STR, P]),
    "tern_npy_map": (I, [P, STR, P]),
    "tern_npy_save": (I, [P, STR]),
    "tern_npy_convert": (I, [STR, STR, I, SIZE]),
    "tern_npz_open": (I, [STR, P]),
    "tern_npz_close": (None, [P]),
    "tern_npz_count": (I, [P]),
    "tern_npz_name": (STR, [P, I]),
    "tern_npz_load": (I, [P, P, I, P]),
    "tern_npz_save": (I, [STR, I, P, P]),
    "tern_model_load": (I, [P, STR, P, P]),
    "tern_model_free": (None, [P]),
    "tern_session_create": (I, [P, P, P]),
    "tern_session_free": (None, [P]),
    "tern_session_feed": (I, [P, I, P, I, P, P]),
    "tern_session_vocabulary": (I64, [P]),
    "tern_train_options_default": (TrainOptions, []),
    "tern_trainer_create": (I, [P, P, P]),
    "tern_trainer_free": (None, [P]),
    "tern_trainer_step": (I, [P, P, F64, P]),
    "tern_trainer_weights": (I, [P]),
    "tern_trainer_state": (P, [P, I, P]),
    "tern_to_dlpack": (I, [P, P]),
    "tern_to_dlpack_unversioned": (I, [P, P]),
    "tern_from_dlpack": (I, [P, P, P]),
    "tern_from_dlpack_unversioned": (I, [P, P, P]),
}


STRUCTS = {"tern_pool_options": PoolOptions, "tern_ctx_options": CtxOptions, "tern_ctx_stats": CtxStats,
           "tern_compile_options": CompileOptions, "tern_op_info": OpInfo, "tern_device_info": DeviceInfo,
           "tern_port": Port, "tern_session_row": SessionRow, "tern_program_info": ProgramInfo,
           "tern_train_shape": TrainShape, "tern_optimiser_options": OptimiserOptions, "tern_train_options": TrainOptions,
           "tern_train_result": TrainResult}


def differences_from_headers(folder):
    """Where this file and the public headers disagree about how many arguments a function and fields a struct has."""
    text = ""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as file:
            text += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = []
    for name, (_, arguments) in FUNCTIONS.items():
        declared = re.search(r"TERN_API[^;]*?\b%s\s*\((.*?)\);" % name, text, re.S)
        # a pointer to a function has commas of its own
        plain = re.sub(r"\(\*(\w+)\)\([^()]*\)", r"\1", declared.group(1)) if declared else ""
        count = 0 if plain.strip() in ("", "void") else plain.count(",") + 1
        if not declared or count != len(arguments):
            found.append("%s: %d arguments here, %s in the header" % (name, len(arguments), count if declared else "none"))
    for name, struct in STRUCTS.items():
        body = re.search(r"typedef struct %s \{(.*?)\}" % name, text, re.S)
        count = sum(line.count(",") + 1 for line in body.group(1).split(";") if line.strip()) if body else 0
        if count != len(struct._fields_):
            found.append("%s: %d fields here, %d in the header" % (name, len(struct._fields_), count))
    return found


def load():
    path = os.environ.get("TERN_LIB")
    if not path:
        sys.exit("TERN_LIB is not set: run by scripts/run-tests.sh, or TERN_LIB=build/libtern.so python3 " + sys.argv[0])
    library = ctypes.CDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = load()


class Error(Exception):
    """A call failed: .status is the name of the code, the text the library's sentence."""

    def __init__(self, status, message):
        super().__init__("%s: %s" % (status, message))
        self.status, self.message = status, message


def check(status):
    if status:
        raise Error(lib.tern_status_name(status).decode(), lib.tern_last_error().decode())


def ints(values):
    values = list(values)
    return (I64 * max(len(values), 1))(*values)


def handles(tensors):
    return (P * max(len(tensors), 1))(*[t.handle for t in tensors])


def attributes_text(attributes):
    """{"axes": [0, 1], "keepdims": True} as tern_apply reads it. Texts of dtypes are given as Dtype("f32")."""
    def text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(str(int(v)) for v in value) + "]"
        if isinstance(value, Dtype):
            return str(value)
        if isinstance(value, str):
            return '"' + value + '"'
        if isinstance(value, float):
            return "nan" if value != value else repr(value)
        return str(int(value))
    return " ".join(name + "=" + text(value) for name, value in attributes.items())


class Dtype(str):
    """The name of a dtype as the value of an attribute."""


def catalog():
    """Every operation, as OpInfo, in the order of the table."""
    found = []
    while True:
        info = OpInfo()
        if lib.tern_catalog_op(len(found), ctypes.byref(info)):
            return found
        found.append(info)


def isa_levels():
    """The instruction sets of this machine, lowest first."""
    info = DeviceInfo()
    check(lib.tern_catalog_device(0, ctypes.byref(info)))
    return info.isa_available.decode().split()


class Tensor:
    __slots__ = ("ctx", "handle", "keep")

    def __init__(self, ctx, handle, keep=None):
        assert handle, "a function that never returns NULL did"
        self.ctx, self.handle, self.keep = ctx, handle, keep

    @property
    def dtype(self):
        return DTYPES[lib.tern_dtype_of(self.handle)]

    @property
    def shape(self):
        sizes = lib.tern_shape(self.handle)
        return tuple(sizes[i] for i in range(lib.tern_rank(self.handle)))

    @property
    def error(self):
        """(status, message) of an error tensor, None of any other."""
        status = lib.tern_status_of(self.handle)
        if status == 0:
            return None
        return lib.tern_status_name(status).decode(), lib.tern_message_of(self.handle).decode()

    def eval(self):
        check(lib.tern_eval(self.handle))
        return self

    def freeze(self):
        check(lib.tern_freeze(self.handle))
        return self

    def bytes(self):
        size = lib.tern_nbytes(self.handle)
        buffer = np.full(size + 8, 0xA5, np.uint8)
        check(lib.tern_read(self.handle, buffer.ctypes.data, size))
        assert (buffer[size:] == 0xA5).all(), "tern_read wrote past the end"
        return buffer[:size]

    def read_size(self):
        """Bytes of the contiguous form."""
        return lib.tern_nbytes(self.handle)

    def read(self):
        dtype, shape = self.dtype, self.shape
        return Val(dtype, unpack(dtype, shape, self.bytes()))

    def map(self):
        """(address of element 0, strides in elements)."""
        data, strides = P(), ints([0] * 8)
        check(lib.tern_map(self.handle, ctypes.byref(data), strides))
        return data.value, tuple(strides[:len(self.shape)])

    def shares_storage(self, other):
        answer = ctypes.c_bool()
        check(lib.tern_shares_storage(self.handle, other.handle, ctypes.byref(answer)))
        return answer.value

    def in_place(self, op, *rest, **attributes):
        """t = op(t, rest...)"""
        check(lib.tern_apply_(self.handle, op.encode(), attributes_text(attributes).encode(), len(rest), handles(rest)))
        return self

    def assign(self, other):
        check(lib.tern_assign(self.handle, other.handle))
        return self

    def __repr__(self):
        return "<%s%s>" % (self.dtype, list(self.shape)) if not self.error else "<error %s: %s>" % self.error


class Ctx:
    def __init__(self, threads=1, cpu=None):
        options = lib.tern_ctx_options_default()
        options.threads = threads
        options.cpu = cpu.encode() if cpu else None
        out = P()
        check(lib.tern_ctx_create(ctypes.byref(options), ctypes.byref(out)))
        self.handle = out.value

    def destroy(self):
        lib.tern_ctx_destroy(self.handle)
        self.handle = None

    @contextlib.contextmanager
    def scope(self):
        lib.tern_scope_open(self.handle)
        try:
            yield self
        finally:
            lib.tern_scope_close(self.handle)

    def live_nodes(self):
        stats = CtxStats()
        lib.tern_ctx_get_stats(self.handle, ctypes.byref(stats))
        return stats.nodes_live

    def from_val(self, val):
        data = pack(val)
        return Tensor(self, lib.tern_from_data(self.handle, DTYPE_NUMBER[val.dtype], val.a.ndim, ints(val.a.shape),
                                               data.ctypes.data))

    def borrow(self, dtype, view):
        """Uses the memory of a NumPy array of the stored type, whatever its (non-negative) strides."""
        assert view.dtype == STORED[dtype]
        strides = [s // view.itemsize for s in view.strides]
        return Tensor(self, lib.tern_borrow(self.handle, DTYPE_NUMBER[dtype], view.ndim, ints(view.shape),
                                            ints(strides), view.ctypes.data, None, None), keep=view)

    def borrow_packed(self, val):
        data = pack(val)
        return Tensor(self, lib.tern_borrow(self.handle, DTYPE_NUMBER[val.dtype], val.a.ndim, ints(val.a.shape),
                                            None, data.ctypes.data, None, None), keep=data)

    def input(self, name, dtype, shape):
        return Tensor(self, lib.tern_input(self.handle, name.encode(), DTYPE_NUMBER[dtype], len(shape), ints(shape)))

    def state(self, name, dtype, shape):
        return Tensor(self, lib.tern_state(self.handle, name.encode(), DTYPE_NUMBER[dtype], len(shape), ints(shape)))

    def apply(self, op, tensors=(), n_out=1, **attributes):
        """The results of an operation by name, as a list."""
        out = (P * max(n_out, 1))()
        lib.tern_apply(self.handle, op.encode(), attributes_text(attributes).encode(), len(tensors),
                       handles(list(tensors)), n_out, out)
        return [Tensor(self, out[i]) for i in range(n_out)]

    def op(self, op, *tensors, **attributes):
        """The only result of an operation by name."""
        return self.apply(op, tensors, 1, **attributes)[0]

    def eval_all(self, tensors):
        check(lib.tern_eval_all(len(tensors), handles(tensors)))

    def capture(self, outputs, names=None):
        out = P()
        texts = (STR * len(outputs))(*[n.encode() for n in names]) if names else None
        check(lib.tern_graph_capture(self.handle, len(outputs), handles(outputs), texts, ctypes.byref(out)))
        return Graph(self, out.value)

    def parse(self, text):
        out, data = P(), text.encode()
        check(lib.tern_graph_parse(self.handle, data, len(data), ctypes.byref(out)))
        return Graph(self, out.value)


def program_info(program):
    info = ProgramInfo()
    lib.tern_program_get_info(program, ctypes.byref(info))
    return info


class Graph:
    def __init__(self, ctx, handle):
        self.ctx, self.handle = ctx, handle

    def _text(self, function):
        out = P()
        check(function(self.handle, ctypes.byref(out)))
        text = ctypes.string_at(out.value).decode()
        lib.tern_string_free(out)
        return text

    def print(self):
        return self._text(lib.tern_graph_print)

    def dot(self):
        return self._text(lib.tern_graph_dot)

    def verify(self):
        check(lib.tern_graph_verify(self.handle))

    def free(self):
        lib.tern_graph_free(self.handle)
        self.handle = None

    def run(self, inputs, level=0):
        """Compiles (at a level -2..1, by default 0) and runs once; inputs by name, results in the order of the
        outputs."""
        program, execution = P(), P()
        options = lib.tern_compile_options_default()
        options.level = level
        check(lib.tern_graph_compile(self.ctx.handle, self.handle, ctypes.byref(options), ctypes.byref(program)))
        try:
            info = program_info(program)
            n_in, n_out = info.n_inputs, info.n_outputs
            port, bound = Port(), []
            for i in range(n_in):
                check(lib.tern_program_input(program, i, ctypes.byref(port)))
                bound.append(inputs[port.name.decode()])
            check(lib.tern_exec_create(self.ctx.handle, program, ctypes.byref(execution)))
            out = (P * max(n_out, 1))()
            check(lib.tern_exec_run(execution, n_in, handles(bound), n_out, out))
            return [Tensor(self.ctx, out[i]) for i in range(n_out)]
        finally:
            lib.tern_exec_free(execution)
            lib.tern_program_free(program)


class Model:
    """A language model and a session of its own."""

    def __init__(self, ctx, path):
        self.ctx, self.model, self.session = ctx, P(), P()
        check(lib.tern_model_load(ctx.handle, path.encode(), None, ctypes.byref(self.model)))
        try:
            check(lib.tern_session_create(self.model, None, ctypes.byref(self.session)))
        except Error:
            lib.tern_model_free(self.model)
            raise

    def logits(self, tokens):
        """Logits (tokens, vocabulary) of a sequence from its start."""
        n = len(tokens)
        out = np.zeros((n, lib.tern_session_vocabulary(self.session)), np.float32)
        rows = (SessionRow * n)(*[SessionRow(int(token), 0, i) for i, token in enumerate(tokens)])
        check(lib.tern_session_feed(self.session, n, rows, n, (I * n)(*range(n)), out.ctypes.data))
        return out

    def free(self):
        lib.tern_session_free(self.session)
        lib.tern_model_free(self.model)


class Trainer:
    """A trainer of decoders; `options` are changed by `change` before it is made."""

    def __init__(self, ctx, change):
        options = lib.tern_train_options_default()
        change(options)
        self.ctx, self.handle = ctx, P()
        check(lib.tern_trainer_create(ctx.handle, ctypes.byref(options), ctypes.byref(self.handle)))

    def weights(self):
        """Name -> array."""
        found = {}
        for i in range(lib.tern_trainer_weights(self.handle)):
            name = STR()
            state = lib.tern_trainer_state(self.handle, i, ctypes.byref(name))
            found[name.value.decode()] = Tensor(self.ctx, state).read().a.copy()
        return found

    def step(self, tokens, rate):
        """(loss, norm) of a step on tokens[sequences, context + 1]."""
        result, tokens = TrainResult(), np.ascontiguousarray(tokens, np.int32)
        check(lib.tern_trainer_step(self.handle, tokens.ctypes.data, rate, ctypes.byref(result)))
        return result.loss, result.norm

    def free(self):
        lib.tern_trainer_free(self.handle)
