# `tern regress` as a check.
needs_sqlite
needs_jansson
export TERN_BASELINES=$PWD/baselines.db
results base.json 1 0.99 1.01 1 1.005
results slow20.json 1.2 1.2
tern baseline create main --from base.json
tern monitor --every 1h --count 1 --check 'tern regress --baseline main --from slow20.json' >said
echo "exit status $?"
grep -oE '#1 regression in|: [0-9] regression of.*' said
