tern list passes --json | json '"memory" in [p["name"] for p in j]'
