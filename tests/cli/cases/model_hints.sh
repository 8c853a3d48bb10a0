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
# One of several parts, perhaps the one without tensors; PyTorch's files; SentencePiece's.
printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0' >part.gguf
printf '\10\0\0\0\0\0\0\0split.no\2\0\0\0\1\0\13\0\0\0\0\0\0\0split.count\2\0\0\0\3\0' >>part.gguf
printf 'PK\3\4 and what an archive has' >checkpoint.bin
mkdir torch
: >torch/pytorch_model-00001-of-00002.bin
printf '\12\16\12\5<unk>\25\0\0\0\0\30\2' >tokenizer.model
status tern run -m part.gguf -p x
status tern inspect part.gguf
status tern run -m checkpoint.bin -p x
status tern run -m torch -p x
status tern tokenize --tokenizer tokenizer.model -p x
status tern synth --shape tiny x.safetensors
status tern synth --shape tiny x.bin
ls -A
