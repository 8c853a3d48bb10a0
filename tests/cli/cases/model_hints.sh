# What downloads leave in a model's place, and folders, are told from models; nothing waits for a pipe.
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1187801280\n' >lfs.gguf
printf '\n<!DOCTYPE html>\n<html><body>Log in</body></html>\n' >page.gguf
mkdir folder empty
: >folder/one.gguf
mkfifo pipe
status tern run -m lfs.gguf -p x
status tern chat -m page.gguf </dev/null
status tern perplexity -m folder -p x
status tern bench model -m page.gguf
status tern tokenize -m lfs.gguf -p x
status tern inspect folder
status tern inspect empty
status tern inspect pipe
status tern run -m '' -p x
status tern inspect lfs.gguf
# A vocabulary alone.
printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >vocabulary.gguf
status tern run -m vocabulary.gguf -p x
status tern synth --shape tiny x.safetensors
status tern synth --shape tiny x.bin
ls -A
