# The built-in model: what it writes at temperature 0, and who uses it without -m. `make golden-update` records the text of another.
tern inspect >/dev/null 2>&1 || skip "no model is built in: models/shakespeare.gguf is not there"
tern run -n 120 --temp 0 2>said
cat said
tern run -n 120 --temp 0 -t 1 --no-display-prompt 2>/dev/null | tail -c 60 >one
tern run -n 120 --temp 0 -t 2 --no-display-prompt -p "\n" 2>/dev/null | tail -c 60 | cmp - one && echo "on any number of threads"
printf 'KING:\n' | tern run -n 40 --temp 0 2>/dev/null
tern tokenize -p "To be" --ids 2>/dev/null
tern inspect --json 2>/dev/null | json 'j["file"], j["kind"]'
status tern chat </dev/null
status tern bench model -o results
tern bench model -r 1 -t 1 --json 2>/dev/null | json 'len(j), [r["avg_ts"] > 0 for r in j]'
for i in 1 2 3 4 5 6 7 8; do printf 'First Citizen:\nBefore we proceed any further, hear me speak %d times.\n' $i; done >text
tern perplexity -f text -c 64 2>/dev/null | grep -c "Final estimate"
# Who asks for nothing gets all that there is room for; that is no fault.
tern run --temp 0 2>&1 >/dev/null </dev/null
