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
# Damage that does not show at a file's begin: the process would end, or compute something else, when PoCL reads it.
find pocl -type f \( -name '*.bc' -o -name '*.so' \) | while read -r file; do
    half=$(($(wc -c <"$file") / 2))
    head -c "$half" "$file" >cut && head -c "$half" /dev/zero >>cut && cat cut >"$file"
done
tern graph run sum.tern --made-up --device opencl >there && diff here there && echo "the same when half of them is lost"
find pocl -name '*.so' | while read -r file; do
    at=$(($(wc -c <"$file") - 100))
    printf 'X' | dd of="$file" bs=1 seek="$at" conv=notrunc 2>/dev/null
done
find pocl -name tern.sums | while read -r file; do echo "0 0 k" >>"$file"; done
tern graph run sum.tern --made-up --device opencl >there && diff here there && echo "the same when their notes are damaged"
