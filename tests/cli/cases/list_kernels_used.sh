# What a plan runs an op with is what the list says is used for it; reference kernels only where nothing else is.
cat >g.tern <<'END'
graph g {
  %x = randn() {shape=[4,8,16,64], seed=1}
  %w = randn() {shape=[8,8,3,3], seed=2}
  %heads = randn() {shape=[4,8,64], seed=3}
  %at = constant "at" i32[4] {0, 1, 2, 3}
  %conv = conv2d(%x, %w)
  %pool = max_pool2d(%x)
  %rope = rope(%heads, %at)
  %sort, %places = sort(%x)
  %rows = softmax(%x)
  %columns = softmax(%x) {axis=1}
  %arg = argmax(%x) {axis=3}
  %exp = exp(%x)
  %sums = cumsum(%x) {axis=3}
  return %conv as "conv", %pool as "pool", %rope as "rope", %sort as "sort", %rows as "rows", %columns as "columns", %arg as "arg", %exp as "exp", %sums as "sums"
}
END
for level in "" baseline sse4.2; do
    [ -z "$level" ] || TERN_CPU=$level tern devices >/dev/null 2>&1 || continue
    export TERN_CPU=$level
    [ -n "$level" ] || unset TERN_CPU
    tern list kernels --json >list.json
    tern graph compile g.tern --json --explain --no-tune --level none | json '[(s["op"], s["kernel"]) for s in j["plan"] for used in [[k["name"] for k in json.load(open("list.json")) if k["op"] == s["op"] and k["chosen"]]] if s["kernel"] not in used] or "as listed"'
done | sort -u
unset TERN_CPU
for op in rope sort argmax exp cumsum; do tern list kernels $op --json | json '[k["name"] for k in j if k["chosen"]]'; done
TERN_CPU=baseline tern list kernels conv2d --json | json '[k["name"] for k in j if k["chosen"]]'
