# One name for a value without one: in notes, fusions, steps, traces and the drawing.
graph "" '%x = input "x" f32[4,8]
%3 = exp(%x)
%4 = relu(%3)
%5 = softmax(%4) {axis=0}
%6 = neg(%5)
%7 = abs(%6)
return %7 as "y"' >g.tern
tern graph compile g.tern --explain --bandwidth 10 --peak 5 --trace-passes t | grep -E 'fused [0-9]|^  row program' | sed -E 's/ into a row.*//; s/ +/ /g'
tern graph compile g.tern --json | json '[f["nodes"] for f in j["fusions"]], j["order"]'
for value in 0 1 2 3 4; do grep -c "^  %$value = " t/00-recorded.tern; done
grep -o '^  %[0-9]* = [a-z]*' t/*-fuse.tern
tern graph compile g.tern --dot - | grep -c '^digraph'
