tern bench threads --threads 2 --json | json 'sorted(j), j["threads"], all(v > 0 for v in j.values())'
tern bench threads --threads 2 | sed -E 's/[0-9.]+ us/TIME/'
tern bench threads --threads 0
echo "exit $?"
