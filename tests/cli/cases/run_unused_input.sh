# An input that no output needs may be given, and need not be.
graph g '%x = input "x" f32[2] %u = input "unused" f32[2] %v = neg(%u) return %x as "x"' >g.tern
npy '<f4' '(2,)' '\0\0\200\077\0\0\0\100' >x.npy
tern graph run g.tern -i x=x.npy -i unused=x.npy
