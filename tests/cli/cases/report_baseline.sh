# With a baseline: its history comes along.
export TERN_BASELINES=$PWD/baselines.db
needs_sqlite
needs_jansson
results base.json 1 0.99 1.01 1 1.005
results same.json 1
results slow20.json 1.2
status tern report same.json --baseline main
tern baseline create main --from base.json
status tern report same.json --baseline other
for i in 1 2 3 4 5 6 7 8; do tern regress --baseline main --from same.json >/dev/null; done
for i in 1 2 3 4 5 6 7 8; do tern regress --baseline main --from slow20.json >/dev/null; done
tern report slow20.json --baseline main --section regressions | sed -E 's/[0-9]+\.[0-9]+/N/g'
tern report slow20.json --baseline main --section history --format json | json '[len(s["medians_us"]) for s in j["sections"]["history"]]'
tern report slow20.json --baseline main --section history | grep -oE 'slower by [0-9]+'
tern report slow20.json --baseline main -o page.html && grep -c 'class="change worse"' page.html
tern baseline list --json | json '[(b["sessions"], b["checks"]) for b in j]'
