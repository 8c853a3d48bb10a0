#!/usr/bin/env bash
# Installs packages of npm for tests into build/npm, where npm is there: scripts/install-npm.sh PACKAGE...
# What is present already is left alone, so a second run installs nothing and needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || {
    echo "install-npm: usage: scripts/install-npm.sh PACKAGE..." >&2
    exit 1
}
missing=()
for package in "$@"; do
    [ -d "build/npm/node_modules/$package" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
command -v npm >/dev/null || {
    echo "install-npm: no npm; it is needed for: ${missing[*]}" >&2
    exit 1
}
echo "Installing packages (npm): ${missing[*]}"
mkdir -p build/npm
# Nothing that a package brings along is run.
output=$(npm install --prefix build/npm --no-save --no-audit --no-fund --ignore-scripts "${missing[@]}" 2>&1) || {
    printf '%s\n' "$output" >&2
    exit 1
}
