# Planted changes in stored samples: states and exit statuses.
export TERN_BASELINES=$PWD/baselines.db
needs_sqlite
needs_jansson
results base.json 1 0.99 1.01 1 1.005
results same.json 1
results once.json 1.2
results slow5.json 1.05 1.05
results slow20.json 1.2 1.2
results slow40.json 1.4 1.4
results fast20.json 0.8 0.8
tern baseline create main --from base.json
regress()
{
    status tern regress --baseline main --no-record "$@" | grep -E '^(better|same|undecided|missing|regression|critical|exit)'
}
for set in same slow5 slow20 slow40 fast20; do
    echo "# $set"
    regress --from $set.json
done
echo "# thresholds"
regress --from slow5.json --threshold 3
regress --from slow5.json --threshold 3 --critical 4
regress --from slow20.json --threshold 30
echo "# JSON and HTML"
tern regress --baseline main --from slow20.json --output-format json --no-record |
    json 'j["state"], j["counts"]["regression"], [(r["state"], r["memory"], r["accuracy"], round(r["ratio"], 2), r["base_sessions"]) for r in j["rows"]]'
tern regress --baseline main --from slow20.json --output-format html -o page.html --no-record
"$TERN_PYTHON" -c 'from html.parser import HTMLParser
class P(HTMLParser):
    rows = 0
    def handle_starttag(self, tag, attrs):
        P.rows += tag == "tr" and ("class", "regression") in attrs
p = P(); p.feed(open("page.html").read()); print(P.rows)'
echo "# memory and accuracy"
sed 's/"peak_bytes": 1000/"peak_bytes": 1250/' same.json >memory.json
regress --from memory.json
sed 's/"accuracy_error": 1e-08/"accuracy_error": 0.5/' same.json >accuracy.json
regress --from accuracy.json
echo "# history"
for i in 1 2 3 4 5 6 7 8; do tern regress --baseline main --from same.json >/dev/null; done
for i in 1 2 3 4 5 6 7 8; do tern regress --baseline main --from once.json >/dev/null; done
tern baseline list --json | json '[(b["sessions"], b["checks"]) for b in j]'
tern regress --baseline main --from once.json --no-record | grep -oE 'history: (slower|faster) by [0-9]+'
tern regress --baseline main --from once.json --output-format json --no-record |
    json '[[(c["at"], c["ratio"] > 1) for c in r["history"]["changes"]] for r in j["rows"]], [r["history"]["trend"] > 0 for r in j["rows"]]'
echo "# one session is no proof, two are"
regress --from once.json
tern regress --baseline main --from once.json --no-record | grep -oE 'worse in one session, unconfirmed'
regress --from once.json --from once.json
echo "# another machine"
sed 's/"here"/"there"/' same.json >there.json
regress --from there.json
regress --from there.json --any-host
