# A run that diverges says so, keeps the last checkpoint from which it can go on, and logs nothing that is no JSON.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt

# config NAME RATE VALIDATION: steps of SGD without clipping, a checkpoint behind each
config()
{
    cat >"$1.json" <<EOF
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 40,
 "optimiser": {"kind": "sgd", "clip": 0}, "schedule": {"kind": "constant", "rate": $2, "warmup": 0}, "validation": {"batches": 1},
 "every": {"validation": $3, "checkpoint": 1, "sample": 0}}
EOF
}

config still 0 0
for validation in 0 1; do
    config wild 1000 $validation
    tern train --data text.txt --config wild.json -o out$validation -q >/dev/null 2>err
    echo "exit status $?"
    sed -E -e 's/step [0-9]+/step N/g' -e 's/the (loss|norm)[a-z ]* is (NaN|infinite)/SOMETHING is X/' err
    "$TERN_PYTHON" - out$validation/log.jsonl <<'END'
import json, sys
def none(word):
    raise ValueError(word)
lines = [json.loads(line, parse_constant=none) for line in open(sys.argv[1])]
print("the log is JSON" if len(lines) > 1 else lines)
END
    # by a step that changes nothing: the checkpoint's weights have a loss
    saved=$(sed -nE 's/.*the checkpoint is of step ([0-9]+).*/\1/p' err)
    tern train --data text.txt --config still.json -o out$validation --resume --until $((${saved:-5} + 1)) -q >/dev/null && echo "it goes on"
done
