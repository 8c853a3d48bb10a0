# A tokenizer from another file goes into the new one, and comes out again; one with more tokens than the model knows is said to.
tern synth --shape tiny a.gguf >/dev/null
tern synth --shape tiny --vocab 600 --seed 1 large.gguf >/dev/null
mkdir one two
[[ $(tern convert a.gguf one/model.safetensors 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2 or no jansson"
mv one/tokenizer.json moved.json
tern convert one b.gguf
status tern run -m b.gguf -p "the cat" -n 8
tern convert one b.gguf --tokenizer moved.json
tern convert one two/model.safetensors --tokenizer a.gguf
for m in b.gguf two; do
    [ "$(tern run -m a.gguf -p "the cat" -n 8 --temp 0)" = "$(tern run -m $m -p "the cat" -n 8 --temp 0)" ] && echo "the same answer"
done
tern convert a.gguf c.gguf --tokenizer large.gguf
status tern run -m c.gguf -p "the cat" -n 8
status tern convert a.gguf d.gguf --tokenizer absent.json
status tern convert a.gguf d.bin --tokenizer a.gguf
# Tables are numbers, in safetensors as everywhere.
status tern convert a.gguf two/other.safetensors --embedding hf_t2
status tern convert a.gguf two/other.safetensors --embedding q6_k
ls -A
