# What a config beside --resume or --from may change, and what not: nothing that it names is left out in silence.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
seq -f 'and %g^2 is the end, which is not like the rest' 901 930 >>text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 20,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 1}, "every": {"validation": 5, "checkpoint": 0, "sample": 0}}
END
tern train --data text.txt --config tiny.json -o first -q >/dev/null

# go_on NAME CONFIG OPTION...: goes on with a copy of the first run, with other keys.
go_on()
{
    cp -r first "$1"
    echo "$2" >"$1.json"
    tern train --data text.txt -o "$1" --resume --config "$1.json" "${@:3}" 2>&1
}
hide() { sed -E 's/[0-9]+\.[0-9]{4}/X/g'; }

echo "--- another share for validation: learnt text would count"
status go_on share '{"validation": {"share": 0.6}}' -q
go_on same '{"validation": {"share": 0.1}}' --json | json '"the same one" if j["finished"] else j'
echo "--- another part of it: the best loss is measured again"
for change in '{"validation": {"batches": 1000}}' '{"batch": 400}'; do
    go_on "part$((++i))" "$change" --json >out
    grep '^tern' out | hide
    grep -v '^tern' out | json '"the best is that of all" if abs(j["best"]["validation"] - j["validation"]) < 1e-5 else (j["best"], j["validation"])'
done
go_on equal '{"batch": 2, "validation": {"batches": 2}}' --json | json '"the same part" if j["finished"] else j'
go_on further '{"validation": {"batches": 1000}}' -q --steps 60 >out
cat out | hide | grep '^tern'
"$TERN_PYTHON" - <<'END'
import json
lines = [json.loads(line) for line in open("further/log.jsonl")]
new = {line["step"]: line["validation"] for line in lines if "validation" in line and line["step"] > 20}
best = min(new, key=new.get)
model = [line["weights_of_step"] for line in lines if "final_validation" in line][-1]
print("the model is the best" if model == best else (new, model))
END
echo "--- without the best weights"
rm -f first/best.safetensors
go_on lost '{"validation": {"batches": 1000}}' -q --until 21 --steps 30 | hide | grep '^tern'

echo "--- a model that is trained further"
# further CONFIG: how it is refused, or not.
further()
{
    echo "$1" >further.json
    rm -rf more
    tern train --data text.txt --from first/model.gguf --config further.json -o more --steps 2 -q 2>&1 >/dev/null
    echo "exit status $?"
}
for key in '"layers": 7' '"width": 64' '"feed_forward": 32' '"heads": 4' '"kv_heads": 2' '"rope_theta": 500' '"norm_eps": 0.1' '"weights": "float"'; do
    further "{\"model\": {$key}}"
done
further '{"tokenizer": {"kind": "bpe"}}'
further '{"tokenizer": {"vocabulary": 999}}'
further '{"tokenizer": {"kind": "bytes"}, "model": {"layers": 1, "norm_eps": 1e-05, "weights": "ternary", "context": 8}, "batch": 2}'
