# What a device may have of its own memory: read once for all commands that have --device, and refused where it is no size.
echo 'graph { %x = input "x" f32[256,1024] %0 = neg(%x) %1 = sum(%0) return %1 }' >sum.tern
for wrong in 0 12Q -5 1.5 ""; do
    status tern graph run sum.tern --made-up --device-memory "$wrong"
done
status tern run --device-memory much
status tern graph run sum.tern --made-up --device-memory 1.5K
status tern run --device cpu --dump-kernels there -p x -n 1
ls
