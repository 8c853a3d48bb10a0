# --metrics: what was done, in a file. Times differ from run to run; counts do not.
tern synth --shape tiny --seed 3 tiny.gguf >/dev/null
[[ $(tern run -m tiny.gguf -p x -n 1 2>&1) != *"this build of tern has no"* ]] || skip "this build has no PCRE2"
tern run -m tiny.gguf -p hello -n 9 --ignore-eos --seed 1 --threads 2 --metrics run.json >/dev/null
json '[(o["operation"], o["batch"], o["threads"], o["level"], o["counters"]["tern_operations_total"]) for o in j["operations"]]' <run.json
json '[(c["tern_prompt_tokens_total"] > 1, c["tern_generated_tokens_total"], c["tern_plan_runs_total"], c["tern_lost_events_total"]) for c in [j["operations"][1]["counters"]]]' <run.json
json '[(h["tern_first_token_seconds"]["count"], h["tern_token_seconds"]["count"]) for h in [j["operations"][1]["histograms"]]]' <run.json
json 'all(0 < s["tern_fusion_ratio"]["ratio"] < 1 and 0 < s["tern_pool_hit_ratio"]["ratio"] <= 1 for s in [j["operations"][1]["series"]])' <run.json
tern run -m tiny.gguf -p hello -n 9 --ignore-eos --parallel 3 --metrics run.prom >/dev/null
grep -E '^tern_(generated_tokens_total|token_seconds_count|operations_running).*operation="run"' run.prom | sed -E 's/parameters="[0-9]+"/parameters="N"/; s/threads="[0-9]+"/threads="N"/'
tern graph run "$GRAPHS/mlp.tern" --made-up --repeat 5 --level high --precision bf16 --metrics graph.csv >/dev/null
grep -E '^(metric|tern_plan_runs_total)' graph.csv | sed -E 's/,(high),[0-9]+,/,\1,N,/'
printf 'hi\nthere\n' | tern chat -m tiny.gguf --chat-template llama-2 -n 3 --metrics chat.csv >/dev/null 2>&1
grep -E 'tern_operations_total' chat.csv | cut -d, -f 4,11-
status tern run -m tiny.gguf -p hello -n 3 --metrics file.txt
status tern run -m tiny.gguf -p hello -n 3 --metrics no/such/folder/file.prom
status tern run -m missing.gguf -p hello -n 3 --metrics early.prom
status tern graph run missing.tern --metrics early.json
ls
