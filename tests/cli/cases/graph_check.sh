tern graph check "$GRAPHS/mlp.tern" | sed 's|.*/||'
(cd "$GRAPHS" && tern graph check attention.tern --json) | json 'j["ok"], j["nodes"], j["states"], [p["name"] for p in j["outputs"]]'
