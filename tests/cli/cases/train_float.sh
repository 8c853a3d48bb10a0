# Float weights, which ternary ones are compared with: the run tells its losses, and that no file comes of it.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16, "weights": "float"}, "batch": 4,
 "steps": 20, "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 2},
 "every": {"validation": 0, "checkpoint": 10, "sample": 5}, "sample": {"prompt": "a long one, longer than the context"}}
END
tern train --data text.txt --config tiny.json -o out |
    sed -E -e '/^(data|steps|memory):/d' -e 's/[0-9]+\.[0-9]{4}.*left$/X/' -e 's/[0-9]+\.[0-9]{4}/X/'
ls -A out
tern train --data text.txt --config tiny.json -o again --json | json '(j["steps"], j["finished"], j["validation"] > 0, "model" in j)'
