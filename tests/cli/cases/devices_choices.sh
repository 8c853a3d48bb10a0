# Operations that have several kernels say which one runs, for which calls, and why. Other devices choose nothing.
tern devices --json | json '[(d["name"], len(d["choices"]) > 0) for d in j]'
tern devices --json | json '{"matmul", "ternary_matmul", "packed_ternary_matmul"} <= set(c["op"] for c in j[0]["choices"]), all(c["why"] and c["isa"] for c in j[0]["choices"])'
# Of several that are used for one op, each says for which calls.
tern devices --json | json '[op for op in set(c["op"] for c in j[0]["choices"]) for used in [[c for c in j[0]["choices"] if c["op"] == op]] if len(used) > 1 and (None in [c["when"] for c in used] or len(set(c["when"] for c in used)) < len(used))]'
tern devices --json | json '[(c["kernel"].split("__")[0], c["when"]) for c in j[0]["choices"] if c["op"] == "ternary_matmul"]'
