# Names are told whole: two of 200 bytes that differ in the last one stay two.
n=$(printf 'n%.0s' $(seq 1 199))
graph g "%x = input \"x\" f32[64,64] %${n}1 = exp(%x) %${n}2 = neg(%${n}1) %y = matmul(%${n}1, %${n}2) return %y" >g.tern
tern graph compile g.tern --json --level none | json '[(s[0], len(s), s[-1]) for s in j["order"]], len(set(b["name"] for b in j["buffers"]))'
tern graph compile g.tern --json | json '[(s[0], len(s), s[-1]) for f in j["fusions"] for s in f["nodes"]]'
tern graph compile g.tern --json | json '[s["ops"] for s in j["plan"]]'
