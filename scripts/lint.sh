#!/usr/bin/env bash
# Runs clang-tidy on one source, if the build in BUILD_DIR compiles it: scripts/lint.sh BUILD_DIR SOURCE
set -euo pipefail
cd "$(dirname "$0")/.."
grep -q "/$2\"" "$1/compile_commands.json" || exit 0 # a kernel for another architecture
clang-tidy -p "$1" --quiet --warnings-as-errors='*' "$2" 2>/dev/null
