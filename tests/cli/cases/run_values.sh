# Values that mean something else than they say, as in llama.cpp; seeds; prompts and contexts that end.
tern synth --shape tiny model.gguf >/dev/null
[[ $(tern run -m model.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
same() # same WHAT A -- B: two sets of options give the same tokens
{
    local what=$1 first=() second=()
    shift
    while [ "$1" != -- ]; do first+=("$1") && shift; done
    shift && second=("$@")
    [ "$(tern run -m model.gguf -n 12 --json "${first[@]}" | json 'j["tokens"]')" = \
        "$(tern run -m model.gguf -n 12 --json "${second[@]}" | json 'j["tokens"]')" ] && echo "$what"
}
hot="--temp 3 --min-p 0 --top-p 1 --seed 3"
same "top-k -1 is all" -p ab $hot --top-k -1 -- -p ab $hot --top-k 0
same "so is any other below 0" -p ab $hot --top-k -5 -- -p ab $hot --top-k 0
same "temp -1 is 0" -p ab --temp -1 -- -p ab --temp 0
same "top-p 0 is the likeliest" -p ab --temp 2 --top-p 0 -- -p ab --temp 0
same "repeat-last-n -1 is all" -p abcabc $hot --repeat-penalty 3 --repeat-last-n -1 -- -p abcabc $hot --repeat-penalty 3 --repeat-last-n 256
same "no newline from a pipe" -p ab --temp 0 -- --temp 0 < <(echo ab)
echo ab >prompt
same "nor from a file" -p ab --temp 0 -- --temp 0 -f prompt
same "escapes" -p $'a\n\tb\\q' --temp 0 --no-escape -- -p 'a\n\x09b\q' --temp 0
[ "$(tern run -m model.gguf -p ab --json -n 0 | json 'j["seed"]')" != "$(tern run -m model.gguf -p ab --json -n 0 | json 'j["seed"]')" ] && echo "another seed every time"
tern run -m model.gguf -p ab $hot -n 12 -v 2>notes >one
tern run -m model.gguf -p ab $hot -n 12 >two
cmp one two && sed -E 's/[0-9]+\.[0-9]+/R/g' notes
tern run -m model.gguf -p ab --temp 0 -n 2 -v >log 2>&1
tail -n 1 log | cut -d' ' -f1-4
# The end of the context: -c 0 is the model's; what does not fit is said before anything is printed.
tern run -m model.gguf -p x --ignore-eos -n -2 -c 12 --json | json 'j["finish"]'
tern run -m model.gguf -p x --ignore-eos -c 12 >/dev/null
tern run -m model.gguf -p x --ignore-eos -c 0 >/dev/null
long=$(printf 'ab %.0s' {1..300})
status tern run -m model.gguf -p "$long" -c 0
tern run -m model.gguf -p x -c 4096 -n 2 >/dev/null
status tern perplexity -m model.gguf -p x -c 4096
status tern run -m model.gguf -p x -n 2 --logit-bias 99999+1
status tern run -m model.gguf -p x -n 2 -l 300+inf -l 300-inf
# Answers that are not streamed: several, or one as JSON.
tern run -m model.gguf -p x -n 3 --parallel 2 --seed 1 --ignore-eos --json | json '[a["generated_tokens"] for a in j["answers"]]'
# A stop text has escapes, too.
tern run -m model.gguf -p x -n 9 --temp 0 --no-display-prompt --json >all
first=$(json 'j["content"][:1]' <all)
[ "$(tern run -m model.gguf -p x -n 9 --temp 0 --json -r "\\x$(printf %02x "'$first")" | json 'j["finish"]')" = stop ] && echo "stopped"
