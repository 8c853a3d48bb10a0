# Ordinary runs leave no file in the user's cache folder; they add to the one that tuning made.
graph g '%x = randn() {shape=[64,2048], seed=1} %a = exp(%x) %b = sum(%a) {axes=[1]} return %b' >g.tern
export TERN_TUNING=$PWD/probe.db
needs_sqlite
unset TERN_TUNING
export XDG_CACHE_HOME=$PWD/cache
mkdir cache
tern graph run g.tern --repeat 5 --show >/dev/null
ls cache
echo "after tuning:"
tern tune g.tern --runs 1 --threads 1 2>/dev/null | tail -n 1 | sed "s|$PWD|DIR|"
tern graph run g.tern --repeat 5 --show --threads 1 >/dev/null
find cache -name '*.db'
tern tune --list --json | json 'sorted({r["source"] for r in j["rows"]})'
# What decides is shown.
tern tune g.tern --threads 1 2>/dev/null | grep -c 'in programs'
tern tune g.tern --threads 1 --json 2>/dev/null | json 'all(r["run_median_us"] >= q["run_median_us"] for q in j["rows"] if q["fastest"] and q["run_median_us"] for r in j["rows"] if r["step"] == q["step"] and r["run_median_us"]), any(r["run_median_us"] for r in j["rows"])'
# Nothing can be kept: that is said last, and is a failure.
rm -r cache
echo "no folder" >cache
status tern tune g.tern --runs 1 --threads 1 2>&1 >/dev/null | tail -n 1 | sed "s|$PWD|DIR|"
tern tune g.tern --runs 1 --threads 1 >/dev/null 2>&1
echo "exit status $?"
