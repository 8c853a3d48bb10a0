# A folder belongs to one run, from before it reads anything until it ends; a new run writes over nothing, and one that fails before its
# first step leaves nothing.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 16, "feed_forward": 32, "heads": 2, "kv_heads": 1, "context": 8}, "batch": 2, "steps": 12,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 1}, "every": {"validation": 4, "checkpoint": 0, "sample": 0}}
END
train() { tern train --data text.txt "$@" -q 2>&1 >/dev/null; }
train --config tiny.json -o first

echo "--- the rests of a run, without its checkpoint"
cp -r first rests
rm rests/checkpoint.safetensors
sums=$(cd rests && cksum *)
status train --config tiny.json -o rests --steps 3
[ "$(cd rests && cksum *)" = "$sums" ] && echo "all are as they were"
echo "--- a file of another's"
mkdir own && echo precious >target && ln -s ../target own/log.jsonl
status train --config tiny.json -o own
cat target
echo "--- a model trained further where it lies"
mkdir model && cp first/model.gguf model/
status train --from model/model.gguf -o model --steps 1
cmp first/model.gguf model/model.gguf && echo "it is as it was"
echo "--- an empty log, as a run leaves it that is killed before its first step"
mkdir killed && : >killed/log.jsonl
status train --config tiny.json -o killed

echo "--- two new runs"
mkfifo fifo
# begin NAME OPTION...: a run that has its folder, and waits for its data. A pipe can be opened for writing when somebody reads it, and
# that is after the folder was taken.
begin()
{
    tern train --data fifo -o "$1" -q "${@:2}" >/dev/null 2>"said_$1" &
    exec 3>fifo
}
# give_data: what the run of `begin` waits for; then its end.
give_data()
{
    cat text.txt >&3
    exec 3>&-
    wait $!
}
begin both --config tiny.json --steps 5
status train --config tiny.json -o both
tern train --data text.txt --config tiny.json -o both --explain >/dev/null && echo "who only looks is not kept out"
give_data
echo "status $?, $(grep -c loss both/log.jsonl) steps"
echo "--- two that go on"
begin both --resume --steps 6
status train -o both --resume --steps 12
give_data
echo "status $?, $(grep -c loss both/log.jsonl) steps"
train -o both --resume --steps 7 && echo "and then the next"

echo "--- no room for the first checkpoint"
(ulimit -f 10 && status train --config tiny.json -o full) | sed -E 's/full.[^:]*: /full: /'
[ -e full ] || echo "no folder is left"
mkdir there && echo mine >there/note
(ulimit -f 10 && status train --config tiny.json -o there) | sed -E 's/there.[^:]*: /there: /'
ls -A there

echo "--- what killed writers left"
cp -r first swept
touch swept/.tern-1.tmp swept/loss.svg.part-1 swept/.sample.gguf
train -o swept --resume --steps 13
ls -A swept

echo "--- stopped while it waits for a pipe"
"$TERN_PYTHON" - <<'END'
import os, signal, subprocess, time
child = subprocess.Popen(["tern", "train", "--data", "fifo", "--config", "tiny.json", "-o", "waits"], stderr=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while not os.path.exists("waits"):
    time.sleep(0.001)
time.sleep(0.3)
child.send_signal(signal.SIGINT)
print(child.communicate()[1].decode(), end="")
print("exit status", child.returncode, os.path.exists("waits"))
END
