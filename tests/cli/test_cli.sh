#!/usr/bin/env bash
# The program, as its users see it: every tests/cli/cases/NAME.sh is run by itself in an empty directory, and what it
# writes to stdout and stderr and its exit status must be exactly what NAME.stdout, NAME.stderr and NAME.exit say (a
# missing file means nothing written, or status 0).
#
#   TERN_BIN=build/tern bash tests/cli/test_cli.sh [TEXT]     only the cases whose name contains TEXT
#   UPDATE=1 bash tests/cli/test_cli.sh                     rewrite what is expected; review the diff
#   TERN_CLI_EVERY=4 bash tests/cli/test_cli.sh             each fourth case: for builds that are many times slower
#
# A case may use: `tern`; $GRAPHS, the folder of example graphs; and the functions of lib.sh. A case that cannot be run
# here calls `skip REASON`.
. "$(dirname "$0")/../harness.sh"

here=$(cd "$(dirname "$0")" && pwd)
program=${TERN_BIN:-$build/tern}
[[ $program = /* ]] || program=$PWD/$program # cases run elsewhere
update=${UPDATE:-${TERN_GOLDEN_UPDATE:-}}
only=${1:-}

if [ ! -x "$program" ]; then
    fail "the program" "there is none at $program; build it, or set TERN_BIN"
    finish
fi

# Cases find the program on their path, and nothing of the caller's settings.
mkdir -p "$scratch/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$program" >"$scratch/bin/tern"
chmod +x "$scratch/bin/tern"
utf8=$(locale -a 2>/dev/null | grep -iE '^(C|en_US)\.utf-?8$' | head -n 1)
export PATH=$scratch/bin:$PATH GRAPHS=$root/examples/graphs DOCS=$root/docs TERN_PYTHON=${TERN_PYTHON:-python3}
export UTF8_LOCALE=$utf8 LC_ALL=C TERM=xterm TERN_TUNING=off
unset COLUMNS NO_COLOR TERN_CPU LANG

# expected NAME SUFFIX: the text that is expected, "" without a file.
expected()
{
    [ ! -f "$here/cases/$1.$2" ] || cat "$here/cases/$1.$2"
}

# store NAME SUFFIX FILE: makes it the expected text.
store()
{
    if [ -s "$3" ]; then
        cp "$3" "$here/cases/$1.$2"
    else
        rm -f "$here/cases/$1.$2"
    fi
}

# execute NAME: runs the case, keeps what it wrote and its status.
execute()
{
    local name=$1 dir=$scratch/$1 status TIMEFORMAT='%U %S'
    mkdir -p "$dir/work"
    {
        time { (cd "$dir/work" && bash -c '. "$1/lib.sh"; . "$1/cases/$2.sh"' case "$here" "$name") \
            >"$dir/stdout" 2>"$dir/all" </dev/null; }
    } 2>"$dir/time"
    status=$?
    # Whether others have the machine, and for how long it stands still, is not the case's business (disturbed.sh makes it its own).
    sed -E '/^tern: [a-z ]+: (warning: other programs had the machine|(session [0-9]+ of [0-9]+: )?measuring.*: [0-9]+ of [0-9]+ [a-z]+(, about [^,]* left( in all)?)?$)/d' "$dir/all" >"$dir/stderr"
    [ $status -eq 0 ] && : >"$dir/exit" || echo $status >"$dir/exit"
}

# judge NAME: is what the case left what is expected?
judge()
{
    local name=$1 dir=$scratch/$1 suffix
    if [ ! -f "$dir/exit" ]; then
        fail "$name" "it was not run to its end"
        return
    fi
    if [ -f "$dir/work/.skip" ]; then
        skip "$name" "$(cat "$dir/work/.skip")"
        return
    fi
    for suffix in stdout stderr exit; do
        if [ -n "$update" ]; then
            store "$name" "$suffix" "$dir/$suffix"
        elif ! diff -u <(expected "$name" "$suffix") "$dir/$suffix" >"$dir/diff"; then
            fail "$name" "$suffix is not as expected (- expected, + got):"
            sed -n '3,40p' "$dir/diff"
            return
        fi
    done
    pass
}

number=0
names=()
for file in "$here"/cases/*.sh; do
    name=$(basename "$file" .sh)
    number=$((number + 1))
    [ $((number % ${TERN_CLI_EVERY:-1})) -eq 0 ] || continue
    case $name in
    *"$only"*) names+=("$name") ;;
    esac
done

# Two at a time: cases wait and sleep, and one program of all of them would end long after the other tests.
export -f execute
export here scratch
if [ ${#names[@]} -gt 0 ]; then
    printf '%s\n' "${names[@]}" | xargs -n 1 -P 2 bash -c 'execute "$1"' execute
    for name in "${names[@]}"; do
        judge "$name"
    done
    echo "most processor time, in seconds:"
    for name in "${names[@]}"; do
        [ ! -s "$scratch/$name/time" ] || awk -v name="$name" 'END { printf "  %6.2f %s\n", $1 + $2, name }' "$scratch/$name/time"
    done | sort -rn | head -n 20
fi

# Expected texts that belong to no case would never be looked at.
for file in "$here"/cases/*.stdout "$here"/cases/*.stderr "$here"/cases/*.exit; do
    [ -f "$file" ] || continue
    name=$(basename "${file%.*}")
    [ -f "$here/cases/$name.sh" ] || fail "$(basename "$file")" "there is no case $name.sh"
done

finish
