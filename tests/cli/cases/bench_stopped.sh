# Ctrl-C (SIGTERM here, since shells keep SIGINT from what they run behind) keeps what was measured: it is written, says that it is not all,
# and the status is not 0.
needs_sqlite

# stop_after SECONDS COMMAND...: its status. Machines that others have get more time, until a row is there.
stop_after()
{
    local seconds=$1 child
    shift
    "$@" & child=$!
    sleep "$seconds"
    kill -TERM $child
    wait $child
}

rows=$(tern bench ops --family rows --threads 1 --list --json | json 'len(j)')
for seconds in 2 8 32; do
    stop_after $seconds tern bench ops --family rows --memory 1 --threads 1 --budget 2 --format json -o part.json 2>said
    code=$?
    [ -s part.json ] && break
done
echo "status $code"
json "0 < len(j['rows']) < $rows"', all(r["rounds"] > 0 for r in j["rows"])' <part.json
json 'j["conditions"]["incomplete"] == "stopped after %d of '"$rows"' rows" % len(j["rows"])' <part.json
grep stopped said | sed -E "s/[0-9]+ of $rows /N of all /"

# The table, too; and nothing is kept of a baseline that is not whole.
for seconds in 2 8 32; do
    stop_after $seconds tern bench ops --family rows --memory 1 --threads 1 --budget 2 >table 2>said
    grep -q softmax table && break
done
grep -cE '^ *(softmax|rmsnorm)' table | sed 's/[1-9]/some rows/'
stop_after 2 tern baseline create part --family rows --memory 1 --threads 1 --budget 2 --runs 2 --store part.db 2>&1 | grep -oE 'stopped in session 1 of 2: no baseline was kept'
tern baseline list --store part.db --json | json 'len(j)'

# A comparison with a baseline, and one of two programs, tell what they have; a session that is not whole is no part of the history.
tern baseline create main --family rows --memory 1 --threads 1 --budget 0.05 --runs 2 --store main.db 2>/dev/null | sed "s/$rows benchmarks in 2 sessions/two sessions of all rows/"
for seconds in 3 12 48; do
    stop_after $seconds tern regress --baseline main --store main.db --threshold 0.01 --budget 6 >report 2>said
    code=$?
    grep -qE '^(same|undecided)' report && break
done
echo "status $code"
grep -c 'it was not measured' report | sed 's/[1-9]/some/'
grep stopped said | sed -E "s/[0-9]+ of $rows /N of all /"
tern baseline list --store main.db --json | json '[b["checks"] for b in j]'

# Neither leaves a program behind that goes on measuring.
budget=2.$((100000 + $$)) # by which they are known
for verb in regress compare; do
    words=(regress --program "$(command -v tern)")
    [ $verb = regress ] || words=(compare --program "$(command -v tern)" "$(command -v tern)")
    stop_after 3 tern "${words[@]}" --bench "ops --family rows --memory 1 --threads 1 --budget $budget" >report 2>said
    echo "status $?"
    grep -c "$verb: stopped" said
    sleep 1
    pgrep -f "budget $budget" >left && echo "it goes on: $(cat left)"
done

# A report is made in parts that take long: it ends in the middle of one.
begun=$SECONDS
stop_after 1 tern report -o page.html 2>&1 | grep -oE 'report: stopped'
[ $((SECONDS - begun)) -lt 60 ] || echo "it took $((SECONDS - begun)) s to end"
ls page.html 2>/dev/null
