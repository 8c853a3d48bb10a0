# A report of files: every section as text and as data; what is wrong is said.
needs_jansson
cp "$DOCS"/../tests/measure/report/*.json .
tern report results.json profile.json memory.json --against old.json
echo "# some sections, and what they lack"
tern report results.json --section roofline --section summary --note "Why: a <test>."
tern report profile.json --section performance --section machine --section history --title "Another"
echo "# JSON"
tern report results.json profile.json --against old.json --json >report.json
json 'j["format"], list(j["sections"]), [len(r["rows"]) for r in (j["sections"]["performance"], j["sections"]["comparison"])]' <report.json
json '[(s["name"], s["kind"], s["data"].get("format")) for s in j["sections"]["data"]["sources"]]' <report.json
json 'j["sections"]["regressions"]["counts"], [(r["benchmark"][:20], round(r["ratio"], 2)) for r in j["sections"]["comparison"]["rows"] if r["ratio"]]' <report.json
json '[(p["name"], round(p["operations_per_byte"], 3), round(p["operations_per_s"] / 1e9)) for p in j["sections"]["roofline"]["points"]]' <report.json
tern report profile.json --format json --section memory | json 'j["sections"]'
echo "# what lies beyond a scale is an arrow at its end"
json 'json.dumps(dict(j, rows=[dict(r, samples_us=[57 * s for s in r["samples_us"]]) for r in j["rows"] if "samples_us" in r]))' <results.json >far.json
tern report far.json --against old.json --section comparison -o far.html && grep -oE '<svg x="[0-9]+%"' far.html | sort | uniq -c
tern report old.json --against far.json --section comparison -o far.html && grep -oE '<svg x="[0-9]+%"' far.html | sort | uniq -c
echo "# where it goes"
tern report results.json -o a.html && head -n 1 a.html
tern report results.json -o a.txt && head -n 1 a.txt
tern report results.json -o a.json && json 'j["format"]' <a.json
echo "# what was not measured says so once"
sed 's/it took longer/unavailable: it took longer/' results.json >given_up.json
for format in text html; do
    tern report given_up.json --section performance --format $format | grep -oE '(unavailable: )+it took longer'
done
echo "# one family in several files is one group; what is to be doubted is said"
"$TERN_PYTHON" - <<'END'
import json
def row(family, name, **more):
    return {"suite": "ops", "family": family, "name": name, "threads": 1, "rounds": 1, "samples_us": [more.pop("us", 7)], "limit_kind": "fma",
            "limit_share": 0.5} | more
sets = {"one": [row("rows", "a"), row("rows", "b", limit_share=None, error="unavailable: 1.100 of the limit, so the limit's probes are too slow")],
        "two": [row("heap", "c", limit_kind="", limit_share=None, error="unavailable: why there is none")], "three": [row("rows", "d", us=9)],
        "four": [row("heap", "e", rounds=0, limit_share=None, samples_us=[], error="it broke")]}
for name, rows in sets.items():
    json.dump({"format": "tern-results", "version": 1, "conditions": {"cores": "2 of 2 (all cores)", "load": "0.51 0.10 0.10"}, "rows": rows},
              open(name + ".json", "w"))
json.dump({"format": "tern-results", "version": 1, "conditions": {"cores": "2 of 2 (all cores)", "load": "0.50 9 9"}, "rows": sets["one"]},
          open("quiet.json", "w"))
END
tern report one.json two.json three.json four.json --section performance --section summary
tern report one.json two.json three.json four.json --section summary --format json | json 'j["sections"]["summary"]["figures"][0]'
tern report one.json --section performance --format html | grep -oE 'of the limit \(fma\)[^"<]*' | sort -u
tern report quiet.json --section summary | grep -c busy
echo "# what is wrong"
echo '{"some": "thing"}' >other.json
echo '{"format": "tern-results",' >cut.json
status tern report other.json
status tern report cut.json
echo '[{"model_filename": "m.gguf", "n_prompt": 8, "avg_ts": 100.5}]' >llama.json
status tern report llama.json
status tern report missing.json
status tern report profile.json profile.json
status tern report profile.json --against old.json
status tern report results.json --against old.json --baseline main
status tern report results.json --section nonsense
status tern report results.json --against old.json --threshold -1
status tern report results.json --threshold 5
status tern report results.json --any-host
status tern report results.json -o no/where.html
sed 's/0123456789abcdef/another/' old.json >there.json
status tern report results.json --against there.json
tern report results.json --against there.json --any-host --section regressions | tail -n 1
status tern report results.json --json --format html
# Where it is not known what holds the first hot spot back, nothing is said of it.
json '__import__("json").dump(dict(j, ops=[dict(j["ops"][0], bottleneck="unknown")]), open("unknown.json", "w"))' <profile.json >/dev/null
tern report unknown.json --section summary | grep 'most time'
# Hot spots that a page leaves out are summed up, so that shares are of something.
json '__import__("json").dump(dict(j, ops=[dict(j["ops"][0], share=0.05, limit_share=None) for _ in range(20)]), open("many.json", "w"))' <profile.json >/dev/null
tern report many.json --format html | grep -oE '<p>The first 12[^<]*'
