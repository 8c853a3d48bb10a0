# One graph in two ways. Times differ from run to run, so only what is known of them is looked at.
status tern compare $GRAPHS/mlp.tern level=none
status tern compare $GRAPHS/mlp.tern level=none speed=9
status tern compare $GRAPHS/mlp.tern level=none level=fast
status tern compare $GRAPHS/mlp.tern threads ''
status tern compare $GRAPHS/mlp.tern no-tune=1 ''
status tern compare missing.tern '' ''
status tern compare $GRAPHS/mlp.tern '' '' --threshold nope
status tern compare $GRAPHS/mlp.tern '' '' --input nothing=x.npy
tern compare $GRAPHS/mlp.tern level=none level=high,threads=1 --budget 0.2 --json |
    json 'sorted(j), j["a"], j["b"], j["verdict"] in ("faster", "slower", "same", "undecided"), j["ratio_low"] is None or j["ratio_low"] <= j["ratio"] <= j["ratio_high"]'
tern compare $GRAPHS/mlp.tern '' '' --budget 0.2 --json | json 'j["same_bits"], j["f32_difference"]'
tern compare $GRAPHS/mlp.tern '' '' --rounds 12 --budget 9 | grep -cE '^(A|B)  as the options say|^(slower|faster|same|undecided): pair by pair, B takes |  [0-9]+ pairs of neighbouring samples in .*medians above are of all|results: the same bits'
status tern compare $GRAPHS/mlp.tern '' '' --threshold 5000
status tern compare $GRAPHS/mlp.tern '' '' --budget 5000
tern compare $GRAPHS/mlp.tern '' '' --rounds 40 --budget 9 | grep -oE "noise alone stays between [0-9.e+]+ and [0-9.e+]+ of A's time" | awk '{ print ($5 < 1 && $7 > 1) }'
