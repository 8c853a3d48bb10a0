# Without a key: the array called like the input, or the only one.
graph a '%x = full() {shape=[2], value=1} %y = full() {shape=[2], value=2} return %x as "x", %y as "y"' >a.tern
tern graph run a.tern -o x=two.npz -o y=two.npz
tern graph run a.tern -o y=one.npz
graph b '%x = input "x" f32[2] return %x as "x"' >b.tern
tern graph run b.tern -i x=two.npz
tern graph run b.tern -i x=one.npz
graph c '%z = input "z" f32[2] return %z as "z"' >c.tern
tern graph run c.tern -i z=two.npz
