# Two sets of results, and two programs: the recommendation follows the data, and flips with it.
needs_jansson
results a.json 1 1 1
results b.json 1.3 1.31 1.3
results c.json 1.001 1 1
advise()
{
    tern compare "$@" --json | json '[(r["name"], r["verdict"], r["recommendation"][:5], round(r["speedup"], 1), r["speedup_low"] <= r["speedup"] <= r["speedup_high"]) for r in j]'
}
advise a.json b.json
advise b.json a.json
advise a.json c.json
# What `tern regress` calls undecided is undecided here: one session, samples of other sizes, a machine that changed as well.
sessions_of()
{
    "$TERN_PYTHON" -c 'import json, sys
j = json.load(open("b.json"))
j["rows"] = [r for r in j["rows"] if r["run"] < int(sys.argv[1])]
for r in j["rows"]:
    r["repeats"] = int(sys.argv[2])
    r["isa"], r["limit_share"] = "avx2", 0.8
json.dump(j, sys.stdout)' "$@"
}
sessions_of 1 1 >once.json
sessions_of 3 9 >coarse.json
sessions_of 3 1 >limited.json
"$TERN_PYTHON" -c 'import json
j = json.load(open("a.json"))
for r in j["rows"]:
    r["isa"], r["limit_share"] = "avx2", 0.8
json.dump(j, open("a_limited.json", "w"))'
for pair in "a once" "once a" "a coarse" "a_limited limited"; do
    tern compare ${pair% *}.json ${pair#* }.json --json | json '[(r["verdict"], r["recommendation"]) for r in j[:1]]' |
        sed -E 's/[+-]?[0-9]+[.][0-9]+/N/g'
    tern compare ${pair% *}.json ${pair#* }.json | tail -n 1 | cut -d ';' -f 1
done
tern compare a.json once.json | grep -oE 'no answer: time: worse in one session, unconfirmed'
# Tests of a model with two types of cache differ in their type alone: they are two benchmarks.
two_types()
{
    "$TERN_PYTHON" -c 'import json, sys
j = json.load(sys.stdin)
for r in j["rows"]:
    r["shape"], r["dtype"] = "batch 512", "f16" if r["name"] == "small" else "i8"
    r["name"] = "pp4"
json.dump(j, sys.stdout)'
}
two_types <a.json >types_a.json
two_types <b.json >types_b.json
tern compare types_a.json types_b.json --json | json '[(r["dtype"], r["verdict"], round(r["speedup"], 1)) for r in j]'
tern compare types_a.json types_b.json | grep -oE 'f/pp4 batch 512, [a-z0-9]+'
tern compare a.json b.json | tail -n 1 | sed -E 's/0\.7[0-9]+ times/SPEED times/'
# Programs that print results as `tern bench` does; B has other samples in each session.
printf '#!/bin/sh\ncat a.json\n' >"program a"
printf '#!/bin/sh\ncat b.json\n' >program_b
printf '#!/bin/sh\nexit 7\n' >broken
printf '#!/bin/sh\necho nonsense\n' >other
chmod +x "program a" program_b broken other
advise --program "./program a" ./program_b --rounds 10
advise --program ./program_b "./program a" --rounds 10
status tern compare --program ./broken ./program_b
status tern compare --program ./other ./program_b
sed 's/"here"/"there"/' a.json >there.json
tern compare there.json a.json >/dev/null
echo '[]' >empty.json
status tern compare a.json empty.json
status tern compare a.json missing.json
status tern compare a.json
status tern compare a.json b.json --rounds 3
status tern compare a.json b.json --budget 3
status tern compare --program ./other
# Of two sessions that differ wildly the digits of the noise mean nothing.
results wild_a.json 1 80
results wild_b.json 1.3 90
tern compare wild_a.json wild_b.json | grep -oE 'noise is .* %' | sort -u
# Stopped, it says how many sessions could tell something, and not that it should have been asked for them.
cat >stopping <<'END'
#!/bin/sh
echo call >>calls
[ $(wc -l <calls) -lt 4 ] || kill -TERM $(cat pid)
cat one.json
END
results one.json 1
printf '#!/bin/sh\ncat one.json\n' >program_one
chmod +x stopping program_one
sh -c 'echo $$ >pid; exec tern compare --program ./stopping ./program_one --rounds 12' 2>&1 >/dev/null | grep -v '^tern: compare: warning'
echo "exit status ${PIPESTATUS[0]}"
echo "# so few that they could never tell anything are refused behind the first pair"
rm -f calls
printf '#!/bin/sh\necho call >>calls\ncat one.json\n' >counting
chmod +x counting
status tern compare --program ./counting ./program_one --rounds 6
wc -l <calls
