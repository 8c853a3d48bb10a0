# Inputs that are made up, an archive that gives all, and constants that cannot be given.
graph "" '%x = input "x" f32[4,8]
%i = input "i" i64[2]
%w = constant "w" f32[8,8]
%m = matmul(%x, %w)
%y = gather(%m, %i) {axis=0}
return %y as "y", %x as "x"' >g.tern
status tern graph run g.tern
tern graph run g.tern --made-up --repeat 3 --json | json 'j["runs"], [p["op"] for p in j["plan"]]'
graph "" '%x = randn() {shape=[4,8], seed=1}
%w = randn() {shape=[8,8], seed=2}
%i = full() {shape=[2], value=1, dtype=i64}
return %x as "x", %w as "w", %i as "i", %i as "other"' >data.tern
tern graph run data.tern -o x=d.npz -o w=d.npz -o i=d.npz -o other=d.npz >/dev/null
tern graph run g.tern -i d.npz --json | json '[p["op"] for p in j["plan"]], j["output_hash"]' >all
tern graph run g.tern -i x=d.npz -i w=d.npz -i i=d.npz --json | json '[p["op"] for p in j["plan"]], j["output_hash"]' | cmp - all && echo same
status tern graph run g.tern -i d.npy
# What is tuned is what runs: a constant is packed, made up or not.
export TERN_TUNING=off
graph "" '%x = input "x" f32[64,64]
%w = constant "w" f32[64,64]
%y = matmul(%x, %w)
%s = cumsum(%y) {axis=0}
return %s as "s"' >big.tern
tern graph run big.tern --threads 2 --made-up --json | json 'j["plan"][0]["op"]' >ran
tern tune big.tern --threads 2 --runs 1 --json 2>/dev/null | json 'j["rows"][0]["op"]' | cmp - ran && echo "tuned as it runs"
tern tune g.tern --runs 1 --threads 1 2>/dev/null | grep 'way'
# A trace with a large constant does not run, and says why; files of an earlier one go.
graph "" '%x = input "x" f32[4,8]
%r = randn() {shape=[8,16], seed=1}
%c = constant f32[] {2}
%w = mul(%r, %c)
%y = matmul(%x, %w)
return %y as "y"' >t.tern
tern graph compile t.tern --level high --trace-passes passes >/dev/null
: >passes/99-other.tern
: >passes/notes.txt
tern graph compile t.tern --trace-passes passes >/dev/null
ls passes | grep -E 'horizontal|other|notes'
last=$(ls passes/*.tern | tail -n 1)
status tern graph run $last -i x=d.npz
