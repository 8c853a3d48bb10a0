# SIGINT, from a program and from the key Ctrl-C of a terminal: the step is finished, all is saved, the command that goes on is said, and
# with it the run ends in the same bits as one that nobody stopped.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'EOF'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4,
 "schedule": {"kind": "constant", "rate": 0.01, "warmup": 5}, "validation": {"batches": 2}, "every": {"validation": 20, "checkpoint": 0, "sample": 0}}
EOF
# A shell starts what runs beside it with SIGINT ignored, which `tern train` respects: this starts it as a terminal's shell does.
cat >interrupt.py <<'EOF'
import os, pty, signal, subprocess, sys, time
how, folder, said, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
def wait_for_steps(alive):
    while alive() and (not os.path.exists(folder + "/log.jsonl") or open(folder + "/log.jsonl").read().count("\n") < 30):
        time.sleep(0.01)
if how == "signal":
    with open(said, "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        wait_for_steps(lambda: child.poll() is None)
        child.send_signal(signal.SIGINT)
        print("exit status", child.wait())
else:
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execvp(command[0], command)
    wait_for_steps(lambda: True)
    os.write(terminal, b"\x03")
    content = b""
    try:
        while part := os.read(terminal, 4096):
            content += part
    except OSError: # the child has closed its end
        pass
    open(said, "wb").write(content.replace(b"\r\n", b"\n"))
    print("exit status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
EOF
"$TERN_PYTHON" -c 'import os, pty; os.close(pty.openpty()[0])' 2>/dev/null || skip "no pseudo-terminal can be opened here"

# states FILE: all states of a checkpoint; the header before them has times, and behind them is a checksum of it.
states()
{
    tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1" | head -c -8
}

echo "--- before the first step"
"$TERN_PYTHON" - <<'END'
import random
random.seed(1)
open("words.txt", "w").write(" ".join("".join(random.choices("abcdefghijklmnop", k=random.randint(3, 12))) for _ in range(400000)))
END
echo '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "tokenizer": {"kind": "bpe", "vocabulary": 100000}}' >bpe.json
"$TERN_PYTHON" - <<'END'
import os, signal, subprocess, time
child = subprocess.Popen(["tern", "train", "--data", "words.txt", "--config", "bpe.json", "-o", "early"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while child.poll() is None and not os.path.exists("early"): # it is made before the data are read
    time.sleep(0.001)
time.sleep(0.1)
child.send_signal(signal.SIGINT)
print(child.communicate()[0].decode(), end="")
print("exit status", child.returncode, "and no folder" if not os.path.exists("early") else os.listdir("early"))
END

for how in signal key; do
    echo "--- $how"
    "$TERN_PYTHON" interrupt.py $how out-$how said tern train --data text.txt --config tiny.json -o out-$how --steps 1000000 --quiet
    tr '\r' '\n' <said | grep -oE 'tern: train: finishing.*' # at once
    grep -o 'stopped after step.*' said | sed -E 's/after step [0-9]+/after step N/' | called_tern
    ls out-$how
    step=$(sed -nE 's/.*stopped after step ([0-9]+).*/\1/p' said)
    [ "$(grep -c '"loss"' out-$how/log.jsonl)" = "$step" ] && [ "$step" -lt 1000000 ] && echo "the step was finished and logged"
    tern run -m out-$how/model.gguf -p line -n 2 --temp 0 >/dev/null && echo "its model runs"
    eval "$(sed -n 's/.*go on with: //p' said) --steps $((step + 15)) --quiet" >/dev/null
    tern train --data text.txt --config tiny.json -o whole-$how --steps $((step + 15)) --quiet >/dev/null
    cmp <(states whole-$how/checkpoint.safetensors) <(states out-$how/checkpoint.safetensors) && cmp whole-$how/model.gguf out-$how/model.gguf &&
        cmp <(sed -E 's/"tokens_per_s.*//;s/, "seconds.*//' whole-$how/log.jsonl) <(sed -E 's/"tokens_per_s.*//;s/, "seconds.*//' out-$how/log.jsonl) &&
        echo "the same bits"
done

echo "--- in the last validation"
seq -f 'line %g of a text that repeats itself' 1 20000 >long.txt
sed 's/"batches": 2/"batches": 2, "share": 0.9/' tiny.json >last.json
"$TERN_PYTHON" - <<'END'
import json, os, signal, subprocess, time
child = subprocess.Popen(["tern", "train", "--data", "long.txt", "--config", "last.json", "-o", "last", "--steps", "2", "-t", "1", "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while child.poll() is None and not (os.path.exists("last/log.jsonl") and '"validation"' in open("last/log.jsonl").read()):
    time.sleep(0.001)
child.send_signal(signal.SIGINT)
out, err = (part.decode() for part in child.communicate())
print("exit status", child.returncode, err.split(";")[0])
out = json.loads(out)
print("finished", out["finished"], "validation" in out, "final_validation" in open("last/log.jsonl").read())
END
tern train --data long.txt -o last --resume --json | json '("finished", j["finished"], "validation" in j)'
