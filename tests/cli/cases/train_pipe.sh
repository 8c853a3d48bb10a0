# Whoever reads no more ends a run as Ctrl-C does: it is saved, says so where it still can, and goes on later.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 1000000,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 2}, "every": {"validation": 5, "checkpoint": 0, "sample": 0}}
END
{
    tern train --data text.txt --config tiny.json -o out 2>said
    echo "status $?" >status
} | head -n 1 >/dev/null
cat status
sed -E 's/step [0-9]+ of/step N of/' said | called_tern
ls out
tern train --data text.txt -o out --resume --minutes 0.0001 2>&1 | grep -o 'going on after step'
echo "--- a rate that grows"
echo '{"schedule": {"rate": 0.00005}}' >rising.json
tern train --data text.txt --config rising.json -o out2 --explain --json 2>&1 >/dev/null | called_tern
echo "--- in a log, a line now and then"
sed 's/"validation": 5/"validation": 0/' tiny.json >silent.json
tern train --data text.txt --config silent.json -o out3 >log 2>&1 &
for i in $(seq 600); do [ -s out3/log.jsonl ] && break; sleep 0.1; done
kill -STOP $!; sleep 11; kill -CONT $!
for i in $(seq 100); do grep -q '^step [0-9]* of 1000000: loss' log && break; sleep 0.1; done
kill -TERM $!; wait $!
grep -m 1 '^step [0-9]* of 1000000: loss' log | grep -o ' of 1000000: loss'
