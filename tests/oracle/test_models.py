#!/usr/bin/env python3
"""Language models: files made here, in every encoding, run by Tern and compared with transformer.py.

What Tern computes must be the definition's logits, and the test must be one that would notice: for each case the mistakes
that engines are known to make (transformer.py calls them traps) are computed too, and have to be far away.

  gguf        families A, B, C and LLaMA; ternary and other types; types of tables and heads
  blocks      TQ types with scales that differ from block to block
  floats      ternary weights as floats, with and without a scale in a tensor of its own
  packed      safetensors with packed codes; weight_scale that multiplies and that divides; parts with an index
  online      master weights ternarised when loaded
  llama_hf    LLaMA as safetensors, a tied head that the file has all the same
  llama2c     llama2.c, tied and not
  rounding    activations that lie half-way between two codes
  zero        a token whose embedding is zero
  range       feed-forward values that f16 cannot hold
  activations rows that a value dwarfs
  threads     the same bits with one thread and with two
  isa         each instruction set
  refused     files that say too little, or contradict themselves
"""
import copy
import os
import shutil
import subprocess
import tempfile

import numpy as np

import harness
import model_files as files
import tern
from tern import Error
from transformer import LINEARS, Shape, Weights, forward, nmse, quantise, ternarise

MOST = 1e-9                 # NMSE of the logits of any row: f32 against f64
LEAST_OF_TRAPS = 100 * MOST # of some row, for a mistake that a test can see

HF_NAMES = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
            "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
HF_SUB_NORMS = {"A": {"attn_sub_norm": "self_attn.inner_attn_ln", "ffn_sub_norm": "mlp.ffn_layernorm"},
                "B": {"attn_sub_norm": "self_attn.attn_sub_norm", "ffn_sub_norm": "mlp.ffn_sub_norm"}}
GGUF_ARCHITECTURE = {"A": "bitnet", "B": "bitnet-b1.58", "C": "llama", "llama": "llama"}
state = {}


def setup():
    state["ctx"] = tern.Ctx(1)


def path(name):
    full = os.path.join(state["folder"], name)
    shutil.rmtree(full, ignore_errors=True)
    if os.path.exists(full):
        os.remove(full)
    return full


# ---- files -----------------------------------------------------------------------------------------------------

