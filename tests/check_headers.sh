#!/usr/bin/env bash
# Every public header compiles alone, as strict C17 and as C++17, without a warning.
. "$(dirname "$0")/harness.sh"

cxx=""
for candidate in g++ clang++ c++; do
    if command -v "$candidate" >/dev/null; then
        cxx=$candidate
        break
    fi
done

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
for header in "$root"/include/tern/*.h; do
    name="<tern/$(basename "$header")>"
    echo "#include $name" >"$scratch/alone.c"
    cp "$scratch/alone.c" "$scratch/alone.cc"
    # shellcheck disable=SC2086 # a list of flags
    check "$name as C17" "$cc" -std=c17 $warnings -fsyntax-only -I "$root/include" "$scratch/alone.c"
    if [ -n "$cxx" ]; then
        # shellcheck disable=SC2086
        check "$name as C++17" "$cxx" -std=c++17 $warnings -fsyntax-only -I "$root/include" "$scratch/alone.cc"
    fi
done
[ -n "$cxx" ] || skip "C++17" "no C++ compiler (g++, clang++ or c++) on this system"

finish
