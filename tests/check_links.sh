#!/usr/bin/env bash
# Relative links of the pages lead to files that are there, and those with an anchor to a heading of them.
. "$(dirname "$0")/harness.sh"

# prose FILE: its lines outside of code blocks.
prose()
{
    awk '/^ *```/ { inside = !inside; next } !inside' "$1"
}

# anchors FILE: one per line, as the hosts of repositories make them of headings: small letters, blanks to hyphens, of the
# rest letters, digits, '_' and '-'; the second of the same name ends in -1.
anchors()
{
    prose "$1" | sed -nE 's/^#{1,6} +(.*[^ #]) *#*$/\1/p' |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | tr '[:upper:]' '[:lower:]' |
        sed -E 's/[][!"#$%&'\''()*+,.\/:;<=>?@\\^`{|}~]//g; s/ /-/g' |
        awk '{ n = seen[$0]++; print n ? $0 "-" n : $0 }'
}

# dead FILE: "FILE: LINK" of each link in it that leads nowhere.
dead()
{
    local link target anchor to
    prose "$1" | sed -E 's/`[^`]*`//g' | grep -oE '\]\([^() ]+\)' | sed -E 's/^\]\((.*)\)$/\1/' | sort -u |
        while IFS= read -r link; do
            [[ $link =~ ^[a-z]+: ]] && continue # of the web
            target=${link%%#*} anchor=
            [[ $link != *#* ]] || anchor=${link#*#}
            to=$1
            [ -z "$target" ] || to=$(dirname "$1")/$target
            [ -e "$to" ] && { [ -z "$anchor" ] || anchors "$to" | grep -qxF -- "$anchor"; } || echo "$1: $link"
        done
}

cd "$root" || exit 1
pages=0
for page in *.md docs/*.md models/*.md; do
    [ -f "$page" ] || continue
    pages=$((pages + 1))
    lost=$(dead "$page")
    [ -z "$lost" ] && pass || fail "$page" "these links lead nowhere:"$'\n'"$lost"
done
[ "$pages" -gt 20 ] && pass || fail "pages" "only $pages were found in $root"

printf '%s\n' '# A `b`, c' '## A b c' '[1](#a-b-c) [2](#a-b-c-1) [3](planted.md#a-b-c)' '[no](#a-b) [no](none.md)' '```' '[code](x)' '```' \
    >"$scratch/planted.md"
[ "$(dead "$scratch/planted.md" | wc -l)" -eq 2 ] && pass || fail "planted page" "$(dead "$scratch/planted.md")"
finish
