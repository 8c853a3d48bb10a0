# Results are printed by the CPU, whatever computed them: MLX has no f64, and nothing but the graph is asked of it.
tern devices --json | json '"\n".join(str(d.get("unavailable") or "there") for d in j if d["name"] == "mlx")' | grep -qx there || skip "there is no MLX here"
echo 'graph { %x = input "x" f32[5,37] %0 = neg(%x) %1 = max(%x) {axes=[0,1]} return %0, %1 }' >some.tern
tern graph run some.tern --made-up >here
tern graph run some.tern --made-up --device mlx >there # no fallback is needed, and none is counted
diff here there && echo "the same"
tern graph run some.tern --made-up --device mlx --fallback >there
diff here there && echo "the same, and nothing is said"
tern graph run some.tern --made-up --json | json '[(o["type"] if "type" in o else "", o["min"], o["max"]) for o in j["outputs"]]' >here
tern graph run some.tern --made-up --device mlx --json | json '[(o["type"] if "type" in o else "", o["min"], o["max"]) for o in j["outputs"]]' >there
diff here there && echo "the same in JSON"
