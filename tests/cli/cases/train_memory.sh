# What is predicted before the first step is what the process takes, of tiny models as of others.
needs_jansson
[ -z "${TERN_SANITIZE:-}" ] || skip "a sanitizer takes memory of its own"
seq -f 'line %g of a text that repeats itself' 1 3000 >text.txt

# predicted NAME JSON: trains some steps with samples and checkpoints between them, and compares; a MiB is the least that counts.
predicted()
{
    echo "{$2, \"steps\": 5, \"every\": {\"validation\": 2, \"checkpoint\": 2, \"sample\": 2}}" >"$1.json"
    tern train --data text.txt --config "$1.json" -o "$1" 2>/dev/null >said
    [ "$(grep -c '^  | ' said)" -gt 0 ] || echo "no sample"
    sed -nE 's/^memory: ([0-9.]+) MiB at most \(([0-9.]+) MiB were predicted\)$/\1 \2/p' said |
        awk -v name="$1" '{ ok = $2 > $1 * 7 / 8 - 1 && $2 < $1 * 8 / 7 + 1; print name ": " (ok ? "within an eighth" : $0) }'
}

predicted tiny '"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4'
predicted states '"model": {"layers": 2, "width": 512, "feed_forward": 1024, "heads": 4, "kv_heads": 4, "context": 32}, "batch": 2'
predicted arena '"model": {"layers": 3, "width": 128, "feed_forward": 384, "heads": 4, "kv_heads": 4, "context": 128}, "batch": 8'
predicted f16 '"model": {"layers": 3, "width": 128, "feed_forward": 384, "heads": 4, "kv_heads": 4, "context": 64}, "batch": 4, "accumulate": 4, "activations": "f16"'

# Memory that learning a tokenizer gave back is not counted, samples that are not due in the run neither; what is predicted is no less than
# what is taken, and no more than a third above it. The moments count, which no page is for by then.
for i in 1 2 3 4 5 6 7 8 9; do seq -f "%g words of chapter $i, which repeats itself" "$i" 7 200000; done >words.txt
# other NAME JSON: the same of a run that has no samples.
other()
{
    echo "{$2}" >"$1.json"
    tern train --data words.txt --config "$1.json" -o "$1" --until 2 --json 2>/dev/null |
        json "'$1: above it, by less than a third' if 1 <= j['memory']['predicted_bytes'] / j['memory']['peak_bytes'] < 4 / 3 else j['memory']"
}
other learnt '"tokenizer": {"kind": "bpe", "vocabulary": 1000}, "model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4'
other moments '"model": {"layers": 3, "width": 192, "feed_forward": 512, "heads": 4, "kv_heads": 4, "context": 128}, "batch": 4'

# A long run takes no more than a short one.
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
echo '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 700, "every": {"validation": 10, "checkpoint": 1, "sample": 0}}' >long.json
tern train --data text.txt --config long.json -o long --json 2>/dev/null | json '"long: within an eighth" if 7 / 8 < j["memory"]["predicted_bytes"] / j["memory"]["peak_bytes"] < 8 / 7 else j["memory"]'
seq -f 'line %g of a text that repeats itself' 1 3000 >text.txt

# The tokens of a step count, 132 MiB of them here. Such a step takes long: what is said before it is enough.
echo '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 32}, "batch": 16, "accumulate": 65536, "validation": {"share": 0}}' >tokens.json
tern train --data text.txt --config tokens.json -o tokens >told 2>/dev/null &
while kill -0 $! 2>/dev/null && ! grep -qs predicted told; do sleep 0.05; done
{ kill -KILL $!; wait $!; } 2>/dev/null
sed -nE 's/^memory: +([0-9.]+) MiB predicted: .*/\1/p' told | awk '{ print "tokens: " ($1 > 132 && $1 < 180 ? "counted" : $0) }'
