# A file beyond what this process may write is a write that fails: one line, status 1, nothing left.
tern synth --layers 1 --vocab 4000 big.gguf >/dev/null
(
    ulimit -f 500
    status tern convert big.gguf out.gguf --type tq1_0
    status tern synth --layers 1 --vocab 4000 other.gguf
)
ls -A
