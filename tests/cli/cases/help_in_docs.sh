# docs/cli.md names every verb and every option. What there is, the program says itself, for shells that complete it.
tern completion bash | sed -nE "s/^ +'(.*)'\) words='.*'; options='(.*)' ;;/\1:\2/p" >verbs
[ "$(wc -l <verbs)" -gt 30 ] || echo "tern completion bash names $(wc -l <verbs) verbs"
while IFS=: read -r verb options; do
    grep -qE "tern${verb:+ }$verb( |\`|$)" "$DOCS/cli.md" || echo "docs/cli.md does not mention tern $verb"
    for option in $options; do
        grep -qE -- "$option([^a-z-]|$)" "$DOCS/cli.md" || echo "docs/cli.md does not mention $option of tern $verb"
    done
done <verbs
echo done
