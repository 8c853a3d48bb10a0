[ -w /dev/full ] || skip "there is no /dev/full here"
tern list ops >/dev/full
echo "exit status $?"
tern graph run "$GRAPHS/batch.tern" --json >/dev/full
echo "exit status $?"
# An answer ends where it cannot be written, long before its context is full.
tern synth --shape tiny model.gguf >/dev/null
[[ $(tern run -m model.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
tern run -m model.gguf -p x --ignore-eos -n 100000 >/dev/full
echo "exit status $?"
# A whole document that fails at once has a reason, too, and what fails in a file is not told of standard output.
tern devices --json >/dev/full
echo "exit status $?"
tern memory --format json -o /dev/full -- list ops >/dev/null
echo "exit status $?"
