# What cannot be trained is said before anything is computed, with what to do.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
echo '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 3}' >tiny.json
status tern train
status tern train -o out
status tern train --data absent.txt -o out
: >empty.txt
status tern train --data empty.txt -o out
status tern train --data text.txt -o absent/out
status tern train --data text.txt -o out --config absent.json
status tern train --data text.txt -o out --steps 0
status tern train --data text.txt -o out --minutes -1
status tern train --data text.txt -o out --resume
echo short >short.txt
status tern train --data short.txt --config tiny.json -o out
head -c 100 text.txt >small.txt
status tern train --data small.txt --config tiny.json -o out
# config JSON: how it is refused
config()
{
    echo "$1" >bad.json
    status tern train --data text.txt --config bad.json -o out
}
config '{"model": {"layers": 0}}'
config '{"model": {"layer": 1}}'
config '{"batch": "many"}'
config '{"optimiser": {"kind": "adam"}}'
config '{"tokenizer": {"kind": "words"}}'
config '{"export": {"type": "q9"}}'
config '{"model": {"heads": 3, "context": 16}, "batch": 4}'
config '{"batch": 1'
echo "--- too large"
config '{"model": {"layers": 4096, "width": 131072, "heads": 8, "kv_heads": 8, "context": 16}, "batch": 4}' 2>&1 | sed -E 's/but .* are available/but N are available/'
config '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 256}, "batch": 1000000, "validation": {"share": 0}}' 2>&1 |
    sed -E -e 's/[0-9.]+ [GTP]iB/BYTES/g' -e 's/but .* are available/but N are available/'
config '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 256}, "batch": 4096, "accumulate": 1048576, "validation": {"share": 0}}' 2>&1 |
    sed -E -e 's/[0-9.]+ [GP]iB/BYTES/g' -e 's/but .* are available/but N are available/'
config '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "sample": {"prompt": "a long one, longer than that"}}'
# found before the first step, not when the model is to be written
for key in '"type": "f64"' '"type": "i32"' '"embedding": "i2_s"' '"embedding": "q6_k"'; do
    config "{\"model\": {\"layers\": 1, \"width\": 32, \"feed_forward\": 64, \"heads\": 2, \"kv_heads\": 1, \"context\": 16}, \"batch\": 4, \"steps\": 3, \"export\": {$key}}"
done
echo "--- files"
tern train --data text.txt --config tiny.json -o good --quiet >/dev/null
status tern train --data text.txt --config tiny.json -o good
status tern train --data small.txt -o good --resume
echo '{"model": {"layers": 2, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4}' >other.json
status tern train --data text.txt --config other.json -o good --resume
# what no tensor's shape shows: weights would go on as those of another model
for key in '"heads": 4, "kv_heads": 2, "context": 16' '"heads": 2, "kv_heads": 1, "context": 8' '"heads": 2, "kv_heads": 1, "context": 16, "rope_theta": 500' \
    '"heads": 2, "kv_heads": 1, "context": 16, "norm_eps": 0.25' '"heads": 2, "kv_heads": 1, "context": 16, "weights": "float"'; do
    echo "{\"model\": {\"layers\": 1, \"width\": 32, \"feed_forward\": 64, $key}, \"batch\": 4, \"steps\": 9}" >other.json
    status tern train --data text.txt --config other.json -o good --resume
done
cp good/checkpoint.safetensors kept
truncate -s 70000 good/checkpoint.safetensors
status tern train --data text.txt -o good --resume 2>&1 | sed -E 's/[0-9]{5,}/N/g'
cp kept good/checkpoint.safetensors
printf 'x' | dd of=good/checkpoint.safetensors bs=1 seek=60000 conv=notrunc 2>/dev/null
status tern train --data text.txt -o good --resume
status tern train --data text.txt --from good/best.safetensors -o from
status tern train --data text.txt --from absent.gguf -o from
echo "--- what failed leaves no folder"
ls -d out from 2>/dev/null
mkdir empty && status tern train --data absent.txt -o empty
ls -d empty
