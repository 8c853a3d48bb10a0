"""Training against PyTorch: the same first weights, the same sequences, the same optimiser, for 50 steps.

In step: PyTorch gets Tern's weights before each step, so each loss and norm is compared by itself, and tightly. On their own: both go
their way from the first weights, PyTorch in f64, because each step passes on the last bits of those before it: PyTorch in f32 ends up to
5e-4 from there itself. With ternary weights a last bit rounds to another code now and then, and how far that leads is the processor's
affair: there Tern may end a few times as far from f64 as PyTorch in f32 does. TERN_TEST_VERBOSE=1 shows all of it.

PyTorch's losses in f64 are kept in tests/golden/training.json, with which tests/train/test_curve.c compares where there is no PyTorch.
"""
import json
import os

import numpy as np

import harness
import tern

try:
    if os.environ.get("TERN_SANITIZE"):
        raise ImportError("not beside a sanitizer's library")
    import torch
    import torch_decoder
except ImportError as error:
    torch = None
    WHY = str(error)

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "training.json")
SHAPE = dict(vocabulary=23, context=24, layers=2, width=64, feed_forward=96, heads=4, kv_heads=2)
BATCH, STEPS, RATE, DECAY, CLIP = 4, 50, 0.002, 0.1, 1.0
# Largest relative differences: of a loss and a norm in step; of a loss on their own and of all weights together in the end.
BOUNDS = {"float": (1e-5, 1e-4, 1e-4, 1e-4), "ternary": (5e-4, 1e-2, None, None)}
AS_FAR = 4  # times as far as PyTorch in f32, where a bound is None


def sequences(step):
    """[batch, context + 1]: a text with something to learn in it, the same wherever it is made (test_curve.c makes it too)."""
    at = np.arange(SHAPE["context"] + 1)
    return np.stack([((step * 7 + b * 5 + at * (1 + (step + b) % 3) + at // 4) % SHAPE["vocabulary"]) for b in range(BATCH)]).astype(np.int32)


def curve_of_tern(weights):
    def change(options):
        for name, value in SHAPE.items():
            setattr(options.shape, name, value)
        options.shape.weights = 0 if weights == "ternary" else 1
        options.batch = BATCH
        options.optimiser.weight_decay, options.optimiser.clip = DECAY, CLIP
    ctx = tern.Ctx()
    trainer = tern.Trainer(ctx, change)
    curve, on_the_way = [], []
    for i in range(STEPS):
        on_the_way.append(trainer.weights())
        curve.append(trainer.step(sequences(i), RATE))
    last = trainer.weights()
    trainer.free()
    ctx.destroy()
    return curve, on_the_way, last


class Torch:
    def __init__(self, weights, first, dtype):
        torch.set_num_threads(1)
        shape = torch_decoder.Shape(**SHAPE, ternary=weights == "ternary")
        assert {name: tuple(w.shape) for name, w in first.items()} == shape.weights()
        self.w = {name: torch.tensor(value, dtype=dtype, requires_grad=True) for name, value in first.items()}
        self.decoder, self.optimiser = torch_decoder.Decoder(shape, self.w), torch_decoder.adamw(self.w, DECAY)

    def set(self, weights):
        with torch.no_grad():
            for name, value in weights.items():
                self.w[name].copy_(torch.tensor(value))

    def step(self, i):
        return torch_decoder.step(self.decoder, self.optimiser, torch.tensor(sequences(i)).long(), RATE, CLIP)


def in_step(weights, on_the_way):
    other, curve = Torch(weights, on_the_way[0], torch.float32), []
    for i in range(STEPS):
        other.set(on_the_way[i])
        curve.append(other.step(i))
    return curve


def on_its_own(weights, first, dtype):
    other = Torch(weights, first, dtype)
    curve = [other.step(i) for i in range(STEPS)]
    return curve, {name: value.detach().numpy() for name, value in other.w.items()}


def furthest(ours, theirs, which):
    return max(abs(a[which] - b[which]) / abs(b[which]) for a, b in zip(ours, theirs))


def apart(ours, theirs):
    return np.sqrt(sum(((ours[n] - theirs[n]) ** 2).sum() for n in ours) / sum((theirs[n] ** 2).sum() for n in ours))


def compare(weights):
    if torch is None:
        raise harness.Skip("no PyTorch (%s): scripts/install-deps.sh torch" % WHY)
    curve, on_the_way, last = curve_of_tern(weights)
    beside = in_step(weights, on_the_way)
    theirs, their_last = on_its_own(weights, on_the_way[0], torch.float32)
    truth, true_last = on_its_own(weights, on_the_way[0], torch.float64)
    if os.environ.get("TERN_GOLDEN_UPDATE"):
        update_golden(weights, truth)
    in_loss, in_norm, own_loss, own_weights = BOUNDS[weights]
    rows = (("a loss in step", furthest(curve, beside, 0), in_loss),
            ("a norm in step", furthest(curve, beside, 1), in_norm),
            ("a loss on their own", furthest(curve, truth, 0), own_loss or AS_FAR * furthest(theirs, truth, 0)),
            ("the last weights", apart(last, true_last), own_weights or AS_FAR * apart(their_last, true_last)))
    if os.environ.get("TERN_TEST_VERBOSE"):
        print("%s: %s; PyTorch in f32: loss %.2g, weights %.2g; %.4f -> %.4f" %
              (weights, ", ".join("%s %.2g (at most %.2g)" % row for row in rows), furthest(theirs, truth, 0), apart(their_last, true_last), curve[0][0], curve[-1][0]))
    wrong = ["%s differs by %.3g, more than %.3g" % row for row in rows if not row[1] <= row[2]]
    if not curve[-1][0] < 0.6 * curve[0][0]:
        wrong.append("nothing was learnt: %g -> %g" % (curve[0][0], curve[-1][0]))
    with open(GOLDEN) as file:
        golden = [(loss, 0) for loss in json.load(file)[weights]]
    if not furthest(truth, golden, 0) <= 1e-6:
        wrong.append("PyTorch's losses are not those of tests/golden/training.json any more: make golden-update")
    return wrong or None


def update_golden(weights, losses):
    golden = {}
    if os.path.exists(GOLDEN):
        with open(GOLDEN) as file:
            golden = json.load(file)
    golden[weights] = [float("%.7g" % loss) for loss, _ in losses]
    with open(GOLDEN, "w") as file:
        file.write("{\n" + ",\n".join('  "%s": %s' % (name, json.dumps(golden[name])) for name in sorted(golden)) + "\n}\n")


if __name__ == "__main__":
    harness.main([(weights, 0, lambda g, weights=weights: compare(weights)) for weights in BOUNDS])
