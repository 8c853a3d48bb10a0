# Every verb has help, with usage, options and exit status, no wider than 80 columns.
for verb in run chat perplexity graph "graph run" "graph print" "graph check" inspect tokenize list devices version completion help; do
    tern $verb --help >1 && tern help $verb >2 && cmp 1 2 || echo "$verb: tern help differs"
    tern $verb -h >3 && cmp 1 3 || echo "$verb: -h differs"
    grep -q "^usage: tern $verb" 1 || echo "$verb: no usage"
    grep -q -- "--help  " 1 || echo "$verb: no options"
    grep -q "^exit status:" 1 || echo "$verb: no exit status"
    awk 'length($0) > 80 { print FILENAME ": " $0 }' 1
done
echo done
