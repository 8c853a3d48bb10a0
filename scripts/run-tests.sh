#!/usr/bin/env bash
# Runs the tests of one build:
#   scripts/run-tests.sh BUILD_DIR [--only KIND[,KIND]] [--without FOLDER[,FOLDER]] [--filter TEXT] [-j N]
#
# A test is a program whose output closes with `N passed, M failed, K skipped`. Kinds:
#   c         programs made from tests/<dir>/test_*.c
#   example   programs made from examples/*.c; exit status 0 is the test
#   fuzz      programs made from tests/fuzz/fuzz_*.c, each for 30 seconds with the same seed, or for TERN_FUZZ_SECONDS
#             with a fresh one, with the arguments in fuzz_*.args if there are any; exit status 0 is the test
#   check     tests/check_*.sh: about the repository and the installed library
#   shell     tests/<dir>/test_*.sh: about the program
#   python    tests/<dir>/test_*.py
# A program that crashes, takes longer than TERN_TEST_TIMEOUT seconds (600; thrice that for a kind `shell`) or prints no
# closing line is one failure. One line per program is shown, failures and the reasons of skips in full; complete logs are in
# BUILD_DIR/test-logs, with `times`: processor seconds, seconds, name, the largest first. The last line is the sum over all
# programs. Exit status 1 if anything failed.
#
# Tests find these in their environment: TERN_SOURCE_DIR, TERN_BUILD_DIR, TERN_LIB (shared library), TERN_BIN (the
# program), TERN_CC, TERN_PYTHON, TERN_SANITIZE, TERN_EMULATOR; and, when expected outputs are to be rewritten,
# TERN_GOLDEN_UPDATE=1.
set -uo pipefail

source_dir=$(cd "$(dirname "$0")/.." && pwd)

usage()
{
    echo "usage: scripts/run-tests.sh BUILD_DIR [--only KIND[,KIND]] [--without FOLDER[,FOLDER]] [--filter TEXT] [-j N]" >&2
    exit 2
}

# ---- one test: called back by xargs below -----------------------------------------------------------------

now()
{
    echo "${EPOCHREALTIME:-$(date +%s).0}"
}

with_timeout()
{
    if command -v timeout >/dev/null; then
        timeout --kill-after=10 "$limit" "$@"
    else
        perl -e 'alarm shift; exec @ARGV or exit 127' "$limit" "$@"
    fi
}

# The address sanitizer as a library: clang's, or gcc's, which clang would find too. A compiler gives back the bare name of
# what it has not.
sanitizer_library()
{
    local name file
    for name in "libclang_rt.asan-$(uname -m).so" libasan.so; do
        file=$("$TERN_CC" -print-file-name="$name")
        [ ! -f "$file" ] || break
    done
    echo "$file"
}

# The command line of a test, by kind, in the array `command`.
compose()
{
    local kind=$1 file=$2
    case $kind in
    c | example)
        command=(${prefix[@]+"${prefix[@]}"} "$file")
        ;;
    fuzz)
        # What it learns stays in the build directory, and so does an input that it finds a fault with.
        local corpus=$build/fuzz-corpus/${file##*/} args=$source_dir/tests/fuzz/${file##*/}.args
        mkdir -p "$corpus"
        command=("$file" -max_total_time="${TERN_FUZZ_SECONDS:-30}" -artifact_prefix="$corpus-" -print_final_stats=1
                 "$corpus")
        # A test tries the same inputs every time, so that what it finds is about the change; a campaign tries new ones.
        if [ -z "${TERN_FUZZ_SECONDS:-}" ]; then
            command+=(-seed=1)
            setarch -R true 2>/dev/null && command=(setarch -R "${command[@]}") # addresses are among the inputs
        fi
        # shellcheck disable=SC2207 # a list of words
        [ -f "$args" ] && command+=($(cat "$args"))
        ;;
    check | shell)
        command=(bash "$file")
        ;;
    python)
        command=("$TERN_PYTHON" "$file")
        # Python itself is not instrumented: the sanitizer's run-time library has to be loaded first, and what
        # the interpreter leaves allocated at exit is not ours to report.
        case $TERN_SANITIZE in
        *address*)
            command=(env "LD_PRELOAD=$(sanitizer_library)"
                     "ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}" "${command[@]}")
            ;;
        esac
        ;;
    esac
}

