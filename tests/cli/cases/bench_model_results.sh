# Tests of a model as results: kept as a baseline, compared, and measured again.
needs_sqlite
needs_jansson
export TERN_BASELINES=$PWD/baselines.db
tern synth --shape tiny --seed 3 tiny.gguf >/dev/null
tern bench model -m tiny.gguf -p 4 -n 0 -r 3 -t 1 -o results >a.json
json 'j["format"], j["conditions"]["setting_model"].split("/")[-1], [(r["suite"], r["name"], r["shape"], r["dtype"], r["threads"], r["rounds"], len(r["samples_us"]), r["limit_kind"], r["median_us"] > 0) for r in j["rows"]]' <a.json
# scale FACTOR <FILE: all samples so many times as long.
scale()
{
    "$TERN_PYTHON" -c 'import json, sys
j = json.load(sys.stdin)
for r in j["rows"]:
    r["samples_us"] = [float(sys.argv[1]) * s for s in (100, 101, 100, 99, 100, 100, 101, 99, 100, 100, 100, 101, 99, 100)]
    r["rounds"] = 14
    del r["cpu_samples_us"]  # which are of other samples
json.dump(j, sys.stdout)' "$1"
}
# Sessions differ: one that is given twice is one.
for factor in 1 1.001 0.999 1.0005 1.4 1.401 1000000 1001000; do
    scale $factor <a.json >by-$factor.json
done
# Rows as single lines: where they are broken depends on how long a path is.
unwrapped()
{
    awk '/^            [^ ]/ { sub(/^ */, " "); line = line $0; next } { if (NR > 1) print line; line = $0 } END { print line }'
}
tern baseline create planted --from by-1.json --from by-1.001.json --from by-0.999.json
states()
{
    grep -E '^(better|same|undecided|missing|regression|critical|exit) ' | sed -E 's|model/.*/pp|model/TYPE/pp|'
}
status tern regress --baseline planted --from by-1.0005.json --no-record | states
status tern regress --baseline planted --from by-1.4.json --from by-1.401.json --no-record | states
# A baseline so slow that whatever is measured now must be better, or undecided where others have the machine.
tern baseline create never --from by-1000000.json --from by-1001000.json
status tern regress --baseline never 2>/dev/null | states | sed 's/^undecided  /better     /'
# The time-out reaches models, too: what took too long is missing, and says why.
status tern regress --baseline never --timeout 0.000001 | unwrapped | grep -E '^missing |exit' | sed -E 's|model/.*/pp|model/TYPE/pp|; s|after .* s,|after S s,|'
mv tiny.gguf elsewhere.gguf
status tern regress --baseline never | unwrapped | grep -E '^missing |^1 missing|exit' | sed -E 's|model/.*/pp|model/TYPE/pp|; s|/[^ ]*/tiny|tiny|'
status tern bench model -m elsewhere.gguf -p 4 -n 0 --head q8 -o results
# The formats of other benchmarks, so that two builds can be compared by their models.
tern bench model -m elsewhere.gguf -p 4 -n 0 -r 2 -t 1 --format json | json 'j["format"], len(j["rows"])'
tern bench model -m elsewhere.gguf -p 4 -n 0 -r 2 -t 1 --format csv | sed -n 1p | cut -d, -f1-3
status tern bench model -m elsewhere.gguf -p 4 -n 0 --format json -o sql
status tern bench model -m elsewhere.gguf -p 4 -n 0 --json -o sql
tern compare --program tern tern --bench 'model -m elsewhere.gguf -p 4 -n 0 -r 2 -t 1 --cache-type f32' --rounds 8 --json |
    json '[(r["suite"], r["name"], r["dtype"]) for r in j]'
status tern bench model -m missing.gguf -o results
