#!/usr/bin/env bash
# The tests that make up their cases (kernels, passes, graphs) again, with seeds that nobody has tried.
#
#   scripts/check-seeds.sh BUILD_DIR [COUNT]     so many seeds; stops at the first that fails, and says how to repeat it
#
# `make test` always takes the same seed, so that its result is that of the source alone.
set -uo pipefail

build=${1:?usage: scripts/check-seeds.sh BUILD_DIR [COUNT]}
count=${2:-10}
[[ $count =~ ^[1-9][0-9]*$ ]] || { echo "COUNT is a number from 1 on, not '$count'" >&2; exit 2; }

for ((i = 1; i <= count; i++)); do
    seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
    echo "seed $i of $count: $seed"
    for folder in kernels/ passes/ graph/; do
        if ! output=$(TERN_TEST_SEED=$seed "$(dirname "$0")/run-tests.sh" "$build" --only c --filter "$folder"); then
            printf '%s\n' "$output"
            echo "repeat with: TERN_TEST_SEED=$seed scripts/run-tests.sh $build --only c --filter $folder" >&2
            exit 1
        fi
    done
done
echo "$count seeds, no failure"
