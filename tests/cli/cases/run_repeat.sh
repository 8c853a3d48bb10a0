# Many runs: outputs are those of the first, also where a state goes on changing.
graph "" '%s = state "s" f32[2] {1, 2}
%one = constant f32[] {1}
%n = add(%s, %one)
%w = overwrite(%s, %n)
return %w as "now"' >g.tern
tern graph run g.tern --json --repeat 5 --threads 1 >many
tern graph run g.tern --json --threads 1 >one
json '(j["runs"], j["min_us"] <= j["median_us"], j["outputs"][0]["max"], j["peak_bytes"])' <many
json 'j["runs"]' <one
[ "$(json 'j["output_hash"]' <many)" = "$(json 'j["output_hash"]' <one)" ] && echo "the same hash"
for level in none low medium high; do
    tern graph run $GRAPHS/bitlinear.tern --json --level $level | json 'j["output_hash"]'
done | sort | uniq -c | wc -l
tern graph run g.tern --explain --repeat 3 --threads 1 --bandwidth 10 --peak 5 | grep -o 'estimated *measured *ratio' | tr -s ' '
tern graph run g.tern --show --repeat 3 --threads 1 | grep -o 'the run of median time'
# One statistic for all: steps and what lies between them add up to the median of the warm runs.
tern graph run g.tern --repeat 4 --threads 1 | tail -n 1 | sed -E 's/[0-9.]+ (ns|us|ms|s)/TIME/g'
tern graph run $GRAPHS/bitlinear.tern --json --repeat 9 | json 'sum(s["us"] for s in j["plan"]) <= j["median_us"] + 0.01 and j["median_us"] >= j["min_us"]'
tern graph run $GRAPHS/bitlinear.tern --json | json 'sum(s["us"] for s in j["plan"]) <= j["run_us"] + 0.01 and j["run_us"] == j["median_us"]'
