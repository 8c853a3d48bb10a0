#!/usr/bin/env bash
# Runs every benchmark of one build and collects their rows: scripts/run-bench.sh BUILD_DIR [NAME...]
#
# A benchmark (bench/*.c) is started with `--rows FILE`. It prints for people on stdout and writes to FILE one JSON
# object per line: {"name","value","unit","better":"higher|lower","detail"}. BUILD_DIR/bench.json is the array of
# all rows; a program that fails keeps those that it had written. Benchmarks run one after the other: two at once would measure each other.
set -uo pipefail
[ $# -gt 0 ] && [ -f "$1/bench.list" ] || { echo "usage: scripts/run-bench.sh BUILD_DIR [NAME...]" >&2; exit 2; }
build=$(cd "$1" && pwd)
shift
rows=$build/bench-rows
export TERN_TUNING=off # what was measured before must not change what is measured now
status=0
mkdir -p "$rows"
[ $# -gt 0 ] || rm -f "$rows"/*

while read -r name program; do
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    echo "== bench/$name"
    rm -f "$rows/$name"
    if ! "$program" --rows "$rows/$name"; then
        echo "run-bench: bench/$name failed; the rows that it had written stay" >&2
        status=1
    fi
    echo
done <"$build/bench.list"

cat "$rows"/* 2>/dev/null | awk '
    /^\{.*\}$/ { printf "%s  %s", n++ ? ",\n" : "[\n", $0 }
    END { print n ? "\n]" : "[]" }' >"$build/bench.json"
echo "wrote $build/bench.json"
exit $status
