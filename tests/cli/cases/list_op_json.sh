tern list ops split --json | json '[(e["name"], e["signature"], e["results"]) for e in j]'
