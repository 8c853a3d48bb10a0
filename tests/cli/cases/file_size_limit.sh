# Files that may not grow are an error like a full disk: a line, status 1, and nothing that was begun is left.
tern synth --shape tiny --layers 1 --vocab 2000 big.gguf >/dev/null
limited()
{
    (ulimit -f 64; tern "$@") 2>&1 >/dev/null | sed -E 's/^(tern: [a-z ]+: [^:]*: ).*(large|File).*/\1WHY/'
    echo "exit status ${PIPESTATUS[0]}"
}
limited convert big.gguf out.gguf --type tq1_0
limited synth --shape tiny --layers 1 --vocab 2000 out.gguf
ls -A
