#!/usr/bin/env bash
# The C sources are formatted as .clang-format says (`make format` does it), and text files are tidy.
. "$(dirname "$0")/harness.sh"
cd "$root" || exit 1

# unformatted FILE: ":line:" of the first place that clang-format would change; fails if there is none.
unformatted()
{
    clang-format --dry-run --Werror --style=file:"$root/.clang-format" "$1" 2>&1 | sed -nE '1s/^[^:]*(:[0-9]+:).*/\1/p' | grep .
}

# Another version formats a little differently; the style is that of Debian 12's.
if ! command -v clang-format >/dev/null; then
    skip clang-format "clang-format is not installed (make check-all installs it)"
elif ! clang-format --version | grep -q 'version 14\.'; then
    skip clang-format "$(clang-format --version) formats differently from version 14"
else
    while read -r file; do
        [ -f "$file" ] || continue
        line=$(unformatted "$file")
        [ -z "$line" ] && pass || fail "${file}${line%:}" "not formatted; run make format"
    done < <(git ls-files '*.c' '*.h')
    printf 'int main(void)\n{\n  return 0;\n}\n' >"$scratch/planted.c"
    [ "$(unformatted "$scratch/planted.c")" = ":2:" ] && pass || fail "planted file" "its bad line was not found"
fi

while read -r file; do
    [ -f "$file" ] || continue
    if line=$(grep -nIm 1 -E '[[:blank:]]$' "$file"); then
        fail "$file:${line%%:*}" "blank at the end of the line"
    elif [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
        fail "$file" "no newline at the end of the file"
    else
        pass
    fi
done < <(git ls-files '*.c' '*.h' '*.def' '*.sh' '*.py' '*.md' '*.cmake' '*.txt' Makefile .ci/run)

finish
