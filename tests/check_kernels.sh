#!/usr/bin/env bash
# Every kernel of kernels.def has a checker in tests/kernels: a family a program that takes its rows and asks which of them run here, a
# row TERN_FAST one that calls it. Row programs have theirs, which go over all tables that there are. What is added without a checker
# fails here, instead of being tested by nobody. Nor do inner loops ask what the processor is like: plans do.
. "$(dirname "$0")/harness.sh"

# unchecked TREE: prints the families that no program of TREE/tests/kernels goes through.
unchecked()
{
    local family
    sed -n 's/^TERN_FAMILY(\([a-z0-9_]*\)).*/\1/p' "$1/src/kernels/kernels.def" | while read -r family; do
        # shellcheck disable=SC2046 # names of sources have no spaces
        grep -qlw "TERN__FAMILY_$family" $(grep -l 'tern__kernel_runs(' "$1"/tests/kernels/test_*.c) ||
            echo "$family"
    done
}

# uncalled TREE SYMBOLS: prints the kernels of rows TERN_FAST that are not in the file of names.
uncalled()
{
    local kernel
    sed -n 's/^TERN_FAST([a-z0-9_]*, *\([a-z0-9_]*\),.*/\1/p' "$1/src/kernels/kernels.def" | sort -u |
        while read -r kernel; do
            grep -qx "tern_$kernel" "$2" || echo "$kernel"
        done
}

# asking TREE: prints the files of inner loops that ask what the processor is like, instead of finding it in their program.
asking()
{
    local files
    files=$(ls "$1"/src/kernels/x86/* "$1"/src/kernels/arm/* "$1"/src/kernels/*/*_impl.h 2>/dev/null)
    # shellcheck disable=SC2086 # names of sources have no spaces
    grep -l 'tern__cpu()' $files | sed 's/.*src/src/'
}

# verdict NAME FOUND: passes if nothing was found.
verdict()
{
    if [ -z "$2" ]; then
        pass
    else
        fail "$1" $2
    fi
}

verdict "families without a checker in tests/kernels" "$(unchecked "$root")"

verdict "inner loops that ask for the processor while they run" "$(asking "$root")"

# Macros write names of functions: what the compiled programs call counts.
objects=$(find "$build" -path '*tests_kernels_test_*' -name 'test_*.o')
if [ -z "$objects" ]; then
    skip "kernels that nobody calls" "this build has no programs of tests/kernels"
elif ! command -v nm >/dev/null; then
    skip "kernels that nobody calls" "there is no nm"
else
    # shellcheck disable=SC2086 # names of objects have no spaces
    nm -u $objects 2>/dev/null | awk 'NF == 2 { sub(/^_tern/, "tern", $2); print $2 }' | sort -u >"$scratch/called"
    verdict "kernels of rows TERN_FAST that no program of tests/kernels calls" "$(uncalled "$root" "$scratch/called")"
fi

# The check itself notices a family that nobody goes through, and a kernel that nobody calls.
tree=$scratch/tree
mkdir -p "$tree/src/kernels/sums" "$tree/tests/kernels"
echo 'return tern__cpu()->l2_bytes;' >"$tree/src/kernels/sums/sums_impl.h"
printf 'TERN_FAMILY(known)\nTERN_FAMILY(forgotten)\nTERN_FAST(sum, sum__one, known, sums, "f32")\nTERN_FAST(sum, sum__two, known, sums, "f16")\n' \
    >"$tree/src/kernels/kernels.def"
printf 'if (row->family == TERN__FAMILY_known && tern__kernel_runs(row, mask))\n' >"$tree/tests/kernels/test_known.c"
echo tern_sum__one >"$scratch/some"
found="$(unchecked "$tree") $(uncalled "$tree" "$scratch/some") $(asking "$tree")"
if [ "$found" = "forgotten sum__two src/kernels/sums/sums_impl.h" ]; then
    pass
else
    fail "a kernel without a checker, or one that asks" "found '$found'"
fi

finish
