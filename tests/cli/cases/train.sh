# A tiny model learns: what is said and written, and that a run that was stopped, resumed or killed ends in the same bits.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 60,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 2}, "every": {"validation": 20, "checkpoint": 10, "sample": 0}}
END

# hide: what differs from machine to machine.
hide()
{
    sed -E -e 's/[0-9.]+ [kM]? ?tokens\/s/N tokens\/s/' -e 's/, [0-9].* left$/, TIME left/' -e 's/[0-9]+\.[0-9]{4}/X/g' \
           -e 's/norm [0-9.e+-]+/norm X/' -e 's/[0-9.]+ [KMG]iB/BYTES/g' -e 's/[0-9]+ threads/N threads/' -e 's/ \(best\)//' | called_tern
}

# states FILE: the bytes of a checkpoint's states; what stands before them has times, and behind them is a checksum of it.
states()
{
    tail -c 60000 "$1" | head -c -8
}

tern train --data text.txt --config tiny.json -o whole | hide
ls -A whole
tern run -m whole/model.gguf -p "line" -n 4 --temp 0 >/dev/null && echo "the model runs"
"$TERN_PYTHON" - <<'END'
import json
lines = [json.loads(line) for line in open("whole/log.jsonl")]
steps = [line for line in lines if "loss" in line]
print(len(steps), "steps", [line["step"] for line in lines if "validation" in line], sorted(steps[0]))
print("it learnt" if steps[-1]["loss"] < 0.7 * steps[0]["loss"] else "it learnt nothing")
import xml.dom.minidom
print(xml.dom.minidom.parse("whole/loss.svg").documentElement.tagName, open("whole/loss.svg").read().count("http"))
END

echo "--- in two parts, with other threads"
tern train --data text.txt --config tiny.json -o parts --until 7 -t 1 -q | hide
cp -r parts stopped
tern train --data text.txt -o stopped --resume --until 9 --json | json '(j["finished"], "validation" in j, 0 < j["validation_of_part"] < 10)'
tern train --data text.txt -o parts --resume -t 2 --json | json '(j["steps"], j["finished"], j["model"]["file"], j["resume"], j["memory"]["peak_bytes"] > 0)' | called_tern
cmp whole/model.gguf parts/model.gguf && cmp <(states whole/checkpoint.safetensors) <(states parts/checkpoint.safetensors) && echo "the same bits"
cmp <(sed -E 's/"tokens_per_s.*//;s/, "seconds.*//' whole/log.jsonl) <(sed -E 's/"tokens_per_s.*//;s/, "seconds.*//' parts/log.jsonl) && echo "the same log"

# lines FILE N: waits until a file has N lines.
lines()
{
    while [ "$(cat "$1" 2>/dev/null | wc -l)" -lt "$2" ]; do sleep 0.01; done
}

echo "--- finished"
cp -r whole again
tern train --data text.txt -o again --resume -q | hide
cmp whole/model.gguf again/model.gguf && echo "the same model"

echo "--- stopped"
sed 's/"rate"/"kind": "constant", "rate"/' tiny.json >constant.json # the number of steps changes no rate
tern train --data text.txt --config constant.json -o 'a folder' --steps 3000 --quiet >out 2>err &
lines 'a folder/log.jsonl' 30
kill -TERM $!
wait $!
echo "exit status $?"
sed -E 's/after step [0-9]+/after step N/' err | called_tern
step=$(sed -nE 's/.*after step ([0-9]+).*/\1/p' err)
[ "$(grep -c loss 'a folder/log.jsonl')" = "$step" ] && echo "the step was finished"
command=$(sed -n 's/.*go on with: //p' err)
[ -x "$(eval "set -- $command"; echo "$1")" ] && echo "its first word is the program"
eval "$(called_tern <<<"$command") --steps $((step + 10))" | tail -n 1 | sed -E 's/after step [0-9]+/after step N/' | called_tern
tern train --data text.txt --config constant.json -o straight --steps $((step + 10)) --quiet >/dev/null
cmp <(states straight/checkpoint.safetensors) <(states 'a folder/checkpoint.safetensors') && echo "the same bits"

echo "--- killed"
for i in 1 2 3; do
    tern train --data text.txt $([ $i = 1 ] && echo --config tiny.json || echo --resume) -o killed --steps 60 --quiet >/dev/null 2>err &
    lines killed/log.jsonl $((i * 14))
    { kill -KILL $!; wait $!; } 2>/dev/null
    [ -f killed/checkpoint.safetensors ] || break
done
tern train --data text.txt -o killed --resume --quiet >/dev/null
cmp <(states whole/checkpoint.safetensors) <(states killed/checkpoint.safetensors) && cmp whole/model.gguf killed/model.gguf && echo "the same bits"
ls -A killed
