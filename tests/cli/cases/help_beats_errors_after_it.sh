# Asking for help needs no complete command line.
tern graph run --help --no-such-option >help
head -n 1 help
