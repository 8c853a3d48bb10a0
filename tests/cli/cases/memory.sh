# Another command, and where its memory went. Times and sizes of the machine's own differ, so only what is known of them is looked at.
cp "$GRAPHS/mlp.tern" .
status tern memory
status tern memory --by colour -- graph run mlp.tern
status tern memory --format pdf -- graph run mlp.tern
status tern memory --top 0 -- graph run mlp.tern
status tern memory --json --format svg -- graph run mlp.tern
status tern memory --events 1 -- graph run mlp.tern
status tern memory -m model.gguf
status tern memory -- memory -- version
status tern memory -- grpah run x.tern
status tern memory -- graph run missing.tern | grep -E '^(memory:|exit)' | sed -E "s/: [0-9.]+ .?s$/: TIME/"
status tern memory -o no/such/folder/file -- list passes | head -n 1 # it did not run
echo earlier >kept
status tern memory -o kept -- graph run missing.tern 2>/dev/null
cat kept
tern memory -- graph run mlp.tern --made-up |
    grep -E "^(memory:|peak|in use over|memory by|programs|copied|fragmentation|pressure|leaks|what could|  none)" | sed -E "s/: [0-9.]+ .?s$/: TIME/"
tern memory --json -- graph run mlp.tern --made-up 2>said >record
json 'sorted(j)' <record
json 'j["title"], j["lost"], j["leaks"], j["leaked_bytes"], j["start_bytes"] + j["allocated_bytes"] - j["freed_bytes"] == j["end_bytes"]' <record
json 'sorted(j["peak"]), max(p["in_use_bytes"] for p in j["timeline"]) == j["peak"]["bytes"], sum(r["peak_bytes"] for r in j["ops"]) <= j["peak"]["bytes"]' <record
json 'all(p["peak_op"] and p["live_bytes"] <= p["arena_bytes"] <= p["naive_bytes"] for p in j["programs"] if p["arena_bytes"])' <record
json 'sorted({r["name"] for r in j["parts"]} & {"layer 1", "layer 2", "classes", "the likeliest"}), any(":" in r["name"] for r in j["sites"])' <record
json 'j["pressure"]["level"] in ("none", "moderate", "critical", "unknown"), [s["source"] for s in j["pressure"]["signals"]], all("text" in s or s["unavailable"] for s in j["pressure"]["signals"])' <record
grep -q . said && echo "what the command says is on stderr"
tern memory --json --events 16 -- graph run mlp.tern --made-up 2>/dev/null |
    json 'j["events"], j["lost"] > 0, j["start_bytes"] + j["allocated_bytes"] - j["freed_bytes"] == j["end_bytes"]'
# Of the programs that a model takes those with arenas are told, the largest first, and how many have none.
tern synth --shape small --layers 2 loaded.gguf >/dev/null
tern memory -- run -m loaded.gguf -p "Once upon" -n 3 2>/dev/null | sed -n '/^programs/,/^$/p' | grep . |
    sed -E 's/program [0-9]+ ran ([0-9]+)/program P ran \1/; s/arena [1-9].*/arena SIZE/; s/and [0-9]+ /and N /'
# Weights and keys belong to the parts of the model; what is copied for them is one row of each line.
tern memory --json -- run -m loaded.gguf -p "Once upon" -n 3 2>/dev/null >record
json 'sorted({r["name"] for r in j["parts"] if r["peak_bytes"] > 0 and r["name"] != "output"}), len(j["copies"]) == len({(c["direction"], c["op"], c["site"]) for c in j["copies"]})' <record
tern memory --format timeline -o picture.svg -- list passes >passes && cmp passes <(tern list passes) && head -c 4 picture.svg && echo
tern memory --format svg -o flame.svg -- graph run mlp.tern --made-up >/dev/null && grep -c "data-of=\"memory\"" flame.svg
cat picture.svg flame.svg | grep -c 'var(' # viewers that know no variables would draw all of it black
tern memory --format collapsed -o stacks -- graph run mlp.tern --made-up >/dev/null && grep -qE '^all;eval;compile;.* [0-9]+$' stacks && echo stacks
tern memory --by site -o report -- graph run mlp.tern --made-up >/dev/null && grep '^memory by' report
# Whoever reads weights for a pass is in that pass, on whichever thread.
tern memory --json -- run -m loaded.gguf -p "Once upon" -n 2 --threads 2 2>/dev/null >record
json '{j["frames"][f["parent"]]["name"] if f["parent"] >= 0 else "none" for f in j["frames"] if f["name"].startswith("loading.c") and "scratch" in f["name"]}' <record
# Scratch for reading is kept from weight to weight: a block for each thread, however many weights there are.
json 'sum(r["allocations"] for r in j["sites"] if "scratch" in r["name"]) < 20, [r["what"] for r in j["recommendations"] if r["kind"] == "pooling"]' <record
