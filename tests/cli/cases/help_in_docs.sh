# docs/cli.md names every verb and every option.
for verb in demo run chat train perplexity tokenize "bench model" "graph run" "graph print" "graph check" tune baseline "baseline create" "baseline show" regress monitor inspect convert synth list devices version completion help; do
    grep -q "tern $verb" "$DOCS/cli.md" || echo "docs/cli.md does not mention tern $verb"
    tern $verb --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' | while read -r option; do
        grep -q -- "$option" "$DOCS/cli.md" || echo "docs/cli.md does not mention $option of tern $verb"
    done
done
echo done
