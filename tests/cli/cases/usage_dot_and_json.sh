tern graph print x.tern --dot --json
