"""Steps of the decoder of tests/oracle/torch_decoder.py, one for each line on stdin, answered by a line when it is done.

    pytorch_step.py THREADS BATCH KIND VOCABULARY CONTEXT LAYERS WIDTH FEED_FORWARD HEADS KV_HEADS

KIND is ternary or float. The first line of the answer says which PyTorch and which BLAS it is.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "oracle"))

import torch
import torch_decoder


def blas():
    """The libraries for products that this process has loaded."""
    with open("/proc/self/maps") as file:
        names = {os.path.basename(line.split()[-1]) for line in file if "/" in line}
    return " ".join(sorted(name for name in names if any(word in name for word in ("blas", "mkl", "dnnl")))) or "unknown"


threads, batch, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
shape = torch_decoder.Shape(*map(int, sys.argv[4:11]), ternary=kind == "ternary")
torch.set_num_threads(threads)
torch.manual_seed(1)
weights = {name: (torch.ones(size) if len(size) == 1 else torch.randn(size) * 0.02).requires_grad_()
           for name, size in shape.weights().items()}
decoder, optimiser = torch_decoder.Decoder(shape, weights), torch_decoder.adamw(weights, 0.1)
sequences = torch.randint(0, shape.vocabulary, (batch, shape.context + 1))
torch_decoder.step(decoder, optimiser, sequences, 1e-3, 1.0)
print("PyTorch %s, %s, core type %s" % (torch.__version__, blas(), os.environ.get("OPENBLAS_CORETYPE", "detected")), flush=True)
for _ in sys.stdin:
    torch_decoder.step(decoder, optimiser, sequences, 1e-3, 1.0)
    print("done", flush=True)
