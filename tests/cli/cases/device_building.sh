# Kernels that are built the first time: a line says how far that is, on a terminal, and nothing when they are kept.
tern devices | grep -q '^opencl' && ! tern devices | grep -A3 '^opencl' | grep -q unavailable || skip "no OpenCL device"
command -v "$TERN_PYTHON" >/dev/null || skip "python3 is not installed"
tern synth --shape tiny --layers 1 model.gguf >/dev/null 2>&1 || skip "no model can be written"
export TERN_KERNELS=$PWD/kernels
cat >drawn.py <<'END'
"""Runs a command whose stderr is a terminal; prints what it drew there, a line each."""
import os, pty, re, subprocess, sys
parent, terminal = pty.openpty()
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=terminal, stdin=subprocess.DEVNULL)
os.close(terminal)
seen = b""
while True:
    try:
        some = os.read(parent, 65536)
    except OSError: # the other end is closed
        break
    seen += some
print("\n".join(re.split("[\r\n]+", seen.decode().replace("\x1b[K", ""))))
print("exit status", run.wait())
END
"$TERN_PYTHON" -c 'import os, pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminal can be opened here"
for i in 1 2; do
    "$TERN_PYTHON" drawn.py tern run -m model.gguf -p hello -n 2 --device opencl | grep -E '^(building|exit)' | sed -E 's/step [0-9]+ of [0-9]+/step N of N/' | uniq
done
tern run -m model.gguf -p hello -n 2 --device opencl 2>&1 >/dev/null | grep -c building
