# `tern regress` as a check.
needs_sqlite
needs_jansson
export TERN_BASELINES=$PWD/baselines.db
results base.json 1 0.99 1.01 1 1.005
results slow20.json 1.2 1.2
tern baseline create main --from base.json
tern monitor --every 1h --count 1 --check 'tern regress --baseline main --from slow20.json' >said
echo "exit status $?"
grep -oE '#1 regression in|: [0-9] regression of.*' said
echo "# what is undecided has advice, which stands before the summary"
"$TERN_PYTHON" -c 'import json
j = json.load(open("slow20.json"))
j["rows"] = [r for r in j["rows"] if r["name"] == "large" or r["run"] == 0]
json.dump(j, open("mixed.json", "w"))'
tern monitor --every 1h --count 1 --check 'tern regress --baseline main --no-record --from mixed.json' --alert 'echo "alert: $TERN_MONITOR_SUMMARY"; echo "$TERN_MONITOR_OUTPUT" | grep -c "^undecided: slower or not"' |
    grep -oE '#1 regression in|: [0-9] regression.*|^[0-9]+$'
echo "# a summary of several lines is one"
printf 'small is slower\n\n1 critical, 2 regression, 12 undecided, 3 missing, 100 same, 4 better of 122\nbenchmarks; threshold 10 %%, critical from 30 %%\n' >long
tern monitor --every 1h --count 1 --check 'cat long; exit 2' | grep -oE ': 1 critical.*'
