npy '<f4' '(2, 2)' '\0\0\200\077\0\0\0\100\0\0\100\100\0\0\200\100' >x.npy
graph g '%x = input "x" f32[2,2] %w = constant "w" f32[2,2] %y = matmul(%x, %w) %n = neg(%y) return %y as "y", %n as "n"' >g.tern
tern graph run g.tern --input x=x.npy --input w=x.npy
tern graph run g.tern -ix=x.npy -i w=x.npy --output=y=y.npy -o n=both.npz
tern graph run g.tern -i x=y.npy -i w=both.npz:n -o y=both.npz -o n=both.npz
tern inspect both.npz
ls
