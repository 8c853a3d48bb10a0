# What was not done, and why.
graph "" '%x = input "x" f64[4,8]
%y = input "y" f32[4,8]
%a = exp(%x)
%b = relu(%a)
%c = exp(%y)
%d = relu(%c)
%e = sum(%d) {axes=[0]}
%f = neg(%e)
return %b, %f' >g.tern
tern graph compile g.tern --explain --bandwidth 10 --peak 5 --no-tune | grep 'not fused'
graph "" '%x = input "x" f32[4,64]
%w1 = constant "w1" f32[64,64]
%y = matmul(%x, %w1)
return %y' >w.tern
tern graph compile w.tern --explain --bandwidth 10 --peak 5 | grep 'not packed'
status tern graph compile w.tern -i w1=w.npy
status tern graph compile w.tern --constant zz=w.npy
graph "" '%x = input "x" f32[32]
%b = full() {shape=[32], value=0.5}
%y = add(%x, %b)
return %y' >f.tern
tern graph compile f.tern --explain --bandwidth 10 --peak 5 | grep 'every run'
tern graph compile f.tern --json | json 'j["steps"], [p["changes"] for p in j["passes"] if p["name"] == "fold"]'
tern graph compile f.tern --level high --json | json 'j["steps"], [p["changes"] for p in j["passes"] if p["name"] == "fold"]'
tern graph compile f.tern --level low --disable fold,cse --json | json '[(p["name"], p["off"]) for p in j["passes"] if not p["ran"]][:4], len(j["opportunities"])'
status tern graph compile f.tern --disable fold,fose
status tern graph compile f.tern --batch 1..4
status tern graph compile f.tern --dot - --json
