#!/usr/bin/env bash
# Texts that another engine wrote at temperature 0 with a small trained model: ours are the same, from its own file and from
# GGUF. They are not part of the repository: without them, the tests are skipped.
. "$(dirname "$0")/../harness.sh"

data=${TERN_SHARED_DATA:-$root/../shared/data}/stories260K
program=${TERN_BIN:-$build/tern}

# compare NAME PROMPT RECORDED MODEL [OPTION...]: the recorded text counts tokens of the prompt, so ours goes on a little.
compare()
{
    local name=$1 prompt=$2 recorded=$data/$3 model=$data/$4 text ours
    shift 4
    if [ ! -f "$recorded" ] || [ ! -f "$model" ]; then
        skip "$name" "no recorded text: neither in \$TERN_SHARED_DATA nor in ../shared/data"
        return
    fi
    text=$(cat "$recorded")
    ours=$("$program" run -m "$model" -p "$prompt" --temp 0 -n 200 "$@" 2>&1)
    case $ours in
    "$text"*) pass "$name" ;;
    *) fail "$name" "expected: $text"$'\n'"got: $ours" ;;
    esac
}

for model in stories260K-f32.gguf stories260K.bin; do
    tokenizer=()
    [ $model = stories260K.bin ] && tokenizer=(--tokenizer "$data/tok512.bin")
    compare "$model, a story" "" greedy-200.txt $model ${tokenizer[@]+"${tokenizer[@]}"}
    compare "$model, Once upon a time" "Once upon a time" greedy-120-Once-upon-a-time.txt $model ${tokenizer[@]+"${tokenizer[@]}"}
    compare "$model, Tom had a red car" "Tom had a red car." greedy-120-Tom-had-a-red-car.txt $model ${tokenizer[@]+"${tokenizer[@]}"}
done
finish
