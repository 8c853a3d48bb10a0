#!/usr/bin/env bash
# The library allocates through one door, prints nothing, never ends the process and reads the environment in one
# file. Looked up in the compiled objects, so that macros, inlining and comments cannot mislead.
. "$(dirname "$0")/harness.sh"

memory="malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc strdup strndup asprintf vasprintf getline"
output="printf vprintf puts putchar perror stdout stderr __printf_chk __vprintf_chk"
ending="exit _exit _Exit quick_exit abort __assert_fail __assert_rtn raise system"
environment="getenv secure_getenv setenv putenv unsetenv environ"

# The allow-list: file, then what it may call.
allowed="
src/base/alloc.c            malloc calloc realloc free aligned_alloc posix_memalign
src/runtime/options_env.c   getenv
"

# forbidden_in OBJECT SOURCE: the forbidden names that OBJECT refers to.
forbidden_in()
{
    nm -u "$1" | awk -v forbidden=" $memory $output $ending $environment " -v source="$2" -v allowed="$allowed" '
        BEGIN {
            n = split(allowed, lines, "\n")
            for (i = 1; i <= n; i++)
                if (split(lines[i], word, " ") > 1 && word[1] == source)
                    for (j = 2; j in word; j++)
                        permitted[word[j]] = 1
        }
        {
            name = $NF
            sub(/@.*/, "", name)
            if (index(forbidden, " " name " ") && !(name in permitted))
                print name
            # macOS puts an underscore before every name and a "p" after stdout and stderr.
            sub(/^_/, "", name)
            sub(/^__std(out|err)p$/, "stderr", name)
            if (name != $NF && index(forbidden, " " name " ") && !(name in permitted))
                print name
        }' | sort -u
}

objects=$build/CMakeFiles/tern_objects.dir
looked_at=0
while read -r source; do
    object=$objects/$source.o
    [ -f "$object" ] || continue # a kernel for another architecture
    looked_at=$((looked_at + 1))
    names=$(forbidden_in "$object" "$source")
    if [ -z "$names" ]; then
        pass
        continue
    fi
    for name in $names; do
        line=$(grep -nE "\\b$name\\b" "$root/$source" | head -n 1 | cut -d : -f 1)
        fail "$source${line:+:$line}" "calls $name; see the allow-list in tests/check_calls.sh"
    done
done < <(cd "$root" && find src -name '*.c' | sort)
[ "$looked_at" -gt 0 ] || fail "objects" "none found in $objects"

# The check itself: planted calls are found, and only where they are not allowed.
cat >"$scratch/planted.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
void *planted(void);
void *planted(void)
{
    fprintf(stderr, "%s\n", getenv("HOME"));
    return malloc(8);
}
END
if "$cc" -c "$scratch/planted.c" -o "$scratch/planted.o"; then
    found=$(forbidden_in "$scratch/planted.o" src/tensor/x.c | tr '\n' ' ')
    [ "$found" = "getenv malloc stderr " ] && pass || fail "planted calls" "found '$found'"
    found=$(forbidden_in "$scratch/planted.o" src/base/alloc.c | tr '\n' ' ')
    [ "$found" = "getenv stderr " ] && pass || fail "planted calls in alloc.c" "found '$found'"
else
    fail "planted calls" "the planted file does not compile"
fi

finish
