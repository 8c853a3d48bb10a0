# The old build at hand: both are run in turns. Programs here print what `tern bench` would.
needs_jansson
results same.json 1
results slow5.json 1.05
results slow20.json 1.2
results slow40.json 1.4
results fast20.json 0.8
results none.json
for set in same slow5 slow20 slow40 fast20 none; do
    printf '#!/bin/sh\necho "$*" >>words\ncat %s.json\n' $set >./$set
done
printf '#!/bin/sh\nexit 7\n' >broken
chmod +x same slow5 slow20 slow40 fast20 none broken
# A row's lines as one: where they break hangs on how long the numbers are.
join_rows() { awk '/^            / { sub(/^ +/, " "); printf "%s", $0; next } { printf "%s%s", (NR > 1 ? "\n" : ""), $0 } END { print "" }'; }
regress()
{
    status tern regress --program ./same --program "$@" | tee shown | join_rows | grep -E '^(better|same|undecided|missing|regression|critical|exit)' |
        sed -E 's/[0-9.]+ .s -> [0-9.]+ .s/A -> B/; s/\([+-][^)]*\)/(INTERVAL)/; s/(by|pair) [+]?([0-9]+)[.][0-9] %/\1 \2 %/g'
    awk 'length > 80 { print "wide: " $0 }' shown
}
for set in same slow5 slow20 slow40 fast20; do
    echo "# $set"
    regress ./$set
done
echo "# thresholds, what is measured, memory"
regress ./slow5 --threshold 3
sort words | uniq -c | head -n 1
rm words
regress ./slow20 --bench "graph --family mlp" --sessions 9
sort words | uniq -c
sed 's/"peak_bytes": 1000/"peak_bytes": 1250/' same.json >more.json
printf '#!/bin/sh\ncat more.json\n' >more
chmod +x more
regress ./more
echo "# a session without times, or without rows, takes its neighbour with it; a wrong one is told"
"$TERN_PYTHON" -c 'import json
for i in range(1, 25):
    for who in "old", "new":
        j = json.load(open("same.json"))
        for r in j["rows"]:
            mood = (1, 2, 4, 8)[i % 4] * (1.001 if who == "new" else 1)
            r["samples_us"] = [us * mood for us in r["samples_us"]]
            if who == "old" and i == 3 or who == "new" and i == 6:
                r.update(samples_us=[], rounds=0, error="unavailable: given up after 1 s, at most 1 were allowed")
        if who == "new" and i == 8:
            j["rows"] = []
        json.dump(j, open(f"{who}{i}.json", "w"))
        if who == "new" and i > 8:
            j["rows"][0].update(samples_us=[], rounds=0, error="bench: small differs from its reference")
        json.dump(j, open(f"wrong{i}.json", "w"))'
for who in old new wrong; do
    printf '#!/bin/sh\necho >>%s.count\ncat %s$(wc -l <%s.count).json\n' $who $who $who >./$who
    chmod +x $who
done
status tern regress --program ./old --program ./new --sessions 12 | join_rows | grep -oE '^(same|undecided|missing|regression|critical)|[0-9]+ pairs of sessions|exit.*'
rm -f *.count
status tern regress --program ./old --program ./wrong --sessions 12 | join_rows | grep -oE '^(same|undecided|missing|regression|critical)|in [0-9]+ of .*sessions: bench.*|exit.*'
echo "# errors"
status tern regress --program ./same --program ./slow20 --sessions 8
status tern regress --program ./broken --program ./same
status tern regress --program ./missing --program ./same
status tern regress --program . --program ./same
status tern regress --program no-such-program --program ./same
printf "#!/bin/sh\n" >silent
chmod +x silent
status tern regress --program ./same --program ./silent
status tern regress --program ./none --program ./same >/dev/null
status tern regress --program ./same --program ./same --program ./same
status tern regress --program ./same --baseline main
status tern regress --program ./same --sessions 3
status tern regress --program ./same --threshold -1
