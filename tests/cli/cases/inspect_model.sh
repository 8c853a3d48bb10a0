# A model file: metadata, tensors, sizes, memory; what it runs on differs by machine.
tern synth -s tiny -t tq2_0 --layers 1 --vocab 300 tiny.gguf
TERN_CPU=baseline tern inspect tiny.gguf | sed 's/; on cpu (.*)/; on MACHINE/'
tern inspect tiny.gguf --json | json '(j["kind"], j["format"], j["version"], len(j["tensors"]), j["tensors"][2], j["device"], j["types"])'
TERN_CPU=baseline tern inspect tiny.gguf --json | json 'j["memory"]'
# Linear layers of a BitNet run as codes whatever they are stored as; made from numbers, they stay beside what is packed.
tern synth -s tiny -t f32 --embedding f32 --layers 1 --vocab 300 floats.gguf >/dev/null
tern inspect floats.gguf | grep -A 2 'runs as'
TERN_CPU=baseline tern inspect floats.gguf --json | json 'j["memory"]'
# A long context: room for as much as `tern run` keeps.
tern synth -s tiny --layers 1 --vocab 300 --context 8192 long.gguf >/dev/null
tern inspect long.gguf --json | json 'j["memory"]["context"]'
# A tokenizer is looked at as `tern run` does: one that knows fewer tokens, or none at all, is no obstacle; another one is.
tern synth -s tiny --layers 1 --vocab 300 words.gguf >/dev/null
"$TERN_PYTHON" - <<'END'
data = open("words.gguf", "rb").read()
key = b"tokenizer.ggml.eos_token_id\4\0\0\0"
at = data.index(key) + len(key)
open("end.gguf", "wb").write(data[:at] + b"\377\377\0\0" + data[at + 4:])
open("cut.gguf", "wb").write(data.replace(b"llama-bpe", b"smaug-bpe"))
open("none.gguf", "wb").write(data.replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.nothin"))
END
tern inspect end.gguf | sed -n 2p
tern inspect cut.gguf | sed -n 2p
tern inspect end.gguf --json | json '(j["cannot_run"], j["tokens"], j["memory"]["weights"])'
tern inspect none.gguf | sed -n 3p
tern inspect none.gguf --json | json '(j["cannot_run"], j["tokens"])'
