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
status tern compare --program ./other
