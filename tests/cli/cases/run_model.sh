# A random model: the same text for the same seed on any number of threads and in any chunks, wherever the prompt is from.
tern synth --shape tiny model.gguf >/dev/null
[[ $(tern run -m model.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
model="-m model.gguf -n 24 --seed 5 --temp 3 --top-k 0 --top-p 1 --min-p 0"
tern run $model -p "the cat" -t 1 >one
tern run $model -p "the cat" -t 2 -b 3 >two
cmp one two && head -c 7 one && echo
printf 'the cat' | tern run $model >piped
cmp one piped && echo "from standard input too"
tern run $model -p "the cat" --json | grep -c '"finish": "length"\|"generated_tokens": 24'
status tern run -m nowhere.gguf -p x
status tern run $model -p x -f y
status tern run $model -p x --temp hot
status tern run $model -p x --top-p 2
status tern run $model -p x -c 100000000
# a file that asks for the end of text behind every text: a prompt goes on all the same, and the text is whole for `tokenize`
LC_ALL=C sed 's/add_bos_token/add_eos_token/' model.gguf >ends.gguf
tern tokenize -m ends.gguf -p hi --ids
tern run -m ends.gguf -p hi -n 3 --temp 0 --json | grep -o '"prompt_tokens": *[0-9]*\|"finish": *"[a-z]*"'
[ "$(tern run -m ends.gguf -p hi -n 3 --temp 0)" = "$(tern run -m model.gguf -p hi -n 3 --temp 0)" ] && echo "the same answer"
