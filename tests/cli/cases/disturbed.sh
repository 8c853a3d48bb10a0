# Other programs have the machine: whatever prints figures says so, and results carry it.
[ -r /proc/stat ] || skip "the system does not tell what others compute"
tern inspect >/dev/null 2>&1 || skip "no model is built in: models/shakespeare.gguf is not there"
cores=$(getconf _NPROCESSORS_ONLN)
hogs=()
for ((i = 0; i < cores; i++)); do
    sh -c 'while :; do :; done' & hogs+=($!)
done
trap 'kill "${hogs[@]}" 2>/dev/null' EXIT

said() { grep -oE '^tern: [a-z ]+: warning: other programs had the machine' || echo "nothing was said"; }
tern bench ops --family rows --memory 1 --threads 1 --budget 0.1 2>&1 >/dev/null | said
tern bench ops --family rows --memory 1 --threads 1 --budget 0.1 --format json 2>/dev/null |
    json '"others computed on" in j["conditions"]["disturbed_by"]' # beside what the host takes, which no test can arrange
tern bench model -p 64 -n 16 -r 2 -t 1 2>&1 >/dev/null | said
tern profile -- run -n 40 -t 1 2>&1 >/dev/null | said
# Threads that wait for those whose cores are taken are not blamed alone; ternary_quantise is of one thread, so that the other waits.
if [ "$cores" -gt 1 ]; then
    tern profile --by step --no-limits -- graph run "$GRAPHS/bitlinear.tern" --made-up --threads 2 --repeat 600 2>/dev/null >report
else
    echo "x is held back by other programs or by imbalance (" >report
fi
grep imbalance report | grep -oE 'is (imbalance|held back by other programs or by imbalance) ?[(]?' | sort -u
tern demo -n 16 -t 1 2>&1 >/dev/null | said
needs_sqlite
tern baseline create busy --family rows --memory 1 --threads 1 --budget 0.05 --runs 2 --store busy.db 2>&1 >/dev/null | said
tern regress --baseline busy --store busy.db --no-record 2>&1 >/dev/null | said
