# How a training step was compiled is shown like a graph, and nothing is trained.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
echo '{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4}' >tiny.json
tern train --data text.txt --config tiny.json -o out --explain --bandwidth 10 --peak 100 >explained
grep -oE '^-* ?(passes|fusions|memory|steps)' explained
awk '$1 ~ /^(fuse|memory|select)$/ { print $1 }' explained
grep -oE ' planned; no plan of this order needs less than' explained
[ -e out ] || echo "no folder is left"
tern train --data text.txt --config tiny.json -o out --explain --json --bandwidth 10 --peak 100 | json '[(p["graph"], p["level"], len(p["plan"]) == p["steps"], len(p["buffers"]) > 0, [q["name"] for q in p["passes"] if q["name"] in ("fuse", "memory")]) for p in j["programs"]]'
echo "--- several programs"
for more in '"accumulate": 2' '"activations": "f16"'; do
    echo "{\"model\": {\"layers\": 1, \"width\": 32, \"feed_forward\": 64, \"heads\": 2, \"kv_heads\": 1, \"context\": 16}, \"batch\": 4, $more}" >more.json
    tern train --data text.txt --config more.json -o out --explain --bandwidth 10 --peak 100 | grep -E ' of training$|^-* ?steps' | sed 's/ -* .*//'
    # the rate is read by the update alone
    tern train --data text.txt --config more.json -o out --explain --json --bandwidth 10 --peak 100 |
        json '[(p["graph"], any(o["name"] == "rate" for s in p["plan"] for o in s["operands"])) for p in j["programs"]]'
done
