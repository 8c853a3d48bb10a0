# On a terminal: colour, unless NO_COLOR or a dumb terminal say no.
command -v script >/dev/null && script --version 2>/dev/null | grep -q util-linux || skip "script(1) of util-linux is not installed"
esc=$(printf '\033')
count() { { grep -c "$esc" || true; } | sed 's/^[1-9][0-9]*$/some/'; }
on_terminal() { script -qec "$*" /dev/null </dev/null; }
[ "$(on_terminal 'test -t 1 && echo yes' 2>/dev/null | tr -d '\r')" = yes ] || skip "no pseudo-terminal can be opened here"
on_terminal tern list dtypes | count
NO_COLOR=1 on_terminal tern list dtypes | count
TERM=dumb on_terminal tern list dtypes | count
on_terminal tern list dtypes --color never | count
