# A tokenizer that is learnt, several files, and a model that is trained further with its own tokenizer.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >one.txt
seq -f 'and %g other things that it says' 1 300 >two.txt
cat >bpe.json <<'END'
{"model": {"layers": 1, "width": 64, "feed_forward": 128, "heads": 2, "kv_heads": 2, "context": 16}, "tokenizer": {"kind": "bpe", "vocabulary": 300},
 "batch": 2, "steps": 20, "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 2}, "every": {"sample": 10, "validation": 10},
 "sample": {"prompt": "line", "tokens": 5, "temperature": 0}, "export": {"type": "f16", "name": "a parrot"}}
END
tern train --data one.txt two.txt --config bpe.json -o first >out || cat out
sed -nE 's/.*(vocabulary [0-9]+)$/\1/p' out
grep -c '^  | ' out
tern inspect first/model.gguf --json | json '[m["value"] for m in j["metadata"] if m["key"] in ("general.name", "general.architecture")]'
tern tokenize -m first/model.gguf --decode "$(tern tokenize -m first/model.gguf -p 'line 7' --ids)"
echo '{"model": {"context": 16}, "batch": 2, "steps": 10, "schedule": {"rate": 0.001}, "every": {"sample": 0}}' >further.json
tern train --data two.txt --from first/model.gguf --config further.json -o further --json >result
json '(j["finished"], j["resume"])' <result | called_tern
"$TERN_PYTHON" - <<'END'
import json
first = [json.loads(line) for line in open("first/log.jsonl")]
further = [json.loads(line) for line in open("further/log.jsonl")]
print("it starts where the other ended" if further[0]["loss"] < 0.7 * first[0]["loss"] else (first[0], further[0]))
END
tern train --data two.txt --from first/model.gguf -o further --resume --steps 12 -q | tail -n 1 | called_tern
echo "--- the model's context, and a tenth of the rate, unless the config says otherwise"
# told FILE...: the context of the plan, and the highest rate of the log
told()
{
    tern train --data two.txt --from first/model.gguf --config "$1" -o "of_$1" --steps 2 2>said | sed -nE 's/.*(context [0-9]+).*/\1/p; s/^ *(from:) */\1 /p'
    cat said
    json 'j["rate"]' < <(sed -n 2p "of_$1/log.jsonl")
}
echo '{"batch": 2, "schedule": {"warmup": 0, "kind": "constant"}, "every": {"sample": 0}}' >own.json
told own.json
echo '{"model": {"context": 8}, "batch": 2, "schedule": {"rate": 0.002, "warmup": 0, "kind": "constant"}, "every": {"sample": 0}}' >other.json
told other.json
tern synth --shape tiny --layers 1 --arch llama --type f32 llama.gguf
status tern train --data two.txt --from llama.gguf -o other --config further.json
echo "--- a tokenizer of another model, which could not be written at the end"
tern synth --shape tiny small.gguf >/dev/null
tern synth --shape tiny --vocab 600 large.gguf >/dev/null
tern convert small.gguf mixed.gguf --tokenizer large.gguf >/dev/null 2>&1
status tern train --data two.txt --from mixed.gguf -o mixed --config further.json
