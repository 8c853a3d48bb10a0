# On a terminal an aligned table, with the same columns; elsewhere, and where it is asked for, Markdown.
command -v script >/dev/null && script --version 2>/dev/null | grep -q util-linux || skip "script(1) of util-linux is not installed"
on_terminal() { script -qec "$*" /dev/null </dev/null 2>&1 | tr -d '\r'; }
[ "$(on_terminal 'test -t 1 && echo yes' 2>/dev/null)" = yes ] || skip "no pseudo-terminal can be opened here"
export NO_COLOR=1 COLUMNS=200
tern synth --shape tiny model.gguf >/dev/null
run="tern bench model -m model.gguf -p 4 -n 2 -r 2 -t 1"
# A line of progress is drawn over, and taken away; what is left are the columns.
last() { sed -E 's/^.*\x1b\[K//; s/\x1b\[[0-9;?]*[a-zA-Z]//g' | grep -E "$1" | sed -E 's/ +/ /g; s/^ //'; }
on_terminal "$run" >drawn
last '^ *model ' <drawn
last '(pp4|tg2)' <drawn | grep -cE ' (pp4|tg2) [0-9.]+ (±|\+-) [0-9.]+ '
last '(pp4|tg2)' <drawn | grep -c '|' || true
on_terminal "$run -o md" | last '^\|---'
$run -o table | head -1 | sed -E 's/ +/ /g'
$run | head -2
$run -n 0 --steps -o table | grep -E '^ *ms|in steps' | sed -E 's/: .* in steps/: TIME in steps/; s/ +/ /g'
