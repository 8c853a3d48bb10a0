#!/usr/bin/env bash
# The shared library exports tern_* and nothing else, nothing internal (tern__*), and everything that the program
# uses: the program is linked statically, so the linker would not notice. No variable of it is large.
. "$(dirname "$0")/harness.sh"

# Names of FILES' symbols that nm lists with FLAGS, without the leading underscore that macOS adds.
symbols()
{
    nm "$@" 2>/dev/null | awk -v mac="$([ "$(uname -s)" = Darwin ] && echo 1)" '
        NF >= 2 { name = $NF; if (mac) sub(/^_/, "", name); print name }' | sort -u
}

# large FILE: its variables that take more than a MiB, name and bytes.
large()
{
    nm -S -t d "$1" 2>/dev/null | awk 'NF == 4 && $3 ~ /^[bBdD]$/ && $2 + 0 > 1048576 { print $4, $2 + 0 }'
}

# stray NAMES: those that should not be exported.
stray()
{
    printf '%s\n' "$1" | grep -vE '^tern_[a-z0-9]' || true
}

if [ -z "${TERN_LIB:-}" ]; then
    skip "exported symbols" "this build has no shared library"
    finish
fi

if [ "$(uname -s)" = Darwin ]; then
    exported=$(symbols -gU "$TERN_LIB")
else
    exported=$(symbols -D --defined-only "$TERN_LIB")
fi

if [ "$(printf '%s\n' "$exported" | grep -c '^tern_')" -lt 5 ]; then
    fail "exported symbols" "only these were found in $TERN_LIB: $exported"
else
    pass
fi
bad=$(stray "$exported")
if [ -z "$bad" ]; then
    pass
else
    fail "exported symbols" "$(basename "$TERN_LIB") exports names that do not start with tern_ or are internal:" $bad
fi

# Memory that every process has, whether it uses it or not.
found=$(large "$TERN_LIB")
if [ -z "$found" ]; then
    pass
else
    fail "variables" "$(basename "$TERN_LIB") has some of more than a MiB:" $found
fi

# The check itself: internal and unprefixed names are strays, public ones are not.
if [ "$(stray 'tern_add
tern__add
add' | tr '\n' ' ')" = "tern__add add " ]; then
    pass
else
    fail "the check" "does not tell stray symbols from public ones"
fi

objects=$(find "$build/CMakeFiles/tern_program.dir" -name '*.o' 2>/dev/null)
if [ -z "$objects" ]; then
    skip "symbols of the program" "the program was not built"
else
    # shellcheck disable=SC2086 # a list of files
    hidden=$(comm -23 <(symbols -u $objects | grep '^tern_') <(printf '%s\n%s\n' "$exported" "$(symbols $objects)" | sort -u) )
    hidden=$(comm -23 <(printf '%s\n' "$hidden") <(symbols --defined-only $objects))
    if [ -z "$hidden" ]; then
        pass
    else
        fail "symbols of the program" "cli/ uses functions that the library does not export (TERN_API missing?):" $hidden
    fi
fi

finish
