status tern list ops matmull
status tern list dtypes f33
status tern list passes xyzzy --json
