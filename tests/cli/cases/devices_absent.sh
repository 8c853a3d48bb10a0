# A device that is not there says what brings it.
program=$(sed -n 's/^exec "\(.*\)" "\$@"$/\1/p' "$(command -v tern)")
head -c 4 "$program" | grep -q ELF || skip "the program is not an ELF file that could be copied"
cp "$program" tern # without its plugins
export OCL_ICD_VENDORS=$PWD/nowhere OCL_ICD_FILENAMES=
./tern devices --json >devices.json
grep -q "sanitizers" devices.json && skip "builds with sanitizers leave devices out"
json '"\n".join(d["name"] + ": " + ("scripts/install-deps.sh " + d["name"] if "scripts/install-deps.sh " + d["name"] in d["unavailable"] else d["unavailable"]) for d in j if d["name"] in ("opencl", "mlx"))' <devices.json
