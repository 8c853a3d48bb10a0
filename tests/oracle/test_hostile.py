#!/usr/bin/env python3
"""Model files that broke other loaders, item by item: one clear line, exit status 1, without work that never ends, and with no more
memory than the file has and 64 MiB, the program's own included. `tern inspect` reads the directory, and says whether `tern run`, which
loads the model, will run it; `tern convert` and `tern perplexity` are held to the same.

  gguf         counts, lengths, types, offsets and hyper-parameters that lie
  truncated    a valid file cut at each of its structures, and at many places between
  safetensors  headers, offsets and shard indices that lie
  json         configurations and tokenizers that are no JSON, or too much of it
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

import harness
import model_files as files
import test_models as models
from harness import Skip
from test_model_commands import vocabulary
from transformer import Shape, Weights

MOST_SECONDS, MOST_BYTES = 60, 64 << 20      # seconds: what would take hours is ended; no machine is so slow that the rest is
REFUSED_SECONDS = 2                          # of the processor's time in the program itself, for a file that is inspected or run
KEY = "bitnet-b1.58."
state = {}


def measure(arguments):
    """Exit status, stderr, seconds of the processor in the program itself, peak memory of the program and of nothing else."""
    if "TERN_BIN" not in os.environ:
        raise Skip("this build has no program")
    if "parent" not in state:
        parent = os.path.join(os.path.dirname(os.path.abspath(__file__)), "small_parent.py")
        state["parent"] = subprocess.Popen([sys.executable, "-I", "-S", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    errors = os.path.join(models.state["folder"], "stderr")
    state["parent"].stdin.write(json.dumps([MOST_SECONDS, errors, os.environ["TERN_BIN"]] + arguments) + "\n")
    state["parent"].stdin.flush()
    status, seconds, memory = json.loads(state["parent"].stdout.readline())
    with open(errors, errors="replace") as file:
        return status, file.read(), seconds, memory


def measure_quick(arguments):
    """measure, of at most three runs the first that is quick enough: seconds of a core are longer while others share it. The slowest case
    takes a third of what is allowed. Sanitizers and emulators are many times slower, and not held to it."""
    for _ in range(1 if os.environ.get("TERN_SANITIZE") or os.environ.get("TERN_EMULATOR") else 3):
        result = measure(arguments)
        if result[2] <= REFUSED_SECONDS:
            break
    return result


def too_much(memory, size):
    """The program itself is within the bound; sanitizers are not held to it, and emulators may take what they take for any file."""
    if os.environ.get("TERN_SANITIZE"):
        return False
    if os.environ.get("TERN_EMULATOR") and "base" not in state:
        state["base"] = measure(["run", "-m", valid_model(), "-p", "x", "-n", "1"])[3]
    return memory > size + MOST_BYTES + state.get("base", 0)


def inspect_agrees(path, status, in_weights):
    """`tern inspect` says that a model runs if `tern run` runs it, unless what is wrong is in weights that only a run reads."""
    told = subprocess.run([os.environ["TERN_BIN"], "inspect", "--json", path], capture_output=True)
    if told.returncode:
        return status == 1
    report = json.loads(told.stdout)
    runs = report.get("kind") == "model" and not report["cannot_run"] and report["tokens"] is not None
    return runs == (status == 0 or in_weights)


def problems(path, accepted=False, words=(), in_weights=False):
    """accepted: it is odd, and legal."""
    size = os.path.getsize(path) if os.path.isfile(path) else \
        sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    found = []
    new, words_file = models.path("new.gguf"), os.path.join(models.state["folder"], "words")
    if not os.path.exists(words_file):
        write(words_file, b"x y z " * 20)
    lines = {"inspect": [path], "run": ["-m", path, "-p", "x", "-n", "1"], "convert": [path, new], "perplexity": ["-m", path, "-f", words_file]}
    results = [measure_quick([name] + line) for name, line in lines.items()]
    for name, (status, text, seconds, memory) in zip(lines, results):
        warned = name == "convert" and status == 0      # tensors that are no model go through, and that is said
        if name == "convert" and os.path.exists(new):   # it is mapped as well, to be proved
            memory -= os.path.getsize(new)
        if status not in (0, 1) or ((status == 1) != bool(text) and not warned):
            found.append("%s: exit status %d after %.1f s, %r" % (name, status, seconds, text[-300:]))
        if text.count("\n") > 1 or len(text) > 600:
            found.append("%s: more than one line: %r" % (name, text[:600]))
        if seconds > REFUSED_SECONDS and not os.environ.get("TERN_SANITIZE") and not os.environ.get("TERN_EMULATOR"):
            found.append("%s: %.1f s of the processor" % (name, seconds))
        if too_much(memory, size):
            found.append("%s: %.1f MiB for %.1f" % (name, memory / 2 ** 20, size / 2 ** 20))
    status, text = results[1][:2]
    if status == (0 if not accepted else 1):
        found.append("it runs" if not accepted else "refused: " + text)
    if not inspect_agrees(path, status, in_weights):
        found.append("`tern inspect` says something else than `tern run`: %r" % text)
    found += ["'%s' says nothing of '%s'" % (text.strip(), word) for word in words if word not in text]
    return found


# ---- GGUF ------------------------------------------------------------------------------------------------------

class Gguf:
    """A valid small file in parts that a case may change."""

    def __init__(self):
        s = self.shape = Shape("B", layers=1, width=128, heads=2, kv_heads=1, ff=128, vocabulary=259, context=32)
        w = Weights(s, np.random.default_rng(1))
        self.magic, self.version, self.n_tensors, self.n_meta, self.alignment = b"GGUF", 3, None, None, 32
        self.meta = [(key, files.meta_bytes(value)) for key, value in
                     dict(models.gguf_meta(s, "bitnet-b1.58"), **vocabulary()).items()]
        self.tensors = [["token_embd.weight", [s.vocabulary, s.width], 0, w.embedding.tobytes(), None],
                        ["output_norm.weight", [s.width], 0, w.output_norm.tobytes(), None]]
        for (layer, name), values in w.norms.items():
            self.tensors.append(["blk.%d.%s.weight" % (layer, name), list(values.shape), 0, values.tobytes(), None])
        for (layer, name), (codes, scale) in w.linears.items():
            self.tensors.append(["blk.%d.%s.weight" % (layer, name), list(codes.shape), 36,
                                 files.encode_i2_s(codes, scale), None])

    def set(self, key, raw):
        self.meta = [(k, raw if k == key else v) for k, v in self.meta]
        if key not in [k for k, _ in self.meta]:
            self.meta.append((key, raw))

    def drop(self, key):
        self.meta = [(k, v) for k, v in self.meta if k != key]

    def tensor(self, name):
        return next(t for t in self.tensors if t[0] == name)

    def bytes(self):
        out = self.magic + struct.pack("<IQQ", self.version, len(self.tensors) if self.n_tensors is None else self.n_tensors,
                                       len(self.meta) if self.n_meta is None else self.n_meta)
        for key, raw in self.meta:
            out += files.text_bytes(key) + raw
        data = b""
        for name, shape, kind, raw, offset in self.tensors:
            out += files.text_bytes(name) + struct.pack("<I", len(shape))
            out += b"".join(struct.pack("<Q", n & 2 ** 64 - 1) for n in reversed(shape))
            out += struct.pack("<IQ", kind & 2 ** 32 - 1, len(data) if offset is None else offset)
            data += raw + bytes(-len(raw) % self.alignment)
        return out + bytes(-len(out) % self.alignment) + data


def valid_model():
    path = os.path.join(models.state["folder"], "valid.gguf")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(Gguf().bytes())
    return path


def u32(value):
    return struct.pack("<iI", 4, value & 2 ** 32 - 1)


def array(element, count, data=b""):
    return struct.pack("<iiQ", 9, element, count) + data


def change(*steps):
    """A function that changes a Gguf by assignments: ("version", 0) or ("set", key, raw) or ("tensor", name, index, value), or ("add", name, shape, f32 data)."""
    def apply(f):
        for step in steps:
            if step[0] == "set":
                f.set(step[1], step[2])
            elif step[0] == "drop":
                f.drop(step[1])
            elif step[0] == "repeat":
                f.meta.append(f.meta[step[1]])
            elif step[0] == "tensor":
                f.tensor(step[1])[step[2]] = step[3]
            elif step[0] == "copy":
                f.tensors.append(list(f.tensor(step[1])))
            elif step[0] == "add":
                f.tensors.append([step[1], step[2], 0, step[3], None])
            elif step[0] == "remove":
                f.tensors.remove(f.tensor(step[1]))
            else:
                setattr(f, step[0], step[1])
    return apply


Q, NAME, SHAPE, TYPE, DATA, OFFSET = "blk.0.attn_q.weight", 0, 1, 2, 3, 4
GOOD = files.encode_i2_s(np.zeros((128, 128), np.int8), 0.5)
TOKENS = "tokenizer.ggml.tokens"
GGUF_CASES = {
    "magic": [("magic", b"GGUG")], "version 0": [("version", 0)], "version 1": [("version", 1)], "version 99": [("version", 99)],
    "big-endian": [("version", 0x03000000)],
    "n_meta that wraps": [("n_meta", 2 ** 60)], "n_tensors that wraps": [("n_tensors", 2 ** 61)],
    "n_tensors -1": [("n_tensors", 2 ** 64 - 1)], "n_meta -1": [("n_meta", 2 ** 64 - 1)],
    "one tensor too many": [("n_tensors", 99)],
    "string of 2^64 - 1": [("set", "general.name", struct.pack("<iQ", 8, 2 ** 64 - 1))],
    "string of 1 GiB": [("set", "general.name", struct.pack("<iQ", 8, 1 << 30))],
    "array of 2^60": [("set", "x", array(4, 2 ** 60))], "array of an unknown type": [("set", "x", array(77, 4, bytes(16)))],
    "nested arrays": [("set", "x", array(9, 1, array(9, 1, array(4, 1, bytes(4)))[4:]))],
    "unknown type of metadata": [("set", "x", struct.pack("<iI", 13, 1))],
    "a key twice": [("repeat", 3)], "a tensor twice": [("copy", Q)], "an empty key": [("set", "", u32(1))],
    "an empty name": [("tensor", Q, NAME, "")],
    "alignment 0": [("set", "general.alignment", u32(0))], "alignment 3": [("set", "general.alignment", u32(3))],
    "alignment 2^31": [("set", "general.alignment", u32(2 ** 31))],
    "alignment of the wrong type": [("set", "general.alignment", files.meta_bytes("32"))],
    "5 axes": [("tensor", Q, SHAPE, [1, 1, 1, 128, 128])], "zero-size": [("tensor", Q, SHAPE, [0, 128])],
    "shape that wraps": [("tensor", Q, SHAPE, [2, 2 ** 63 - 1])], "negative shape": [("tensor", Q, SHAPE, [-1, 128])],
    "bytes that wrap": [("tensor", Q, SHAPE, [2 ** 57, 128])], "f32 that wraps": [("tensor", "token_embd.weight", SHAPE, [2 ** 62, 128])],
    "type -1": [("tensor", Q, TYPE, -1)], "retired type": [("tensor", Q, TYPE, 4)], "type 38": [("tensor", Q, TYPE, 38)],
    "unknown type": [("tensor", Q, TYPE, 12345)], "row that is no multiple of the block": [("tensor", Q, SHAPE, [127, 129])],
    "offset past the end": [("tensor", Q, OFFSET, 2 ** 40)], "offset that wraps": [("tensor", Q, OFFSET, 2 ** 64 - 32)],
    "unaligned offset": [("tensor", Q, OFFSET, 33)], "overlapping tensors": [("tensor", Q, OFFSET, 0)],
    "head_count 0": [("set", KEY + "attention.head_count", u32(0))],
    "head_count_kv 0": [("set", KEY + "attention.head_count_kv", u32(0))],
    "heads that do not divide": [("set", KEY + "attention.head_count_kv", u32(3))],
    "heads that do not divide the width": [("set", KEY + "attention.head_count", u32(3))],
    "block_count a text": [("set", KEY + "block_count", files.meta_bytes("1"))],
    "block_count 2^31": [("set", KEY + "block_count", u32(2 ** 31))], "block_count 4096": [("set", KEY + "block_count", u32(4096))],
    "context 2^31": [("set", KEY + "context_length", u32(2 ** 31))], "context 0": [("set", KEY + "context_length", u32(0))],
    "rope width odd": [("set", KEY + "rope.dimension_count", u32(63))],
    "rope width too large": [("set", KEY + "rope.dimension_count", u32(1 << 20))],
    "eps 0": [("set", KEY + "attention.layer_norm_rms_epsilon", files.meta_bytes(0.0))],
    "eps NaN": [("set", KEY + "attention.layer_norm_rms_epsilon", files.meta_bytes(float("nan")))],
    "theta infinite": [("set", KEY + "rope.freq_base", files.meta_bytes(float("inf")))],
    "architecture missing": [("drop", "general.architecture")],
    "architecture of control characters": [("set", "general.architecture", files.meta_bytes("\x1b[31m\n\nx"))],
    "architecture with a zero behind it": [("set", "general.architecture", files.meta_bytes("bitnet-b1.58\0"))],
    "architecture unknown": [("set", "general.architecture", files.meta_bytes("mamba"))],
    "shape that contradicts": [("tensor", Q, SHAPE, [64, 128]), ("tensor", Q, DATA, GOOD[:64 * 32] + GOOD[-32:])],
    "width that contradicts": [("set", KEY + "embedding_length", u32(256))],
    "I2_S code 3": [("tensor", Q, DATA, b"\xff" * (128 * 32) + GOOD[-32:])],
    "I2_S without a scale": [("tensor", "blk.0.ffn_down.weight", DATA, GOOD[:128 * 32])],
    "I2_S scale NaN": [("tensor", Q, DATA, GOOD[:128 * 32] + struct.pack("<f", float("nan")) + bytes(28))],
    "a tensor missing": [("remove", Q)], "a norm missing": [("remove", "blk.0.ffn_sub_norm.weight")],
    "types of tokens too few": [("set", "tokenizer.ggml.token_type", array(5, 3, bytes(12)))],
    "scores too few": [("set", "tokenizer.ggml.scores", array(6, 3, bytes(12)))],
    "tokens of the wrong type": [("set", TOKENS, array(4, 259, bytes(4 * 259)))],
    "tokens no array": [("set", TOKENS, u32(5))],
    "more tokens than rows": [("tensor", "token_embd.weight", SHAPE, [100, 128]), ("tensor", "token_embd.weight", DATA, bytes(100 * 512))],
    "bos beyond the vocabulary": [("set", "tokenizer.ggml.bos_token_id", u32(100000))],
    "token <0x-1>": [("set", TOKENS, array(8, 259, b"".join(files.text_bytes("<0x-1>" if i == 40 else t) for i, t in
                                                            enumerate(vocabulary()[TOKENS]))))],
    "tokenizer unknown": [("set", "tokenizer.ggml.model", files.meta_bytes("wordpiece"))],
    "pre-tokenizer unknown": [("set", "tokenizer.ggml.model", files.meta_bytes("gpt2")), ("set", "tokenizer.ggml.pre", files.meta_bytes("smaug-bpe"))],
    "pre-tokenizer no text": [("set", "tokenizer.ggml.pre", u32(1))],
    "eos -1": [("set", "tokenizer.ggml.eos_token_id", struct.pack("<ii", 5, -1))],
    "eot beyond the vocabulary": [("set", "tokenizer.ggml.eot_token_id", u32(100000))],
    "a scale for each column": [("add", "blk.0.attn_q.scale", [128], bytes(512))],
    "a scale NaN": [("add", "blk.0.attn_q.scale", [1], struct.pack("<f", float("nan")))],
    "a norm NaN": [("tensor", "output_norm.weight", DATA, struct.pack("<f", float("nan")) * 128)],
}


def case_gguf(steps, name):
    def case(g):
        f = Gguf()
        change(*steps)(f)
        path = models.path("hostile.gguf")
        with open(path, "wb") as file:
            file.write(f.bytes())
        return problems(path, in_weights=name == "I2_S code 3")
    return case


def case_n_dims(g):
    """The number of axes, which the writer above cannot lie about."""
    data = Gguf().bytes()
    at = data.index(Q.encode()) + len(Q)
    path = models.path("dims.gguf")
    with open(path, "wb") as file:
        file.write(data[:at] + struct.pack("<I", 0xFFFFFFFF) + data[at + 4:])
    return problems(path)


def case_truncated(g):
    data = Gguf().bytes()
    cut = g.pick([0, 1, 4, 8, 16, 23, 24, 25, g.int(0, 3000), g.int(0, len(data) - 64), g.int(0, len(data) - 64), len(data) - 64])
    path = models.path("short.gguf")
    with open(path, "wb") as file:
        file.write(data[:cut])
    return problems(path)


def case_valid(g):
    return problems(valid_model(), accepted=True)


# ---- safetensors -----------------------------------------------------------------------------------------------

def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def hf_folder(name):
    w = Weights(Shape("B", layers=1, width=64, heads=2, kv_heads=1, ff=64, vocabulary=300, context=32), np.random.default_rng(1))
    return models.write_packed(name, w, {"linear_class": "autobitlinear"}, False, 1)


def with_header(text, data=b"", length=None):
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype="F32", shape=(2,), begin=0, end=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


HEADERS = {
    "empty": b"", "short": b"\x08\0\0", "length 0": with_header(b"", length=0), "length 2^63": with_header(b"{}", length=2 ** 63),
    "length over 100 MB": with_header(b"{}", length=100000001), "length over the file": with_header(b"{}", length=1000),
    "overlap": with_header({"a": entry(), "b": entry(begin=4, end=12)}, bytes(12)),
    "hole": with_header({"a": entry(), "b": entry(begin=16, end=24)}, bytes(24)),
    "trailing bytes": with_header({"a": entry()}, bytes(9)), "end before begin": with_header({"a": entry(begin=8, end=0)}, bytes(8)),
    "a key twice": with_header(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
    "metadata no text": with_header({"__metadata__": {"x": 1}, "a": entry()}, bytes(8)),
    "leading blank": with_header(b' {"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
    "shape that wraps": with_header({"a": entry(shape=(2 ** 62, 8))}, bytes(8)), "size that contradicts": with_header({"a": entry(shape=(3,))}, bytes(8)),
    "negative shape": with_header({"a": entry(shape=(-2,))}, bytes(8)), "unknown type": with_header({"a": entry("F7")}, bytes(8)),
    "100,000 tensors": with_header({"t%06d" % i: entry(shape=(0,), end=0) for i in range(100000)}),
    "100,000 brackets": with_header(b"{" + b'"a":' + b"[" * 100000), "lone surrogate": with_header(b'{"\\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
    "number out of range": with_header(b'{"a":{"dtype":"F32","shape":[99999999999999999999999],"data_offsets":[0,8]}}', bytes(8)),
    "no JSON": with_header(b"{nonsense}"),
    "4 million axes": with_header(b'{"a":{"dtype":"F32","shape":[' + b"0," * 4000000 + b'0],"data_offsets":[0,0]}}'),
    "a value of 8 MB": with_header(b'{"a":[' + b"0," * 4000000 + b"0]}"),
    "a key of 8 MB": with_header(b'{"' + b"a" * 8000000 + b'":{}}'),
    "200,000 metadata": with_header(b'{"__metadata__":{' + b",".join(b'"k%06d":"%s"' % (i, b"v" * 40) for i in range(200000)) + b"}}"),
    "two metadata": with_header(b'{"__metadata__":{},"__metadata__":{},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
    "metadata twice": with_header(b'{"__metadata__":{"x":"1","x":"2"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
}
INDICES = {"parent folder": "../x.safetensors", "absolute": "/etc/passwd", "link": "link.safetensors", "absent": "absent.safetensors",
           "folder": "."}


def case_header(name):
    def case(g):
        path = models.path("hostile.safetensors")
        write(path, HEADERS[name])
        return problems(path)
    return case


def case_index(name):
    def case(g):
        folder = hf_folder("sharded")
        os.rename(os.path.join(folder, "model.safetensors"), os.path.join(models.state["folder"], "x.safetensors"))
        os.symlink("../x.safetensors", os.path.join(folder, "link.safetensors"))
        write(os.path.join(folder, "model.safetensors.index.json"),
              json.dumps({"weight_map": {"model.embed_tokens.weight": INDICES[name]}}).encode())
        return problems(folder)
    return case


# ---- JSON ------------------------------------------------------------------------------------------------------

TEXTS = {"brackets": b"[" * 100000, "objects": b'{"a":' * 100000, "lone surrogate": b'{"a": "\\ud800"}', "range": b'{"hidden_size": 1e999}',
         "key twice": b'{"a": 1, "a": 2}', "garbage behind": b'{} x', "empty": b"", "not UTF-8": b'{"a": "\xff"}', "list": b"[]",
         "large number": b'{"hidden_size": 123456789012345678901234567890}'}


def case_json(file, name):
    def case(g):
        folder = hf_folder("json")
        write(os.path.join(folder, file), TEXTS[name])
        return problems(folder)
    return case


def case_large_config(g):
    """What stands beside the template is not looked at, however much it is."""
    root = os.environ.get("TERN_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    folder, text = hf_folder("template"), b'{"x":[' + b"0," * 4000000 + b'0],"chat_template":"[INST] <<SYS>>"}'
    shutil.copy(os.path.join(root, "tests", "model", "tokenizers", "llama-2.json"), os.path.join(folder, "tokenizer.json"))
    write(os.path.join(folder, "tokenizer_config.json"), text)
    status, said, seconds, memory = measure(["tokenize", "--tokenizer", os.path.join(folder, "tokenizer.json"), "--chat", "auto", "-p", "x"])
    large = too_much(memory, len(text))
    return "%d, %r, %.1f s, %d bytes" % (status, said, seconds, memory) if status or said or large else None


def case_many_tokens(count):
    """As many tokens as there may be, and more: the tables that they make stay within the bounds."""
    def case(g):
        return tokenizer_problems(write_tokens("gpt2", ("%x" % i for i in range(count))), "-m")
    return case


def write_tokens(model, texts):
    """A GGUF file with a vocabulary and nothing else."""
    tokens = [files.text_bytes(text) for text in texts]
    metas = {"general.architecture": files.meta_bytes("llama"), "tokenizer.ggml.model": files.meta_bytes(model),
             TOKENS: array(8, len(tokens), b"".join(tokens))}
    path = models.path("tokens.gguf")
    write(path, b"GGUF" + struct.pack("<IQQ", 3, 0, len(metas)) + b"".join(files.text_bytes(k) + v for k, v in metas.items()))
    return path


def tokenizer_problems(path, option, refused=False):
    status, said, seconds, memory = measure(["tokenize", option, path, "-p", "5"])
    large = too_much(memory, os.path.getsize(path))
    fails = status not in (0, 1) or (status == 1) != bool(said) or said.count("\n") > 1 or (refused and not status)
    return "%d, %r, %.1f s, %d bytes" % (status, said, seconds, memory) \
        if fails or large else None


def runs_of(letter, length, count):
    """Tokens whose every beginning is a token too."""
    return [letter * k for k in range(1, length)] + [letter * (length - 9) + "%09d" % i for i in range(count)]


def both_runs(count):
    """Tokens whose every cut is between tokens."""
    side = int(count ** 0.5)
    return ["a" * i + "b" * (k - i) for k in range(1, 2 * side) for i in range(max(0, k - side), min(k, side) + 1)]


LONG_TOKENS = {
    "too long to cut": (lambda: runs_of("a", 1024, 15500), True),
    "as long as can be cut": (lambda: runs_of("a", 256, 16000), False),
    "too many to cut": (lambda: runs_of("a", 64, 240000), True),
    "short": (lambda: runs_of("a", 64, 65000), False),
    "made of each other": (lambda: both_runs(16000), True),
    "made of each other, fewer": (lambda: both_runs(6000), False),
}


def case_long_tokens(name, model):
    """Without merges every cut of a token is looked at."""
    def case(g):
        make, refused = LONG_TOKENS[name]
        return tokenizer_problems(write_tokens(model, make()), "-m", refused)
    return case


def case_large_bin(blanks, count):
    """Blanks become three bytes each in memory."""
    def case(g):
        path = models.path("tokenizer.bin")
        write(path, struct.pack("<i", blanks) + (struct.pack("<fi", 0, blanks) + b" " * blanks) * count)
        return tokenizer_problems(path, "--tokenizer", refused=True)
    return case


def case_many_strings(g):
    """Metadata that nobody needs go through a conversion in pieces. It maps two files: the new one is read again, to prove it."""
    f = Gguf()
    f.set("notes", array(8, 8000000, bytes(8 * 8000000)))
    data, out = f.bytes(), models.path("converted.gguf")
    path, size = models.path("strings.gguf"), len(data)
    write(path, data)
    status, said, seconds, memory = measure(["convert", path, out])
    if status or said or too_much(memory, size + os.path.getsize(out)):
        return "%d, %r, %.1f s, %d bytes of memory for %d" % (status, said, seconds, memory, size)
    return None if abs(os.path.getsize(out) - size) < 4096 else "%d bytes became %d" % (size, os.path.getsize(out))


def all_cases():
    cases = [("valid", 0, case_valid), ("gguf", 0, case_n_dims)]
    cases += [("tokens", i, case_many_tokens(count)) for i, count in enumerate((300000, 300001, 1 << 20))]
    cases += [("tokens", 10 + i, case_long_tokens(name, model)) for i, (name, model) in
              enumerate((name, model) for name in LONG_TOKENS for model in ("llama", "gpt2"))]
    cases += [("tokens", 100 + i, case_large_bin(*how)) for i, how in enumerate(((1024, 60000), (340, 40000), (1024, 17000)))]
    cases += [("strings", 0, case_many_strings)]
    cases += [("gguf", i + 1, case_gguf(steps, name)) for i, (name, steps) in enumerate(GGUF_CASES.items())]
    cases += [("truncated", i, case_truncated) for i in range(24)]
    cases += [("safetensors", i, case_header(name)) for i, name in enumerate(HEADERS)]
    cases += [("safetensors", 100 + i, case_index(name)) for i, name in enumerate(INDICES)]
    cases += [("json", 100, case_large_config)]
    names = [(file, name) for file in ("config.json", "tokenizer.json") for name in TEXTS]
    return cases + [("json", i, case_json(*pair)) for i, pair in enumerate(names)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tern-hostile-") as folder:
        models.state["folder"] = folder
        harness.main(all_cases())
