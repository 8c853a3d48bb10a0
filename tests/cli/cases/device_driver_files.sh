# PoCL keeps files of its own, and ends the process where they are damaged: Tern removes such entries first, and they are built again.
tern devices --json | json '"\n".join(str(d.get("driver")) for d in j if d["name"] == "opencl" and not d.get("unavailable"))' | grep -q "Portable Computing" || skip "the OpenCL driver is not PoCL"
export POCL_CACHE_DIR=$PWD/pocl TERN_KERNELS=$PWD/kernels
echo 'graph { %x = input "x" f32[5,37] %0 = neg(%x) %1 = sum(%0) {axes=[0]} return %1 }' >sum.tern
tern graph run sum.tern --made-up >here
tern graph run sum.tern --made-up --device opencl >there && diff here there && echo "the same"
find pocl -type f \( -name '*.bc' -o -name '*.so' \) | while read -r file; do : >"$file"; done
tern graph run sum.tern --made-up --device opencl >there && diff here there && echo "the same when they are empty"
find pocl -type f \( -name '*.bc' -o -name '*.so' \) | while read -r file; do echo garbage >"$file"; done
tern graph run sum.tern --made-up --device opencl >there && diff here there && echo "the same when they are something else"
find kernels -type f | while read -r file; do : >"$file"; done
find pocl -type f \( -name '*.bc' -o -name '*.so' \) | while read -r file; do : >"$file"; done
tern graph run sum.tern --made-up --device opencl >there && diff here there && echo "the same when both are"
find pocl -name '*.so' -size 0 | wc -l
