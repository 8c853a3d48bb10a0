#!/usr/bin/env bash
# `make model` (scripts/train-model.sh), with a stand-in for the program: it can be repeated, writes over no run, goes on with one that was
# stopped, and says what to do.
. "$(dirname "$0")/harness.sh"

mkdir -p "$scratch/scripts" "$scratch/models" "$scratch/build"
cp "$root/scripts/train-model.sh" "$scratch/scripts/"
cp "$root/models/shakespeare.md" "$root/models/shakespeare.json" "$scratch/models/"
echo "some text" >"$scratch/text"

# A run is a file that says how far it came; $STOPS ends the part that begins with that command as Ctrl-C does.
cat >"$scratch/tern" <<'EOF'
#!/usr/bin/env bash
shift
while [ $# -gt 0 ]; do
    case $1 in
    -o) dir=$2 ;;
    --resume) resumed=yes ;;
    --until | --steps) to=$2 ;;
    esac
    shift
done
[ -n "${resumed:-}" ] || [ ! -e "$dir/checkpoint.safetensors" ] || { echo "it would destroy a run"; exit 3; }
mkdir -p "$dir"
echo "${resumed:+on }to $to" >>"$dir/checkpoint.safetensors"
[ "${STOPS:-}" != "$to" ]
EOF
chmod +x "$scratch/tern"

# run DIR: status and words in $status and $said.
run()
{
    said=$(cd "$scratch" && TERN_BIN=./tern STOPS=${STOPS:-} scripts/train-model.sh "${data-../$(basename "$scratch")/text}" "$@" 2>&1)
    status=$?
}

# expect NAME STATUS DIR "WHAT WAS DONE IN IT" WORDS
expect()
{
    local done=""
    [ ! -e "$scratch/$3/checkpoint.safetensors" ] || done=$(paste -sd, "$scratch/$3/checkpoint.safetensors")
    if [ "$status" -eq "$2" ] && [ "$done" = "$4" ] && [[ $said == *"$5"* ]]; then
        pass
    else
        fail "$1" "status $status, done '$done', said: $said"
    fi
}

data=$scratch/text
run
expect "the first" 0 build/shakespeare "to 812,on to 2000" "is not the text of models/shakespeare.md"
run
expect "the second has a folder of its own" 0 build/shakespeare-2 "to 812,on to 2000" "this one is in build/shakespeare-2"
expect "the first stays as it was" 0 build/shakespeare "to 812,on to 2000" ""
STOPS=812
run build/mine
expect "stopped in the first part" 1 build/mine "to 812" "go on with: make model DATA=$data OUT=build/mine"
STOPS=
run build/mine
expect "goes on" 0 build/mine "to 812,on to 812,on to 2000" ""
STOPS=2000
run
expect "stopped in the second part" 1 build/shakespeare-3 "to 812,on to 2000" "OUT=build/shakespeare-3"
STOPS=
data=""
run
expect "no data" 2 build/shakespeare-4 "" "make model DATA="
data=$scratch/absent
run
expect "data that are not there" 1 build/shakespeare-4 "" "absent"
finish
