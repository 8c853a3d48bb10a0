# A model file: metadata, tensors, sizes, memory; what it runs on differs by machine.
tern synth -s tiny -t tq2_0 --layers 1 --vocab 300 tiny.gguf
tern inspect tiny.gguf | sed 's/; on cpu (.*)/; on MACHINE/'
tern inspect tiny.gguf --json | json '(j["kind"], j["format"], j["version"], len(j["tensors"]), j["tensors"][2], j["memory"], j["types"])'
# Linear layers of a BitNet run as codes whatever they are stored as.
tern synth -s tiny -t f32 --embedding f32 --layers 1 --vocab 300 floats.gguf >/dev/null
tern inspect floats.gguf | grep -A 2 'runs as'
tern inspect floats.gguf --json | json 'j["memory"]'
