files=$DOCS/../tests/model/tokenizers
[[ $(tern tokenize --tokenizer "$files/llama-3.json" -p x 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2 or no jansson"
status tern tokenize -m a --tokenizer b -p x
status tern tokenize -m a -p x -f y
cd "$files" || exit
status tern tokenize --tokenizer llama-2.json --decode '1 two'
status tern tokenize --tokenizer llama-2.json --decode '1 305'
status tern tokenize --tokenizer llama-3.json --pre qwen2 -p x
status tern tokenize --tokenizer llama-2.json --pre gpt-2 -p x
status tern tokenize --tokenizer llama-2.json --chat chatml -p x
status tern tokenize --tokenizer llama-2.json --chat auto -p x
status tern tokenize --tokenizer llama-2.json --chat bitnet -p x
status tern tokenize --tokenizer absent.json -p x
status tern tokenize --tokenizer /dev/null -p x
status tern tokenize -m absent.gguf -p x
for pair in "--decode 1 --ids" "--decode 1 --chat bitnet" "--decode 1 --pre gpt-2" "--chat bitnet -p x --no-bos" "--chat bitnet -p x --special" "-p x --json --ids"; do
    status tern tokenize --tokenizer llama-3.json $pair
done
