# What happens to a log costs no more than what was hit: a run goes on, keeps every good line, and says what is missing.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'EOF'
{"model": {"layers": 1, "width": 16, "feed_forward": 32, "heads": 2, "kv_heads": 1, "context": 8}, "batch": 2, "steps": 12,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 1}, "every": {"validation": 4, "checkpoint": 0, "sample": 0}}
EOF
tern train --data text.txt --config tiny.json -o first --until 8 -q >/dev/null

# go_on NAME COMMAND...: goes on with a copy of the first part whose log COMMAND has changed; then tells the steps of the log.
go_on()
{
    local name=$1
    shift
    echo "--- $name"
    cp -r first "$name"
    "$@" "$name/log.jsonl"
    tern train --data text.txt -o "$name" --resume -q 2>&1 >/dev/null
    "$TERN_PYTHON" - "$name" <<'EOF'
import json, sys
good, bad = [], []
for number, line in enumerate(open(sys.argv[1] + "/log.jsonl", "rb").read().split(b"\n")[:-1], 1):
    try:
        good.append(json.loads(line))
    except ValueError: # no JSON, or no UTF-8
        bad.append(number)
print("losses", [line["step"] for line in good if "loss" in line], "validations", [line["step"] for line in good if "validation" in line],
      "damaged lines", bad)
EOF
}

zeros() { sed -i "3s/\"norm\"/\x00\x00\x00\x00\x00\x00/" "$1"; } # what a power cut leaves
go_on untouched true
go_on cut_short sed -i '3s/"norm.*//'
go_on zeros zeros
go_on several sed -i -e '2s/.*/what/' -e '5s/.*//'
go_on later sed -i '3s/"step": 3/"step": 93/'
go_on the_end_lost sed -i '6,$d'
go_on the_end_damaged sed -i '6,$s/}$//'
go_on of_another_system sed -i 's/$/\r/'
go_on two_in_one sed -i '3{N;s/\n//}'
go_on its_last_newline_lost truncate -s -1
go_on later_ones bash -c 'sed -i "6s/}//" "$1"; { sed -n 1p "$1" | sed "s/1/9/"; echo what; } >>"$1"' -
go_on half_a_line_more bash -c 'printf "{\"step\": 9, \"lo" >>"$1"' -
go_on missing rm
tern train --data text.txt -o missing --resume --steps 14 -q 2>&1 >/dev/null && echo "said once"

echo "--- a long one"
cp -r first long
for i in 1 2; do yes "$(sed -n 3p first/log.jsonl)" | head -n 100000; done >>long/log.jsonl
timeout 300 tern train --data text.txt -o long --resume -q >/dev/null && echo "is read at once"
