# Every example runs, at 80 columns nothing is wider, and the results do not depend on the number of threads.
tern graph run "$GRAPHS/batch.tern" -o x=x.npy >/dev/null
for file in "$GRAPHS"/*.tern; do
    name=$(basename "$file" .tern) inputs=()
    [ "$name" != mlp ] || inputs=(-i x=x.npy)
    COLUMNS=80 tern graph run "$file" "${inputs[@]}" --show >story || echo "$name fails"
    awk -v name="$name" 'length($0) > 80 { print name ": too wide: " $0 }' story
    for threads in 1 2 3; do
        tern graph run "$file" "${inputs[@]}" --threads $threads --json | json '[o["hash"] for o in j["outputs"]]' >$threads
    done
    cmp 1 2 && cmp 1 3 && echo "$name"
done
