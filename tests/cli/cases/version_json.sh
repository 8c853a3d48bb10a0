tern version --json | json 'sorted(j), j["version"] == j["library"]'
