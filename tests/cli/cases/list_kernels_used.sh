# What a plan runs an op with is what the list says is used for it, at every level of instructions; reference kernels only where
# nothing else is.
ones()
{
    printf '1%.0s, ' $(seq $(($1 - 1)))
    printf 1
}
cat >g.tern <<END
graph g {
  %x = randn() {shape=[4,8,16,64], seed=1}
  %w = randn() {shape=[8,8,3,3], seed=2}
  %heads = randn() {shape=[4,8,64], seed=3}
  %at = constant "at" i32[4] {0, 1, 2, 3}
  %conv = conv2d(%x, %w)
  %pool = max_pool2d(%x)
  %rope = rope(%heads, %at)
  %sort, %places = sort(%x)
  %top, %where = topk(%x) {k=3, axis=3}
  %rows = softmax(%x)
  %columns = softmax(%x) {axis=1}
  %arg = argmax(%x) {axis=3}
  %exp = exp(%x)
  %sums = cumsum(%x) {axis=3}
  return %conv as "conv", %pool as "pool", %rope as "rope", %sort as "sort", %top as "top", %rows as "rows", %columns as "columns", %arg as "arg", %exp as "exp", %sums as "sums"
}
END
# Reductions over all axes, over the last and another, over the last alone, over the others; into few results and into many.
{
    echo 'graph r {'
    echo '  %x = input "x" f32[8,16,64]'
    echo '  %tall = input "tall" f32[4096,4]'
    outputs=
    for op in sum mean max min; do
        for axes in '' '0,2' '2' '0,1'; do
            name=${op}_${axes/,/_}
            echo "  %$name = $op(%x) {axes=[$axes]}"
            outputs="$outputs%$name as \"$name\", "
        done
        echo "  %${op}_tall = $op(%tall) {axes=[0]}"
        outputs="$outputs%${op}_tall as \"${op}_tall\", "
    done
    echo '  %var = var(%x) {axes=[0]}'
    echo '  %turned = permute(%x) {axes=[2,1,0]}'
    echo '  %copy = contiguous(%turned)'
    echo "  return $outputs%var as \"var\", %copy as \"copy\""
    echo '}'
} >r.tern
# Products of weights that are constant and that are not, with and without work behind them.
cat >p.tern <<END
graph p {
  %x = input "x" f32[64,32]
  %q = input "q" i8[64,32]
  %scales = input "scales" f32[64,1]
  %wf = input "wf" f32[64,32]
  %wh = input "wh" f16[64,32]
  %wb = input "wb" q8_0[64,32]
  %wi = input "wi" i8[64,32]
  %wt = input "wt" t2[64,32]
  %cf = constant "cf" f32[64,32] {$(ones 2048)}
  %ch = constant "ch" f16[64,32] {$(ones 2048)}
  %ci = constant "ci" i8[64,32] {$(ones 2048)}
  %ct = constant "ct" t2[64,32] {$(ones 2048)}
  %heads = input "heads" f32[4,8,64]
  %keys = input "keys" f32[1,128,8,64]
  %values = input "values" f32[1,128,8,64]
  %places = constant "places" i32[4] {0, 1, 2, 3}
  %matmul = matmul(%x, %wf) {transpose_b=true}
  %packed = matmul(%x, %cf) {transpose_b=true}
  %behind = relu(%packed)
  %linear = linear(%x, %wf)
  %linear_h = linear(%x, %wh)
  %linear_b = linear(%x, %wb)
  %linear_i = linear(%q, %wi)
  %packed_h = linear(%x, %ch)
  %behind_h = relu(%packed_h)
  %packed_i = linear(%q, %ci)
  %ternary = ternary_matmul(%q, %wt)
  %packed_t = ternary_matmul(%q, %ct)
  %again_t = ternary_matmul(%q, %ct)
  %real = dequantise(%again_t, %scales)
  %slots = constant "slots" i32[4] {0, 0, 0, 0}
  %attention = attention(%heads, %keys, %values, %slots, %places)
  return %matmul as "matmul", %behind as "behind", %linear as "linear", %linear_h as "linear_h", %linear_b as "linear_b", %linear_i as "linear_i", %behind_h as "behind_h", %packed_i as "packed_i", %ternary as "ternary", %packed_t as "packed_t", %real as "real", %attention as "attention"
}
END
for level in "" $(tern devices --json | json '" ".join(j[0]["isa_available"].split())') avx2,-avxvnni avx512vnni,-avx512vbmi; do
    export TERN_CPU=$level
    [ -n "$level" ] || unset TERN_CPU
    tern list kernels --json >list.json
    for graph in g r p; do
        for passes in none high; do
            tern graph compile $graph.tern --json --explain --no-tune --level $passes >plan.json || echo "$graph does not compile"
            json <plan.json '[(s["op"], s["kernel"], s["isa"]) for s in j["plan"] if (s["op"], s["kernel"], s["isa"]) not in set((k["op"], k["name"], k["isa"]) for k in json.load(open("list.json")) if k["chosen"])] or "as listed"'
            [ -n "$level" ] || [ $graph = g ] || json <plan.json '"\n".join("'$graph' '$passes' " + op for op in sorted(set(s["op"] for s in j["plan"])))' >>ops
        done
    done
done | sort -u
# They were there: nothing was folded, or went another way.
cat ops
unset TERN_CPU
for op in rope sort argmax exp cumsum; do tern list kernels $op --json | json '[k["name"] for k in j if k["chosen"]]'; done
TERN_CPU=baseline tern list kernels conv2d --json | json '[k["name"] for k in j if k["chosen"]]'
