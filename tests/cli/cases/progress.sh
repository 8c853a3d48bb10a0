# A bar on a terminal while a model is written, converted and read; nothing in a pipe.
cat >bars.py <<'END'
import re, sys
name, status, text = sys.argv[1], sys.argv[2], sys.stdin.buffer.read().decode()
bars = re.findall("\r([^\r]*?) [^ \r]+ ([0-9.]+ [A-Za-z]*) of ([0-9.]+ [A-Za-z]*)\x1b\\[K", text)
print(name, "exit status", status, "bar:", bool(bars), "of", ", ".join(sorted(set(re.sub(r"/.*/", "", bar[0]) for bar in bars))),
      "gone at the end:", text.endswith("\r\x1b[K"))
END
# large enough to take longer than a bar waits before it shows itself
on_terminal()
{
    local name=$1
    shift
    drawn_raw "$@" >drawn
    "$TERN_PYTHON" bars.py "$name" $? <drawn
}
on_terminal synth tern synth --layers 2 --vocab 512 --type f16 --arch llama large.gguf
on_terminal convert tern convert large.gguf small.gguf --type q8_0
on_terminal run tern run -m large.gguf -p hello -n 1 --temp 0
tern synth --layers 2 --vocab 512 --type f16 --arch llama piped.gguf 2>errors >/dev/null
tern convert large.gguf again.gguf --type q8_0 2>>errors >/dev/null
wc -c <errors
cmp large.gguf piped.gguf && cmp small.gguf again.gguf && echo "the same files"
rm -f ./*.gguf
