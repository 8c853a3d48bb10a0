# A check on schedule: lines, log, alerts, exit statuses. Checks are stand-ins whose answers stand in a file.
# Without those about checks that were left out: a machine that is busy may be late. `lines never` has them.
lines()
{
    grep -v "${1:-were\\|was} left out" | sed -E 's/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/TIME/; s/ in [0-9.]+ (ns|us|ms|s):/ in N:/; s/that [0-9]+ checks? w(as|ere) left/that N were left/'
}
watch()
{
    tern monitor --every 0.05s "$@" >said
    local code=$?
    lines <said
    echo "exit status $code"
}
# next: the first answer of the file `answers`, which loses it.
printf '#!/bin/sh\nread -r answer <answers\nsed -i.old 1d answers\necho "first line"\necho "the answer is $answer"\nexit $answer\n' >next
printf '#!/bin/sh\necho "alert: $TERN_MONITOR_STATE after $TERN_MONITOR_BEFORE, #$TERN_MONITOR_NUMBER, status $TERN_MONITOR_STATUS, $TERN_MONITOR_SUMMARY, $(echo "$TERN_MONITOR_OUTPUT" | wc -l) lines, $TERN_MONITOR_CHECK" >>alerts\nexit $1\n' >alert
chmod +x next alert
printf '0\n0\n' >answers
watch --check ./next --count 2 --alert "./alert 0"
printf '0\n1\n0\n' >answers
watch --check ./next --count 3 --alert "./alert 0" --log log
printf '1\n2\n3\n0\n' >answers
watch --check ./next --count 4 --alert "./alert 7" --log log
cat alerts
lines <log | tail -n 3
echo "# checks that are no programs, or die"
watch --check ./missing --count 1 | sed "s/: sh: .*/: WHY/"
watch --check 'kill -9 $$' --count 1
watch --check 'printf "\033[31mred\n\n"' --count 1
echo "# remarks behind an answer are not what it is about; without an answer they are"
watch --check 'echo "7 critical of 7"; echo "tern: regress: a remark" >&2; exit 2' --count 1
watch --check 'echo "half a report"; echo "tern: regress: it failed" >&2; exit 3' --count 1
watch --check 'echo "tern: only this"' --count 1
echo "# of much that a check prints the last is kept; what is no regression is said not to be one"
printf '#!/bin/sh\nprintf %%s "$TERN_MONITOR_OUTPUT" | wc -c\nprintf %%s "$TERN_MONITOR_OUTPUT" | tail -n 1\n' >sizes
chmod +x sizes
watch --check 'seq 1 200000; exit 3' --count 1 --alert ./sizes
watch --check 'echo "tern: bench: no such thing"; false || exit 3' --count 1
echo "# checks that take longer than the period"
tern monitor --every 0.1s --count 2 --check 'sleep 0.45; echo slow' | lines never
echo "# what is left in the background is not waited for"
watch --check 'sleep 30 & echo done' --count 1
echo "# stopped while it waits, and while a check runs"
for signal in INT TERM; do
    tern monitor --every 1h --check 'echo waiting' >said &
    until grep -q waiting said; do sleep 0.02; done
    kill -$signal $!
    wait $!
    echo "exit status $?"
    lines <said
    rm -f begun ended
    tern monitor --every 1h --check 'echo >begun; trap "echo >ended; exit 1" TERM; sleep 30 & wait' >said &
    until [ -f begun ]; do sleep 0.02; done
    kill -$signal $!
    wait $!
    echo "exit status $?"
    lines <said
    ls ended
done
echo "# the command line"
status tern monitor --check true
status tern monitor --every 1h
status tern monitor --every 5 --check true
status tern monitor --every 0s --check true
status tern monitor --every h --check true
status tern monitor --every -1h --check true
status tern monitor --every 1h --check true --count 0
status tern monitor --every 1h --check true --log no/such/folder/log
watch --count 2 --check true --log /dev/full 2>full
sort -u full >&2 # a slow machine also has ticks to leave out, and no room to say so
