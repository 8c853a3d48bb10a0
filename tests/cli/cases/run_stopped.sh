# Ctrl-C (SIGTERM here) keeps what an answer has: as JSON, which says that it was stopped, and as text, which ends its line.
cat >stop_at.py <<'PY'
# stop_at.py WHERE PATTERN COMMAND...: sends SIGTERM when PATTERN is said on WHERE (stdout, or stderr as a terminal); prints what was said on stdout.
import os, pty, re, signal, subprocess, sys
where, when, asked, said, out = sys.argv[1], re.compile(sys.argv[2].encode()), False, b"", open("out", "w+b")
ours, theirs = pty.openpty() if where == "stderr" else os.pipe()
child = subprocess.Popen(sys.argv[3:], stdout=out if where == "stderr" else theirs, stderr=theirs if where == "stderr" else open("err", "wb"))
os.close(theirs)
while True:
    try:
        part = os.read(ours, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
    if not asked and when.search(said):
        child.send_signal(signal.SIGTERM)
        asked = True
code = child.wait()
out.seek(0)
sys.stdout.buffer.write(said if where == "stdout" else out.read())
sys.exit(code if asked else 99)
PY
"$TERN_PYTHON" -c 'import os, pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminal can be opened here"
tern synth --shape tiny --context 60000 long.gguf >/dev/null
"$TERN_PYTHON" stop_at.py stderr 'answer' tern run -m long.gguf -p hello --ignore-eos --temp 0 --json >answer.json
echo "exit status $?"
json 'j["finish"], 0 < j["generated_tokens"] == len(j["tokens"]) < 59000, len(j["content"]) > 0' <answer.json
"$TERN_PYTHON" stop_at.py stdout 'hello..' tern run -m long.gguf -p hello --ignore-eos --temp 0 >answer.txt
echo "exit status $?"
[ -z "$(tail -c 1 answer.txt)" ] && echo "the line is ended"
cat err
