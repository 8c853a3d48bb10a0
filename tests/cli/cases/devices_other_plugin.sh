# A plugin of another build is not used, nor called: one that has another name for its headers, and one of a time when they had none.
program=$(sed -n 's/^exec "\(.*\)" "\$@"$/\1/p' "$(command -v tern)")
head -c 4 "$program" | grep -q ELF || skip "the program is not an ELF file that could be copied"
cp "$program" tern
for abi in 'const char *tern_device_plugin_abi(void) { return "0123"; }' ''; do
    printf '%s\n' '#include <stdlib.h>' "$abi" 'const void *tern_device_plugin(const void *host) { (void)host; abort(); }' >plugin.c
    "${TERN_CC:-cc}" -shared -fPIC -o libtern_mlx.so plugin.c || skip "no plugin can be compiled here"
    ./tern devices --json | json '[d["unavailable"] for d in j if d["name"] == "mlx"][0]'
    ./tern run --device mlx -p x -n 1
    echo "status $?"
done