run_one()
{
    local kind=$1 name=$2 file=$3
    local log=$logs/${name//\//-}.log start end status closing passed failed skipped verdict note=""
    local command=()

    compose "$kind" "$file"
    local TIMEFORMAT='%U %S' cpu
    start=$(now)
    { time { (cd "$source_dir" && with_timeout "${command[@]}") >"$log" 2>&1 </dev/null; }; } 2>"$log.cpu"
    status=$?
    end=$(now)
    cpu=$(awk 'END { print $1 + $2 }' "$log.cpu") # its last line: before it, the shell may say how a program died
    rm -f "$log.cpu"

    closing=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    if [ "$kind" = example ] || [ "$kind" = fuzz ]; then
        closing="1 passed, 0 failed, 0 skipped"
    fi
    read -r passed _ failed _ skipped _ <<<"${closing:-0 passed, 0 failed, 0 skipped}"

    # A status that the closing line does not explain is a failure of its own.
    if [ $status -eq 124 ] || [ $status -eq 137 ] || [ $status -eq 142 ]; then
        note="timed out after $limit s"
    elif [ $status -gt 128 ]; then
        note="killed by signal $((status - 128))"
    elif [ $status -ne 0 ] && [ "$failed" -eq 0 ]; then
        note="exit status $status"
    elif [ -z "$closing" ]; then
        note="printed no closing line 'N passed, M failed, K skipped'"
    elif [ "$status" -eq 0 ] && [ "$failed" -gt 0 ]; then
        note="reported failures but exit status 0"
    fi
    if [ -n "$note" ]; then
        failed=$((failed + 1))
        case $kind in example | fuzz) passed=0 ;; esac
    fi

    verdict=ok
    [ "$skipped" -gt 0 ] && [ "$passed" -eq 0 ] && verdict=skip
    [ "$failed" -gt 0 ] && verdict=FAIL
    echo "$passed $failed $skipped" >"$log.count"
    awk -v n="$name" -v a="$start" -v b="$end" -v c="$cpu" 'BEGIN { printf "%.1f %.1f %s\n", c, b - a, n }' >"$log.time"
    # One write for the whole block, so that tests running side by side do not mix their lines.
    report=$(
        awk -v v="$verdict" -v n="$name" -v p="$passed" -v f="$failed" -v s="$skipped" -v a="$start" -v b="$end" \
            'BEGIN { printf "%-4s %-40s %6d passed", v, n, p; if (f) printf ", %d failed", f;
                     if (s) printf ", %d skipped", s; printf "  %.1f s", b - a }'
        echo
        if [ "$failed" -gt 0 ]; then
            [ -n "$note" ] && echo "     $name: $note"
            tail -n 60 "$log" | sed 's/^/     | /'
            echo "     full log: $log"
        elif [ "$skipped" -gt 0 ]; then
            grep -ai 'skip' "$log" | grep -avE '^[0-9]+ passed, ' | sed 's/^/     | /'
        fi
    )
    printf '%s\n' "$report"
}

# ---- all tests --------------------------------------------------------------------------------------------