def neighbours(w, rows):
    """Rows of q or k in the order for rotated neighbours: (head, half, place) to (head, place, half)."""
    return np.arange(rows).reshape(-1, 2, w.shape.head_width // 2).transpose(0, 2, 1).reshape(-1)


def ordered(w, name, matrix):
    """As GGUF's LLaMA and llama2.c have it."""
    return matrix[neighbours(w, matrix.shape[0])] if name in ("attn_q", "attn_k") else matrix


def unordered(w, name, matrix):
    return matrix[np.argsort(neighbours(w, matrix.shape[0]))] if name in ("attn_q", "attn_k") else matrix


def gguf_meta(s, architecture, **more):
    meta = {"general.architecture": architecture, "general.file_type": 2}
    keys = {"block_count": s.layers, "embedding_length": s.width, "feed_forward_length": s.ff, "context_length": s.context,
            "attention.head_count": s.heads, "attention.head_count_kv": s.kv_heads, "rope.freq_base": float(s.theta),
            "attention.layer_norm_rms_epsilon": float(s.eps), "vocab_size": s.vocabulary,
            "rope.dimension_count": s.head_width}
    if s.attended != s.width:
        keys.update({"attention.key_length": s.head_width, "attention.value_length": s.head_width})
    meta.update({architecture + "." + key: value for key, value in keys.items()})
    meta.update(more)
    return meta


def encode_matrix(rng, kind, values):
    """(bytes, values) of a table, head or LLaMA's matrix."""
    if kind in ("F32", "F16", "BF16"):
        return files.encode_floats(kind, values)
    if kind in ("Q8_0", "Q4_0"):
        return (files.encode_q8_0 if kind == "Q8_0" else files.encode_q4_0)(values)
    return (files.draw_q4_k if kind == "Q4_K" else files.draw_q6_k)(rng, values.shape)


def encode_ternary(kind, codes, scale):
    encoder = {"I2_S": files.encode_i2_s, "TQ2_0": files.encode_tq2_0, "TQ1_0": files.encode_tq1_0}[kind]
    return encoder(codes, scale)


def write_gguf(name, w, rng, kind="I2_S", table="F16", head="F16", architecture=None, own_scale=False, meta=None,
               **how):
    """Writes w, and makes it what the file means: types round. Layers come in the order of their names, as files of others
    have them."""
    s = w.shape
    architecture = architecture or GGUF_ARCHITECTURE[s.family]
    raw, w.embedding = encode_matrix(rng, table, w.embedding)
    tensors = [("token_embd.weight", w.embedding.shape, table, raw)]
    if not s.tied:
        raw, w.head = encode_matrix(rng, head, w.head)
        tensors.append(("output.weight", w.head.shape, head, raw))
    tensors.append(("output_norm.weight", w.output_norm.shape, "F32", w.output_norm.tobytes()))
    for layer in sorted(range(s.layers), key=str):
        for (at, norm), values in w.norms.items():
            if at == layer:
                tensors.append(("blk.%d.%s.weight" % (layer, norm), values.shape, "F32", values.tobytes()))
        for linear in reversed(LINEARS):
            stem, weight = "blk.%d.%s" % (layer, linear), w.linears[layer, linear]
            permuted = (lambda m: ordered(w, linear, m)) if architecture == "llama" else (lambda m: m)
            if not s.ternary:
                raw, values = encode_matrix(rng, kind, permuted(weight))
                restored = np.empty_like(values)
                if linear in ("attn_q", "attn_k"):
                    restored[neighbours(w, values.shape[0])] = values
                w.linears[layer, linear] = restored if linear in ("attn_q", "attn_k") else values
            elif kind in files.TERNARY:
                scale = permuted(weight[1]).reshape(-1, 1) if np.ndim(weight[1]) else weight[1]
                raw = encode_ternary(kind, permuted(weight[0]), 1.0 if own_scale else scale)
            else:
                scale = np.float32(1) if own_scale else weight[1]
                raw, _ = files.encode_floats(kind, permuted(weight[0]) * scale)
            tensors.append((stem + ".weight", s.linear_shape(linear), kind, raw))
            if own_scale:
                tensors.append((stem + ".scale", (1,), "F32", np.float32(weight[1]).tobytes()))
    full = path(name)
    alignment = {"general.alignment": how["alignment"]} if "alignment" in how else {}
    files.write_gguf(full, gguf_meta(s, architecture, **alignment, **(meta or {})), tensors, **how)
    return full


def hf_config(s, quantisation=None, **more):
    kind = {"A": "llama", "B": "bitnet"}.get(s.family, "llama")
    config = {"architectures": [{"A": "BitnetForCausalLM", "B": "BitNetForCausalLM"}.get(s.family, "LlamaForCausalLM")],
              "model_type": kind, "hidden_act": s.act, "hidden_size": s.width, "intermediate_size": s.ff,
              "num_hidden_layers": s.layers, "num_attention_heads": s.heads, "num_key_value_heads": s.kv_heads,
              "max_position_embeddings": s.context, "rms_norm_eps": s.eps, "rope_theta": s.theta,
              "vocab_size": s.vocabulary, "tie_word_embeddings": s.tied}
    if quantisation is not None:
        config["quantization_config"] = dict({"quant_method": "bitnet"}, **quantisation)
    if s.attended != s.width:
        config["head_dim"] = s.head_width
    config.update(more)
    return config


def hf_common(w, kind="BF16"):
    """The table, the head and the norms; rounds w to what the file means."""
    s = w.shape
    raw, w.embedding = files.encode_floats(kind, w.embedding)
    tensors = [("model.embed_tokens.weight", w.embedding.shape, kind, raw)]
    if not s.tied:
        raw, w.head = files.encode_floats(kind, w.head)
        tensors.append(("lm_head.weight", w.head.shape, kind, raw))
    raw, w.output_norm = files.encode_floats(kind, w.output_norm)
    tensors.append(("model.norm.weight", w.output_norm.shape, kind, raw))
    names = dict(HF_NAMES, **HF_SUB_NORMS.get(s.family, {}))
    for (layer, norm), values in list(w.norms.items()):
        raw, w.norms[layer, norm] = files.encode_floats(kind, values)
        tensors.append(("model.layers.%d.%s.weight" % (layer, names[norm]), values.shape, kind, raw))
    return tensors


def hf_linear(layer, linear, last):
    return "model.layers.%d.%s.%s" % (layer, HF_NAMES[linear], last)


def hf_floats(w, kind="F32"):
    tensors = []
    for (layer, linear), matrix in list(w.linears.items()):
        raw, w.linears[layer, linear] = files.encode_floats(kind, matrix)
        tensors.append((hf_linear(layer, linear, "weight"), matrix.shape, kind, raw))
    return tensors


def write_packed(name, w, quantisation, divides, parts=1):
    tensors = hf_common(w)
    for (layer, linear), (codes, scale) in list(w.linears.items()):
        stored = files.bf16_bits(np.float32([1 / scale if divides else scale]))
        meant = files.bf16_values(stored)[0]
        w.linears[layer, linear] = (codes, np.float32(1) / meant if divides else meant)
        packed = files.pack_rows(codes)
        tensors.append((hf_linear(layer, linear, "weight"), packed.shape, "U8", packed.tobytes()))
        tensors.append((hf_linear(layer, linear, "weight_scale"), (1,), "BF16", stored.tobytes()))
    full = path(name)
    files.write_hf(full, hf_config(w.shape, quantisation), tensors, parts)
    return full


# ---- comparing -------------------------------------------------------------------------------------------------

def run(full, tokens, ctx=None):
    model = tern.Model(ctx or state["ctx"], full)
    try:
        return model.logits(tokens)
    finally:
        model.free()


def draw_tokens(g, w, among=None, meant=0):
    """Tokens for which f32 and f64 take the same codes everywhere, so that what is compared is the arithmetic. The first
    `meant` products have activations that lie half-way on purpose."""
    for _ in range(200):
        tokens, doubts = g.rng.integers(0, w.shape.vocabulary, g.int(4, 9)), []
        if among is not None:
            tokens[g.int(1, 2)] = among
        forward(w, tokens, doubts=doubts)
        if not any(doubts[meant:]):
            return tokens
    raise AssertionError("all tokens lead to activations that are in doubt")


def problems(full, w, tokens, traps):
    expected = forward(w, tokens)
    got = run(full, tokens)
    if not np.isfinite(got).all():
        return "logits are not finite"
    rows, found = [nmse(a, b) for a, b in zip(got, expected)], []
    if max(rows) > MOST:
        found.append("NMSE %.2e in row %d, at most %.0e" % (max(rows), np.argmax(rows), MOST))
        found += ["  it computes the mistake '%s'" % trap for trap in traps if nmse(got, forward(w, tokens, [trap])) < MOST]
    for trap in traps:
        error = max(nmse(a, b) for a, b in zip(forward(w, tokens, [trap]), expected))
        if not error > LEAST_OF_TRAPS:
            found.append("the mistake '%s' makes a difference of %.1e only: this case would not see it" % (trap, error))
    return found


def traps_of(s, *more):
    traps = ["activation", "rope-pairs", "head-groups"] + list(more)
    traps += ["no-sub-norms", "sub-norm-per-head"] if s.sub_norms else []
    traps += ["inverse-scale"] if s.ternary else []
    traps += [] if s.tied else ["head"]
    traps += ["theta"] if s.theta > 100000 else []
    return traps


def draw_shape(g, family, **how):
    heads, kv_heads = g.pick([(4, 2), (8, 2), (8, 4)])
    how = dict(dict(width=256, heads=heads, kv_heads=kv_heads, ff=g.pick([256, 512]), layers=g.pick([1, 2]),
                    theta=g.pick([10000.0, 500000.0]), tied=g.chance(0.5)), **how)
    return Shape(family, **how)


# ---- cases -----------------------------------------------------------------------------------------------------

def case_gguf(family, kind, table, head, architecture=None, **how):
    def case(g):
        s = draw_shape(g, family, tied=head is None)
        w = Weights(s, g.rng)
        full = write_gguf("model.gguf", w, g.rng, kind, table, head, architecture, **how)
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_heads(family, kind, **how):
    """Heads whose width is said, and is not the model's by their number: more than it together, or fewer, or none divides it."""
    def case(g):
        s = draw_shape(g, family, **how)
        w = Weights(s, g.rng)
        if kind == "packed":
            full = write_packed("heads", w, {"linear_class": "autobitlinear"}, False)
        else:
            full = write_gguf("heads.gguf", w, g.rng, kind)
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_blocks(family, kind, architecture=None):
    """Blocks with scales of their own, a block of zeros among them."""
    def case(g):
        s = draw_shape(g, family, width=g.pick([256, 512]), ff=g.pick([256, 768]))
        w = Weights(s, g.rng)
        for key, (codes, _) in list(w.linears.items()):
            scale = ((1 + g.rng.integers(0, 64, (codes.shape[0], codes.shape[1] // 256)) / 64) / 16).astype(np.float32)
            codes[g.int(0, codes.shape[0] - 1), :256] = 0
            w.linears[key] = codes, scale
        full = write_gguf("blocks.gguf", w, g.rng, kind, architecture=architecture)
        tokens = draw_tokens(g, w)
        one, two = run(full, tokens), run(full, tokens, tern.Ctx(2, "baseline"))
        if nmse(one, two) > MOST:
            return "two threads of the baseline: NMSE %.2e" % nmse(one, two)
        return problems(full, w, tokens, traps_of(s, "one-scale"))
    return case


def case_floats(family, kind, own_scale):
    def case(g):
        s = draw_shape(g, family)
        w = Weights(s, g.rng)
        full = write_gguf("floats.gguf", w, g.rng, kind, own_scale=own_scale)
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_packed(family, quantisation, divides, parts):
    def case(g):
        # sizes that no block of GGUF would fit, and rows that do not fill four planes
        heads = g.pick([dict(width=96, heads=6, kv_heads=3), dict(width=90, heads=9, kv_heads=3, head_width=22)])
        s = draw_shape(g, family, ff=g.pick([100, 101, 102, 103]), **heads)
        w = Weights(s, g.rng)
        full = write_packed("packed", w, quantisation, divides, parts)
        if parts > 1:
            full = os.path.join(full, g.pick(["", "model.safetensors.index.json"]))
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_online(family, kind, quantisation, parts):
    """Master weights: normally distributed, so that many are far from -s, 0 and +s."""
    def case(g):
        s = draw_shape(g, family, width=96, heads=6, kv_heads=3, ff=100)
        w = Weights(s, g.rng)
        tensors = hf_common(w, kind)
        for (layer, linear), (codes, _) in list(w.linears.items()):
            master = (g.rng.normal(0, 1, codes.shape) * g.rng.uniform(0.02, 0.2)).astype(np.float32)
            raw, master = files.encode_floats(kind, master)
            w.linears[layer, linear] = ternarise(master)
            tensors.append((hf_linear(layer, linear, "weight"), master.shape, kind, raw))
        full = path("online")
        files.write_hf(full, hf_config(s, quantisation), tensors, parts)
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_ternary_masters(family, quantisation, kept):
    """Numbers that are ternary already: as master weights they get the mean of magnitudes for a scale, zeros among them; where the
    configuration says that all was done before, they stay what they are."""
    def case(g):
        s = draw_shape(g, family)
        w = Weights(s, g.rng)
        tensors = hf_common(w)
        other = copy.deepcopy(w)
        for (layer, linear), (codes, _) in list(w.linears.items()):
            raw, master = files.encode_floats("BF16", codes * np.float32(g.rng.uniform(0.02, 0.2)))
            both = (codes, np.abs(master).max()), ternarise(master)
            w.linears[layer, linear], other.linears[layer, linear] = both if kept else both[::-1]
            tensors.append((hf_linear(layer, linear, "weight"), master.shape, "BF16", raw))
        full = path("masters")
        files.write_hf(full, hf_config(s, quantisation), tensors, 1)
        tokens = draw_tokens(g, w)
        if not nmse(forward(other, tokens), forward(w, tokens)) > LEAST_OF_TRAPS:
            return "both scales make the same model: this case would not see a mistake"
        found = problems(full, w, tokens, traps_of(s)) or []
        for name in ("masters.gguf", "again") if "TERN_BIN" in os.environ else ():
            out = path(name)
            if name == "again":
                os.makedirs(out)
                out = os.path.join(out, "model.safetensors")
            subprocess.run([os.environ["TERN_BIN"], "convert", full, out], check=True, capture_output=True)
            found += ["%s: %s" % (name, what) for what in problems(out, w, tokens, traps_of(s)) or []]
        return found
    return case


def case_llama_hf(kind, parts, left_over=False):
    """left_over: a head that is not used, because the configuration says that the table is the head; frequencies of rotation,
    which older files have."""
    def case(g):
        s = draw_shape(g, "llama", width=96, heads=6, kv_heads=3, ff=100, **({"tied": True} if left_over else {}))
        w = Weights(s, g.rng)
        tensors = hf_common(w, kind)
        if left_over:
            raw, _ = files.encode_floats(kind, g.rng.normal(0, 1, w.embedding.shape))
            tensors.append(("lm_head.weight", w.embedding.shape, kind, raw))
            tensors.append(("model.layers.0.self_attn.rotary_emb.inv_freq", (8,), "F32", bytes(32)))
        tensors += hf_floats(w, kind)
        full = path("llama")
        files.write_hf(full, hf_config(s), tensors, parts)
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_llama2c(g):
    s = draw_shape(g, "llama", width=48, heads=6, kv_heads=3, ff=100, theta=10000.0)
    w = Weights(s, g.rng)

    def every(linear):
        return [ordered(w, linear, w.linears[layer, linear]) for layer in range(s.layers)]
    arrays = [w.embedding] + [w.norms[layer, "attn_norm"] for layer in range(s.layers)]
    for linear in ("attn_q", "attn_k", "attn_v", "attn_output"):
        arrays += every(linear)
    arrays += [w.norms[layer, "ffn_norm"] for layer in range(s.layers)]
    for linear in ("ffn_gate", "ffn_down", "ffn_up"):
        arrays += every(linear)
    arrays += [w.output_norm, np.zeros((2, s.context, s.head_width // 2))] + ([] if s.tied else [w.head])
    full = path("model.bin")
    files.write_llama2c(full, [s.width, s.ff, s.layers, s.heads, s.kv_heads, s.vocabulary if s.tied else -s.vocabulary,
                               s.context], arrays)
    return problems(full, w, draw_tokens(g, w), traps_of(s))


def case_llama2c_new(version):
    """With a header of 256 bytes, norms first; int8 in groups that end with rows, or inside of them."""
    def case(g):
        s = draw_shape(g, "llama", width=48, heads=6, kv_heads=3, ff=100, theta=10000.0, vocabulary=64)
        w, group = Weights(s, g.rng), g.pick([1, 4, 8, 16, 48])

        def store(matrix):
            return files.llama2c_groups(matrix, group) if version == 2 else (matrix, matrix)
        raw, w.embedding = store(w.embedding)
        matrices = [raw]
        for linear in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_down", "ffn_up"):
            for layer in range(s.layers):
                raw, meant = store(ordered(w, linear, w.linears[layer, linear]))
                w.linears[layer, linear] = unordered(w, linear, meant)
                matrices.append(raw)
        if not s.tied:
            raw, w.head = store(w.head)
            matrices.append(raw)
        vectors = [w.norms[layer, norm] for norm in ("attn_norm", "ffn_norm") for layer in range(s.layers)] + [w.output_norm]
        full = path("model.bin")
        files.write_llama2c_new(full, version, [s.width, s.ff, s.layers, s.heads, s.kv_heads, s.vocabulary, s.context], s.tied,
                                group, vectors, matrices)
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_rounding(g):
    """Norms of a row of +1 and -1 are the weights themselves: 127, and numbers that end in a half."""
    s = Shape("B", layers=1, eps=1e-30)
    w = Weights(s, g.rng)
    w.embedding = g.rng.choice([-1, 1], w.embedding.shape).astype(np.float32)
    halves = g.rng.integers(0, 127, s.width) + 0.5
    halves[g.int(0, s.width - 1)] = 127
    w.norms[0, "attn_norm"] = halves.astype(np.float32)
    codes, scale = quantise(w.norms[0, "attn_norm"].astype(np.float64)[None])
    if scale[0, 0] != 1 or (codes % 2 != 0).sum() != 1:
        return "the case is not what it says"
    return problems(write_gguf("halves.gguf", w, g.rng, table="F32"), w, draw_tokens(g, w, meant=3), ["round-away"])


def case_zero(g):
    s = draw_shape(g, g.pick(["A", "B", "C"]), tied=False)
    w = Weights(s, g.rng)
    w.embedding[7] = 0
    full = write_gguf("zero.gguf", w, g.rng, table="F32")
    if np.abs(run(full, [7, 7])).max() != 0:
        return "a model without biases makes something of nothing"
    return problems(full, w, draw_tokens(g, w, 7), traps_of(s))


def case_range(g):
    s = draw_shape(g, "B", layers=1)
    w = Weights(s, g.rng, spread=32.0)
    return problems(write_gguf("range.gguf", w, g.rng), w, draw_tokens(g, w), ["half-range"])


def case_activations(g):
    """A row with a value that dwarfs the others leaves these few codes: float activations, or one scale for several rows, are
    far from it."""
    s = draw_shape(g, "B", layers=1)
    w = Weights(s, g.rng)
    w.embedding[:, 0] *= 200 * g.rng.uniform(0.5, 2, s.vocabulary).astype(np.float32)
    w.norms[0, "attn_sub_norm"][0] = 300
    w.norms[0, "ffn_sub_norm"][0] = 300
    return problems(write_gguf("outlier.gguf", w, g.rng, table="F32"), w, draw_tokens(g, w),
                    ["float-activations", "tensor-scale"])


def case_threads(g):
    family = g.pick(["A", "B", "C", "llama"])
    s = draw_shape(g, family)
    w = Weights(s, g.rng)
    full, tokens = write_gguf("threads.gguf", w, g.rng, "Q8_0" if family == "llama" else "I2_S"), draw_tokens(g, w)
    one, two = run(full, tokens), run(full, tokens, tern.Ctx(2))
    return None if one.tobytes() == two.tobytes() else "%d logits differ" % (one != two).sum()


def case_isa(g):
    s = draw_shape(g, "B")
    w = Weights(s, g.rng)
    full, tokens = write_gguf("isa.gguf", w, g.rng), draw_tokens(g, w)
    expected, found = forward(w, tokens), []
    for isa in tern.isa_levels():
        error = nmse(run(full, tokens, tern.Ctx(1, isa)), expected)
        if error > MOST:
            found.append("%s: NMSE %.2e" % (isa, error))
    return found


# ---- refused ---------------------------------------------------------------------------------------------------

def refuse(full, words):
    try:
        run(full, [1, 2])
    except Error as error:
        lacking = [word for word in words if word not in error.message]
        if lacking or "\n" in error.message:
            return "'%s' says nothing of %s" % (error.message, lacking)
        return launder(full) if "TERN_BIN" in os.environ else None
    return "it was accepted"


def launder(full):
    """A model that is refused does not come back as one that is taken: GGUF has no keys for most of what a config.json says."""
    out = path("laundered.gguf")
    made = subprocess.run([os.environ["TERN_BIN"], "convert", full, out], capture_output=True, text=True)
    if made.returncode != 0:
        return None if made.returncode == 1 and not os.path.exists(out) else "convert: %r" % made
    try:
        run(out, [1, 2])
    except Error:
        return None
    return "it was accepted when it had been converted"


def refuse_without_config(g):
    w = Weights(draw_shape(g, "B"), g.rng)
    full = write_packed("bare", w, {"linear_class": "autobitlinear"}, False)
    os.remove(os.path.join(full, "config.json"))
    return refuse(full, ["config.json"])


def refuse_untrained(g):
    """An ordinary model under a BitNet's name."""
    w = Weights(draw_shape(g, "B"), g.rng)
    for key, (codes, _) in list(w.linears.items()):
        w.linears[key] = (g.rng.normal(0, 1, codes.shape).astype(np.float32), np.float32(1))
    return refuse(write_gguf("untrained.gguf", w, g.rng, "F32"), ["not ternary", "blk."])


def refuse_untrained_offline(g):
    """Floats that are said to be ternary already, and are not."""
    s = draw_shape(g, "B", width=96, heads=6, kv_heads=3, ff=100)
    w = Weights(s, g.rng)
    tensors = hf_common(w)
    for (layer, linear), (codes, _) in list(w.linears.items()):
        raw, _ = files.encode_floats("BF16", g.rng.normal(0, 0.1, codes.shape).astype(np.float32))
        tensors.append((hf_linear(layer, linear, "weight"), codes.shape, "BF16", raw))
    full = path("offline")
    files.write_hf(full, hf_config(s, {"linear_class": "autobitlinear", "quantization_mode": "offline"}), tensors, 1)
    return refuse(full, ["not ternary"])


def refuse_lost_norms(g):
    """A BitNet under the name of LLaMA: its sub-norms would be left out."""
    w = Weights(draw_shape(g, "B"), g.rng)
    return refuse(write_gguf("lost.gguf", w, g.rng, architecture="llama"), ["sub_norm"])


def refuse_missing_norms(g):
    w = Weights(draw_shape(g, "C"), g.rng)
    return refuse(write_gguf("missing.gguf", w, g.rng, architecture="bitnet-b1.58"), ["sub_norm"])


def refuse_scaled_positions(g):
    w = Weights(draw_shape(g, "llama"), g.rng)
    full, s = path("scaled"), w.shape
    files.write_hf(full, hf_config(s, rope_scaling={"rope_type": "llama3", "factor": 8.0}), hf_common(w))
    return refuse(full, ["rope.scaling.type"])


def refuse_config(word, family="llama", **more):
    """Entries of config.json that would change the answers."""
    def case(g):
        w = Weights(draw_shape(g, family), g.rng)
        full = path("config")
        files.write_hf(full, hf_config(w.shape, **more), hf_common(w))
        return refuse(full, [word])
    return case


def refuse_gguf(key, value, word=None):
    """The same in GGUF."""
    def case(g):
        w = Weights(draw_shape(g, "llama"), g.rng)
        return refuse(write_gguf("setting.gguf", w, g.rng, "F32", meta={"llama." + key: value}), [word or key])
    return case


def case_settings_that_change_nothing(g):
    """The values that stand for what is done anyway, or for nothing."""
    s = draw_shape(g, "llama")
    w = Weights(s, g.rng)
    meta = {"rope.scaling.type": "none", "rope.scaling.factor": 0.0, "attention.scale": float(s.head_width) ** -0.5,
            "attention.value_length": s.head_width, "expert_count": 0, "logit_scale": 1.0, "attention.sliding_window": 16}
    full = write_gguf("settings.gguf", w, g.rng, "F32", meta={"llama." + key: value for key, value in meta.items()})
    return problems(full, w, draw_tokens(g, w), traps_of(s))


def refuse_lost_scales(g):
    """Scales beside weights that nobody multiplies with them."""
    w = Weights(draw_shape(g, "C"), g.rng)
    return refuse(write_gguf("scales.gguf", w, g.rng, "F32", own_scale=True), ["scale"])


def refuse_lost_head(g):
    w = Weights(draw_shape(g, "llama", tied=True), g.rng)
    full = path("headless")
    files.write_hf(full, hf_config(w.shape, tie_word_embeddings=False), hf_common(w) + hf_floats(w))
    return refuse(full, ["lm_head"])


def refuse_floats_among_ternary(g):
    w = Weights(draw_shape(g, "B"), g.rng)
    full = write_packed("partly", w, {"linear_class": "autobitlinear",
                                      "modules_to_not_convert": ["lm_head", "model.layers.0.self_attn.q_proj"]}, False)
    return refuse(full, ["q_proj"])


def case_rope_parameters(**more):
    """Newer files keep the base of the positions in rope_parameters."""
    def case(g):
        s = draw_shape(g, "llama")
        w = Weights(s, g.rng)
        config = hf_config(s, rope_parameters={"rope_theta": s.theta, "rope_type": "default"})
        del config["rope_theta"]
        config.update(more)
        full = path("parameters")
        files.write_hf(full, config, hf_common(w) + hf_floats(w))
        return problems(full, w, draw_tokens(g, w), traps_of(s))
    return case


def case_window(g):
    """A window is the context, unless the model has one and does not use it."""
    w = Weights(draw_shape(g, "llama"), g.rng)
    found, tensors = [], hf_common(w) + hf_floats(w)
    for more, fits in (({}, False), ({"use_sliding_window": True}, False), ({"use_sliding_window": False}, True)):
        full = path("window")
        files.write_hf(full, hf_config(w.shape, sliding_window=8, **more), tensors)
        run(full, [1] * 8)
        try:
            run(full, [1] * 9)
            found += [] if fits else ["9 tokens in a window of 8, %r" % more]
        except Error as error:
            found += ["'%s', %r" % (error.message, more)] if fits else []
    if "TERN_BIN" in os.environ: # another format keeps it
        full, out = write_gguf("window.gguf", w, g.rng, "F32", meta={"llama.attention.sliding_window": 8}), path("windowed")
        os.makedirs(out)
        subprocess.run([os.environ["TERN_BIN"], "convert", full, os.path.join(out, "model.safetensors")], check=True,
                       capture_output=True)
        for where in (full, out):
            run(where, [1] * 8)
            try:
                run(where, [1] * 9)
                found.append("9 tokens in a window of 8: %s" % where)
            except Error:
                pass
    return "; ".join(found) or None


def all_cases():
    cases = []

    def add(group, *functions):
        number = sum(c[0] == group for c in cases)
        cases.extend((group, number + i, f) for i, f in enumerate(functions))
    for kind in files.TERNARY:
        for family in ("A", "B", "C"):
            add("gguf", case_gguf(family, kind, "F16", None), case_gguf(family, kind, "F32", "BF16"))
        add("gguf", case_gguf("B", kind, "BF16", "Q8_0", "bitnet-25"))
    for heads, kv_heads, head_width in ((8, 4, 48), (6, 3, 64), (4, 2, 32)):
        how = dict(heads=heads, kv_heads=kv_heads, head_width=head_width)
        add("heads", *(case_heads(family, "I2_S", **how) for family in ("A", "B", "C")))
        add("heads", case_heads("llama", "F16", **how), case_heads("B", "packed", **how))
    for kind in ("TQ1_0", "TQ2_0"):
        add("blocks", *(case_blocks(family, kind) for family in ("A", "B", "C")))
    for kind in ("Q8_0", "Q4_0", "Q4_K", "Q6_K"):
        add("gguf", case_gguf("B", "I2_S", kind, None), case_gguf("B", "TQ2_0", "F16", kind))
    for kind in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K", "Q6_K"):
        add("gguf", case_gguf("llama", kind, "F32", None), case_gguf("llama", kind, "F16", "F16"))
    add("gguf", case_gguf("B", "I2_S", "F16", None, version=2), case_gguf("B", "TQ1_0", "F16", None, alignment=256),
        case_gguf("A", "TQ2_0", "F16", None, meta={"bitnet.rope.scaling.type": "linear", "bitnet.rope.scaling.factor": 1.0}))
    for family in ("A", "B"):
        for kind in ("F32", "F16", "BF16"):
            add("floats", case_floats(family, kind, False), case_floats(family, kind, True))
        add("floats", case_floats(family, "TQ2_0", True), case_floats(family, "TQ1_0", True))
    auto = {"linear_class": "autobitlinear", "quantization_mode": "offline"}
    for parts in (1, 3):
        add("packed", case_packed("B", auto, False, parts), case_packed("C", {}, True, parts),
            case_packed("C", {"linear_class": "bitlinear"}, True, parts), case_packed("C", auto, False, parts),
            case_packed("A", {"linear_class": "bitlinear"}, True, parts))
        for kind in ("BF16", "F32", "F16"):
            add("online", case_online("A", kind, None, parts), case_online("B", kind, {"quantization_mode": "online"}, parts))
            add("llama_hf", case_llama_hf(kind, parts), case_llama_hf(kind, parts, True))
    online = {"quantization_mode": "online"}
    add("online", case_online("C", "BF16", online, 1), case_ternary_masters("A", None, False),
        case_ternary_masters("B", online, False), case_ternary_masters("C", online, False),
        case_ternary_masters("C", {}, True), case_ternary_masters("A", auto, True), case_ternary_masters("B", auto, True), case_ternary_masters("C", auto, True))
    for version in (1, 2):
        add("llama2c", *[case_llama2c_new(version)] * 4)
    for group, function, count in (("llama2c", case_llama2c, 4), ("rounding", case_rounding, 4), ("zero", case_zero, 3),
                                   ("range", case_range, 3), ("activations", case_activations, 3),
                                   ("threads", case_threads, 6), ("isa", case_isa, 2)):
        add(group, *[function] * count)
    add("refused", refuse_without_config, refuse_untrained, refuse_untrained_offline, refuse_lost_norms, refuse_missing_norms,
        refuse_scaled_positions, refuse_lost_scales, refuse_lost_head, refuse_floats_among_ternary)
    add("settings", case_settings_that_change_nothing, case_rope_parameters(), case_window,
        case_rope_parameters(rope_theta=None), case_rope_parameters(rope_theta=None, rope_scaling=None),
        case_rope_parameters(rope_scaling={"rope_type": None}),
        refuse_config("rope.scaling.type", rope_scaling="yarn"), refuse_config("rope.scaling.type", rope_scaling=[1]),
        refuse_config("rope.scaling.type", rope_scaling={"rope_type": None, "type": "yarn"}),
        refuse_config("rope.scaling.type", rope_scaling={"rope_type": 7}),
        refuse_config("rope.scaling.type", rope_scaling={"rope_type": "default"}, rope_parameters={"rope_type": "yarn", "factor": 4.0}),
        refuse_config("rope.scaling.type", rope_parameters={"full_attention": {"rope_type": "default"}}),
        refuse_config("quant_method", quantisation={"quant_method": "gptq"}), refuse_config("logit_scale", logit_scale=2.0),
        refuse_config("layer_types", layer_types=["sliding_attention"]), refuse_config("no_rope_layers", no_rope_layers=[0]),
        refuse_config("num_local_experts", num_local_experts=8), refuse_config("residual_multiplier", residual_multiplier=0.2),
        refuse_config("rope.scaling.type", rope_parameters={"rope_type": "llama3", "factor": 8.0}),
        refuse_config("rope.scaling.factor", rope_scaling={"factor": 4.0}),
        refuse_config("partial_rotary_factor", partial_rotary_factor=0.5), refuse_config("hidden_act", hidden_act="gelu"),
        refuse_config("hidden_act", "B", hidden_act="gelu"),
        refuse_config("quantization_mode", "B", quantisation={"quantization_mode": "Offline"}),
        refuse_config("input_bits", "A", input_bits=4), refuse_config("weight_bits", "A", weight_bits=2),
        refuse_config("use_rms_norm", quantisation={"use_rms_norm": True}),
        refuse_config("by which factor", rope_scaling="linear"), refuse_config("by which factor", rope_scaling={"type": "linear"}),
        refuse_config("by which factor", rope_parameters={"rope_type": "linear"}),
        *(refuse_config("its vocab_size is not a whole number", vocab_size=value) for value in ("x", 2.5, 1e30, [259])),
        *(refuse_config("its rope_theta is not a number", "B", rope_theta=value) for value in ([10000], "x", True)),
        refuse_config("its num_key_value_heads is not a whole number", num_key_value_heads=[1]),
        refuse_config("7 tokens are promised", vocab_size=7), refuse_config("70000 tokens are promised", vocab_size=70000))
    for key, value in (("rope.scaling.factor", 4.0), ("rope.scale_linear", 2.0), ("attention.scale", 1.0), ("logit_scale", 0.5),
                       ("attention.value_length", 7), ("attention.causal", False), ("expert_count", 8)):
        add("settings", refuse_gguf(key, value))
    add("settings", refuse_gguf("vocab_size", 7, "7 tokens are promised"), refuse_gguf("vocab_size", "many"))
    return cases


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tern-models-") as folder:
        state["folder"] = folder
        harness.main(all_cases(), setup)
