# Kernels that are built the first time: a line says how far that is, on a terminal, and nothing when they are kept.
tern devices | grep -q '^opencl' && ! tern devices | grep -A3 '^opencl' | grep -q unavailable || skip "no OpenCL device"
tern synth --shape tiny --layers 1 model.gguf >/dev/null 2>&1 || skip "no model can be written"
export TERN_KERNELS=$PWD/kernels
for i in 1 2; do
    drawn tern run -m model.gguf -p hello -n 2 --device opencl | grep -E '^(building|exit)' | sed -E 's/step [0-9]+ of [0-9]+/step N of N/' | uniq
done
tern run -m model.gguf -p hello -n 2 --device opencl 2>&1 >/dev/null | grep -c building
