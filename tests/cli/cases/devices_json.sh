tern devices --json | json '[(d["name"], d["backend"], d["cores_usable"] > 0, d["unavailable"]) for d in j[:1]], [d["name"] for d in j]'
