#!/usr/bin/env bash
# Every exported function is called in tests/runtime/test_null_*.c, where each pointer is NULL once.
. "$(dirname "$0")/harness.sh"

if [ -z "${TERN_LIB:-}" ]; then
    skip "functions tried with NULL" "this build has no shared library"
    finish
fi

# missing NAMES FILE...: the names that none of the files calls.
missing()
{
    local names=$1
    shift
    comm -23 <(printf '%s\n' "$names" | sort -u) <(grep -ohE 'tern_[a-z0-9_]+ *\(' "$@" | tr -d ' (' | sort -u)
}

if [ "$(uname -s)" = Darwin ]; then
    exported=$(nm -gU "$TERN_LIB" | awk '{ sub(/^_/, "", $NF); print $NF }')
else
    exported=$(nm -D --defined-only "$TERN_LIB" | awk '$2 == "T" { print $NF }')
fi
exported=$(printf '%s\n' "$exported" | grep '^tern_[a-z0-9]')
count=$(printf '%s\n' "$exported" | wc -l)
[ "$count" -gt 200 ] && pass || fail "exported functions" "only $count were found in $TERN_LIB"

left=$(missing "$exported" "$root"/tests/runtime/test_null_*.c)
[ -z "$left" ] && pass || fail "functions never tried with NULL (tests/runtime/test_null_*.c)" $left

# The check itself: a name that is missing is found, one that is there is not.
echo 'REFUSED(tern_one(NULL));' >"$scratch/test.c"
[ "$(missing 'tern_one
tern_two' "$scratch/test.c")" = tern_two ] && pass || fail "the check" "does not find the missing name"

finish
