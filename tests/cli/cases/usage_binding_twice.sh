status tern graph run x.tern -i x=a.npy -i x=b.npy
status tern graph run x.tern -o y=a.npy -o y=b.npy
