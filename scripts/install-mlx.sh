#!/usr/bin/env bash
# Puts MLX (headers, library, CMake files: what its Python package carries) into build/mlx, for the plugin libtern_mlx. Nothing
# outside the source tree is touched. What is present already is left alone, so a second run needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

# The range that cmake/mlx.cmake accepts.
least=$(sed -n 's/^set(TERN_MLX_LEAST \(.*\))/\1/p' cmake/mlx.cmake)
below=$(sed -n 's/^set(TERN_MLX_BELOW \(.*\))/\1/p' cmake/mlx.cmake)
dir=build/mlx

if [ -f "$dir/mlx/share/cmake/MLX/MLXConfig.cmake" ]; then
    exit 0
fi
# On a Mac the package brings Metal; elsewhere the CPU's backend is an extra.
package="mlx[cpu]"
[ "$(uname -s)" = Darwin ] && package=mlx

# The system's own interpreter first: it is the one that the package installer equips.
for python in "${TERN_PYTHON:-}" /usr/bin/python3 /opt/homebrew/bin/python3 python3; do
    [ -n "$python" ] && "$python" -m pip --version >/dev/null 2>&1 && break
    python=""
done
[ -n "$python" ] || { echo "install-mlx: no python3 with pip" >&2; exit 1; }

echo "Installing MLX $least into $dir (pip)"
# Complete or not there: CMake must not find half of it.
rm -rf "$dir.part"
mkdir -p build
output=$("$python" -m pip install --quiet --no-input --target "$dir.part" "$package>=$least,<$below" 2>&1) || {
    printf '%s\n' "$output" >&2
    echo "install-mlx: pip could not install $package>=$least,<$below" >&2
    rm -rf "$dir.part"
    exit 1
}
rm -rf "$dir"
mv "$dir.part" "$dir"
