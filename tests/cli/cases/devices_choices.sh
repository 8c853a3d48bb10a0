# Operations that have several kernels say which one runs, and why.
tern devices --json | json '{"matmul", "ternary_matmul"} <= set(c["op"] for c in j[0]["choices"]), all(c["why"] and c["isa"] for c in j[0]["choices"])'
