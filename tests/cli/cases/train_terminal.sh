# On a narrow terminal the progress line stays one line: what does not fit is left to the log.
needs_jansson
command -v script >/dev/null && script --version 2>/dev/null | grep -q util-linux || skip "script(1) of util-linux is not installed"
on_terminal() { script -qec "$*" /dev/null </dev/null; }
[ "$(on_terminal 'test -t 1 && echo yes' 2>/dev/null | tr -d '\r')" = yes ] || skip "no pseudo-terminal can be opened here"
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4,
 "every": {"validation": 0, "checkpoint": 0, "sample": 0}}
END
# drawn COLUMNS: of lines that are drawn over, how many there were and whether all fit
drawn()
{
    on_terminal "stty cols $1; tern train --data text.txt --config tiny.json -o out$1 --minutes 0.02" | tr '\r' '\n' | sed "s/$(printf '\033')\[K//g" |
        awk -v most="$1" '/^step [0-9]+ of/ { n++; wide += length($0) >= most } END { print (n > 1 ? "drawn" : "not drawn"), wide + 0, "too wide" }'
}
drawn 100
drawn 44
