# A bar on a terminal while a model is written, converted and read; nothing in a pipe.
command -v "$TERN_PYTHON" >/dev/null || skip "python3 is not installed"
cat >on_terminal.py <<'END'
"""Runs a command whose stderr is a terminal, and says what it drew there."""
import os, pty, re, subprocess, sys
name, command = sys.argv[1], sys.argv[2:]
parent, terminal = pty.openpty()
run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, stdin=subprocess.DEVNULL)
os.close(terminal)
seen = b""
while True:
    try:
        some = os.read(parent, 65536)
    except OSError: # the other end is closed
        break
    if not some:
        break
    seen += some
text = seen.decode()
bars = re.findall("\r([^\r]*?) [^ \r]+ ([0-9.]+ [A-Za-z]*) of ([0-9.]+ [A-Za-z]*)\x1b\\[K", text)
print(name, "exit status", run.wait(), "bar:", bool(bars), "of", ", ".join(sorted(set(re.sub(r"/.*/", "", bar[0]) for bar in bars))),
      "gone at the end:", text.endswith("\r\x1b[K"))
END
# large enough to take longer than a bar waits before it shows itself
on_terminal() { "$TERN_PYTHON" on_terminal.py "$@"; }
on_terminal synth tern synth --layers 2 --vocab 512 --type f16 --arch llama large.gguf
on_terminal convert tern convert large.gguf small.gguf --type q8_0
on_terminal run tern run -m large.gguf -p hello -n 1 --temp 0
tern synth --layers 2 --vocab 512 --type f16 --arch llama piped.gguf 2>errors >/dev/null
tern convert large.gguf again.gguf --type q8_0 2>>errors >/dev/null
wc -c <errors
cmp large.gguf piped.gguf && cmp small.gguf again.gguf && echo "the same files"
rm -f ./*.gguf
