# Ctrl-C while a model is converted leaves no half-written file; the old one stays.
tern synth --layers 1 --vocab 512 from.gguf >/dev/null
echo old >to.gguf
for try in 1 2 3 4 5; do # a machine may be so busy that the file is there before it can be interrupted
    tern convert from.gguf to.gguf --type tq1_0 2>error >/dev/null &
    until ls .tern-*.tmp >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -TERM $! 2>/dev/null
    wait $! || break
    echo old >to.gguf
done
sed 's/.*to.gguf/to.gguf/' error
cat to.gguf
rm from.gguf to.gguf error
ls -A
