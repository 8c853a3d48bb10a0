# No line of any help is wider than 80 columns, whatever it is printed on.
helps() {
    tern "$@" --help | awk -v of="$*" 'length($0) > 80 { print "tern " of ": " length($0) ": " $0 }'
    for verb in $(tern "$@" --help | sed -nE '/^verbs:/,/^$/s/^  ([a-z]+) .*/\1/p'); do
        echo "$* $verb" >>verbs
        helps "$@" "$verb"
    done
}
helps
[ "$(wc -l <verbs)" -ge 35 ] && echo "every verb was asked"
