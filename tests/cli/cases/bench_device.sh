# Benchmarks on another device bear its name, and no share of what the CPU can do.
tern devices --json | json '"\n".join(str(d.get("unavailable") or "there") for d in j if d["name"] == "opencl")' | grep -qx there || skip "there is no OpenCL here"
tern synth --shape tiny model.gguf >/dev/null
run="tern bench model -m model.gguf -p 4 -n 0 -r 1 -t 1 --device opencl --fallback"
$run 2>/dev/null | cut -d'|' -f5,9
$run --json 2>/dev/null | json '[(r["backends"], r["gpu_info"] != "", r["isa"], r["roofline_share"], r["limit_per_s"], r["error"]) for r in j]'
$run --format json 2>/dev/null | json '[(r["device"], r["limit_share"], r["error"]) for r in j["rows"]], j["conditions"]["setting_fallback"]'
# What a device's kernels take to be built is not what compiling takes, and is not told as that.
tern bench compile --device opencl --family mlp --format json 2>/dev/null | json 'sorted({(r["median_us"], r["error"]) for r in j["rows"]}, key=str)'
# Every row of a family has times of the device, or says why not; none of what is counted of the host.
tern bench ops --device opencl --family rows --memory 1 --budget 0.02 --format json >ops.json 2>/dev/null
json 'len(j["rows"]) > 5, sorted({(r["device"], r["threads"], r["isa"], r["limit_share"], r["peak_bytes"]) for r in j["rows"]})' <ops.json
json 'all(0 < r["min_us"] <= r["median_us"] and r["gbytes_per_s"] > 0 and r["kernel"].endswith("__opencl") if r["rounds"] > 0 else "cannot run it" in r["error"] for r in j["rows"]), sum(r["rounds"] > 0 for r in j["rows"]) > 5' <ops.json
