# What a demonstration has: everything measured, or a reason; no colour and no line beyond 80 columns where nobody asks for them.
tern inspect >/dev/null 2>&1 || skip "no model is built in: models/shakespeare.gguf is not there"
tern demo -n 32 --seed 1 -t 1 2>/dev/null | called_tern >screen
grep -oE '^  (speed|of the limit|memory|time) ' screen
grep -cE "^    tern (run|profile|bench) " screen
grep -c $'\033' screen
awk 'found && length($0) > 80 { print "too wide: " $0 } /measured in this run/ { found = 1 }' screen
# Narrow terminals have no line that wraps, no command that cannot be pasted, and all that wide ones have.
for columns in 79 60 40; do
    COLUMNS=$columns tern demo -n 8 --seed 1 -t 1 2>/dev/null | called_tern >narrow
    awk -v most=$columns 'found && length($0) > most { print most " columns, too wide: " $0 } /measured in this run/ { found = 1 }' narrow
    grep -cE '^  (speed|of the limit|memory|time) ' narrow
    sed -n '/try next/,$p' narrow | sed -e :a -e '/\\$/{N;s/ *\\\n */ /;ta}' | sed 1d
done
tern demo -n 32 --seed 1 -t 1 --json 2>/dev/null >first
json 'sorted(j)' <first
json 'j["tokens"], j["tokens_per_s"] > 0, j["built_in"], j["memory"]["file_bytes"] > 0, sum(p["ns"] for p in j["time"]["parts"]) > 0' <first
# The passage ends behind a word, and not inside one.
json 'j["text"][-1] in " \n"' <first
# Attention has no share, so that the figure is of a part of the time, and says of which.
json 'j["step_share"] is None or 0 < j["step_share_of"] < 1' <first
grep -qE "known for [0-9]+ +% of|unavailable" <(tr -s ' \n' ' ' <screen) || echo "not said of how much"
json '(j["step_share"] or 0) <= 1.5, j["prompt_share"] is not None or j["prompt_unavailable"] is not None' <first
# It is written for four seconds at most, so that one of two may be shorter where others have the machine.
tern demo -n 32 --seed 1 -t 2 --json 2>/dev/null >second
same='import json; a, b = (json.load(open(name))["text"] for name in ("first", "second")); print(a.startswith(b) or b.startswith(a) or (a, b))'
[ "$("$TERN_PYTHON" -c "$same")" = True ] && echo "the same seed, the same passage"
status tern demo -n 1
# Weights are what memory has of them, as `tern inspect` says, or it is said that they are not.
weights=$(tern inspect --json 2>/dev/null | json 'j["memory"]["weights"]')
json 'j["memory"]["weights_packed"], j["memory"]["weight_bytes"] == '"$weights" <first
tern demo -n 8 --seed 1 -t 1 --cpu baseline 2>/dev/null | tr -s ' \n' ' ' | grep -oE 'before they are packed'
