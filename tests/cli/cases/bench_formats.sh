# Every format is read by Python; figures differ from run to run, shapes of the files do not. As many rows are expected as cases are
# listed, so that another case changes nothing here.
export CASES=$(tern bench ops --family reductions --list --threads 1 --json | json 'json.dumps([r["name"] for r in j])')
bench()
{
    tern bench ops --family reductions --memory 1 --budget 0.001 --samples 6 --threads 1 "$@" 2>errors
    case $? in 0 | 1) ;; *) cat errors ;; esac
}
bench --format json >set.json
json 'j["format"], j["version"], [r["name"] for r in j["rows"]] == cases' <set.json
json 'sorted(set(j["conditions"]) - {"disturbed_by"})' <set.json
json 'all(v for v in j["conditions"].values())' <set.json
json 'all(len(r["samples_us"]) == r["rounds"] <= 6 and (r["low_us"] is None or r["low_us"] <= r["median_us"] <= r["high_us"]) for r in j["rows"])' <set.json
bench --format google-benchmark >google.json
json 'sorted(j), sorted({b["run_type"] for b in j["benchmarks"]}), {b["time_unit"] for b in j["benchmarks"]}, len({b["run_name"] for b in j["benchmarks"]}) == len(cases)' <google.json
json 'all(b["cpu_time"] > 0 for b in j["benchmarks"] if not b["name"].endswith("_mad"))' <google.json
json 'isinstance(j["context"]["caches"], list), {tuple(c) for c in j["context"]["caches"]} <= {("type", "level", "size", "num_sharing")}, j["context"]["num_cpus"] > 0' <google.json
bench --samples 1 --budget 1e-9 --format json | json '{(r["rounds"], r["mad_us"], r["limit_share_mad"]) for r in j["rows"]}'
tern bench ops --family reductions --memory 1 --samples 1 --threads 1 --budget 0.001 2>/dev/null | grep -cE ' [num]?s +- ' | json 'j == len(cases)'
bench --format github-action | json '[(sorted(b), b["unit"], b["value"] > 0) for b in j][:1], len(j) == len(cases)'
bench --format github-action-bigger | json '{b["unit"] for b in j}, len(j) == len(cases)'
bench --format bencher | json 'len(j) == len(cases), sorted({m for b in j.values() for m in b}), all(m.get("lower_value", 0) <= m["value"] <= m.get("upper_value", 1e99) for b in j.values() for m in [b["latency"]])'
bench --format csv >set.csv
"$TERN_PYTHON" -c 'import csv, json, os
rows = list(csv.DictReader(open("set.csv")))
print([r["name"] for r in rows] == json.loads(os.environ["CASES"]), all(float(r["median_us"]) > 0 for r in rows))'
bench --format rows -o rows.json
json 'len(j) == len(cases) > 10' <rows.json
bench --timeout 0.000000001 --json | json '{r["error"].split(" after ")[0] for r in j}, {r["error"].split(", ")[1] for r in j}, {r["rounds"] for r in j}'
tern bench compile --family mlp --samples 2 --budget 0.001 --threads 1 --format github-action-bigger >bigger.json
echo "exit $?, $(wc -c <bigger.json) bytes"
status tern bench ops --format xml
status tern bench ops -o x.txt
status tern bench ops --list --format csv -o nowhere/x.csv
status tern bench ops --format json -o nowhere/x.json # at once: nothing is measured for it
status tern bench ops --timeout 0
