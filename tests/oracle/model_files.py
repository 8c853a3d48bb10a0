"""Writers of model files in NumPy, independent of the library: GGUF, safetensors (one file or several), llama2.c, and the
encodings of weights inside them. Each encoder takes values and returns (bytes, the values that the bytes mean).
"""
import json
import os
import struct

import numpy as np

GGUF_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14, "BF16": 30, "TQ1_0": 34, "TQ2_0": 35,
              "I2_S": 36}
TERNARY = ["I2_S", "TQ2_0", "TQ1_0"]


# ---- floats ----------------------------------------------------------------------------------------------------

def bf16_bits(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode_floats(kind, x):
    """F32, F16 and BF16."""
    if kind == "BF16":
        bits = bf16_bits(x)
        return bits.tobytes(), bf16_values(bits)
    stored = np.asarray(x, np.float32 if kind == "F32" else np.float16)
    return stored.tobytes(), stored.astype(np.float32)


# ---- blocks ----------------------------------------------------------------------------------------------------

def encode_q8_0(x):
    blocks = x.reshape(-1, 32)
    d = (np.abs(blocks).max(1) / 127).astype(np.float16)
    wide = d.astype(np.float32)[:, None]
    q = np.rint(np.divide(blocks, wide, out=np.zeros_like(blocks), where=wide != 0)).clip(-127, 127).astype(np.int8)
    data = np.concatenate([d[:, None].view(np.uint8), q.view(np.uint8)], 1)
    return data.tobytes(), (q * wide).reshape(x.shape).astype(np.float32)


def encode_q4_0(x):
    """Element j of a block in the low half of byte j, j + 16 in the high half."""
    blocks = x.reshape(-1, 32)
    d = (np.abs(blocks).max(1) / 8).astype(np.float16)
    wide = d.astype(np.float32)[:, None]
    q = (np.rint(np.divide(blocks, wide, out=np.zeros_like(blocks), where=wide != 0)) + 8).clip(0, 15).astype(np.uint8)
    data = np.concatenate([d[:, None].view(np.uint8), q[:, :16] | q[:, 16:] << 4], 1)
    return data.tobytes(), ((q.astype(np.float32) - 8) * wide).reshape(x.shape)


def draw_q4_k(rng, shape):
    """Random bytes and what they mean: eight pairs of a 6-bit scale and minimum in 12 bytes, halves of 64 at a time."""
    n = int(np.prod(shape)) // 256
    d, m = (rng.uniform(0.5, 1, (n, 1)) * 2e-4).astype(np.float16), (rng.uniform(0.5, 1, (n, 1)) * 1e-3).astype(np.float16)
    packed, qs = rng.integers(0, 256, (n, 12), dtype=np.uint8), rng.integers(0, 256, (n, 128), dtype=np.uint8)
    out = np.zeros((n, 256), np.float32)
    for j in range(8):
        if j < 4:
            scale, least = packed[:, j] & 63, packed[:, j + 4] & 63
        else:
            scale = (packed[:, j + 4] & 15) | (packed[:, j - 4] >> 6) << 4
            least = (packed[:, j + 4] >> 4) | (packed[:, j] >> 6) << 4
        part = qs[:, 32 * (j // 2):32 * (j // 2) + 32] >> 4 * (j % 2) & 15
        out[:, 32 * j:32 * j + 32] = (d.astype(np.float32) * scale[:, None]) * part - m.astype(np.float32) * least[:, None]
    data = np.concatenate([d.view(np.uint8), m.view(np.uint8), packed, qs], 1)
    return data.tobytes(), out.reshape(shape)


def draw_q6_k(rng, shape):
    """Random bytes and what they mean: low halves, upper pairs of bits, sixteen int8 scales, f16 d."""
    n = int(np.prod(shape)) // 256
    low, high = rng.integers(0, 256, (n, 128), dtype=np.uint8), rng.integers(0, 256, (n, 64), dtype=np.uint8)
    scales, d = rng.integers(-128, 128, (n, 16)).astype(np.int8), (rng.uniform(0.5, 1, (n, 1)) * 5e-5).astype(np.float16)
    out = np.zeros((n, 256), np.float32)
    for half in range(2):
        for quarter in range(4):
            nibbles = low[:, 64 * half + 32 * (quarter % 2):][:, :32] >> 4 * (quarter // 2) & 15
            bits = high[:, 32 * half:32 * half + 32] >> 2 * quarter & 3
            q = (nibbles | bits << 4).astype(np.int32) - 32
            scale = np.repeat(scales[:, 8 * half + 2 * quarter:][:, :2], 16, axis=1).astype(np.float32)
            out[:, 128 * half + 32 * quarter:][:, :32] = d.astype(np.float32) * scale * q
    data = np.concatenate([low, high, scales.view(np.uint8), d.view(np.uint8)], 1)
    return data.tobytes(), out.reshape(shape)


# ---- ternary ---------------------------------------------------------------------------------------------------

def encode_i2_s(codes, scale):
    """128 elements in 32 bytes: element 32 g + l in byte l, the first group in the top bits; the scale behind all of them."""
    groups = (codes.reshape(-1, 4, 32) + 1).astype(np.uint8)
    packed = groups[:, 0] << 6 | groups[:, 1] << 4 | groups[:, 2] << 2 | groups[:, 3]
    return packed.tobytes() + struct.pack("<f", scale) + bytes(28)


def encode_tq2_0(codes, scale):
    """256 elements in 64 bytes and an f16: twice 32 bytes, the first group in the low bits."""
    groups = (codes.reshape(-1, 2, 4, 32) + 1).astype(np.uint8)
    packed = groups[:, :, 0] | groups[:, :, 1] << 2 | groups[:, :, 2] << 4 | groups[:, :, 3] << 6
    d = np.full((packed.shape[0], 1), scale, np.float16)
    return np.concatenate([packed.reshape(-1, 64), d.view(np.uint8)], 1).tobytes()


def encode_tq1_0(codes, scale):
    """Five digits to the base of 3 in a byte, the first the most significant, as a fraction of 256."""
    digits = (codes.reshape(-1, 256) + 1).astype(np.int64)

    def put(part, count, width):
        places = part.reshape(-1, count, width)
        q = sum(places[:, n] * 3 ** (4 - n) for n in range(count))
        return ((q * 256 + 242) // 243).astype(np.uint8)
    d = np.full((digits.shape[0], 1), scale, np.float16)
    return np.concatenate([put(digits[:, :160], 5, 32), put(digits[:, 160:240], 5, 16), put(digits[:, 240:], 4, 4),
                           d.view(np.uint8)], 1).tobytes()


def pack_rows(codes):
    """Hugging Face's: with R = rows / 4 (up), byte (r, k) has rows r, r + R, r + 2R, r + 3R from the low bits on."""
    rows, columns = codes.shape
    quarter = -(-rows // 4)
    padded = np.zeros((4 * quarter, columns), np.uint8)
    padded[:rows] = codes + 1
    planes = padded.reshape(4, quarter, columns)
    return planes[0] | planes[1] << 2 | planes[2] << 4 | planes[3] << 6


# ---- containers ------------------------------------------------------------------------------------------------

def text_bytes(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def meta_bytes(value):
    if isinstance(value, bool):
        return struct.pack("<i?", 7, value)
    if isinstance(value, int):
        return struct.pack("<iI", 4, value)
    if isinstance(value, float):
        return struct.pack("<if", 6, value)
    if isinstance(value, str):
        return struct.pack("<i", 8) + text_bytes(value)
    first = value[0]
    element = 8 if isinstance(first, str) else 6 if isinstance(first, float) else 5
    out = struct.pack("<iiQ", 9, element, len(value))
    for item in value:
        out += text_bytes(item) if element == 8 else struct.pack("<f" if element == 6 else "<i", item)
    return out


def write_gguf(path, meta, tensors, version=3, alignment=32):
    """tensors: [(name, shape outermost first, type, bytes)]."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(meta))
    for key, value in meta.items():
        out += text_bytes(key) + meta_bytes(value)
    offset, data = 0, b""
    for name, shape, kind, raw in tensors:
        out += text_bytes(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in reversed(shape))
        out += struct.pack("<iQ", GGUF_TYPES[kind], offset)
        padded = raw + bytes(-len(raw) % alignment)
        data += padded
        offset += len(padded)
    out += bytes(-len(out) % alignment)
    with open(path, "wb") as file:
        file.write(out + data)


def write_safetensors(path, tensors):
    """tensors: [(name, shape, dtype, bytes)]."""
    header, data = {}, b""
    for name, shape, dtype, raw in tensors:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_hf(folder, config, tensors, parts=1):
    """A folder as people download it: config.json, and the tensors in one file or in several with an index."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    if parts == 1:
        write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
        return
    index = {}
    for i in range(parts):
        name = "model-%05d-of-%05d.safetensors" % (i + 1, parts)
        mine = tensors[i::parts]
        write_safetensors(os.path.join(folder, name), mine)
        index.update({t[0]: name for t in mine})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": sum(len(t[3]) for t in tensors)}, "weight_map": index}, file)


def write_llama2c(path, numbers, arrays):
    """numbers: dim, hidden, layers, heads, kv heads, vocabulary (negative: a head of its own), context."""
    with open(path, "wb") as file:
        file.write(struct.pack("<7i", *numbers))
        for array in arrays:
            file.write(np.ascontiguousarray(array, np.float32).tobytes())


def llama2c_groups(values, group):
    """int8 and a scale for each group of a whole matrix, as version 2 has them; and what they mean."""
    parts = values.reshape(-1, group).astype(np.float32)
    scales = np.maximum(np.abs(parts).max(1, keepdims=True), 1e-9).astype(np.float32) / np.float32(127)
    codes = np.rint(parts / scales).astype(np.int8)
    return codes.tobytes() + scales.tobytes(), (codes * scales).astype(np.float32).reshape(values.shape)


def write_llama2c_new(path, version, numbers, tied, group, vectors, matrices):
    """Versions 1 and 2: numbers with a positive vocabulary; `matrices` are bytes in version 2, arrays in version 1."""
    with open(path, "wb") as file:
        head = struct.pack("<Ii7iB", 0x616b3432, version, *numbers, tied) + (struct.pack("<i", group) if version == 2 else b"")
        file.write(head + bytes(256 - len(head)))
        for array in vectors:
            file.write(np.ascontiguousarray(array, np.float32).tobytes())
        for matrix in matrices:
            file.write(matrix if version == 2 else np.ascontiguousarray(matrix, np.float32).tobytes())
