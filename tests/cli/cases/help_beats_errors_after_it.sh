# Asking for help needs no complete command line.
tern graph run --help --no-such-option | head -n 1
