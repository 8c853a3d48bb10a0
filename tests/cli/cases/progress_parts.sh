# Long work of several parts on a terminal: each bar says which part it is of, fits the line, and programs that are measured have none of
# their own.
needs_sqlite
needs_jansson

echo "# sessions of a baseline, and the time of all of them"
drawn tern baseline create two --family rows --memory 1 --threads 1 --budget 0.5 --runs 2 --store two.db | grep -v 'warning: other' >seen
grep -oE '^session [12] of 2: measuring' seen | uniq
grep -oE ' rows, about .* left.*' seen | sed -E 's/about .* left/about TIME left/' | sort -u
awk 'length > 79 { print "wide: " $0 }' seen
tail -n 1 seen

echo "# parts of a report"
drawn tern report --baseline two --store two.db -o page.html >seen
grep -oE '^part [0-9] of [0-9]: making profile.json' seen | sed 's/[0-9] of [0-9]/N of N/' | uniq
awk 'length > 79 { print "wide: " $0 }' seen
tail -n 1 seen

echo "# what programs say: their bars only where there is none of both"
results same.json 1
printf '#!/bin/sh\necho "tern: bench ops: measuring: 3 of 7 rows, about 12 s left" >&2\necho "tern: bench ops: a remark" >&2\nprintf "an end" >&2\ncat same.json\n' >program
chmod +x program
for verb in "compare --program ./program ./program --rounds 9" "regress --program ./program --program ./program --sessions 9"; do
    drawn tern $verb >seen
    grep -oE '[0-9]+ of 9 pairs' seen | sort -u | tr '\n' ' '
    echo
    sed 's/an end.*/an end/' seen | grep -E '^(tern: bench|an end)' | sort | uniq -c | sed 's/^ *//'
    tern $verb 2>log >/dev/null
    grep -cE 'bench ops: measuring: 3 of 7 rows' log
done
