graph g '%x = input "x" f32[2,2] return %x as "y"' >g.tern
npy '<f8' '(2, 2)' '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >f64.npy
npy '<f4' '(2, 2)' '\0\0\0\0' >short.npy
npy '|O' '(2, 2)' '' >object.npy
printf '\223NUMPY' >cut.npy
printf 'PK\3\4 not really' >bad.npz
echo hello >text.npy
status tern graph run g.tern
status tern graph run g.tern -i x=absent.npy
status tern graph run g.tern -i z=f64.npy
status tern graph run g.tern -i x=f64.npy
status tern graph run g.tern -i x=short.npy
status tern graph run g.tern -i x=object.npy
status tern graph run g.tern -i x=cut.npy
status tern graph run g.tern -i x=bad.npz
status tern graph run g.tern -i x=text.npy
status tern graph run g.tern -i x=f64.npy:key
status tern graph run g.tern -i x=.
status tern graph run g.tern -i x=f64.npy -o z=z.npy
status tern graph run absent.tern --json
