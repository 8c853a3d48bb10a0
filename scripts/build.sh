#!/usr/bin/env bash
# Configures (the first time) and builds one preset of CMakePresets.json: scripts/build.sh PRESET
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
dir=build/$preset
[ "$preset" = release ] && dir=build

# Ninja re-runs CMake by itself when a CMake file or the set of sources changes.
if [ ! -f "$dir/build.ninja" ]; then
    cmake --preset "$preset"
fi
cmake --build "$dir"
