"""The transformer of BitNet's three families and of LLaMA in NumPy, written from the models' definition and from nothing of
Tern's. Everything is float64, but what the definition rounds: activations become int8 row by row.

`traps` names mistakes that engines are known to make; each computes that mistake instead. A test shows with them that
it would have seen it.
"""
import numpy as np

LINEARS = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
FAMILIES = {"A": dict(act="silu", sub_norms=True, ternary=True), "B": dict(act="relu2", sub_norms=True, ternary=True),
            "C": dict(act="silu", sub_norms=False, ternary=True), "llama": dict(act="silu", sub_norms=False, ternary=False)}


class Shape:
    """The numbers of a model."""

    def __init__(self, family, layers=2, width=256, heads=4, kv_heads=2, ff=256, vocabulary=96, context=64, theta=10000.0,
                 eps=1e-5, tied=True, head_width=None):
        self.family, self.layers, self.width, self.heads, self.kv_heads, self.ff = family, layers, width, heads, kv_heads, ff
        self.vocabulary, self.context, self.theta, self.eps, self.tied = vocabulary, context, theta, eps, tied
        self.act, self.sub_norms, self.ternary = (FAMILIES[family][k] for k in ("act", "sub_norms", "ternary"))
        self.head_width = head_width or width // heads
        self.attended = heads * self.head_width  # what attention gives; as wide as the model unless heads have a width of their own

    def linear_shape(self, name):
        kv = self.kv_heads * self.head_width
        return {"attn_q": (self.attended, self.width), "attn_k": (kv, self.width), "attn_v": (kv, self.width),
                "attn_output": (self.width, self.attended), "ffn_gate": (self.ff, self.width), "ffn_up": (self.ff, self.width),
                "ffn_down": (self.width, self.ff)}[name]


class Weights:
    """Of a model, with the rows of q and k in the order for rotated halves. `linears` has (layer, name): (codes, scale) of
    ternary families, a matrix of others. A scale may be a matrix [rows, blocks of columns]."""

    def __init__(self, shape, rng, spread=1.0):
        s = self.shape = shape
        self.embedding = rng.normal(0, 1, (s.vocabulary, s.width)).astype(np.float32)
        self.head = None if s.tied else rng.normal(0, 1, (s.vocabulary, s.width)).astype(np.float32)
        self.output_norm = rng.uniform(0.5, 1.5, s.width).astype(np.float32)
        self.norms, self.linears = {}, {}
        for layer in range(s.layers):
            sizes = {"attn_norm": s.width, "ffn_norm": s.width}
            if s.sub_norms:
                sizes.update(attn_sub_norm=s.attended, ffn_sub_norm=s.ff)
            for name, n in sizes.items():
                self.norms[layer, name] = rng.uniform(0.5, 1.5, n).astype(np.float32)
            for name in LINEARS:
                rows, columns = s.linear_shape(name)
                if s.ternary:
                    # a power of two and a bit: exact in f16 and bf16, and no scale is like another
                    scale = np.float32(spread * (1 + rng.integers(0, 8) / 8) / 16)
                    self.linears[layer, name] = (rng.integers(-1, 2, (rows, columns)).astype(np.int8), scale)
                else:
                    self.linears[layer, name] = rng.normal(0, columns ** -0.5, (rows, columns)).astype(np.float32)

    def matrix(self, layer, name):
        w = self.linears[layer, name]
        return w[0] * spread_scale(*w) if isinstance(w, tuple) else w


def spread_scale(codes, scale):
    return np.repeat(scale, codes.shape[1] // scale.shape[1], 1) if np.ndim(scale) else scale


def rmsnorm(x, weight, eps):
    return weight * x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def quantise(x, traps=(), doubts=None):
    """int8 values by row and what to divide by: the largest magnitude becomes 127; half goes to even. Adds to `doubts` how many
    values lie so near to half-way between two codes that f32 may round them to the other one."""
    if "tensor-scale" in traps:
        most = np.full(x.shape[:-1] + (1,), np.abs(x).max())
    else:
        most = np.abs(x).max(-1, keepdims=True)
    scale = 127 / np.maximum(most, 1e-5)
    scaled = x * scale
    if doubts is not None:
        distance = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5)
        doubts.append(int((distance < 1e-6 * (1 + np.abs(scaled))).sum()))
    rounded = np.floor(np.abs(scaled) + 0.5) * np.sign(scaled) if "round-away" in traps else np.rint(scaled)
    return rounded.clip(-128, 127), scale


