# The keys of a config: the list, the table in docs/training.md, and an example that is a config.
needs_jansson
tern train --config-keys | head -n 4
tern train --config-keys | sed -n '2,$s/ .*//p' | while read -r key; do
    grep -qF "| \`$key\` |" "$DOCS/training.md" || echo "docs/training.md does not mention $key"
done
tern train --config-example >example.json
head -n 4 example.json
seq -f 'line %g of a text that repeats itself' 1 30 >text.txt # too short: it is read, and not trained with
status tern train --data text.txt --config example.json -o out
