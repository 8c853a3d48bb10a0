graph g '%x = full() {shape=[2], value=3} return %x as "x"' >g.tern
tern graph run - <g.tern && tern graph check - <g.tern && tern graph print - <g.tern && tern inspect - <g.tern
tern graph run - -o x=x.npy --threads 1 <g.tern && rm x.npy
status tern graph check - </dev/null
