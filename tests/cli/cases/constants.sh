# Constants whose data come from files are constants: folded, packed, and no longer asked for.
graph "" '%x = input "x" i8[2,8]
%w = constant "w" t2[4,8]
%y = ternary_matmul(%x, %w)
return %y as "y"' >g.tern
tern graph compile g.tern --explain --bandwidth 10 --peak 5 | grep packed
graph "" '%x = input "x" f32[2]
%k = constant "k" f32[2]
%l = input "l" f32[2]
%m = mul(%k, %l)
%y = add(%x, %m)
return %y as "y"' >h.tern
npy '<f4' '(2,)' '\0\0\200?\0\0\0@' >v.npy
tern graph compile h.tern --constant k=v.npy --constant l=v.npy --json | json '[p["changes"] for p in j["passes"] if p["name"] == "fold"], j["steps"]'
tern graph compile h.tern --json | json '[p["changes"] for p in j["passes"] if p["name"] == "fold"], j["steps"]'
tern graph run h.tern --constant l=v.npy -i k=v.npy -i x=v.npy
tern graph run h.tern --constant l=v.npy -i k=v.npy -i x=v.npy --explain --bandwidth 10 --peak 5 | grep '^  fold' | sed 's/  *[0-9].*//'
status tern graph compile h.tern --constant z=v.npy
npy '<f4' '(1,)' '\0\0\200?' >one.npy
status tern graph compile h.tern --constant k=one.npy
