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
