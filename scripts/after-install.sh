#!/usr/bin/env bash
# Says, in one line, where a copy was installed and what finding it takes: scripts/after-install.sh BUILD_DIR
set -euo pipefail
pc=$(grep -m 1 '/tern\.pc$' "$1/install_manifest.txt")
directory=$(dirname "$pc")
files=$(wc -l <"$1/install_manifest.txt")
if [ -n "${DESTDIR:-}" ]; then
    echo "Installed $files files under $DESTDIR."
elif pkg-config --variable pc_path pkg-config 2>/dev/null | tr ':' '\n' | grep -qxF "$directory"; then
    echo "Installed $files files. Next: sudo ldconfig; then cc demo.c \$(pkg-config --cflags --libs tern)"
else
    echo "Installed $files files. Next: export PKG_CONFIG_PATH=$directory"
fi
