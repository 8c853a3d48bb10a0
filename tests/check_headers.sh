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

# What zeros in options mean is said above each of them, in one of two sentences, and tried by a test.
for struct in $(sed -n 's/^typedef struct \(tern_[a-z_]*_options\) {$/\1/p' "$root"/include/tern/*.h); do
    above=$(grep -h -B 4 "^typedef struct $struct {" "$root"/include/tern/*.h)
    check "$struct says what zeros mean" \
        grep -q "Zeroed fields are the defaults\|Start from ${struct}_default()" <<<"$above"
    if grep -q " ${struct}_default(void)" "$root"/include/tern/*.h; then
        check "$struct is in test_zero_options.c" grep -q "\b$struct\b" "$root/tests/runtime/test_zero_options.c"
    fi
done

[ -n "$cxx" ] || skip "C++17" "no C++ compiler (g++, clang++ or c++) on this system"

finish
