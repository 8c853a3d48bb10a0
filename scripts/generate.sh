#!/usr/bin/env bash
# Regenerates the files that come from src/graph/ops.def: scripts/generate.sh [--check]
# With --check nothing is written; differences are shown and are an error (tests/check_generated.sh).
#
# The generator is one C file that needs only headers of the repository. It is compiled here, not by the build,
# because the library does not build while the files that it writes do not fit the table.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
${CC:-cc} -std=gnu17 -Iinclude -Isrc tools/gen_ops.c -o "$scratch/gen_ops"

status=0
while read -r what file; do
    "$scratch/gen_ops" "$what" >"$scratch/new"
    if [ -f "$file" ] && cmp -s "$scratch/new" "$file"; then
        continue
    fi
    if [ "${1:-}" = --check ]; then
        echo "$file is not what src/graph/ops.def gives; run: make generate"
        diff -u "$file" "$scratch/new" | head -n 20 || true
        status=1
    else
        mkdir -p "$(dirname "$file")"
        cp "$scratch/new" "$file"
        echo "wrote $file"
    fi
done <<'END'
header   include/tern/ops.h
source   src/graph/ops_api.c
index    src/graph/ops_index.c
attrs    src/tensor/op_attrs.h
tests    tests/runtime/test_null_ops.c
markdown docs/ops.md
END
exit $status
