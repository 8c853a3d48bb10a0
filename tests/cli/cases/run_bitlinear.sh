# What `make run` shows: the integers are exact on every machine.
tern graph run "$GRAPHS/bitlinear.tern" --json | json '[(o["name"], o["dtype"], o["min"], o["max"], o["hash"]) for o in j["outputs"] if o["name"] in ("sums", "weights")]'
