# Whatever a config asks for, a run that was stopped and went on ends in the same bits as a whole one, with 1 thread and with 2.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt

# config NAME TEXT: NAME.json, a tiny model with TEXT among its keys.
config()
{
    cat >"$1.json" <<EOF
{"model": {"layers": 2, "width": 16, "feed_forward": 32, "heads": 2, "kv_heads": 1, "context": 8}, "batch": 2, "steps": 14, $2,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 1}, "every": {"validation": 5, "checkpoint": 3, "sample": 0}}
EOF
}

# states FILE: all states of a checkpoint; the header before them has times, and behind them is a checksum of it.
states()
{
    tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1" | head -c -8
}

# compare NAME: whole with 1 thread, and in three parts that have 2, 1 and 2.
compare()
{
    tern train --data text.txt --config "$1.json" -o "$1-whole" -t 1 -q >/dev/null
    tern train --data text.txt --config "$1.json" -o "$1-parts" -t 2 --until 4 -q >/dev/null 2>&1
    tern train --data text.txt -o "$1-parts" --resume -t 1 --until 9 -q >/dev/null 2>&1
    tern train --data text.txt -o "$1-parts" --resume -t 2 -q >/dev/null
    cmp "$1-whole/model.gguf" "$1-parts/model.gguf" &&
        cmp <(states "$1-whole/checkpoint.safetensors") <(states "$1-parts/checkpoint.safetensors") &&
        cmp <(sed -E 's/"tokens_per_s.*//;s/, "seconds.*//' "$1-whole/log.jsonl") <(sed -E 's/"tokens_per_s.*//;s/, "seconds.*//' "$1-parts/log.jsonl") &&
        echo "$1: the same bits"
}

config plain '"seed": 1'
config accumulated '"accumulate": 3, "recompute": "layers", "optimiser": {"decay": 0.5, "decay_table": 0.25, "decay_norms": 0.125}'
config bf16 '"activations": "bf16", "recompute": "attention"'
config f16 '"activations": "f16", "accumulate": 2, "recompute": "layers"'
config sgd '"activations": "f16", "optimiser": {"kind": "sgd", "momentum": 0.9, "clip": 0}'
config bpe '"activations": "bf16", "tokenizer": {"kind": "bpe", "vocabulary": 300}, "optimiser": {"decay_norms": 1}'
for name in plain accumulated bf16 f16 sgd bpe; do
    compare $name
done

# Options that change what is computed give other bits, so what was compared above is not the same run again and again; what is recomputed
# gives the same.
for name in accumulated bf16 f16; do
    cmp -s <(states plain-whole/checkpoint.safetensors | head -c 4000) <(states $name-whole/checkpoint.safetensors | head -c 4000) && echo "$name does nothing"
done
config again '"recompute": "layers"'
tern train --data text.txt --config again.json -o again -q >/dev/null
cmp <(states plain-whole/checkpoint.safetensors) <(states again/checkpoint.safetensors) && echo "recomputed: the same bits as kept"

# A config beside --resume changes the keys that it names, and no other: those of the run are neither lost nor set to defaults.
tern train --data text.txt --config accumulated.json -o changed --until 4 -q >/dev/null
echo '{"schedule": {"rate": 0.02}, "every": {"checkpoint": 0}}' >few.json
tern train --data text.txt -o changed --resume --config few.json --until 5 -q >/dev/null
"$TERN_PYTHON" - <<'END'
import json, struct
def config(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    note = json.loads(header["__metadata__"]["note"])
    del note["progress"]
    return note
before, after = config("accumulated-whole/checkpoint.safetensors"), config("changed/checkpoint.safetensors")
print("changed:", [(key, sub) for key in before if isinstance(before[key], dict) for sub in before[key] if before[key][sub] != after[key][sub]]
      + [key for key in before if not isinstance(before[key], dict) and before[key] != after[key]])
END

# With f16 the first steps overflow: the scale of the loss was lowered, in a part that others went on from.
"$TERN_PYTHON" - <<'END'
import json, struct
with open("f16-parts/checkpoint.safetensors", "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    body = file.read()
begin, end = header["loss_scale"]["data_offsets"]
scale = struct.unpack("<f", body[begin:end])[0]
skipped = sum(json.loads(line).get("norm", 0) is None for line in open("f16-parts/log.jsonl"))
print("the scale is that of the steps that were skipped" if skipped > 0 and scale == 65536 / 2 ** skipped else (skipped, scale))
END

# Other instruction sets round otherwise, so the command that goes on names the one that was asked for.
tern train --data text.txt --config plain.json -o older --cpu baseline --until 4 -q | sed -n 's/.*go on with: //p' | called_tern
