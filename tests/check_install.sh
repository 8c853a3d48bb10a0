#!/usr/bin/env bash
# An installed copy is complete, holds nothing else, can be moved, and is found by CMake and by pkg-config:
# tests/external is built against it in three ways, and run.
. "$(dirname "$0")/harness.sh"

prefix=$scratch/prefix

check "cmake --install" cmake --install "$build" --prefix "$scratch/first"
[ "$failed" -eq 0 ] || finish
mv "$scratch/first" "$prefix"

wanted=$(cd "$root/include/tern" && ls ./*.h)
installed=$(cd "$prefix/include/tern" && ls)
if [ "$(printf '%s\n' "$wanted" | sed 's|^\./||')" = "$installed" ] && [ "$(ls "$prefix/include")" = tern ]; then
    pass
else
    fail "installed headers" "differ from include/tern/*.h:" $installed
fi
check "installed program" "$prefix/bin/tern" version

# Libraries come from named places only: an empty or relative one would be the folder in which the program is started.
if command -v readelf >/dev/null && [ "$(uname -s)" = Linux ]; then
    for file in "$build/tern" "$build"/libtern*.so "$prefix/bin/tern" $(find "$prefix" -name 'libtern*.so'); do
        places=$(readelf -d "$file" | sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\]$/\2/p')
        wrong=$(printf '%s' "${places:-/}" | tr ':' '\n' | grep -cvE '^(/|\$ORIGIN(/|$))')
        if [ "$wrong" -eq 0 ] && [[ $places != *: && $places != *::* ]]; then
            pass
        else
            fail "where $file looks for libraries" "'$places' has an empty or relative place"
        fi
    done
else
    skip "where programs look for libraries" "there is no readelf"
fi

# What --help names is there, and its examples can be typed there (tests/cli/cases/help_examples.sh runs them all).
documents=$(dirname "$(find "$prefix" -name CHANGELOG.md)")
for file in $("$prefix/bin/tern" help graph run | grep -o '\(docs\|examples\)/[a-z/-]*\.[a-z]*' | sort -u); do
    if [ -f "$documents/$file" ]; then
        pass
    else
        fail "installed documents" "tern help graph run names $file, which is not in $documents"
    fi
done
check "an installed example" sh -c "cd '$documents' && '$prefix/bin/tern' graph run examples/graphs/bitlinear.tern"

# `make install` closes with the next step; where the copy is not on pkg-config's own way, or the shell's, that is its path.
said=$("$root/scripts/after-install.sh" "$build" 2>&1)
if [[ $said == "Installed "*" files. Next: export PKG_CONFIG_PATH=$scratch/first/"*"/pkgconfig PATH=$scratch/first/"*'bin:$PATH' ]]; then
    pass
else
    fail "what make install says" "'$said'"
fi
program=$(grep -m 1 '/bin/tern$' "$build/install_manifest.txt")
said=$(PATH=$PATH:$(dirname "$program") "$root/scripts/after-install.sh" "$build" 2>&1)
if [[ $said == *" PKG_CONFIG_PATH=$scratch/first/"*/pkgconfig ]]; then
    pass
else
    fail "what make install says to who has it on the path" "'$said'"
fi

# expect NAME PROGRAM: it prints the sum.
expect()
{
    local said
    said=$("$2" 2>&1)
    if [ "$said" = "11 22 33" ]; then
        pass
    else
        fail "$1" "printed '$said' instead of '11 22 33'"
    fi
}

libdir=$(dirname "$(find "$prefix" -name tern.pc)")/..
export LD_LIBRARY_PATH=$libdir DYLD_LIBRARY_PATH=$libdir

check "find_package(tern)" cmake -G Ninja -S "$root/tests/external" -B "$scratch/cmake" -D CMAKE_C_COMPILER="$cc" \
    -D CMAKE_PREFIX_PATH="$prefix" -D CMAKE_C_FLAGS="-Wall -Werror ${TERN_SANITIZE:+-fsanitize=$TERN_SANITIZE}"
check "building with tern::tern and tern::static" cmake --build "$scratch/cmake"
expect "program linked with tern::tern" "$scratch/cmake/external_shared"
expect "program linked with tern::static" "$scratch/cmake/external_static"

if ! command -v pkg-config >/dev/null; then
    skip pkg-config "pkg-config is not installed"
    finish
fi
export PKG_CONFIG_PATH=$libdir/pkgconfig
version=$(pkg-config --modversion tern 2>&1)
header=$(awk '/define TERN_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' "$prefix/include/tern/export.h")
if [ "$version" = "$header" ]; then
    pass
else
    fail "pkg-config --modversion tern" "says '$version', the header says '$header'"
fi
# shellcheck disable=SC2046 # lists of flags
check "building with pkg-config" "$cc" ${TERN_SANITIZE:+-fsanitize=$TERN_SANITIZE} "$root/tests/external/main.c" \
    -o "$scratch/external_pc" $(pkg-config --cflags --libs tern)
expect "program built with pkg-config" "$scratch/external_pc"
# shellcheck disable=SC2046
check "building with pkg-config --static" "$cc" ${TERN_SANITIZE:+-fsanitize=$TERN_SANITIZE} "$root/tests/external/main.c" \
    -o "$scratch/external_pc_static" $(pkg-config --cflags tern) "$libdir/libtern.a" \
    $(pkg-config --static --libs tern | sed 's/-ltern//')
expect "program built with pkg-config --static" "$scratch/external_pc_static"

# `make install` leaves out debug information, of the static library too.
if command -v readelf >/dev/null && [ "$(uname -s)" = Linux ]; then
    check "cmake --install --strip" cmake --install "$build" --strip --prefix "$scratch/stripped"
    for file in "$scratch/stripped/bin/tern" $(find "$scratch/stripped" -name 'libtern*' -type f); do
        sections=$(readelf -SW "$file" 2>/dev/null | grep -c '\.debug_info')
        [ "$sections" -eq 0 ] && pass || fail "$file" "has $sections sections of debug information"
    done
else
    skip "what make install leaves out" "there is no readelf"
fi

finish
