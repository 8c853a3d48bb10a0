# Safetensors have config.json and tokenizer.json beside them, which are not overwritten by those of another model.
tern synth --shape tiny a.gguf >/dev/null
tern synth --shape tiny --layers 1 b.gguf >/dev/null
mkdir folder
[[ $(tern convert a.gguf folder/model.safetensors 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2 or no jansson"
ls folder
tern convert a.gguf folder/model.safetensors
tern convert folder back.gguf && tern convert back.gguf again.gguf --type tq2_0
[ "$(tern run -m a.gguf -p "the cat" -n 8 --temp 0)" = "$(tern run -m again.gguf -p "the cat" -n 8 --temp 0)" ] && echo "the same answer"
status tern convert b.gguf folder/other.safetensors
status tern convert a.gguf folder/q.safetensors --type tq1_0
status tern convert a.gguf nowhere/model.safetensors
ls -A folder
# GGUF has three places for ends of answers; more of them are not lost, and what `run` refuses of a folder is not converted
sed -i 's/"eos_token_id": *[0-9]*/"eos_token_id": [3, 4, 5, 6]/' folder/config.json
tern convert folder ends.gguf
tern inspect ends.gguf | grep -o '[a-z.]*_token_id.*'
cp folder/config.json right.json
sed -i 's/autobitlinear/foo/' folder/config.json
status tern run -m folder -p x -n 1
status tern convert folder refused.gguf
sed 's/"quantization_config"/"other_config"/' right.json >folder/config.json
status tern run -m folder -p x -n 1
status tern convert folder refused.gguf
sed 's/"rope_theta"/"rope_parameters": {"rope_theta": 7}, "rope_theta"/' right.json >folder/config.json
status tern run -m folder -p x -n 1
status tern convert folder refused.gguf
sed 's/"hidden_act": *"[a-z0-9]*"/"hidden_act": "gelu"/' right.json >folder/config.json
status tern run -m folder -p x -n 1
status tern convert folder refused.gguf
ls refused.gguf 2>/dev/null
