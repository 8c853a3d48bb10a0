# Device auto: without measurements the CPU computes and that is said; `tern tune --devices` measures.
needs_sqlite
export TERN_TUNING=$PWD/tuning.db
tern graph run "$GRAPHS/bitlinear.tern" --device auto --threads 1 >/dev/null
status tern tune --devices --list
status tern tune --devices --device abacus
tern tune --devices --device cpu --threads 1 --runs 1 --json 2>/dev/null >tuned.json
json 'sorted({r["shapes"] for r in j["rows"]}), {r["op"] for r in j["rows"]}, all(r["median_us"] is not None for r in j["rows"])' <tuned.json
tern tune --list --threads 1 | grep -c 'device:cpu'
tern graph run "$GRAPHS/bitlinear.tern" --device auto --threads 1 >/dev/null # one device leaves nothing to choose
TERN_TUNING=off tern graph run "$GRAPHS/bitlinear.tern" --device auto --threads 1 >/dev/null # then to measure is no help
