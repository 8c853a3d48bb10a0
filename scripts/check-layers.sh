#!/usr/bin/env bash
# Checks every #include "..." and <tern/...> in src/, cli/, examples/ and include/tern against layers.txt:
# scripts/check-layers.sh [ROOT]. Prints one line per violation; exit status 1 if there is any.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

for folder in src cli examples include/tern; do
    [ ! -d "$folder" ] || find "$folder" -name '*.[ch]' -o -name '*.cpp' -o -name '*.def' -o -name '*.inc'
done | LC_ALL=C sort |
awk '
function complain(message) { printf "%s:%d: %s\n", file, line, message; bad = 1 }

# May `layer` include what belongs to `owner`? Own headers always; `header` is for single-header permissions.
function may(layer, owner, header) { return owner == layer || (layer, owner) in allowed || (layer, header) in allowed }

# The layer of a file below src/: the longest folder of it that has a line.
function layer_of(path,    folder)
{
    folder = path
    while (sub(/\/[^\/]*$/, "", folder))
        if (folder in text)
            return folder
    return folder
}

function check_public(layer, name,    owner)
{
    if ((layer, "public") in allowed)
        return
    if (name == "tern.h") {
        if (layer != "tern.h")
            complain("<tern/tern.h> is for users of the library; include the one public header that is needed")
        return
    }
    if (!(name in owner_of)) {
        complain("<tern/" name "> has no line in layers.txt: say there which folder it belongs to")
        return
    }
    owner = owner_of[name]
    if (!may(layer, owner, ""))
        complain(layer " may not include <tern/" name ">, which belongs to " owner " (allowed: " text[layer] ")")
}

function check_internal(layer, name,    owner)
{
    if (name !~ /\//) {
        # cli and examples are flat folders of their own; inside src/ the folder is always written.
        if (file ~ /^src\//)
            complain("write \"" name "\" with its folder, as \"" layer "/" name "\"")
        return
    }
    owner = layer_of(name)
    if (file !~ /^src\//)
        complain(layer " may include the public API only, not \"" name "\"")
    else if (!(owner in text))
        complain("\"" name "\": there is no folder " owner " in layers.txt")
    else if (!may(layer, owner, name))
        complain(layer " may not include \"" name "\" (allowed: " text[layer] ")")
}

function check_file(    content, layer, name, parts)
{
    split(file, parts, "/")
    layer = parts[1] == "src" ? layer_of(substr(file, length("src/") + 1)) : parts[1]
    if (layer == "include") {
        # A public header stands in the layer of its owner; tern.h stands above all.
        name = parts[3]
        layer = name == "tern.h" ? "tern.h" : name in owner_of ? owner_of[name] : ""
        line = 1
        if (layer == "tern.h")
            return
        if (layer == "") {
            complain("<tern/" name "> has no line in layers.txt: say there which folder it belongs to")
            return
        }
    } else if (!(layer in text)) {
        line = 1
        complain("folder " layer " has no line in layers.txt")
        return
    }
    line = 0
    while ((getline content < file) > 0) {
        line++
        if (content !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
            continue
        name = content
        if (name ~ /<tern\//) {
            sub(/^.*<tern\//, "", name)
            sub(/>.*/, "", name)
            check_public(layer, name)
        } else if (name ~ /"/) {
            sub(/^[^"]*"/, "", name)
            sub(/".*/, "", name)
            check_internal(layer, name)
        }
    }
    close(file)
    files++
}

BEGIN {
    while ((getline rule < "layers.txt") > 0) {
        sub(/#.*/, "", rule)
        n = split(rule, word, " ")
        if (n == 2 && word[1] ~ /^<tern\/.*>$/) {
            sub(/^<tern\//, "", word[1])
            sub(/>$/, "", word[1])
            owner_of[word[1]] = word[2]
        } else if (n > 0 && word[1] ~ /:$/) {
            layer = substr(word[1], 1, length(word[1]) - 1)
            text[layer] = "itself"
            for (i = 2; i <= n; i++) {
                allowed[layer, word[i]] = 1
                text[layer] = text[layer] ", " word[i]
            }
        } else if (n > 0) {
            printf "layers.txt: cannot read \"%s\"\n", rule
            bad = 1
        }
    }
}
{ file = $0; check_file() }
END {
    if (!files) {
        print "check-layers: found no files to check"
        bad = 1
    }
    exit bad
}'
