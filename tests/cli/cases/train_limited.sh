# Memory that the machine has but the process may not map (ulimit -v) is not available: said before the first step.
needs_jansson
[ -z "${TERN_SANITIZE:-}${TERN_EMULATOR:-}" ] || skip "a sanitizer or an emulator maps memory of its own"
seq -f 'line %g of a text that repeats itself' 1 3000 >text.txt
echo '{"model": {"layers": 2, "width": 512, "feed_forward": 1024, "heads": 4, "kv_heads": 4, "context": 128}, "batch": 32, "steps": 2}' >limited.json
(ulimit -v 400000 && status tern train --data text.txt --config limited.json -o limited -t 1) 2>&1 | sed -E 's/[0-9.]+ [KMG]iB/BYTES/g'
[ -e limited ] || echo "no folder is left"
