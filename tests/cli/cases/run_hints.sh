# The same switches as for compiling.
tern graph run $GRAPHS/bitlinear.tern --json --goal throughput | json '[s["threads"] for s in j["plan"]] == [1] * j["steps"]'
tern graph run $GRAPHS/bitlinear.tern --json --disable fuse --disable inplace | json '"fused" in [s["op"] for s in j["plan"]]'
status tern graph run $GRAPHS/bitlinear.tern --memory-limit 4K 2>&1 | sed "s|$GRAPHS/||" | hide_memory
# A head whose rows no block fills: what would do is named.
tern synth -s tiny --width 64 --heads 2 --kv-heads 1 --ff 128 --layers 1 --type f32 narrow.gguf >/dev/null
status tern run -m narrow.gguf -p a -n 1 --head q6
