# What the new file lacks is said: a llama2.c file has no tokenizer to hand on, and tensors without a model's sizes are none.
tern synth --shape tiny --arch llama --type f32 a.gguf >/dev/null
$TERN_PYTHON -c 'import struct; d = open("a.gguf", "rb").read(); open("b.gguf", "wb").write(d.replace(struct.pack("<f", 5e5), struct.pack("<f", 1e4), 1))'
tern convert b.gguf b.bin >/dev/null && tern convert b.bin c.gguf
sed 's/llama\.block_count/llama.block_xxxxx/' a.gguf >sizeless.gguf
status tern run -m sizeless.gguf -p x -n 1
status tern convert sizeless.gguf d.gguf
# A vocabulary of which no tokenizer can be made goes on as it is, and that is said; of a file that is not written, only why.
$TERN_PYTHON -c 'import struct; d = open("a.gguf", "rb").read(); at = d.index(b"tokenizer.ggml.token_type") + 25 + 16; open("typeless.gguf", "wb").write(d[:at] + struct.pack("<i", 77) + d[at + 4:])'
status tern run -m typeless.gguf -p x -n 1
status tern convert typeless.gguf e.gguf
status tern convert sizeless.gguf e.bin
# A warning that quotes a file says nothing to the terminal.
$TERN_PYTHON -c 'd = open("a.gguf", "rb").read(); open("other.gguf", "wb").write(d.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0l\xc2\x9ba\xff"))'
status tern convert other.gguf f.gguf
