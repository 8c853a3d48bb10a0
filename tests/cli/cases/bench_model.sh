# Fields as llama-bench has them, and the share of a limit; on a model too small for figures. Each run measures the machine's limit,
# which takes seconds: a format is written once, and looked at as often as need be.
tern synth --shape tiny --embedding q6_k model.gguf >/dev/null
run="tern bench model -m model.gguf -p 16 -n 4 -d 8 -r 2 -t 1"
$run -o json >rows.json
json '[(r["n_prompt"], r["n_gen"], r["n_depth"], r["n_threads"], len(r["samples_ts"]), r["avg_ts"] > 0, r["avg_ns"] > 0, r["stddev_ts"] >= 0, r["model_type"]) for r in j]' <rows.json
# Of 1179648 ternary weights in 1.6 bits to 2, in tiles of up to 80 rows, and 118784 bytes of others.
json '[1179648 / 5 <= r["bytes_per_token"] - 118784 < 1179648 / 2 for r in j], j[0]["model_ready_s"] > 0, j[1]["time_to_first_token_s"]' <rows.json
$run -o csv >rows.csv
cut -d, -f1,6 rows.csv | head -1
wc -l <rows.csv
$run -o sql >rows.sql
grep -c "INSERT INTO llama_bench" rows.sql
<rows.sql $TERN_PYTHON -c 'import sqlite3, sys; d = sqlite3.connect(":memory:"); d.executescript(sys.stdin.read()); print(d.execute("SELECT n_prompt, n_gen, avg_ns = round(avg_ns) FROM llama_bench").fetchall())'
$run | sed -E 's/[0-9]+\.[0-9]+ ± [0-9.]+/RATE/' | cut -d'|' -f2-8
status tern bench model -m nowhere.gguf
status tern bench model -m model.gguf -p 0 -n 0
status tern bench model -m model.gguf -t 0
status tern bench model -m model.gguf -p 300
tern bench model -m model.gguf -p 8,16 -n 0,4 -r 1 -t 1,2 --json >several.json
json '[(r["n_threads"], r["n_prompt"], r["n_gen"]) for r in j]' <several.json
# Shares are what their definition makes of the row's own numbers: 2 operations for each of the 1179648 ternary weights and each token of a
# prompt, bytes of a token for each that is generated, by the time and by the limit's rate. A share that cannot be says so. The share's clock
# stops a little later than the row's: no share is above its definition, and one of them, whoever else has the machine, near it.
cat >check.py <<'END'
import json, os
rows = json.load(open("several.json"))
ratios = []
cached = any(int(open(f"/sys/devices/system/cpu/cpu0/cache/index{i}/size").read()[:-2] or 0) >= 512 for i in range(4) if os.path.exists(f"/sys/devices/system/cpu/cpu0/cache/index{i}/size"))
for r in rows:
    work = 2 * 1179648 * r["n_prompt"] + r["bytes_per_token"] * r["n_gen"]
    if r["roofline_share"] is None:
        assert r["error"].startswith("unavailable: "), r
    else:
        ratios.append(work / (r["avg_ns"] * 1e-9) / r["limit_per_s"] / r["roofline_share"])
        assert ratios[-1] > 0.999, r
    # weights of 0.4 MB are not read from memory again and again, wherever it is known that there is a cache
    assert r["n_prompt"] or r["roofline_share"] is None and (r["error"].startswith("unavailable: the weights stay in the caches, ") or not cached), r
    assert r["limit"] == ("int8_dot" if r["n_prompt"] else "read_bw"), r
    # the first token is there when the prompt is read
    first = r["time_to_first_token_s"]
    assert first is None if r["n_gen"] else abs(first - r["avg_ns"] * 1e-9) <= 1e-9 + 1e-6 * first, r
    assert r["peak_memory_bytes"] is None or r["model_size"] + r["kv_cache_bytes"] < r["peak_memory_bytes"] < 4 << 30, r
assert not ratios or min(ratios) < 1.5, ratios
assert not os.path.exists("/proc/self/status") or all(r["peak_memory_bytes"] for r in rows), rows
END
$TERN_PYTHON check.py && echo "as defined"
status tern bench model -m model.gguf -p 4 -n 0 -r 1 --timeout 0.000001 2>&1 | sed 's/after .* s,/after S s,/'
status tern bench model -m model.gguf -p 4 -n 0 -r 1 --timeout never
head -c 300000 model.gguf >cut.gguf
status tern bench model -m cut.gguf -p 4 -n 4 2>/dev/null
