# Templates beside safetensors: recognised, or refused with a line that says what to do; never run.
tern synth --shape tiny a.gguf >/dev/null
mkdir folder
[[ $(tern convert a.gguf folder/model.safetensors 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2 or no jansson"
chat() { printf 'the cat\n' | tern chat -m folder -n 4 --temp 0 "$@" 2>&1 | sed -E 's/\[.*\]$/[speed]/'; }
status tern chat -m folder </dev/null
echo '{{ "[INST] <<SYS>>" }}{% for i in range(99999999999) %}{{ 1 / 0 }}{% endfor %}' >folder/chat_template.jinja
[ "$(chat)" = "$(chat --chat-template llama-2)" ] && echo "the same as by name"
tern tokenize -m folder --chat auto -p hi --json | grep chat_template
echo '{"chat_template": "{{ bos_token }}[INST] [/INST]"}' >folder/tokenizer_config.json
rm folder/chat_template.jinja
status tern chat -m folder </dev/null
status tern tokenize -m folder --chat auto -p hi
# Templates that the vocabulary has the tokens of are named.
status tern chat -m a.gguf </dev/null
status tern chat -m a.gguf --chat-template bitnet </dev/null
printf 'hi\n' | status tern chat -m a.gguf --chat-template llama-2 -n 4 --temp 0 2>/dev/null | tail -n 1
