# What training validates with is what `tern perplexity --all` tells of the same part of the text, with the model that came of it.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 1, "steps": 30,
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
print("the same loss" if same else (trained["validation"], all_of_it["nll"]))
print("not that of second halves" if abs(trained["validation"] - halves["nll"]) > 1e-4 else "no difference to second halves")
END
