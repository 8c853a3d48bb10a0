"""Steps of the decoder of tests/oracle/torch_decoder.py, one for each line on stdin, answered by a line when it is done.

    pytorch_step.py THREADS BATCH KIND VOCABULARY CONTEXT LAYERS WIDTH FEED_FORWARD HEADS KV_HEADS

KIND is ternary or float. The first line of the answer says which PyTorch and which BLAS it is, with how many threads.
"""
import ctypes
import os
import sys
import sysconfig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "oracle"))


def load_blas():
    """Loads Debian's OpenBLAS on OpenMP, if it is there, before PyTorch looks for any: its threads are PyTorch's own. The default one, on
    pthreads, has others beside them that wait for work in loops, and a step takes about twice as long."""
    folder = "/usr/lib/%s/openblas-openmp/" % sysconfig.get_config_var("MULTIARCH")
    for name in ("libopenblas.so.0", "libblas.so.3", "liblapack.so.3"):
        if os.path.exists(folder + name):
            ctypes.CDLL(folder + name, mode=ctypes.RTLD_GLOBAL)


def ask(path, function, kind):
    answer = getattr(ctypes.CDLL(path), function)
    answer.restype = kind
    return answer()


def describe_blas():
    """The libraries for products that this process has loaded; OpenBLAS tells more of itself."""
    if not os.path.exists("/proc/self/maps"):
        return "unknown BLAS"
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "/" in line}
    found = []
    for path in sorted(path for path in paths if any(word in path for word in ("openblasp", "mkl", "blis", "atlas"))):
        if "openblas" not in path:
            found.append(os.path.basename(path))
            continue
        found.append("%s on %s, kernels for %s, threads %d" % (
            " ".join(ask(path, "openblas_get_config", ctypes.c_char_p).decode().split()[:2]),
            ("one thread", "pthreads", "OpenMP")[ask(path, "openblas_get_parallel", ctypes.c_int)],
            ask(path, "openblas_get_corename", ctypes.c_char_p).decode(),
            ask(path, "openblas_get_num_threads", ctypes.c_int)))
    return "; ".join(found) or "unknown BLAS"


load_blas()
import torch
import torch_decoder

threads, batch, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
shape = torch_decoder.Shape(*map(int, sys.argv[4:11]), ternary=kind == "ternary")
torch.set_num_threads(threads)
torch.manual_seed(1)
weights = {name: (torch.ones(size) if len(size) == 1 else torch.randn(size) * 0.02).requires_grad_()
           for name, size in shape.weights().items()}
decoder, optimiser = torch_decoder.Decoder(shape, weights), torch_decoder.adamw(weights, 0.1)
sequences = torch.randint(0, shape.vocabulary, (batch, shape.context + 1))
torch_decoder.step(decoder, optimiser, sequences, 1e-3, 1.0)
print("PyTorch %s, threads %d, %s" % (torch.__version__, torch.get_num_threads(), describe_blas()), flush=True)
for _ in sys.stdin:
    torch_decoder.step(decoder, optimiser, sequences, 1e-3, 1.0)
    print("done", flush=True)
