"""The decoder that <tern/train.h> trains, written again in PyTorch: a BitNet b1.58 whose weights are rounded to -1, 0 and 1 and whose
activations are rounded to int8 on the way forward, with gradients that go straight through both.

Weights have the names that they have in GGUF. Used by test_training.py, which compares, and by bench/train, which races.
"""
import math

import torch
import torch.nn.functional as F


class Shape:
    """tern_train_shape."""

    def __init__(self, vocabulary, context, layers, width, feed_forward, heads, kv_heads, theta=10000.0, eps=1e-5,
                 ternary=True):
        self.vocabulary, self.context, self.layers, self.width = vocabulary, context, layers, width
        self.feed_forward, self.heads, self.kv_heads = feed_forward, heads, kv_heads
        self.theta, self.eps, self.ternary = theta, eps, ternary

    def weights(self):
        """Name -> shape."""
        keys = self.width // self.heads * self.kv_heads
        found = {"token_embd.weight": (self.vocabulary, self.width), "output_norm.weight": (self.width,)}
        for i in range(self.layers):
            found.update({"blk.%d.%s.weight" % (i, name): shape for name, shape in (
                ("attn_norm", (self.width,)), ("attn_sub_norm", (self.width,)),
                ("ffn_norm", (self.width,)), ("ffn_sub_norm", (self.feed_forward,)),
                ("attn_q", (self.width, self.width)), ("attn_k", (keys, self.width)),
                ("attn_v", (keys, self.width)), ("attn_output", (self.width, self.width)),
                ("ffn_gate", (self.feed_forward, self.width)), ("ffn_up", (self.feed_forward, self.width)),
                ("ffn_down", (self.width, self.feed_forward)))})
        return found


def through(x, rounded):
    """`rounded` forward, the gradient of x backward."""
    return x + (rounded - x).detach()


def ternary(w):
    scale = w.abs().mean().clamp(min=1e-5)
    return through(w, (w / scale).round().clamp(-1, 1) * scale)


def int8(x):
    scale = 127 / x.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    return through(x, (x * scale).round().clamp(-128, 127) / scale)


class Decoder:
    def __init__(self, shape, weights):
        """`weights`: name -> tensor, which are trained where they are."""
        self.s, self.w = shape, weights
        d = shape.width // shape.heads
        frequencies = shape.theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = torch.arange(shape.context, dtype=torch.float64)[:, None] * frequencies
        self.cos, self.sin = angles.cos().float(), angles.sin().float()
        self.hidden = torch.ones(shape.context, shape.context, dtype=torch.bool).triu(1)

    def norm(self, x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.s.eps) * self.w[name + ".weight"]

    def linear(self, x, name):
        w = self.w[name + ".weight"]
        return F.linear(int8(x), ternary(w)) if self.s.ternary else F.linear(x, w)

    def rope(self, x):
        """x[batch, head, context, d]: pairs are (j, j + d/2)."""
        a, b = x.chunk(2, -1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), -1)

    def attention(self, h, layer):
        s, batch = self.s, h.shape[0]

        def heads(name, n):
            y = self.linear(h, "blk.%d.attn_%s" % (layer, name))
            return y.view(batch, s.context, n, s.width // s.heads).transpose(1, 2)
        q, k, v = heads("q", s.heads), heads("k", s.kv_heads), heads("v", s.kv_heads)
        q, k = self.rope(q), self.rope(k)
        group = s.heads // s.kv_heads
        if group > 1:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(s.width // s.heads)
        p = scores.masked_fill(self.hidden, -math.inf).softmax(-1)
        return (p @ v).transpose(1, 2).reshape(batch, s.context, s.width)

    def logits(self, tokens):
        """tokens[batch, context] -> [batch, context, vocabulary]"""
        x = self.w["token_embd.weight"][tokens]
        for i in range(self.s.layers):
            name = "blk.%d." % i
            a = self.attention(self.norm(x, name + "attn_norm"), i)
            x = x + self.linear(self.norm(a, name + "attn_sub_norm"), name + "attn_output")
            h = self.norm(x, name + "ffn_norm")
            f = self.linear(h, name + "ffn_gate").relu().square() * self.linear(h, name + "ffn_up")
            x = x + self.linear(self.norm(f, name + "ffn_sub_norm"), name + "ffn_down")
        return F.linear(self.norm(x, "output_norm"), self.w["token_embd.weight"])

    def loss(self, sequences):
        """sequences[batch, context + 1]"""
        logits = self.logits(sequences[:, :-1])
        return F.cross_entropy(logits.reshape(-1, self.s.vocabulary), sequences[:, 1:].reshape(-1))


def adamw(weights, decay, betas=(0.9, 0.95), eps=1e-8):
    """Matrices decay, norms do not."""
    return torch.optim.AdamW([{"params": [w for w in weights.values() if w.dim() > 1], "weight_decay": decay},
                              {"params": [w for w in weights.values() if w.dim() == 1], "weight_decay": 0}],
                             lr=1, betas=betas, eps=eps)


def step(decoder, optimiser, sequences, rate, clip):
    """One step; gives (loss, norm of all gradients)."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad(set_to_none=True)
    loss = decoder.loss(sequences)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(list(decoder.w.values()), clip)
    optimiser.step()
    return loss.item(), norm.item()
