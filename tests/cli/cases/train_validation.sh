# What training validates with is what `tern perplexity --all` tells of the same part of the text, with the model that came of it: every
# whole window, also those behind the last whole batch. The log has it once, however often a finished run is asked for.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 7, "steps": 30,
 "schedule": {"rate": 0.01, "warmup": 5}, "every": {"validation": 0, "sample": 0}, "export": {"embedding": "f32"}}
END
tern train --data text.txt --config tiny.json -o out --json >trained
tail -c $(($(wc -c <text.txt) / 10)) text.txt >validation.txt
tern perplexity -m out/model.gguf -f validation.txt -c 16 --all --json >all
tern perplexity -m out/model.gguf -f validation.txt -c 16 --json >halves
"$TERN_PYTHON" - <<'END'
import json
trained, all_of_it, halves = (json.load(open(name)) for name in ("trained", "all", "halves"))
print(all_of_it["tokens_judged"], halves["tokens_judged"], all_of_it["tokens"])
same = abs(trained["validation"] - all_of_it["nll"]) < 1e-4
print(all_of_it["tokens_judged"] // 16 % 7, "windows behind whole batches")
print("the same loss" if same else (trained["validation"], all_of_it["nll"]))
print("not that of second halves" if abs(trained["validation"] - halves["nll"]) > 1e-4 else "no difference to second halves")
END
tern train --data text.txt -o out --resume -q >/dev/null
"$TERN_PYTHON" - <<'END'
import json
last = [line for line in map(json.loads, open("out/log.jsonl")) if "final_validation" in line]
print(len(last), sorted(last[0]), last[0]["step"], last[0]["final_validation"] == json.load(open("trained"))["validation"])
END
tern train --data text.txt -o out --resume --until 5 --steps 40 -q | tail -n 1 | called_tern
tern train --data text.txt -o out --resume --steps 40 -q >/dev/null
grep -oE '.*"final_validation"' out/log.jsonl
