#!/usr/bin/env bash
# The committed files that come from src/graph/ops.def are what the table gives now, and the check notices when
# they are not.
. "$(dirname "$0")/harness.sh"

check "generated files" "$root/scripts/generate.sh" --check

# A copy of what the generator reads and writes, with one description changed.
tree=$scratch/tree
mkdir -p "$tree"
(cd "$root" && cp -r include src scripts tools docs "$tree/" && mkdir -p "$tree/tests" && cp -r tests/runtime "$tree/tests/")
sed -i.old 's/"square root; NaN below 0"/"root of a square; NaN below 0"/' "$tree/src/graph/ops.def"
if output=$("$tree/scripts/generate.sh" --check 2>&1); then
    fail "a changed row" "was not noticed"
elif [[ $output == *"include/tern/ops.h is not what"* && $output == *"root of a square"* ]]; then
    pass
else
    fail "a changed row" "$output"
fi
check "regenerating" "$tree/scripts/generate.sh"
check "regenerated files" "$tree/scripts/generate.sh" --check

finish
