#!/usr/bin/env bash
# The test runner counts what it should: planted programs that pass, fail, skip, crash, hang, say nothing, or lie.
. "$(dirname "$0")/harness.sh"

# A source tree and a build directory with nothing but planted tests.
mkdir -p "$scratch/scripts" "$scratch/tests/oracle" "$scratch/build"
cp "$root/scripts/run-tests.sh" "$root/scripts/find-python.sh" "$scratch/scripts/"
printf "TERN_LIB=''\nTERN_BIN=''\nTERN_SANITIZE=''\nTERN_EMULATOR=''\nTERN_CC='cc'\n" >"$scratch/build/build-env.sh"

limit=60

# expect NAME "TOTAL" STATUS "TEXT": runs one planted check whose body is on stdin.
expect()
{
    local said status closing
    rm -f "$scratch"/tests/*.sh
    cat >"$scratch/tests/check_planted.sh"
    : >"$scratch/build/tests.list"
    said=$(TERN_TEST_TIMEOUT=$limit "$scratch/scripts/run-tests.sh" "$scratch/build" --only check 2>&1)
    status=$?
    closing=$(printf '%s\n' "$said" | tail -n 1)
    if [ "$closing" = "$2" ] && [ $status -eq "$3" ] && [[ $said == *"$4"* ]]; then
        pass
    else
        fail "$1" "status $status, said: $said"
    fi
}

expect "a pass" "3 passed, 0 failed, 0 skipped" 0 "ok   check_planted" <<<'echo 3 passed, 0 failed, 0 skipped'
expect "a skip shows its reason" "0 passed, 0 failed, 1 skipped" 0 "SKIP x: no such device" \
    <<<'echo SKIP x: no such device; echo 0 passed, 0 failed, 1 skipped'
expect "a failure is shown" "2 passed, 1 failed, 0 skipped" 1 "x.c:7: 1 != 2" \
    <<<'echo x.c:7: 1 != 2; echo 2 passed, 1 failed, 0 skipped; exit 1'
expect "no closing line" "0 passed, 1 failed, 0 skipped" 1 "no closing line" <<<'echo all is well'
expect "a crash" "0 passed, 1 failed, 0 skipped" 1 "killed by signal 11" <<<'kill -SEGV $$'
expect "a crash after the closing line" "4 passed, 1 failed, 0 skipped" 1 "killed by signal 6" \
    <<<'echo 4 passed, 0 failed, 0 skipped; kill -ABRT $$'
expect "a status that contradicts the closing line" "4 passed, 1 failed, 0 skipped" 1 "exit status 23" \
    <<<'echo 4 passed, 0 failed, 0 skipped; exit 23'
expect "failures with status 0" "0 passed, 2 failed, 0 skipped" 1 "exit status 0" <<<'echo 0 passed, 1 failed, 0 skipped'
limit=1
expect "a hang" "0 passed, 1 failed, 0 skipped" 1 "timed out after 1 s" <<<'sleep 30'

# Sums over programs, and examples, whose exit status is the test.
printf '#!/bin/sh\nexit 0\n' >"$scratch/good"
printf '#!/bin/sh\nexit 3\n' >"$scratch/bad"
chmod +x "$scratch/good" "$scratch/bad"
printf 'example examples/good %s\nexample examples/bad %s\n' "$scratch/good" "$scratch/bad" >"$scratch/build/tests.list"
echo 'echo 5 passed, 0 failed, 1 skipped' >"$scratch/tests/check_planted.sh"
said=$("$scratch/scripts/run-tests.sh" "$scratch/build" 2>&1 | tail -n 1)
[ "$said" = "6 passed, 1 failed, 1 skipped" ] && pass || fail "the sum" "is '$said'"

finish
