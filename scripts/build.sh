#!/usr/bin/env bash
# Configures (the first time) and builds one preset of CMakePresets.json: scripts/build.sh PRESET [TARGET...]
# Without a target, everything: library, program, tests, examples and benchmarks.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
dir=build/$preset
[ "$preset" = release ] && dir=build

# Without a target this is the first half of a test run, whose last line is the total whatever happens.
everything=$([ $# -gt 0 ] || echo yes)
give_up()
{
    echo "build: $1; the reason is above"
    [ -z "$everything" ] || echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

# Where ccache is installed, its files stay inside the source tree, like all others, unless its user says where.
export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache}

# Ninja re-runs CMake by itself when a CMake file or the set of sources changes.
if [ ! -f "$dir/build.ninja" ]; then
    echo "Configuring $dir"
    cmake --preset "$preset" --log-level=NOTICE >/dev/null || give_up "configuring $dir failed"
fi
# Ninja's progress is one changing line on a terminal; in a log it would be a line per file.
quiet=""
[ -t 1 ] || quiet=--quiet
echo "Building $dir"
# A log that stands still looks like a build that does: one line a minute.
if [ -n "$quiet" ]; then
    (
        minutes=0
        while sleep 60; do
            minutes=$((minutes + 1))
            echo "Building $dir: $minutes min"
        done
    ) &
    heartbeat=$!
    trap 'kill "$heartbeat" 2>/dev/null || :' EXIT
fi
cmake --build "$dir" --target "${@:-all}" -- $quiet || give_up "building $dir failed"
