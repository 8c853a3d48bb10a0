# Ternary weights go through every type and back; what was not ternary is refused unless forced.
tern synth -s tiny --layers 1 a.gguf
tern convert a.gguf b.gguf --type tq1_0
tern convert b.gguf c.gguf --type f16
tern convert c.gguf d.gguf --type i2_s
cmp a.gguf d.gguf && echo "the same file"
tern convert a.gguf e.gguf --embedding q8_0
tern convert a.gguf e.gguf --embedding q8_0 --json | json '(len(j["tensors"]), j["tensors"][0]["to"], j["tensors"][0]["lossless"], j["tensors"][1]["lossless"])'
tern synth -s tiny --layers 1 --arch llama --type f32 dense.gguf
status tern convert dense.gguf x.gguf --type tq2_0
status tern convert dense.gguf x.gguf --type tq2_0 --force
status tern convert absent.gguf x.gguf
status tern convert a.gguf x.gguf --type q9
status tern convert a.gguf x.gguf --type q5_k
tern synth -s tiny --layers 1 --arch llama --type f32 --ff 200 odd.gguf
status tern convert odd.gguf x.gguf --type q8_0
ls -A
status tern convert a.gguf a.gguf --type tq2_0
echo mine >notes.txt
status tern convert a.gguf notes.txt
status tern synth --shape tiny notes.txt
cat notes.txt
tern convert a.gguf q.gguf --type q4_0
tern convert q.gguf d.gguf --type i2_s
cmp a.gguf d.gguf && echo "the same file"
status tern convert dense.gguf x.gguf --embedding i2_s --force
status tern convert dense.gguf x.gguf --embedding tq1_0
tern convert a.gguf d.gguf --type TQ2_0
status tern convert a.gguf x.gguf --type f64
status tern convert a.gguf x.gguf --type hf_t2