# "kind name file" lines, slowest kinds first so that the end of the run is not one long test.
list_tests()
{
    local file name
    for file in "$source_dir"/tests/*/test_*.py; do
        [ -f "$file" ] || continue
        name=${file#"$source_dir"/tests/}
        echo "python ${name%.py} $file"
    done
    for file in "$source_dir"/tests/*/test_*.sh "$source_dir"/tests/check_*.sh; do
        [ -f "$file" ] || continue
        name=${file#"$source_dir"/tests/}
        case $name in
        */*) echo "shell ${name%.sh} $file" ;;
        *) echo "check ${name%.sh} $file" ;;
        esac
    done
    cat "$build/tests.list"
}

# Makes one locale with decimal commas inside the build directory, for tests of what must not depend on the locale.
make_locale()
{
    local locales=$build/test-scratch/locale
    if [ -f /usr/share/i18n/locales/de_DE ] && command -v localedef >/dev/null; then
        mkdir -p "$locales"
        [ -d "$locales/de_DE.UTF-8" ] ||
            localedef --no-archive -c -i de_DE -f UTF-8 "$locales/de_DE.UTF-8" >/dev/null 2>&1
        export LOCPATH=$locales
    fi
}

main()
{
    local only="" without="" filter="" jobs=2
    [ $# -gt 0 ] && [ -d "$1" ] || usage
    build=$(cd "$1" && pwd)
    shift
    while [ $# -gt 0 ]; do
        [ $# -gt 1 ] || usage
        case $1 in
        --only) only=$2 ;;
        --without) without=$2 ;;
        --filter) filter=$2 ;;
        -j) jobs=$2 ;;
        *) usage ;;
        esac
        shift 2
    done
    [ -f "$build/build-env.sh" ] || { echo "run-tests: $build holds no build with tests" >&2; exit 2; }

    logs=$build/test-logs
    rm -rf "$logs"
    mkdir -p "$logs"
    list_tests | awk -v only=",$only," -v without=",$without," -v filter="$filter" '
        { folder = $2; sub(/\/.*/, "", folder) }
        (only == ",," || index(only, "," $1 ",")) && !index(without, "," folder ",") &&
        (filter == "" || index($2, filter))' >"$logs/list"

    # xargs would start one test of no name.
    if [ ! -s "$logs/list" ]; then
        echo "run-tests: no test matches${only:+ --only $only}${filter:+ --filter $filter}" >&2
        exit 2
    fi

    TERN_PYTHON=$("$source_dir/scripts/find-python.sh" 2>/dev/null || echo python3)
    make_locale
    export TERN_PYTHON TERN_RUN_LOGS=$logs TERN_RUN_BUILD=$build
    tr '\n' '\0' <"$logs/list" | xargs -0 -n 1 -P "$jobs" "$0" --one

    # A test without a count never came to its end (out of memory, interrupted): one failure.
    local total
    total=$(while read -r _ name _; do
                cat "$logs/${name//\//-}.log.count" 2>/dev/null || echo "0 1 0"
            done <"$logs/list" |
            awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped", p, f, s }')
    # Other work on the machine changes how long a test lasts far more than what it uses: what to shorten is ranked by that.
    sort -rn "$logs"/*.log.time >"$logs/times" 2>/dev/null
    awk '{ cpu += $1 } NR <= 5 { most = most (NR > 1 ? ", " : "") $3 " " $1 }
         END { printf "Processor time: %.0f s, most of it: %s\n", cpu, most }' "$logs/times"
    echo "$total" >"$logs/total"
    echo "$total"
    case $total in
    "0 passed, 0 failed, 0 skipped") echo "run-tests: there was nothing to run" >&2; exit 2 ;;
    *" 0 failed, "*) exit 0 ;;
    *) exit 1 ;;
    esac
}

if [ "${1:-}" = --one ]; then
    build=$TERN_RUN_BUILD
    logs=$TERN_RUN_LOGS
    limit=${TERN_TEST_TIMEOUT:-600}
    set -a
    # shellcheck disable=SC1091
    . "$build/build-env.sh"
    set +a
    export TERN_SOURCE_DIR=$source_dir TERN_BUILD_DIR=$build
    export TERN_TUNING=off # plans must not depend on what was measured on this machine
    # What devices build is built once, and kept inside the build: tests need no HOME, and leave nothing there.
    export XDG_CACHE_HOME=$build/cache
    export TERN_KERNELS=$XDG_CACHE_HOME/tern/kernels POCL_CACHE_DIR=$XDG_CACHE_HOME/pocl/kcache
    mkdir -p "$POCL_CACHE_DIR"
    # What does not apply to this build is absent, not empty.
    for name in TERN_LIB TERN_BIN TERN_SANITIZE TERN_EMULATOR; do
        [ -n "${!name}" ] || export -n "${name?}"
    done
    # Nothing outside the repository is touched: temporary files go to the build directory as well.
    export TMPDIR=$build/test-scratch/tmp
    mkdir -p "$TMPDIR"
    # How a program of this build is started: under an emulator, or, because ThreadSanitizer's fixed shadow mapping
    # fails under strong address randomisation, without that.
    prefix=()
    if [ -n "$TERN_EMULATOR" ]; then
        prefix=("$TERN_EMULATOR")
    elif [ "$TERN_SANITIZE" = thread ] && setarch "$(uname -m)" -R true 2>/dev/null; then
        prefix=(setarch "$(uname -m)" -R)
    fi
    # Tests that start `tern` themselves get a script that does so in the same way.
    if [ ${#prefix[@]} -gt 0 ] && [ -n "$TERN_BIN" ]; then
        printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${prefix[*]}" "$TERN_BIN" >"$logs/tern.$$" &&
            chmod +x "$logs/tern.$$" && mv "$logs/tern.$$" "$logs/tern"
        TERN_BIN=$logs/tern
    fi
    read -r kind name file <<<"$2"
    [ "$kind" != shell ] || limit=$((limit * 3)) # hundreds of cases, beside another test, and in slow builds
    run_one "$kind" "$name" "$file"
else
    main "$@"
fi
