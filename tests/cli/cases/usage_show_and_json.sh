tern graph run x.tern --show --json
