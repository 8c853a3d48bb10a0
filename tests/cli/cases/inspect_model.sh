# A model file: metadata, tensors, sizes, memory; what it runs on differs by machine.
tern synth -s tiny -t tq2_0 --layers 1 --vocab 300 tiny.gguf
tern inspect tiny.gguf | sed 's/; on cpu (.*)/; on MACHINE/'
tern inspect tiny.gguf --json | json '(j["kind"], j["format"], j["version"], len(j["tensors"]), j["tensors"][2], j["memory"], j["types"])'
