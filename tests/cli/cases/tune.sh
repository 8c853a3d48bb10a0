# Every way is measured once, by the first process; the second one remembers.
graph g '%x = input "x" f32[8,2048] %a = exp(%x) %b = sum(%a) {axes=[1]} return %b as "b"' >g.tern
export TERN_TUNING=$PWD/tuning.db
needs_sqlite
hide()
{
    sed -E -e 's/[0-9.]+ (ns|us|ms|s)\b/TIME/g' -e 's/[0-9]+ runs/N runs/' -e "s|$PWD|DIR|" -e 's/[01] of/N of/' \
        -e 's/ +(fastest|usual|, and)+//g' -e 's/  +/  /g' -e 's/  [0-9]+ *$/  N/' -e 's/tile=[0-9]+/tile=N/'
}
tern tune g.tern --threads 1 --runs 2 2>progress | hide
hide <progress
echo "second process:"
tern tune g.tern --threads 1 --runs 2 2>progress | tail -n 2 | hide
cat progress
tern tune g.tern --threads 1 --json 2>/dev/null | json 'j["runs"], all(r["remembered"] for r in j["rows"])'
tern tune --list --json | json 'set(tuple(r["ops"]) for r in j["rows"])'
tern tune g.tern --threads 1 --runs 1 --again --json 2>/dev/null | json 'j["runs"] > 0'
# What was found is used, and no bit changes.
npy '<f4' '(8, 2048)' "$(printf '\\000%.0s' $(seq 1 65536))" >x.npy
tern graph run g.tern -i x=x.npy --threads 1 --json | json 'j["outputs"][0]["hash"]' >tuned
TERN_TUNING=off tern graph run g.tern -i x=x.npy --threads 1 --json | json 'j["outputs"][0]["hash"]' | cmp - tuned && echo same
