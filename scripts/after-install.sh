#!/usr/bin/env bash
# Says, in one line, where a copy was installed and what finding it takes, the program and the library: scripts/after-install.sh BUILD_DIR
set -euo pipefail
pc=$(grep -m 1 '/tern\.pc$' "$1/install_manifest.txt")
directory=$(dirname "$pc")
program=$(grep -m 1 '/bin/tern$' "$1/install_manifest.txt" || :)
path=
case :$PATH: in
*:"$(dirname "$program")":*) ;;
*) [ -z "$program" ] || path=" PATH=$(dirname "$program"):\$PATH" ;;
esac
files=$(wc -l <"$1/install_manifest.txt")
if [ -n "${DESTDIR:-}" ]; then
    echo "Installed $files files under $DESTDIR."
elif pkg-config --variable pc_path pkg-config 2>/dev/null | tr ':' '\n' | grep -qxF "$directory"; then
    echo "Installed $files files. Next: sudo ldconfig; then cc demo.c \$(pkg-config --cflags --libs tern)${path:+; export$path}"
else
    echo "Installed $files files. Next: export PKG_CONFIG_PATH=$directory$path"
fi
