#!/usr/bin/env bash
# The long checks: the tests of library and program under ASan+UBSan, under TSan and on aarch64, and once more built by
# clang (other warnings, other checks in its UBSan) together with the fuzz targets.
# The Python oracles run under ASan as well; under TSan they would only repeat single-threaded work, and the
# static ARM build has no shared library that Python could load. Closes with the sum of all test runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

passed=0 failed=0 skipped=0
mkdir -p build

# add "N passed, M failed, K skipped"
add()
{
    local p f s
    read -r p _ f _ s _ <<<"$1"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

skip()
{
    echo "skip $1: $2"
    add "0 passed, 0 failed, 1 skipped"
}

# build PRESET; a build that fails is one failure.
build()
{
    echo
    echo "== $1"
    if ! scripts/build.sh "$1"; then
        echo "FAIL $1: the build failed"
        add "0 passed, 1 failed, 0 skipped"
        return 1
    fi
}

# run PRESET KINDS
run()
{
    rm -f "build/$1/test-logs/total"
    build "$1" || return 0
    scripts/run-tests.sh "build/$1" --only "$2"
    add "$(cat "build/$1/test-logs/total" 2>/dev/null || echo "0 passed, 1 failed, 0 skipped")"
}

# macOS does not let a system interpreter load the sanitizer's library.
python=,python
[ "$(uname -s)" = Darwin ] && python=""

run asan c,example,shell$python
run tsan c,example,shell
if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
    skip aarch64 "no cross compiler aarch64-linux-gnu-gcc on this system"
elif ! command -v qemu-aarch64 >/dev/null && ! command -v qemu-aarch64-static >/dev/null; then
    skip aarch64 "no qemu-aarch64 on this system"
else
    run aarch64 c,example,shell
fi
if ! command -v clang >/dev/null; then
    skip fuzz "no clang on this system"
elif ! echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
    clang -fsanitize=fuzzer -x c - -o build/fuzzer-probe 2>/dev/null; then
    skip fuzz "this clang has no libFuzzer (Apple's does not)"
else
    run fuzz c,fuzz
fi

# clang-format is installed for this target only; `make test` may have had to skip what needs it.
echo
echo "== style"
tests/check_format.sh | tee build/style.log
add "$(tail -n 1 build/style.log)"

echo
echo "$passed passed, $failed failed, $skipped skipped" | tee build/check-all.total
[ "$failed" -eq 0 ]
