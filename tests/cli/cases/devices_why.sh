# Why a kernel is used: what is stronger is named, with what is in its way.
tern devices --json | json '"avx512" in j[0]["isa_available"].split() and "amx" not in j[0]["isa_available"]' | grep -q True ||
    skip "written for a processor with avx512 and without amx"
# why LEVEL OP KERNEL
why()
{
    TERN_CPU=$1 tern list kernels "$2" --json | json '[(k["chosen"], k["why"]) for k in j if k["name"] == "'"$3"'"]'
}
why avx2 matmul gemm_f32__avx2
why avx2 matmul gemm_f32__avx512
why avx2 matmul gemm_f32__sse42
why avx2 conv2d conv2d__gemm
why sse4.2 conv2d conv2d__ref
why sse4.2 topk topk__ref
why sse4.2 attention attention__sse42
why baseline matmul matmul__ref
why sse4.2 exp row
why sse4.2 packed_ternary_matmul ternary_t5__sse42
why avx512 matmul gemm_f32__avx512
why avx2 topk topk__ref
why avx2 prod prod__ref
# What is not known of a device is no number.
tern devices --json | json '[d["name"] for d in j if d["cores_usable"] == 0 or d["cores_online"] == 0]'
