# Sourced by tests/check_*.sh: counts results and prints the closing line that scripts/run-tests.sh reads.
#
#   pass                    one check held
#   fail NAME MESSAGE...    one did not; prints it
#   skip NAME REASON...     one could not be made; prints why
#   check NAME COMMAND...   pass if the command succeeds, else fail with its output
#   finish                  the closing line; exit status 1 if anything failed
#
# $scratch is an empty directory inside the build that belongs to the sourcing script.
set -uo pipefail

root=${TERN_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
build=${TERN_BUILD_DIR:-$root/build}
cc=${TERN_CC:-cc}
scratch=$build/test-scratch/$(basename "$0" .sh)
rm -rf "$scratch"
mkdir -p "$scratch"

passed=0 failed=0 skipped=0

pass()
{
    passed=$((passed + 1))
}

fail()
{
    local name=$1
    shift
    printf 'FAIL %s: %s\n' "$name" "$*"
    failed=$((failed + 1))
}

skip()
{
    local name=$1
    shift
    printf 'SKIP %s: %s\n' "$name" "$*"
    skipped=$((skipped + 1))
}

check()
{
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        pass
    else
        fail "$name" "$output"
    fi
}

finish()
{
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
