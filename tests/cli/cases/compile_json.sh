# Members that scripts count on, and what adds up.
tern graph compile $GRAPHS/mlp.tern --json >j
for level in none low medium high; do
    tern graph compile $GRAPHS/mlp.tern --json --level $level | json '(j["level"], j["nodes_before"], j["nodes_after"], j["steps"])'
done
json 'sorted(set(["nodes_before", "nodes_after", "steps", "peak_bytes", "naive_bytes", "live_bytes_lower_bound", "compile_us", "passes", "fusions", "order"]) - set(j))' <j
json '[sorted(p) for p in j["passes"]][0]' <j
json '[(p["name"], p["changes"], p["nodes_after"]) for p in j["passes"] if p["name"] in ("fold", "dce", "fuse")]' <j
# What an epilogue saves depends on how wide the tiles of packed weights are here.
json '[(f["kind"], f["nodes"], round(f["estimated_speedup"], 2) if f["kind"] == "row program" else f["estimated_speedup"] > 1) for f in j["fusions"]]' <j
json '(j["order"], len(j["order"]) == j["steps"] == len(j["plan"]))' <j
json '(j["live_bytes_lower_bound"] <= j["peak_bytes"] <= j["naive_bytes"])' <j
json '"estimated_us" in j["plan"][0]' <j
tern graph compile $GRAPHS/mlp.tern --json --explain --bandwidth 1 --peak 1 --threads 1 | json '[round(s["estimated_us"], 3) for s in j["plan"]][:3]'
tern graph compile $GRAPHS/mlp.tern --json --disable fuse --disable fold | json '[p["name"] for p in j["passes"] if not p["ran"]]'
