#!/usr/bin/env bash
# The long checks: scripts/check-all.sh [PART...], all parts without one. Closes with the sum of all test runs.
#
#   asan     ASan and UBSan: examples, the program, and every 16th case of the Python oracles
#   tsan     TSan: C tests of what uses threads, and examples; every 8th case of what is drawn at random
#   aarch64  64-bit ARM under qemu: C tests (every 8th random case), examples, every 8th case of the program (no Python:
#            the build is static)
#   fuzz     in the same build, by clang where that has libFuzzer: C tests (every 4th random case), and 30 seconds of each
#            fuzz target
#   style    clang-format
#
# Thinned by the same number are the random cases of kernels, and the sizes around tiles of packed ternary products. Simulations of
# thousands of comparisons (tests/measure) are left to `make test`, and say so; of the benchmarks' suites `graph` and `compile` one
# family is measured, which is said here alone.
#
# Not among all: `fuzzers`, the fuzz targets alone, TERN_FUZZ_SECONDS each (`make fuzz`).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

passed=0 failed=0 skipped=0 times=""
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

# run PRESET KINDS [OPTION...]: builds what these kinds need, and tests. A build that fails is one failure.
run()
{
    local preset=$1 kinds=$2 dir=build/$1 started=$SECONDS built targets=()
    shift 2
    rm -f "$dir/test-logs/total"
    case ,$kinds, in *,c,* | *,fuzz,*) ;; *) targets=(tern_shared tern_program examples) ;; esac
    if ! scripts/build.sh "$preset" ${targets[@]+"${targets[@]}"}; then
        echo "FAIL $preset: the build failed"
        add "0 passed, 1 failed, 0 skipped"
        return
    fi
    built=$SECONDS
    scripts/run-tests.sh "$dir" --only "$kinds" "$@"
    add "$(cat "$dir/test-logs/total" 2>/dev/null || echo "0 passed, 1 failed, 0 skipped")"
    times+=" ($((built - started)) s to build, $((SECONDS - built)) s to run)"
}

# macOS does not let a system interpreter load the sanitizer's library.
python=,python
[ "$(uname -s)" = Darwin ] && python=""

# Has this system what the part `fuzz` needs? If not, `why` says so.
can_fuzz()
{
    why=""
    if ! command -v clang >/dev/null; then
        why="no clang on this system"
    elif ! echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer -x c - -o build/fuzzer-probe 2>/dev/null; then
        why="this clang has no libFuzzer (Apple's does not)"
    fi
    [ -z "$why" ]
}

check_asan()
{
    # What a sanitizer finds, it finds in a few cases of each kind: they differ in their operands only. One build serves the
    # part `fuzz` too, which runs the C tests; where that cannot be built, they run here.
    if can_fuzz; then
        TERN_TEST_EVERY=16 run fuzz "example,shell$python"
    else
        TERN_TEST_EVERY=16 run asan "c,example,shell$python"
    fi
}

check_tsan()
{
    TERN_TEST_EVERY=8 run tsan c,example --without kernels,graph # their tests use one thread
}

check_aarch64()
{
    if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
        skip aarch64 "no cross compiler aarch64-linux-gnu-gcc on this system"
    elif ! command -v qemu-aarch64 >/dev/null && ! command -v qemu-aarch64-static >/dev/null; then
        skip aarch64 "no qemu-aarch64 on this system"
    else
        TERN_TEST_EVERY=8 TERN_CLI_EVERY=8 run aarch64 c,example,shell
    fi
}

check_fuzz()
{
    if can_fuzz; then
        TERN_TEST_EVERY=4 run fuzz c,fuzz
    else
        skip fuzz "$why"
    fi
}

check_fuzzers()
{
    local seconds=${TERN_FUZZ_SECONDS:-30}
    if can_fuzz; then
        # besides its time a target reads its corpus, and writes down what it learnt
        TERN_TEST_TIMEOUT=$((seconds + 300)) run fuzz fuzz
    else
        skip fuzzers "$why"
    fi
}

check_style()
{
    # clang-format is installed for this target only; `make test` may have had to skip what needs it.
    tests/check_format.sh | tee build/style.log
    add "$(tail -n 1 build/style.log)"
}

[ $# -gt 0 ] || set -- asan tsan aarch64 fuzz style
for part in "$@"; do
    declare -F "check_$part" >/dev/null || { echo "check-all: there is no part '$part'" >&2; exit 2; }
done
report=""
for part in "$@"; do
    echo
    echo "== $part"
    started=$SECONDS times=""
    "check_$part"
    report+="  $part: $((SECONDS - started)) s$times"$'\n'
done

echo
printf 'Time by part:\n%s' "$report"
echo "$passed passed, $failed failed, $skipped skipped" | tee build/check-all.total
[ "$failed" -eq 0 ]
