# What runs here under a cap: nothing above it.
TERN_CPU=baseline tern list kernels --json | json 'sorted(set((k["isa"], k["usable"]) for k in j if k["usable"] and k["isa"] != "library"))'
tern list kernels --json | json 'sorted(set(k["name"].split("__")[0] for k in j if k["op"] == "fused"))'
tern list kernels matmul --json | json '"matmul__ref" in [k["name"] for k in j] and len(j) > 1'
