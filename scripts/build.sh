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
echo "Building $dir"
if [ -t 1 ]; then
    cmake --build "$dir" --target "${@:-all}" || give_up "building $dir failed"
    exit
fi

# Ninja's progress is one changing line on a terminal; in a log it would be a line per file, and none at all would look like a build that
# stands still: a line a minute. All else that it says, warnings and errors, is passed on.
now_and_then()
{
    local line said=$SECONDS
    while IFS= read -r line; do
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
            [ $((SECONDS - said)) -ge "${TERN_BUILD_LOG_SECONDS:-60}" ] || continue
            said=$SECONDS
            echo "Building $dir: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files"
        elif [[ $line != "-- "* && $line != "ninja: no work to do." ]]; then
            printf '%s\n' "$line"
        fi
    done
}
NINJA_STATUS='[%f/%t] ' cmake --build "$dir" --target "${@:-all}" 2>&1 | now_and_then || give_up "building $dir failed"
