# Every failure is a line and a status that is no answer.
export TERN_BASELINES=$PWD/baselines.db
needs_sqlite
needs_jansson
results base.json 1 1 1
results none.json
status tern regress
status tern regress --baseline main
tern baseline create main --from base.json
cp baselines.db before
status tern regress --baseline nothing
status tern regress --baseline main --threshold 0
status tern regress --baseline main --threshold -5
status tern regress --baseline main --threshold nan
status tern regress --baseline main --threshold ten
status tern regress --baseline main --threshold 5000
status tern regress --baseline main --threshold 1e400
status tern regress --baseline main --critical 1e400
# What measures is refused beside --from, also where a baseline is made.
for option in --suite=ops --runs=2 --budget=1 --family=f --memory=4 --timeout=1; do
    status tern baseline create other --from base.json $option
done
status tern regress --baseline main --threshold 10 --critical 5
status tern regress --baseline main --output-format xml
status tern regress --baseline main extra
# What is of baselines is refused beside --program, and the other way round; before anything is run.
for option in --baseline=main --from=base.json --family=f --budget=1 --samples=20 --timeout=1 --any-host --no-record --store=x.db; do
    status tern regress --program nowhere/tern $option
done
status tern regress --baseline main --sessions 8
status tern regress --baseline main --bench ops
# Numbers are read before the store is.
status tern regress --baseline nothing --timeout -1
status tern regress --baseline nothing --budget 5000
status tern regress --program nowhere/tern --sessions 2
# Where the report goes is known to be bad before anything is run or read.
status tern regress --program nowhere/tern -o nowhere/x.txt
status tern regress --baseline nothing -o nowhere/x.txt
status tern regress --baseline main --from missing.json -o kept.txt >/dev/null 2>&1
ls kept* 2>/dev/null
status tern regress --baseline main --any-host --family g
status tern regress --baseline main --from missing.json 2>&1 | sed "s|$PWD|DIR|"
echo '{"format": "tern-results", "version": 1, "rows": [' >cut.json
status tern regress --baseline main --from cut.json
status tern regress --baseline main --from none.json --no-record >/dev/null
status tern regress --baseline main --from base.json -o nowhere/x.txt --no-record
tern regress --baseline main --from base.json --no-record >/dev/full
echo "exit status $?"
cmp baselines.db before
# Nor is a session kept whose report did not arrive.
results fresh.json 1 1.002
tern regress --baseline main --from fresh.json >/dev/full
echo "exit status $?"
tern baseline list --json | json '[b["checks"] for b in j]'
# Who reads makes no store of an empty file.
: >empty.db
status tern baseline list --store empty.db
status tern regress --baseline main --store empty.db 2>&1 | sed "s|$PWD|DIR|"
wc -c <empty.db
# A history that cannot be kept hides no answer, and is an error where there is nothing worse to say.
results same.json 1 1.001
results slow.json 1.5 1.51
"$TERN_PYTHON" -c 'import json
for name in "same.json", "slow.json":
    j = json.load(open(name))
    for r in j["rows"]: r["samples_us"] *= 20; r["rounds"] = len(r["samples_us"])
    json.dump(j, open(name, "w"))'
full()
{
    (ulimit -f 64; status "$@") 2>&1 |
        sed -E 's/^(critical|same) .*/\1/; /^ /d; /^$/d; s|'"$PWD"'/||; s/: [^:]*(full|I\/O|large)[^:]*$/: WHY/'
}
full tern regress --baseline main --from slow.json
full tern regress --baseline main --from same.json
cmp baselines.db before
echo "this is no database, but a text that stands where one should be" >text.db
status tern regress --baseline main --store text.db
status tern regress --help | sed -n '/^exit status/,$p'
