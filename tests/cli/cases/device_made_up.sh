# Inputs are made up by the CPU whatever device runs the graph, and nothing is said of it.
tern devices | grep -q '^opencl' && ! tern devices | grep -A3 '^opencl' | grep -q unavailable || skip "no OpenCL device"
export TERN_KERNELS=off
echo 'graph { %x = input "x" f32[5,37] %0 = sum(%x) %1 = max(%x) {axes=[0]} return %0, %1 }' >sums.tern
tern graph run sums.tern --made-up >here
tern graph run sums.tern --made-up --device opencl >there # no fallback is needed
diff here there && tern graph run sums.tern --made-up --device opencl --fallback >there
diff here there && echo "the same"
echo 'graph { %x = input "x" f32[5000] %0, %1 = sort(%x) return %0 }' >sort.tern
status tern graph run sort.tern --made-up --device opencl
