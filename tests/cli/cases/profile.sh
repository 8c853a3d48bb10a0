# Another command, and where its time went. Times differ from run to run, so only what is known of them is looked at.
cp "$GRAPHS/mlp.tern" .
status tern profile
status tern profile --by colour -- graph run mlp.tern
status tern profile --format pdf -- graph run mlp.tern
status tern profile --top 0 -- graph run mlp.tern
status tern profile --json --format svg -- graph run mlp.tern
status tern profile -m model.gguf
status tern profile -- profile -- version
status tern profile -- grpah run x.tern
status tern profile -- graph run missing.tern
status tern profile --json -o of_failed -- graph run mlp.tern
ls of_failed 2>/dev/null
status tern profile -o no/such/folder/file -- list passes | head -n 1 # it did not run
echo earlier >kept
status tern profile -o kept -- graph run missing.tern 2>/dev/null
cat kept
tern profile --no-limits -- graph run mlp.tern --made-up |
    grep -E "^(profile:|hot spots|what holds|threads|call tree)"
tern profile --no-limits --json -- graph run mlp.tern --made-up 2>said |
    json 'sorted(j), j["format"], j["version"], j["title"], j["lost"], {r["category"] for r in j["steps"]}, j["limits"], j["counters"]'
grep -q . said && echo "what the command says is on stderr"
tern profile --json --top 1 -- graph run mlp.tern --made-up 2>/dev/null |
    json 'len(j["limits"]) > 0, all(r["memory_bytes_per_s"] > 0 for r in j["limits"]), {r["bottleneck"] for r in j["steps"]} <= {"memory-bound", "compute-bound", "overhead", "imbalance", "unknown"}, all(r["evidence"] for r in j["ops"])'
tern profile --format speedscope -o file -- list passes >passes && cmp passes <(tern list passes) && json 'sorted(j)' <file
tern profile --format svg -o flame.svg -- graph run mlp.tern --made-up >/dev/null && grep -c 'var(' flame.svg
tern profile --no-limits -o report -- graph run mlp.tern --made-up >/dev/null && grep '^hot spots' report
# Passes are not mistaken for ops, no two rows look the same, and what runs once is said to be compiled for most of its time.
tern profile --no-limits --top 100 -- graph run mlp.tern --made-up >report
grep -oE "select \(pass\)|fold \(pass\)|fold \(work\)" report | sort -u
awk '/could save  what$/ { at = index($0, "what") } /^  self is/ { at = 0 } at { print substr($0, at) }' report | sort | uniq -d
grep -cE "% of the time is compiling|graph run --repeat" report
tern profile --no-limits -- graph run mlp.tern --made-up --repeat 3000 | grep -c "is compiling,"
# Self, total, mean and events of a row go together.
tern profile --no-limits --json -- graph run mlp.tern --made-up 2>/dev/null >rows
json 'all(r["self_ns"] <= r["total_ns"] and abs(r["mean_ns"] * r["count"] - r["total_ns"]) <= 1 + r["total_ns"] * 1e-6 for r in j["ops"]), 0 < j["compile_ns"] <= j["work_ns"] + j["wait_ns"], {r["evidence"].split(":")[0] for r in j["ops"] if r["name"] in ("select", "compile")} == {"it is a pass of the compiler", "it is compiling, around the compiler\x27s passes"}' <rows
# Threads that read weights have a track of their own.
tern synth --shape small --layers 2 loaded.gguf >/dev/null
tern profile --no-limits --json -- run -m loaded.gguf -p "Once upon" -n 2 --threads 2 2>/dev/null |
    json '[r["threads"] for r in j["ops"] if r["name"] == "read weights"], sorted(t["name"] for t in j["threads"])'
# A command that can be pasted.
for what in profile memory; do
    tern $what -- run -m loaded.gguf -p "Once upon" -n 2 2>/dev/null | grep -aE "^$what:"
done
# Rows by part, and what they leave, are all that threads worked.
for by in part step op; do
    tern profile --no-limits --by $by --top 3 -- run -m loaded.gguf -p "Once upon" -n 2 --threads 2 2>/dev/null >report
    sed -nE "/^hot spots by/,/^\$/{s/^  +[0-9.]+ .?s +([0-9.]+) %.*/\1/p; s/^  (and [0-9]+ more|outside of [a-z ]+): [^,]+, ([0-9.]+) %.*/\2/p}" report |
        awk -v by=$by '{ sum += $1; n++ } END { print by, n, (sum > 99 && sum < 101 ? "all of it" : "sum " sum) }'
    grep -oE '^  outside of [a-z ]+: .*\(.* [0-9.]+ .?s' report | sed -E 's/: .*/: what it was/'
done
# One thread waits for nobody.
tern profile --no-limits -- graph run mlp.tern --made-up --threads 1 | sed -nE 's/.*: (1 thread worked) [0-9.]+ [a-zµ]+(.*)$/\1 TIME\2/p'
for verb in profile memory; do tern $verb --help | tr -s ' \n' ' ' | grep -oE 'The exit status is that of COMMAND'; done