def linear(weight, x, traps, doubts):
    if not isinstance(weight, tuple):
        return x @ weight.T.astype(np.float64)
    codes, scale = weight[0].astype(np.float64), spread_scale(*weight).astype(np.float64)
    if "one-scale" in traps:
        scale = np.full(scale.shape, scale.flat[0])
    if "inverse-scale" in traps:
        scale = 1 / scale
    if "float-activations" in traps:
        return x @ (codes * scale).T
    q, s = quantise(x, traps, doubts)
    return q @ (codes * scale).T / s


def rope(x, theta, traps):
    """x: (positions, heads, width). Pairs (j, j + width / 2)."""
    d = x.shape[-1]
    j = np.arange(d // 2)
    angle = np.arange(x.shape[0])[:, None, None] * np.float64(10000 if "theta" in traps else theta) ** (-2 * j / d)
    first, second = (2 * j, 2 * j + 1) if "rope-pairs" in traps else (j, j + d // 2)
    y = x.copy()
    y[..., first] = x[..., first] * np.cos(angle) - x[..., second] * np.sin(angle)
    y[..., second] = x[..., second] * np.cos(angle) + x[..., first] * np.sin(angle)
    return y


def attention(s, q, k, v, traps):
    """q: (positions, heads, width). Head i reads key head i / (heads / kv heads)."""
    n, group = q.shape[0], s.heads // s.kv_heads
    out = np.zeros(q.shape)
    for head in range(s.heads):
        other = head % s.kv_heads if "head-groups" in traps else head // group
        scores = q[:, head] @ k[:, other].T / np.sqrt(s.head_width)
        scores = np.where(np.arange(n)[None, :] <= np.arange(n)[:, None], scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        out[:, head] = p / p.sum(-1, keepdims=True) @ v[:, other]
    return out.reshape(n, -1)


def activate(s, gate, traps):
    silu = (s.act == "silu") != ("activation" in traps)
    return gate / (1 + np.exp(-gate)) if silu else np.maximum(gate, 0) ** 2


def forward(w, tokens, traps=(), doubts=None):
    """Logits (tokens, vocabulary)."""
    s = w.shape
    x = w.embedding[tokens].astype(np.float64)
    n = len(tokens)
    for layer in range(s.layers):
        def norm(name, value):
            return rmsnorm(value, w.norms[layer, name], 1e-6 if "eps" in traps else s.eps)

        def apply(name, value):
            return linear(w.linears[layer, name], value, traps, doubts)
        h = norm("attn_norm", x)
        q, k, v = (apply(name, h).reshape(n, -1, s.head_width) for name in ("attn_q", "attn_k", "attn_v"))
        a = attention(s, rope(q, s.theta, traps), rope(k, s.theta, traps), v, traps)
        if s.sub_norms and "no-sub-norms" not in traps:
            if "sub-norm-per-head" in traps:
                heads = a.reshape(n, s.heads, -1)
                a = rmsnorm(heads, w.norms[layer, "attn_sub_norm"].reshape(s.heads, -1), s.eps).reshape(n, -1)
            else:
                a = norm("attn_sub_norm", a)
        x = x + apply("attn_output", a)
        h = norm("ffn_norm", x)
        f = activate(s, apply("ffn_gate", h), traps) * apply("ffn_up", h)
        if "half-range" in traps:
            f = f.clip(-65504, 65504)
        if s.sub_norms and "no-sub-norms" not in traps:
            f = norm("ffn_sub_norm", f)
        x = x + apply("ffn_down", f)
    head = w.embedding if s.tied != ("head" in traps) else w.head
    return rmsnorm(x, w.output_norm, s.eps) @ head.T.astype(np.float64)


def ternarise(master):
    """Master weights as training sees them: one scale for the tensor, half to even."""
    wide = master.astype(np.float64)
    scale = max(np.abs(wide).mean(), 1e-5)
    return np.rint(wide / scale).clip(-1, 1).astype(np.int8), np.float32(scale)


def nmse(got, expected):
    return float(((got - expected) ** 2).sum() / max((expected ** 2).sum(), 1e-300))
