# Ctrl-C leaves no half-written file; the old one stays.
echo old >big.gguf
for try in 1 2 3 4 5; do # a machine may be so busy that the file is there before it can be interrupted
    tern synth --layers 2 big.gguf 2>error >/dev/null &
    until ls .tern-*.tmp >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill -TERM $! 2>/dev/null
    wait $! || break
    echo old >big.gguf
done
sed 's/.*big.gguf/big.gguf/' error
cat big.gguf
rm big.gguf error
ls -A
