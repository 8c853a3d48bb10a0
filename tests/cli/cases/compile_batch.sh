# One program for a range of batches: told, run with another size than recorded, refused where it has no meaning.
graph "" '%x = input "x" f32[4,2]
%w = constant f32[2] {10, 20}
%a = mul(%x, %w)
%m = mean(%a) {axes=[0], keepdims=true}
%y = sub(%a, %m)
return %y as "y"' >g.tern
tern graph compile g.tern --batch 1..64 | hide_compile_times
tern graph compile g.tern --batch 1..64 --explain --threads 1 --cpu baseline --bandwidth 10 --peak 5 | sed -n '/^- batch/,/^- steps/p' | sed '$d'
tern graph compile g.tern --batch x=2..8 --json | json 'j["batch"]'
npy '<f4' '(2, 2)' '\0\0\200?\0\0\200?\0\0@@\0\0@@' >x.npy
tern graph run g.tern --batch 1..64 -i x=x.npy
for range in 0..2 8..2 3 1..x x= =1..2; do
    status tern graph compile g.tern --batch "$range" 2>&1
done
status tern graph compile g.tern --batch 8..16 2>&1
status tern graph compile g.tern --batch z=1..16 2>&1
status tern graph run g.tern --batch 3..16 -i x=x.npy 2>&1
