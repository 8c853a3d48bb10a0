# Files that are cut, or lie: one line each, and nothing of theirs reaches the terminal raw.
tern synth -s tiny --layers 1 tiny.gguf
head -c 300 tiny.gguf >cut.gguf
head -c 100000 tiny.gguf >half.gguf
printf 'GGUF\3\0\0\0\377\377\377\377\377\377\377\377\0\0\0\0\0\0\0\0' >many.gguf
printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0a\033b\4\0\0\0\1\0\0\0' >escape.gguf
printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\10\0\0\0\4\0\0\0\0\0\0\0a\033[m' >value.gguf
for file in cut.gguf half.gguf many.gguf escape.gguf value.gguf; do
    status tern inspect $file | sed 's/; on cpu (.*)/; on MACHINE/'
done
