# Fields as llama-bench has them, and the share of a limit; on a model too small for figures. Each run measures the machine's limit,
# which takes seconds: a format is written once, and looked at as often as need be.
tern synth --shape tiny --embedding q6_k model.gguf >/dev/null
run="tern bench model -m model.gguf -p 16 -n 4 -d 8 -r 3 -t 1"
$run -o json | json '[(r["n_prompt"], r["n_gen"], r["n_depth"], r["n_threads"], len(r["samples_ts"]), r["avg_ts"] > 0, r["avg_ns"] > 0, r["stddev_ts"] >= 0, r["model_type"]) for r in j]'
$run --json | json 'all(r["roofline_share"] is None or r["roofline_share"] > 0 for r in j), [r["bytes_per_token"] for r in j], j[0]["model_ready_s"] > 0, j[1]["time_to_first_token_s"]'
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
tern bench model -m model.gguf -p 8,16 -n 2,0,4 -r 1 -t 1 --json | json '[(r["n_prompt"], r["n_gen"]) for r in j]'
status tern bench model -m model.gguf -p 4 -n 0 -r 1 --timeout 0.000001 2>&1 | sed 's/after .* s,/after S s,/'
status tern bench model -m model.gguf -p 4 -n 0 -r 1 --timeout never
head -c 300000 model.gguf >cut.gguf
status tern bench model -m cut.gguf -p 4 -n 4 2>/dev/null
