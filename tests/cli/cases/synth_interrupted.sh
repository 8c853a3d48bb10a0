# Ctrl-C leaves no half-written file; the old one stays.
echo old >big.gguf
tern synth --layers 2 big.gguf 2>error &
until ls .tern-*.tmp >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -TERM $!
wait $! && echo "it was not interrupted"
sed 's/.*big.gguf/big.gguf/' error
cat big.gguf
rm big.gguf error
ls -A
