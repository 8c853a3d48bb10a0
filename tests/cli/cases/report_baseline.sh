# With a baseline: its history comes along.
export TERN_BASELINES=$PWD/baselines.db
needs_sqlite
needs_jansson
results base.json 1 0.99 1.01 1 1.005
results same.json 1
results once.json 1.2
results slow20.json 1.2 1.2
status tern report same.json --baseline main
tern baseline create main --from base.json
status tern report same.json --baseline other
history 1
history 1.2
tern report slow20.json --baseline main --section regressions | sed -E 's/[0-9]+\.[0-9]+/N/g'
tern report once.json --baseline main --section history --format json | json '[len(s["medians_us"]) for s in j["sections"]["history"]]'
tern report slow20.json --baseline main --section history | grep -oE 'slower by [0-9]+'
tern report slow20.json --baseline main -o page.html && grep -c 'class="change worse"' page.html
echo "# no regression is good news only where most is known"
for set in same once slow20; do tern report $set.json --baseline main -o card.html && grep -oE '<li class="(good|open|bad)">' card.html; done
tern baseline list --json | json '[(b["sessions"], b["checks"]) for b in j]'
echo "# measured now: the baseline's benchmarks, a profile and memory"
model='a tiny random model'
! tern inspect >/dev/null 2>&1 || model='the built-in model [a-z]+'
tern bench graph --family mlp --threads 1 --budget 0.01 --samples 5 --format json -o mlp.json
tern baseline create mlp --from mlp.json >/dev/null
tern report --baseline mlp -o now.json 2>stages
sed -E 's/\([0-9] of [23]\)/(N)/; /model.gguf/d' stages # a line for each stage, where nobody sees a bar
tern baseline create quick --suite alloc --family heap --runs 2 --budget 0.001 --samples 3 --threads 1 2>&1 >/dev/null | grep -v "other programs had the machine"
json '[(s["kind"], s["name"]) for s in j["sections"]["data"]["sources"]], [n for n, s in j["sections"].items() if "unavailable" in s]' <now.json
# (a busy machine may give up on some of them, which are no rows of a comparison then)
json 'len(j["sections"]["performance"]["rows"]) >= len(j["sections"]["comparison"]["rows"]), j["sections"]["summary"]["sentences"][-1]' <now.json | sed -E "s/in [0-9]+ s:/in N s:/; s/$model/MODEL/"
