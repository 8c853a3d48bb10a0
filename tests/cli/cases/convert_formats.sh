# Every format to every other; what a name ends in decides.
tern synth --shape tiny --arch llama --type f32 --embedding f32 l.gguf >/dev/null
mkdir one many
[[ $(tern convert l.gguf one/model.safetensors 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2 or no jansson"
status tern convert l.gguf l.bin                 # the base of rotation is not llama2.c's
status tern convert l.gguf many/model.safetensors --shard-size 1M
ls many
mkdir fewer
tern convert l.gguf fewer/model.safetensors --shard-size 1MiB # 1000 or 1024
ls fewer
status tern convert l.gguf fewer/x.safetensors --shard-size 1.0001K
mkdir listed
tern convert l.gguf listed/model.safetensors --shard-size 2M --json |
    json '[(f["name"], f["bytes"] == __import__("os").path.getsize(f["name"])) for f in j["files"]]'
cp many/* fewer # an index that the new file does not need is not what was written
tern convert l.gguf fewer/model.safetensors --shard-size 5G
status tern convert many back.gguf
[ "$(tern run -m l.gguf -p "the cat" -n 8 --temp 0)" = "$(tern run -m back.gguf -p "the cat" -n 8 --temp 0)" ] && echo "the same answer"
status tern convert l.gguf x.gguf --shard-size 1M
status tern convert l.gguf x.safetensors --shard-size 0
status tern convert l.gguf x.safetensors --shard-size 1Q
status tern convert l.gguf x.pth
ls
