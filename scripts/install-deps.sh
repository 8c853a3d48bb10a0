#!/usr/bin/env bash
# Installs the packages that are missing from the named sets: scripts/install-deps.sh SET...
# Debian and its relatives through apt, macOS through Homebrew. What is present already is left alone, so a
# second run installs nothing and needs no network.
set -euo pipefail

# set | Debian package | Homebrew formula ("-": comes with the system or does not apply) | why
packages='
core  | libc6-dev             | -        | C headers
core  | cmake                 | cmake    | configures the build
core  | ninja-build           | ninja    | runs the build
core  | libxxhash-dev         | xxhash   | hashing (one header)
core  | zlib1g-dev            | -        | compressed .npz files
core  | libsqlite3-dev        | sqlite   | tuning results that outlive the process
core  | libjansson-dev        | jansson  | JSON: safetensors, tokenizer.json
core  | libpcre2-dev          | pcre2    | how tokenizers cut text
test  | pkg-config            | pkgconf  | tests that an installed copy is found
test  | g++                   | -        | tests that the public headers are valid C++
test  | python3-numpy         | numpy    | the oracle that operations are compared with
test  | python3-prometheus-client | - | its parser reads the metrics that are written
test  | graphviz              | graphviz | reads the graphs that are drawn
test  | locales               | -        | a locale with decimal commas, which files must not depend on
check | gcc-aarch64-linux-gnu | -        | builds the tests for 64-bit ARM
check | libc6-dev-arm64-cross | -        | C library for 64-bit ARM
check | qemu-user             | -        | runs them here
check | clang                 | -        | second compiler: its warnings, libFuzzer
check | libclang-rt-14-dev    | -        | its sanitizers
check | clang-format          | clang-format | code style
lint  | clang-tidy            | llvm     | static analysis
page  | chromium-headless-shell | - | looks at the pages that are written (100 MB; without it that test is skipped)
torch | python3-torch         | pytorch  | the oracle that training is compared with (200 MB; without it that test is skipped)
torch | libopenblas0-openmp   | -        | its matrix products, on the threads that it has itself
opencl | opencl-c-headers     | -        | headers of OpenCL: without them the device is left out of the build
opencl | ocl-icd-libopencl1   | -        | library of OpenCL, loaded when it is asked for
opencl | pocl-opencl-icd      | -        | OpenCL on the processor (300 MB; without it these tests are skipped)
mlx   | g++                   | -        | the plugin for MLX is C++
mlx   | python3-pip           | python3  | fetches MLX itself (scripts/install-mlx.sh, 40 MB; without it device mlx is skipped)
bench | libdnnl2              | onednn   | f32 products to compare with
bench | libopenblas0-pthread  | openblas | f32 products to compare with
bench | libmimalloc2.0        | mimalloc | allocator to compare the memory pool with
bench | libjemalloc2          | jemalloc | allocator to compare the memory pool with
'

# list COLUMN SET...: "package why" lines of the sets, without those marked "-".
list()
{
    local column=$1
    shift
    printf '%s' "$packages" | awk -F '|' -v column="$column" -v sets=" $* " '
        { for (i = 1; i <= NF; i++) gsub(/^ +| +$/, "", $i) }
        NF == 4 && index(sets, " " $1 " ") && $column != "-" { print $column " " $4 }'
}

fail()
{
    echo "install-deps: $*" >&2
    exit 1
}

# missing COLUMN PRESENT SET...: the lines whose package the command PRESENT does not find.
missing()
{
    local column=$1 present=$2 package why
    shift 2
    list "$column" "$@" | while read -r package why; do
        "$present" "$package" || echo "$package $why"
    done
}

announce()
{
    echo "Installing packages ($1):"
    printf '%s\n' "$2" | while read -r package why; do
        printf '  %-22s %s\n' "$package" "$why"
    done
}

debian_has()
{
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_debian()
{
    local wanted as_root="" names output
    wanted=$(missing 2 debian_has "$@")
    [ -n "$wanted" ] || return 0
    names=$(printf '%s\n' "$wanted" | cut -d ' ' -f 1 | tr '\n' ' ')
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || fail "not root and no sudo: ask an administrator to run: apt-get install $names"
        as_root=sudo
    fi
    announce "apt-get" "$wanted"
    # An update that fails (one broken source) need not stop an install that would succeed.
    $as_root apt-get -q -o DPkg::Lock::Timeout=300 update >/dev/null || echo "install-deps: apt-get update failed" >&2
    # The hundred lines about unpacking are shown only if it goes wrong.
    # shellcheck disable=SC2086 # a list of words
    output=$($as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends $names 2>&1) || {
        printf '%s\n' "$output" >&2
        fail "apt-get could not install: $names"
    }
}

brew_has()
{
    brew list --formula "$1" >/dev/null 2>&1
}

install_macos()
{
    local wanted names
    xcode-select -p >/dev/null 2>&1 || fail "no C compiler: run 'xcode-select --install' first"
    command -v brew >/dev/null || fail "Homebrew is not installed; it is needed for: $(list 3 "$@" | cut -d ' ' -f 1 | tr '\n' ' ')"
    wanted=$(missing 3 brew_has "$@")
    [ -n "$wanted" ] || return 0
    names=$(printf '%s\n' "$wanted" | cut -d ' ' -f 1 | tr '\n' ' ')
    announce "brew" "$wanted"
    # shellcheck disable=SC2086 # a list of words
    HOMEBREW_NO_AUTO_UPDATE=1 brew install $names || fail "brew could not install: $names"
}

[ $# -gt 0 ] || fail "usage: scripts/install-deps.sh core|test|check|lint|bench|page|torch|opencl|mlx ..."
for set in "$@"; do
    [ -n "$(list 2 "$set")" ] || fail "unknown set '$set'; known: core test check lint bench page torch opencl mlx"
done

if [ "$(uname -s)" = Darwin ]; then
    install_macos "$@"
elif command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    install_debian "$@"
else
    # Another system: the build says what it misses; these are the Debian names of what it looks for.
    command -v cmake >/dev/null && command -v ninja >/dev/null ||
        fail "unknown system: install the equivalents of $(list 2 "$@" | cut -d ' ' -f 1 | tr '\n' ' ')"
fi

# MLX is no package of the system's.
case " $* " in
*" mlx "*) "$(dirname "$0")/install-mlx.sh" || fail "MLX could not be installed" ;;
esac
