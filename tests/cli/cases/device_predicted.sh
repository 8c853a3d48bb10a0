# Predicted and measured times stand beside each other: of each partition of a graph, and of all that a model ran. What another device
# takes is planted, a hundred times the CPU's times, so that nothing is built for it.
needs_sqlite
tern devices --json | json '"\n".join(str(d["name"]) for d in j if d["name"] != "cpu" and not d.get("unavailable"))' | grep -q . || skip "there is no device but the CPU"
export TERN_TUNING=$PWD/tuning.db
tern tune --devices --device cpu --threads 1 --runs 1 >/dev/null 2>&1
tern devices --json >devices.json
"$TERN_PYTHON" - <<'EOF'
import json, sqlite3
device = [d for d in json.load(open("devices.json")) if d["name"] != "cpu" and not d.get("unavailable")][0]
identity = "%.200s; %.100s" % (device["model"], device.get("driver") or "no driver")
db = sqlite3.connect("tuning.db")
columns = [row[1] for row in db.execute("PRAGMA table_info(timings)")]
rows = [dict(zip(columns, row)) for row in db.execute("SELECT * FROM timings WHERE op = 'device:cpu'")]
assert rows
borders = [dict(r, shapes="border") for r in rows if r["shapes"] == "moves"]
for r in rows + borders:
    r.update(op="device:" + device["name"], params=identity, median_ns=r["median_ns"] * 100, min_ns=r["min_ns"] * 100)
    db.execute("INSERT INTO timings VALUES(%s)" % ", ".join("?" * len(columns)), [r[c] for c in columns])
db.commit()
EOF
tern graph run "$GRAPHS/bitlinear.tern" --device auto --threads 1 --json |
    json '[(p["device"], p["predicted_us"] > 0, p["measured_us"] > 0) for p in j["partitions"]]'
tern graph run "$GRAPHS/bitlinear.tern" --device auto --threads 1 --explain | grep -A3 placement | sed -E 's/[0-9.]+ [mun]?s/TIME/g' | tr -s ' '
tern run --device auto --threads 1 -p ROMEO: -n 3 --temp 0 --json 2>/dev/null | json '{k: v > 0 for k, v in j["placement"].items()}'
tern run --device auto --threads 1 -p ROMEO: -n 3 --temp 0 -v 2>&1 >/dev/null | grep -a placement | sed -E 's/[0-9]+ of [0-9]+/N of N/; s/[0-9.]+ [mun]?s/TIME/g'
