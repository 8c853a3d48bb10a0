# The model has the weights that were best in validation; unless best.safetensors is of another step than the checkpoint says, as after
# a kill between the two.
needs_jansson
seq -f 'line %g of a text that repeats itself' 1 300 >text.txt
cat >tiny.json <<'END'
{"model": {"layers": 1, "width": 32, "feed_forward": 64, "heads": 2, "kv_heads": 1, "context": 16}, "batch": 4, "steps": 40,
 "schedule": {"rate": 0.01, "warmup": 5}, "validation": {"batches": 2}, "every": {"validation": 10, "checkpoint": 0, "sample": 0}}
END

# go_to N: goes on to step N.
go_to()
{
    tern train --data text.txt $([ -d out ] && echo --resume || echo --config tiny.json) -o out --until "$1" -q | grep -o 'the model after.*;'
}

go_to 11
cp out/best.safetensors of-10
go_to 21
go_to 22
cp of-10 out/best.safetensors
go_to 23
# A file that is gone, or no longer what it was: the run ends with a model all the same.
rm out/best.safetensors
go_to 24
head -c 5000 of-10 >out/best.safetensors
go_to 25
tern run -m out/model.gguf -p line -n 2 --temp 0 >/dev/null && echo "its model runs"
