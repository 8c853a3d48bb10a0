# What cannot be measured is said; tests/oracle/test_model_commands.py has the values.
tern synth --shape tiny model.gguf >/dev/null
[[ $(tern run -m model.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
for i in 1 2 3 4 5 6 7 8; do printf 'the quick brown fox jumps over the lazy dog %d times. ' $i; done >text
tern perplexity -m model.gguf -f text -c 16 --chunks 2 >values
sed -E 's/[0-9]+\.[0-9]+(e\+[0-9]+)?/X/g' values
grep -oE '[0-9.]{14,}' values # noise has no digits to show
tern perplexity -m model.gguf -f text -c 16 --json | json 'sorted(j), j["context"], len(j["running"]) == j["tokens"] // 16'
tern perplexity -m model.gguf -c 16 --chunks 2 <text | cmp - <(tern perplexity -m model.gguf -f text -c 16 --chunks 2 -t 1) && echo "from standard input too"
tern perplexity --help | tr -s " \n" " " | grep -o "default: [0-9]*, or what the model has"
status tern perplexity -m model.gguf -p short
status tern perplexity -m model.gguf -f text -c 2
status tern perplexity -m model.gguf -f nowhere
