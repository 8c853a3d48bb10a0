#!/usr/bin/env bash
# Every public header compiles alone, as strict C17 and as C++17, without a warning, and says what zeros in its options mean.
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

# has_default STRUCT FILE...: a function gives its defaults.
has_default()
{
    grep -qE "^(TERN_API $1 )?$1_default\(void\);" "${@:2}"
}

# Options are started from their default. What zeros in them mean is said above each, in one of two sentences, and tried by a test.
# shellcheck disable=SC2207 # a list of words
structs=($(sed -n 's/^typedef struct \(tern_[a-z_]*_options\) {$/\1/p' "$root"/include/tern/*.h))
for struct in "${structs[@]}"; do
    above=$(grep -h -B 4 "^typedef struct $struct {" "$root"/include/tern/*.h)
    check "$struct says what zeros mean" \
        grep -q "Zeroed fields are the defaults\|Start from ${struct}_default()" <<<"$above"
    check "$struct has a default" has_default "$struct" "$root"/include/tern/*.h
    check "$struct is in test_zero_options.c" grep -q "\b$struct\b" "$root/tests/runtime/test_zero_options.c"
done
[ "${#structs[@]}" -gt 20 ] && pass || fail "structs of options" "only ${#structs[@]} were found"

# The check itself: a default that is missing is found.
echo 'TERN_API tern_a_options tern_a_options_default(void);' >"$scratch/planted.h"
check "a default that is there" has_default tern_a_options "$scratch/planted.h"
has_default tern_b_options "$scratch/planted.h" && fail "a default that is missing" "was not noticed" || pass

[ -n "$cxx" ] || skip "C++17" "no C++ compiler (g++, clang++ or c++) on this system"

finish
