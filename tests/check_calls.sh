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

# forbidden DIRECTORY: "source name" for every forbidden name that an object below DIRECTORY refers to; the object of
# src/x.c is DIRECTORY/src/x.c.o.
forbidden()
{
    (cd "$1" && find src -name '*.o' -print0 | xargs -0 nm -A -u) | awk \
        -v forbidden=" $memory $output $ending $environment " -v allowed="$allowed" '
        BEGIN {
            n = split(allowed, lines, "\n")
            for (i = 1; i <= n; i++) {
                words = split(lines[i], word, " ")
                for (j = 2; j <= words; j++)
                    permitted[word[1], word[j]] = 1
            }
        }
        {
            source = $1
            sub(/\.o:.*/, "", source)
            name = $NF
            sub(/@.*/, "", name)
            # macOS puts an underscore before every name and a "p" after stdout and stderr.
            bare = name
            sub(/^_/, "", bare)
            sub(/^__std(out|err)p$/, "stderr", bare)
            if (!index(forbidden, " " name " "))
                name = bare
            if (index(forbidden, " " name " ") && !((source, name) in permitted))
                print source, name
        }' | sort -u
}

objects=$build/CMakeFiles/tern_objects.dir
if [ ! -f "$objects/src/base/alloc.c.o" ]; then
    fail "objects" "none found in $objects"
fi
found=$(forbidden "$objects")
[ -n "$found" ] || pass
while read -r source name; do
    [ -f "$root/$source" ] || continue # the object of a source that was deleted
    line=$(grep -nE "\\b$name\\b" "$root/$source" | head -n 1 | cut -d : -f 1)
    fail "$source${line:+:$line}" "refers to $name; see the allow-list in tests/check_calls.sh"
done <<<"$found"

# The check itself: planted calls are found, and only where they are not allowed.
mkdir -p "$scratch/src/base" "$scratch/src/tensor"
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
check "planted calls compile" "$cc" -c "$scratch/planted.c" -o "$scratch/src/base/alloc.c.o"
cp "$scratch/src/base/alloc.c.o" "$scratch/src/tensor/x.c.o"
found=$(forbidden "$scratch" | tr '\n' ' ')
wanted="src/base/alloc.c getenv src/base/alloc.c stderr src/tensor/x.c getenv src/tensor/x.c malloc src/tensor/x.c stderr "
[ "$found" = "$wanted" ] && pass || fail "planted calls" "found '$found'"

finish
