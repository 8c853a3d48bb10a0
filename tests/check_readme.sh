#!/usr/bin/env bash
# The C programs shown in README.md (```c blocks with a main function) compile without a warning and run; the verb shown in
# docs/add-a-verb.md compiles with the headers of cli/.
. "$(dirname "$0")/harness.sh"

[ -f "$root/README.md" ] || { skip README.md "there is none yet"; finish; }
[ -n "${TERN_LIB:-}" ] || { skip README.md "this build has no shared library"; finish; }

# Block n goes to block_n.c.
awk -v dir="$scratch" '
    /^```c$/ { inside = 1; n++; next }
    /^```/   { inside = 0 }
    inside   { print > (dir "/block_" n ".c") }' "$root/README.md"

programs=0
for source in "$scratch"/block_*.c; do
    [ -f "$source" ] && grep -qE '^int main\(' "$source" || continue
    programs=$((programs + 1))
    name="README.md, C example $programs"
    check "$name compiles" "$cc" -std=gnu17 -Wall -Wextra -Werror ${TERN_SANITIZE:+-fsanitize=$TERN_SANITIZE} \
        -I "$root/include" "$source" -o "$scratch/program" "$TERN_LIB" -lm -Wl,-rpath,"$build"
    check "$name runs" "$scratch/program"
done
[ "$programs" -gt 0 ] || fail README.md "shows no C program (a \`\`\`c block with a main function)"

awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/docs/add-a-verb.md" >"$scratch/cmd_shown.c"
check "docs/add-a-verb.md shows a verb" grep -q '^const command cmd_' "$scratch/cmd_shown.c"
check "docs/add-a-verb.md, its verb compiles" "$cc" -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I "$root/include" -I "$root/cli" \
    "$scratch/cmd_shown.c"

finish
