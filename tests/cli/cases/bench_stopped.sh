# Ctrl-C (SIGTERM here, since shells keep SIGINT from what they run behind) keeps what was measured: it is written, says that it is not all,
# and the status is not 0.
needs_sqlite
cat >stop_at.py <<'PY'
# stop_at.py PATTERN COMMAND...: sends SIGTERM when the bar of its progress says PATTERN, however long that takes; its status.
import os, pty, re, signal, subprocess, sys
when, said, asked = re.compile(sys.argv[1].encode()), b"", False
ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[2:], stderr=theirs)
os.close(theirs)
while True:
    try:
        part = os.read(ours, 4096)
    except OSError: # nobody has the other end any more
        break
    said += part
    if not asked and when.search(said):
        child.send_signal(signal.SIGTERM)
        asked = True
code = child.wait()
sys.stderr.buffer.write(re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", said).replace(b"\r", b"\n"))
if not asked:
    sys.stderr.write("it ended before it said " + sys.argv[1] + "\n")
sys.exit(code)
PY
"$TERN_PYTHON" -c 'import os, pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminal can be opened here"
stop_at() { "$TERN_PYTHON" stop_at.py "$@"; }

rows=$(tern bench ops --family rows --threads 1 --list --json | json 'len(j)')
stop_at "[1-9] of $rows rows" tern bench ops --family rows --memory 1 --threads 1 --budget 1 --format json -o part.json 2>said
echo "status $?"
json "0 < len(j['rows']) < $rows"', all(r["rounds"] > 0 for r in j["rows"])' <part.json
json 'j["conditions"]["incomplete"] == "stopped after %d of '"$rows"' rows" % len(j["rows"])' <part.json
grep -oE 'tern: .*stopped.*' said | sed -E "s/[0-9]+ of $rows /N of all /"

# The table, too; and nothing is kept of a baseline that is not whole.
stop_at "[1-9] of $rows rows" tern bench ops --family rows --memory 1 --threads 1 --budget 1 >table 2>said
grep -cE '^ *(softmax|rmsnorm)' table | sed 's/[1-9]/some rows/'
stop_at "[1-9] of $rows rows" tern baseline create part --family rows --memory 1 --threads 1 --budget 1 --runs 2 --store part.db 2>&1 | grep -oE '[a-z ]+: stopped.*'
tern baseline list --store part.db --json | json 'len(j)'

# A comparison with a baseline, and one of two programs, tell what they have; a session that is not whole is no part of the history.
tern baseline create main --family rows --memory 1 --threads 1 --budget 0.05 --runs 2 --store main.db 2>/dev/null | sed "s/$rows benchmarks in 2 sessions/two sessions of all rows/"
stop_at "[1-9] of $rows benchmarks" tern regress --baseline main --store main.db --threshold 0.01 --budget 2 >report 2>said
echo "status $?"
grep -c 'it was not measured' report | sed 's/[1-9]/some/'
grep -oE 'tern: .*stopped.*' said | sed -E "s/[0-9]+ of $rows /N of all /"
tern baseline list --store main.db --json | json '[b["checks"] for b in j]'

# Neither leaves a program behind that goes on measuring.
budget=2.$((100000 + $$)) # by which they are known
gone()
{
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        pgrep -f "bench ops .*budget $budget" >left || return 0
        sleep 0.1
    done
    echo "it goes on: $(cat left)"
}
for verb in regress compare; do
    words=(regress --program "$(command -v tern)")
    [ $verb = regress ] || words=(compare --program "$(command -v tern)" "$(command -v tern)")
    stop_at '0 of [0-9]+ pairs' tern "${words[@]}" --bench "ops --family rows --memory 1 --threads 1 --budget $budget" >report 2>said
    echo "status $?"
    grep -o '[a-z ]*: stopped.*' said # of the program that is measured nothing
    gone
done

# A report is made in parts that take long: it ends in the middle of one.
begun=$SECONDS
stop_at 'part [2-9] of [0-9]' tern report -o page.html 2>&1 | grep -oE '[a-z ]+: stopped.*'
[ $((SECONDS - begun)) -lt 60 ] || echo "it took $((SECONDS - begun)) s to end"
stop_at '[1-9] of [0-9]+ benchmarks' tern report --baseline main --store main.db -o page.html 2>&1 | grep -oE '[a-z ]+: stopped.*' | sed -E 's/[0-9]+ of [0-9]+/N of all/'
ls page.html 2>/dev/null
