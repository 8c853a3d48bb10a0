# Conversations through a pipe; tests/oracle/test_model_commands.py has those on a terminal.
tern synth --shape tiny model.gguf >/dev/null
[[ $(tern run -m model.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
model="-m model.gguf --chat-template llama-2 -n 4 --temp 0"
printf 'hello\nhow are\\\nyou\n\n/nonsense\n/again\n/help\n' | tern chat $model 2>notes | tail -n 6
sed -E 's/[0-9]+/N/g' notes
printf '/again\n/exit\nnever read\n' | tern chat $model
status tern chat $model --chat-template mistral
status tern chat -m model.gguf --chat-template llama-3 </dev/null
status tern chat -m model.gguf </dev/null
status tern chat -m nowhere.gguf </dev/null
# A message that cannot be answered: a line, and status 1; the others are.
{ printf 'a\0b\n'; printf 'x%.0s' {1..400}; printf '\nhello\n'; } | status tern chat $model -c 64 2>notes | tail -n 1
sed -E 's/\[.*\]$/[speed]/' notes
# What the built-in model is not for, -m does not promise.
tern chat --help | tr -s ' \n' ' ' | grep -oE 'llama2.c[^-]*-in[^-]*converse'
