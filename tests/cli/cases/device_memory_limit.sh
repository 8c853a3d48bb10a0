# --device-memory reaches the device: what needs more is an error with the numbers, or the CPU's with --fallback.
tern devices --json | json '"\n".join(str(d.get("unavailable") or "there") for d in j if d["name"] == "mlx")' | grep -qx there || skip "there is no MLX here"
echo 'graph { %x = input "x" f32[256,1024] %0 = neg(%x) %1 = sum(%0) return %1 }' >sum.tern
tern graph run sum.tern --made-up --device mlx --device-memory 64M >/dev/null && echo "64 MiB are enough"
status tern graph run sum.tern --made-up --device mlx --device-memory 64K 2>&1 | sed -E 's/[0-9]{6,} bytes/N bytes/g'
tern graph run sum.tern --made-up >here
tern graph run sum.tern --made-up --device mlx --device-memory 64K --fallback >there 2>said
diff here there && echo "the same"
grep -c "device 'mlx'" said
