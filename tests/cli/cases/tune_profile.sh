# Repeated runs leave the times of their steps behind, unless told not to.
graph g '%x = randn() {shape=[64,2048], seed=1} %a = exp(%x) %b = sum(%a) {axes=[1]} return %b' >g.tern
export TERN_TUNING=$PWD/tuning.db
needs_sqlite
tern graph run g.tern --json >/dev/null
tern graph run g.tern --repeat 5 --json --no-tune >/dev/null
ls
tern graph run g.tern --repeat 5 --json >/dev/null
tern tune --list --json | json '{r["source"] for r in j["rows"]}, {r["runs"] for r in j["rows"]}'
