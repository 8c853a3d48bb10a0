graph g '%x = full() {shape=[2]} %t, %s = ternary_quantise(%x) return %x as "x", %t as "t"' >g.tern
status tern graph run g.tern -o x=absent/x.npy
status tern graph run g.tern -o t=t.npy
status tern graph run g.tern -o x=same.npy -o t=same.npy
status tern graph run g.tern -o x=. --json
ls
