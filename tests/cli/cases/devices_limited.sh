# $TERN_CPU caps what is used, and says so; what it cannot be is refused as a run refuses it.
[ "$(tern devices | sed -n "s/^  isa   *//p")" != baseline ] || skip "this machine has nothing above the baseline"
TERN_CPU=baseline tern devices | sed -n 's/^  isa   *//p'
TERN_CPU=baseline tern devices --json | json '[(d["isa"], d["isa_limit"]) for d in j[:1]]'
tern devices --json | json '[d["isa_limit"] for d in j[:1]]'
status env TERN_CPU=pentium tern devices 2>&1 | sed -E 's|there are [^(]*|there are ... |'
status env TERN_CPU=pentium tern list devices --json 2>&1 | sed -E 's|there are [^(]*|there are ... |'
# Features can be taken away, and kernels that need them go with them.
TERN_CPU=-avxvnni,-avx512vbmi tern devices --json | json '[f for f in (j[0].get("features") or "").split() if f not in ("one-stream", "four-pipes", "whole-512")], [k for k in j[0]["kernels"].split() if k.endswith(("avxvnni", "avx512vbmi", "amx"))]'
tern devices --json | json '"avx512vbmi" in (j[0].get("features") or "")' | grep -q True && vbmi=-avx512vbmi
[ -z "${vbmi:-}" ] || [ "$(TERN_CPU=$vbmi tern devices --json | json 'j[0]["isa_limit"]')" = '$TERN_CPU' ] || echo "a feature that is taken away is not told"
status env TERN_CPU=avx2,-sse tern devices 2>&1
# Of a capped level those are told that are in use, and traits of the processor as ever.
TERN_CPU=avx2 tern devices --json | json '"avx512vbmi" in (j[0].get("features") or ""), [k for k in j[0]["kernels"].split() if "512" in k]'
