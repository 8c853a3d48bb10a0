#!/usr/bin/env bash
# Prints the path of a Python 3 that can import numpy, or fails. The system's own interpreter is tried first:
# it is the one that the package installer equips, whatever else comes first on the PATH.
for python in "${TERN_PYTHON:-}" /usr/bin/python3 /opt/homebrew/bin/python3 /usr/local/bin/python3 python3; do
    if [ -n "$python" ] && "$python" -c 'import numpy' >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
echo "find-python: no python3 with numpy; run 'scripts/install-deps.sh test' or set TERN_PYTHON" >&2
exit 1
