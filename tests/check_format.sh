#!/usr/bin/env bash
# The C sources are formatted as .clang-format says (`make format` does it), and text files are tidy.
. "$(dirname "$0")/harness.sh"
cd "$root" || exit 1

# sources NAME...: the repository's files with such names, one per line.
sources()
{
    local name names=()
    for name in "$@"; do
        names+=(-o -name "$name")
    done
    find . \( -path ./build -o -path ./.git \) -prune -o -type f \( "${names[@]:1}" \) -print | sed 's|^\./||' | sort
}

# unformatted FILE...: "file:line:" of the first place in each file that clang-format would change.
unformatted()
{
    printf '%s\n' "$@" | xargs clang-format --dry-run --style=file:"$root/.clang-format" 2>&1 |
        sed -nE 's/^([^:]*:[0-9]+:).*warning.*/\1/p' | awk -F : '!seen[$1]++'
}

# untidy FILE...: "file:line:" of lines that end in a blank, "file:" of files that do not end in a newline.
untidy()
{
    local file
    grep -nIE '[[:blank:]]$' /dev/null "$@" | sed -E 's/^([^:]*:[0-9]+:).*/\1 a blank at the end of the line/'
    for file in "$@"; do
        if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
            echo "$file: no newline at the end"
        fi
    done
}

# report NAME LINES MESSAGE: a pass if there are no lines, else one failure that lists them.
report()
{
    if [ -z "$2" ]; then
        pass
    else
        fail "$1" "$3"
        printf '%s\n' "$2" | sed 's/^/    /'
    fi
}

[ "$(sources '*.[ch]' | wc -l)" -gt 50 ] && pass || fail "sources" "too few were found in $root"

# Another version formats a little differently; the style is that of Debian 12's.
if ! command -v clang-format >/dev/null; then
    skip "make format" "clang-format is not installed (make check-all installs it)"
elif ! clang-format --version | grep -q 'version 14\.'; then
    skip "make format" "$(clang-format --version) formats differently from version 14"
else
    # shellcheck disable=SC2046 # file names without blanks
    report format "$(unformatted $(sources '*.c' '*.h'))" \
        "clang-format would change these lines; run \`make format\`"
    printf 'int main(void)\n{\n  return 0;\n}\n' >"$scratch/planted.c"
    [ "$(unformatted "$scratch/planted.c")" = "$scratch/planted.c:2:" ] && pass ||
        fail "planted file" "its bad line was not found"
fi

# shellcheck disable=SC2046
report tidy "$(untidy $(sources '*.c' '*.h' '*.def' '*.sh' '*.py' '*.md' '*.cmake' '*.txt' Makefile run))" \
    "these lines need a hand"
printf 'a \nb' >"$scratch/planted.md"
[ "$(untidy "$scratch/planted.md" | wc -l)" -eq 2 ] && pass || fail "planted file" "its faults were not found"

finish
