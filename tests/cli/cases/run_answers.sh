# Bias, stop strings, several answers, logprobs; and what is refused.
tern synth --shape tiny model.gguf >/dev/null
[[ $(tern run -m model.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
model="-m model.gguf -n 8 --temp 0 --no-display-prompt"
first=$(tern run $model -p "the cat" --json | json 'j["tokens"][0]')
[ "$(tern run $model -p "the cat" --json -l "$first-inf" | json 'j["tokens"][0]')" != "$first" ] && echo "a token is forbidden"
[ "$(tern run $model -p "the cat" --json -l 77+1000 | json 'j["tokens"]')" = "[77, 77, 77, 77, 77, 77, 77, 77]" ] && echo "a token is wanted"
tern run $model -p x --parallel 3 --temp 2 | grep -ac '^\[[123]\] '
tern run $model -p x --parallel 2 --seed 9 --json --logprobs 2 | json '[len(a["logprobs"]) for a in j["answers"]], [a["seed"] for a in j["answers"]], len(j["answers"][0]["logprobs"][0]["top"])'
tern run $model -n -1 -c 12 -p x --ignore-eos --json | json 'j["finish"]'
tern run $model -p x --seed -1 --json | json 'j["generated_tokens"]'
printf 'the cat' >prompt
tern run $model -f prompt >from-file && tern run $model -p "the cat" >from-option && cmp from-file from-option && echo "from a file too"
status tern run $model -p x -l 12
status tern run $model -p x -l 99999999+1
status tern run $model -p x --logprobs 2
status tern run $model -p x --parallel 0
status tern run $model -p x -n -3
status tern run $model -p x -r ''
status tern run $model -f nowhere
status tern run $model -p x -n 1 --logit-bias 999999+1
tern run $model -p x -n 2 -c 0 --top-k -1 --top-p 0 --temp -1 --repeat-last-n -1 | head -c 1; echo
