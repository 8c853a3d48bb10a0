# A plugin that is there and cannot be used says why; that the system knows of no other comes second.
program=$(sed -n 's/^exec "\(.*\)" "\$@"$/\1/p' "$(command -v tern)")
head -c 4 "$program" | grep -q ELF || skip "the program is not an ELF file that could be copied"
cp "$program" tern
echo "not a library" >libtern_mlx.so
./tern devices --json | json '[d["unavailable"] for d in j if d["name"] == "mlx"][0]' | sed -E 's|[^ ]*/libtern|libtern|; s|;.*||'
# Nothing else is told of what is not there.
./tern devices | sed -n '/^mlx/,/^$/p' | sed -E 's|(unavailable: [a-z ]*).*|\1|'
