# What --help shows can be typed as it stands: in a clone, and in the folder of documents of an installed copy.
needs_sqlite
mkdir -p examples && cp -r "$GRAPHS" examples/
export TERN_TUNING=$PWD/tuning.db
for verb in "" graph "graph run" "graph compile" "graph print" "graph check" tune profile memory inspect convert synth list devices version completion help; do
    tern help $verb | sed -n '/^examples:$/,/^[a-z].*:$/p' | sed -n "s/^  *//p" | sed -e :a -e '/\\$/{N;s/ *\\\n */ /;ta' -e '}' >lines
    while IFS= read -r line; do
        case $line in
        *"dot -T"*) command -v dot >/dev/null || continue ;; # Graphviz
        esac
        bash -c "$line" >out 2>&1 </dev/null || grep -q "this build of tern has no PCRE2\|no model is built in" out || { echo "tern help $verb: $line"; cat out; }
        echo ok >>count
    done <lines
done
[ "$(wc -l <count)" -ge 20 ] && echo "all examples run"
