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
    status tern regress --baseline main --no-record "$@" | tee shown | grep -E '^(better|same|undecided|missing|regression|critical|exit)'
    awk 'length > 80 { print "wide: " $0 }' shown
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
tern regress --baseline main --from slow20.json --json --no-record |
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
echo "# what is wrong or takes more in any session, whichever it is"
results more.json 1
results failed.json 1
"$TERN_PYTHON" -c 'import json
j = json.load(open("failed.json"))
r = j["rows"][0]
r.update(rounds=0, samples_us=[], error="bench: small differs from its reference")
json.dump(j, open("failed.json", "w"))'
sed 's/bench: small differs from its reference/unavailable: given up after 1 s, at most 1 were allowed/' failed.json >gave_up.json
for worse in failed memory accuracy; do
    regress --from more.json --from $worse.json
    regress --from $worse.json --from more.json
done
tern regress --baseline main --no-record --from more.json --from failed.json | grep -oE 'in 1 of 2 sessions: bench: small.*'
tern baseline create gaps --from gave_up.json --from base.json
status tern regress --baseline gaps --no-record --from failed.json | grep -E '^(critical|missing|exit)'
tern baseline delete gaps
echo "# history"
history 1
history 1.2
# What is there already, and what another machine did, are no news of this one.
for i in 1 2; do status tern regress --baseline main --from session1.$i.json >/dev/null; done
sed 's/"here"/"there"/' once.json >elsewhere.json
status tern regress --baseline main --from elsewhere.json --any-host >/dev/null
tern regress --baseline main --from session1.2.8.json --output-format json --no-record | json '[r["history"]["sessions"] for r in j["rows"]]'
tern baseline list --json | json '[(b["sessions"], b["checks"]) for b in j]'
tern regress --baseline main --from once.json --no-record | grep -oE 'history: (slower|faster) by [0-9]+'
tern regress --baseline main --from once.json --output-format json --no-record |
    json '[[(c["at"], c["ratio"] > 1) for c in r["history"]["changes"]] for r in j["rows"]], [r["history"]["trend"] > 0 for r in j["rows"]]'
echo "# one session is no proof, two are"
regress --from once.json
tern regress --baseline main --from once.json --no-record | grep -oE 'worse in one session, unconfirmed'
results once_more.json 1.2
regress --from once.json --from once_more.json
status tern regress --baseline main --no-record --from once.json --from once.json
echo "# nor is one session a baseline to judge by: more samples would not help, and that is said"
tern baseline create one --from same.json
regress_one() { tern regress --baseline one --no-record --from once.json "$@"; }
regress_one | awk 'length > 80 { print "wide: " $0 }  /^undecided:/ { advice = 1 }  advice'
regress_one --output-format json | json '[r["state"] for r in j["rows"]]'
tern baseline delete one
echo "# a family"
"$TERN_PYTHON" - <<'END'
import json
for name in ("base", "slow20"):
    j = json.load(open(name + ".json"))
    for r in j["rows"]:
        r["family"] = "g" if r["name"] == "large" else "f"
    json.dump(j, open(name + "_families.json", "w"))
END
tern baseline create families --from base_families.json
status tern regress --baseline families --no-record --from slow20_families.json --family g | grep -E '^[0-9a-z]+ '
status tern regress --baseline families --no-record --from slow20_families.json --family nonsense
for option in --budget=1 --samples=20 --timeout=1; do
    status tern regress --baseline families --from slow20_families.json $option
done
echo "# short times"
sed -E 's/"samples_us": \[[^]]*\]/"samples_us": [0.0451, 0.0452, 0.0453, 0.0454, 0.0455, 0.0456]/g' same.json >short.json
tern baseline create short --from short.json
tern regress --baseline short --from short.json --no-record | grep -oE '[0-9.]+ .s -> [0-9.]+ .s'
tern compare short.json short.json | awk '/^f/ {print $4, $5, $6, $7}'
echo "# what is missing or undecided is no regression, unless it must not be"
"$TERN_PYTHON" -c 'import json
j = json.load(open("same.json"))
j["rows"] = [r for r in j["rows"] if r["name"] == "large"]
json.dump(j, open("half.json", "w"))'
regress --from half.json
regress --from half.json --missing pass
regress --from half.json --missing fail
regress --from once.json --missing fail
regress --from once.json --undecided fail
regress --from slow20.json --undecided fail --missing fail
regress --from same.json --undecided fail --missing fail
regress --from same.json --missing perhaps
echo "# from a pipe"
regress --from - <same.json
regress --from <(cat slow40.json)
echo '{' | regress --from -
tern baseline import - --name piped <base.json
cat slow20.json | tern compare base.json - | awk '/^f/ {print $NF}'
echo "# another machine"
sed 's/"here"/"there"/' same.json >there.json
regress --from there.json
regress --from there.json --any-host
echo "# sessions that differ wildly"
results wild.json 1 80
tern baseline create wild --from wild.json
results later.json 2
tern regress --baseline wild --from later.json --no-record | tr -s '\n ' '  ' | grep -oE '[0-9]+ sessions differ by [^;]*' | sort -u
