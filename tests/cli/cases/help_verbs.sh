# Every verb has help, with usage, options and exit status, no wider than 80 columns but for examples, which are commands.
tern completion bash | sed -nE "s/^ +'(.+)'\) words='.*'; options='.*' ;;/\1/p" >verbs
[ "$(wc -l <verbs)" -gt 30 ] || echo "tern completion bash names $(wc -l <verbs) verbs"
while read -r verb; do
    tern $verb --help >1 && tern help $verb >2 && cmp 1 2 || echo "$verb: tern help differs"
    tern $verb -h >3 && cmp 1 3 || echo "$verb: -h differs"
    grep -q "^usage: tern $verb" 1 || echo "$verb: no usage"
    grep -q -- "--help  " 1 || echo "$verb: no options"
    grep -q "^exit status:" 1 || echo "$verb: no exit status"
    awk -v verb="$verb" '/^[a-z]/ { examples = $0 == "examples:" } length($0) > 80 && !examples { print verb ": " $0 }' 1
done <verbs
echo done
