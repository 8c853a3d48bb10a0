npy '<i4' '(2, 3)' '\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\372\377\377\377' >a.npy
tern inspect a.npy
tern inspect a.npy --json
mv a.npy renamed.tern && tern inspect renamed.tern --json | json 'j["kind"]'
npy '>i2' '(1,)' '\0\1' >odd.npy
status tern inspect odd.npy
npy '<f4' '(0, 3)' '' >none.npy
tern inspect none.npy
tern inspect none.npy --json | json 'j["arrays"]'
npy '>f4' '(2,)' '\077\200\0\0\100\0\0\0' >big.npy
tern inspect big.npy
