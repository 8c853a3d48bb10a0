#!/usr/bin/env bash
# Trains the built-in model as models/shakespeare.md says: scripts/train-model.sh DATA [DIR]
# Without DIR, in a folder of its own: build/shakespeare, or the first of build/shakespeare-2, -3 ... that is not there yet; no run is
# ever written over. With DIR, there; a run that was begun in it goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:-} dir=${2:-}
tern=${TERN_BIN:-build/tern}
if [ -z "$data" ]; then
    echo "make model DATA=tinyshakespeare.txt (models/shakespeare.md says which text that is)" >&2
    exit 2
fi
[ -r "$data" ] || { echo "make model: $data cannot be read" >&2; exit 1; }
if [ -z "$dir" ]; then
    dir=build/shakespeare
    for ((i = 2; ; i++)); do
        [ -e "$dir" ] || break
        dir=build/shakespeare-$i
    done
    [ "$i" -eq 2 ] || echo "build/shakespeare has a run already, which stays as it is: this one is in $dir (OUT=DIR goes on with one)"
fi
text=$(sed -nE 's/.*sha256 `([0-9a-f]{64})`.*/\1/p' models/shakespeare.md)
if [ "$(sha256sum <"$data" | cut -d ' ' -f 1)" != "$text" ]; then
    echo "note: $data is not the text of models/shakespeare.md (sha256 $text): another model will come of it" >&2
fi
# Two parts, as it was made. The second begins with what the first has left, also where that was stopped and is asked for again.
trap 'echo "make model: not finished; go on with: make model DATA=$data OUT=$dir" >&2' ERR
if [ -e "$dir/checkpoint.safetensors" ]; then
    "$tern" train --data "$data" -o "$dir" --resume --until 812
else
    "$tern" train --data "$data" --config models/shakespeare.json -o "$dir" --until 812
fi
"$tern" train --data "$data" -o "$dir" --resume --steps 2000
