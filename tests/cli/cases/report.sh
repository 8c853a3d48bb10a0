# A report of files: every section as text and as data; what is wrong is said.
needs_jansson
cp "$DOCS"/../tests/measure/report/*.json .
tern report results.json profile.json memory.json --against old.json
echo "# some sections, and what they lack"
tern report results.json --section roofline --section summary --note "Why: a <test>."
tern report profile.json --section performance --section machine --section history --title "Another"
echo "# JSON"
tern report results.json profile.json --against old.json --format json >report.json
json 'j["format"], list(j["sections"]), [len(r["rows"]) for r in (j["sections"]["performance"], j["sections"]["comparison"])]' <report.json
json '[(s["name"], s["kind"], s["data"].get("format")) for s in j["sections"]["data"]["sources"]]' <report.json
json 'j["sections"]["regressions"]["counts"], [(r["benchmark"][:20], round(r["ratio"], 2)) for r in j["sections"]["comparison"]["rows"] if r["ratio"]]' <report.json
json '[(p["name"], round(p["operations_per_byte"], 3), round(p["operations_per_s"] / 1e9)) for p in j["sections"]["roofline"]["points"]]' <report.json
tern report profile.json --format json --section memory | json 'j["sections"]'
echo "# where it goes"
tern report results.json -o a.html && head -n 1 a.html
tern report results.json -o a.txt && head -n 1 a.txt
tern report results.json -o a.json && json 'j["format"]' <a.json
echo "# what was not measured says so once"
sed 's/it took longer/unavailable: it took longer/' results.json >given_up.json
for format in text html; do
    tern report given_up.json --section performance --format $format | grep -oE '(unavailable: )+it took longer'
done
echo "# what is wrong"
echo '{"some": "thing"}' >other.json
echo '{"format": "tern-results",' >cut.json
status tern report other.json
status tern report cut.json
status tern report missing.json
status tern report profile.json profile.json
status tern report profile.json --against old.json
status tern report results.json --against old.json --baseline main
status tern report results.json --section nonsense
status tern report results.json --threshold -1
status tern report results.json -o no/where.html
sed 's/0123456789abcdef/another/' old.json >there.json
status tern report results.json --against there.json
tern report results.json --against there.json --any-host --section regressions | tail -n 1
