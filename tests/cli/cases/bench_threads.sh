tern bench threads --threads 2 --json | json '[k for k in sorted(j) if k != "barrier_unavailable"], j["threads"], all(j[k] > 0 for k in ("region_us", "wakeup_us")), ("barrier_unavailable" in j) == (j["barrier_us"] is None)'
tern bench threads --threads 2 | sed -E 's/[0-9.]+ (ns|us|ms)|unavailable: lost in noise/TIME/'
tern bench threads --threads 0
echo "exit $?"
