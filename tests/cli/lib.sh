# Sourced before every case: things to make test files with, and to take out of outputs what differs from run to run.
set -o pipefail

# utf8 COMMAND...: with a locale that has more than ASCII; skips the case where there is none.
utf8()
{
    [ -n "$UTF8_LOCALE" ] || { skip "no UTF-8 locale is installed"; return; }
    LC_ALL=$UTF8_LOCALE "$@"
}

# Skips the case where tuning results cannot be kept.
needs_sqlite()
{
    echo >.probe
    [[ $(TERN_TUNING=$PWD/.probe tern tune --list 2>&1) != *"no SQLite"* ]] || skip "this build has no SQLite"
    rm -f .probe
}

skip()
{
    echo "$*" >.skip
    exit 0
}

# npy DESCR SHAPE DATA >FILE: a .npy file; DATA as for printf.
npy()
{
    local header
    header=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$1" "$2")
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
    printf "$3"
}

# graph NAME TEXT >FILE: a graph around statements.
graph()
{
    printf 'graph %s {\n%s\n}\n' "$1" "$2"
}

# Measured times, which differ from run to run, and the bars drawn from them.
hide_times()
{
    sed -E -e 's/[0-9.]+ (ns|us|µs|ms|s)(( on|:).*[a-z]) (-|─)+$/TIME\2/' \
           -e 's/^( +([0-9]+|  )  [a-z_0-9]+( [+a-z_0-9]+)*) +[0-9.]+ (ns|us|µs|ms|s) +[0-9.]+ %.*$/\1  TIME SHARE/' \
           -e 's/"(compile_us|run_us|median_us|min_us|us)": [0-9.e+-]+/"\1": TIME/' \
           -e 's/^(  #  op) +time +share$/\1  TIME SHARE/'
}

# The same in reports of `graph compile --explain`, whose estimates are stable when rates are given.
hide_compile_times()
{
    sed -E -e 's/(nodes(, [0-9]+ steps?)?), [0-9.]+ (ns|us|ms|s)( -+)?$/\1, TIME/' \
           -e 's/(compiled in|measured) [0-9.]+ (ns|us|ms|s)/\1 TIME/' -e 's/ -+$//'
}

# Bytes of scratch memory depend on the instruction set.
hide_memory()
{
    sed -E -e 's/[0-9.]+ (B|KiB|MiB) for/BYTES for/' -e 's/need [0-9]+ bytes/need N bytes/' -e 's/least [0-9]+ are/least N are/' \
           -e 's/, up to [0-9]+ of them scratch for a kernel//'
}

# json EXPRESSION: the value of a Python expression over the JSON `j` on stdin, which must be valid; `cases` is that in $CASES.
json()
{
    command -v "$TERN_PYTHON" >/dev/null || skip "python3 is not installed"
    "$TERN_PYTHON" -c 'import json, os, sys
j, cases = json.load(sys.stdin), json.loads(os.environ.get("CASES", "[]"))
print(eval(sys.argv[1]))' "$1"
}

# Commands that are printed to be pasted begin with the program as it was called: by these tests with its whole path.
called_tern()
{
    sed -E "s#('[^']*/tern'|[^ '\"]*/tern) #tern #g"
}

# Says how a command ends, for cases with several.
status()
{
    "$@"
    echo "exit status $?"
}

# Skips the case where JSON cannot be read.
needs_jansson()
{
    echo '[]' >.probe
    [[ $(tern baseline import .probe --store .probe.db 2>&1) != *"without jansson"* ]] || skip "this build has no jansson"
    rm -f .probe .probe.db*
}

# history FACTOR: eight sessions of it, each measured by itself, are added to the history of the baseline "main".
history()
{
    local i
    for i in 1 2 3 4 5 6 7 8; do
        results session$1.$i.json $1
        tern regress --baseline main --from session$1.$i.json >/dev/null
    done
}

# results FILE FACTOR...: a set of results of two benchmarks, a session for each factor, as `tern bench --format json` writes it.
results()
{
    "$TERN_PYTHON" - "$@" <<'END'
import json, random, sys
random.seed(sys.argv[1])
rows = [{"suite": "ops", "family": "f", "name": name, "shape": "f32[2]", "dtype": "f32", "device": "cpu", "threads": 1,
         "run": run, "repeats": 1, "peak_bytes": 1000, "accuracy_error": 1e-08,
         "samples_us": [us * float(factor) * random.lognormvariate(0, 0.01) for _ in range(60)]}
        for run, factor in enumerate(sys.argv[2:]) for name, us in (("small", 10), ("large", 1000))]
json.dump({"format": "tern-results", "version": 1, "conditions": {"host": "here", "cpu_model": "a CPU"}, "rows": rows},
          open(sys.argv[1], "w"))
END
}

# drawn_raw COMMAND...: what it draws on a terminal that is its stderr, to the byte; its status.
drawn_raw()
{
    command -v "$TERN_PYTHON" >/dev/null || skip "python3 is not installed"
    "$TERN_PYTHON" -c 'import os, pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminal can be opened here"
    "$TERN_PYTHON" -c 'import os, pty, subprocess, sys
parent, terminal = pty.openpty()
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=terminal, stdin=subprocess.DEVNULL)
os.close(terminal)
while True:
    try:
        some = os.read(parent, 65536)
    except OSError: # the other end is closed
        break
    if not some:
        break
    sys.stdout.buffer.write(some)
sys.stdout.flush()
sys.exit(run.wait())' "$@"
}

# drawn COMMAND...: the same, a line for each time that one was drawn anew, and the status behind them.
drawn()
{
    local status
    drawn_raw "$@" >.drawn
    status=$?
    tr '\r' '\n' <.drawn | sed 's/\x1b\[K//g' | grep .
    echo "exit status $status"
}
