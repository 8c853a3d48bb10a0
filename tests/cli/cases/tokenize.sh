# Small tokenizers like those of the known families.
files=$DOCS/../tests/model/tokenizers
[[ $(tern tokenize --tokenizer "$files/llama-3.json" -p x 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2 or no jansson"
tern tokenize --tokenizer "$files/llama-3.json" -p $'hello world\n123\xff<|eot_id|>'
tern tokenize --tokenizer "$files/llama-3.json" -p 'hello<|eot_id|>' --special --ids
tern tokenize --tokenizer "$files/llama-3.json" -p 'hello there' --no-bos --ids
printf 'hello there' | tern tokenize --tokenizer "$files/gpt-2.json" --ids
printf 'hello there' >text && tern tokenize --tokenizer "$files/llama-2.json" -f text --ids
tern tokenize --tokenizer "$files/llama-2.json" --decode '1 301,303 2'
tern tokenize --tokenizer "$files/llama-2.json" --decode '1 301 303 2' --special
tern tokenize --tokenizer "$files/llama-3.json" --chat bitnet -p ' hello<|eot_id|> ' --ids
tern tokenize --tokenizer "$files/llama-2.json" -p 'hello X' --json
tern tokenize --tokenizer "$files/llama-2.json" --decode '301 303' --json | json 'j["text"]'
