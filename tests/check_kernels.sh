#!/usr/bin/env bash
# Every family of kernels.def has a checker: a program of tests/kernels that takes its rows and asks which of them run here. A
# family that is added without one fails here, instead of being tested by nobody.
. "$(dirname "$0")/harness.sh"

# unchecked TREE: prints the families that no program of TREE/tests/kernels goes through.
unchecked()
{
    local family
    sed -n 's/^TERN_FAMILY(\([a-z0-9_]*\),.*/\1/p' "$1/src/kernels/kernels.def" | while read -r family; do
        # shellcheck disable=SC2046 # names of sources have no spaces
        grep -qlw "TERN__FAMILY_$family" $(grep -l 'tern__kernel_runs(' "$1"/tests/kernels/test_*.c) ||
            echo "$family"
    done
}

missing=$(unchecked "$root")
if [ -z "$missing" ]; then
    pass
else
    fail "families without a checker in tests/kernels" $missing
fi

# The check itself notices a family that nobody goes through.
tree=$scratch/tree
mkdir -p "$tree/src/kernels" "$tree/tests/kernels"
printf 'TERN_FAMILY(known, matmul)\nTERN_FAMILY(forgotten, matmul)\n' >"$tree/src/kernels/kernels.def"
printf 'if (row->family == TERN__FAMILY_known && tern__kernel_runs(row, mask))\n' >"$tree/tests/kernels/test_known.c"
found=$(unchecked "$tree")
if [ "$found" = forgotten ]; then
    pass
else
    fail "a family without a checker" "found '$found'"
fi

finish
