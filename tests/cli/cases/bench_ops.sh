# Every row has its members, and what was not measured is null with a reason; times are not judged.
tern bench ops --family rows --memory 1 --budget 0.001 --threads 1 --json >rows.json 2>errors
case $? in 0 | 1) echo done ;; *) cat errors ;; esac
json 'sorted(j[0])' <rows.json
json '[(r["name"], r["threads"], r["limit_kind"]) for r in j]' <rows.json
json 'all(r["rounds"] == 0 or 0 < r["min_us"] <= r["median_us"] for r in j)' <rows.json
json 'all((r["limit_share"] is None) == (r["error"] is not None) for r in j)' <rows.json
json 'all(r["isa"] and r["kernel"] and r["shape"].startswith("f32[") for r in j)' <rows.json
tern bench ops --list --json | json 'sorted(set(r["family"] for r in j)), sorted(set(r["limit_kind"] for r in j))'
tern bench ops --list --layout strided --json | json '[r["name"] for r in j]'
tern bench ops --list --family matmul --dtype f32 --size 1024x1024 --device cpu --json | json '[(r["name"], r["shape"]) for r in j]'
tern bench ops --list --json | json '[r["name"] for r in j if "[6912,2560]" in r["shape"]]'
# One name for the highest instruction set everywhere; the older one means the same.
for option in --cpu --isa; do
    tern bench ops --family rows --memory 1 --budget 0.001 --threads 1 --json $option baseline 2>/dev/null | json '{r["isa"] for r in j}'
done
# Tables have the time of one operation, not of all copies that a run does; what integers do is no floating point.
ternary="bench ops --family ternary --size 640x2560 --memory 16 --budget 0.001 --threads 1"
tern $ternary --json 2>/dev/null >ternary.json
tern $ternary 2>/dev/null | sed 's/,/ /g' >ternary.txt
"$TERN_PYTHON" - <<'END'
import json
unit = {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6}
rows = [r for r in json.load(open("ternary.json")) if r["name"] == "t2 n=1" and r["rounds"]]
table = [line.split() for line in open("ternary.txt") if line.startswith("t2 n=1 ")]
said = [float(w[i - 1]) * unit[w[i]] for w in table for i in range(1, len(w)) if w[i] in unit][:1]
print(rows[0]["copies"] > 20, len(said), said[0] < rows[0]["median_us"] / 4)
text = open("ternary.txt").read()
print(sorted({w for w in ("GOPS", "GFLOPS") if w in text}))
END
