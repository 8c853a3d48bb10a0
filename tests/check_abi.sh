#!/usr/bin/env bash
# The name of the headers, by which the library knows its plugins (cmake/abi.cmake): the same for the same headers, another for others.
. "$(dirname "$0")/harness.sh"

command -v cmake >/dev/null || { skip "names of headers" "needs cmake"; finish; }

# name: of the planted headers.
name()
{
    cmake "-DHEADERS=$scratch/a.h;$scratch/b.def" "-DOUTPUT=$scratch/abi.c" -P "$root/cmake/abi.cmake" &&
        sed -n 's/^const char tern__device_abi\[\] = "\([0-9a-f]*\)";$/\1/p' "$scratch/abi.c"
}

echo 'struct a { int (*f)(int); };' >"$scratch/a.h"
echo 'ROW(1)' >"$scratch/b.def"
first=$(name)
check "a name of 64 digits" test ${#first} -eq 64
check "the same headers, the same name" test "$first" = "$(name)"
echo 'struct a { int (*f)(long); };' >"$scratch/a.h"
second=$(name)
check "another signature of the same size, another name" test "$first" != "$second"
echo 'ROW(1) ROW(2)' >"$scratch/b.def"
check "another row, another name" test "$second" != "$(name)"
check "the library's source names all headers" grep -q '"[0-9a-f]\{64\}"' "$build/generated/device_abi.c"

finish
