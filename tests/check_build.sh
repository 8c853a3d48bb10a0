#!/usr/bin/env bash
# scripts/build.sh in a log: how many files are done, what compilers say, and the failure; not a line for each file.
. "$(dirname "$0")/harness.sh"

# In a folder of its own, with a cmake that says what the real one would.
mkdir -p "$scratch/tree/scripts" "$scratch/tree/build" "$scratch/bin"
cp "$root/scripts/build.sh" "$scratch/tree/scripts"
touch "$scratch/tree/build/build.ninja"
cat >"$scratch/bin/cmake" <<'C'
#!/bin/sh
for i in 1 2 3; do echo "[$i/3] Building C object $i"; done
echo "x.c:1: warning: odd"
[ -z "$FAILS" ] || { echo "FAILED: x.o"; exit 1; }
C
chmod +x "$scratch/bin/cmake"
build() { PATH=$scratch/bin:$PATH FAILS=${1:-} TERN_BUILD_LOG_SECONDS=$2 bash "$scratch/tree/scripts/build.sh" release all 2>&1; }

# expect NAME GOT WANT
expect() { [ "$2" = "$3" ] && pass || fail "$1" "printed '$2'"; }
expect "a short build" "$(build "" 60)" $'Building build\nx.c:1: warning: odd'
expect "a long one" "$(build "" 0)" $'Building build\nBuilding build: 1 of 3 files\nBuilding build: 2 of 3 files\nBuilding build: 3 of 3 files\nx.c:1: warning: odd'
expect "one that fails" "$(build yes 60)" \
    $'Building build\nx.c:1: warning: odd\nFAILED: x.o\nbuild: building build failed; the reason is above'
build yes 60 >/dev/null && fail "its status" "is 0" || pass
finish
