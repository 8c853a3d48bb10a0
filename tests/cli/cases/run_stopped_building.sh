# Kernels of a device are built before the first token, which takes seconds: Ctrl-C (SIGTERM here) ends that, and is not forgotten behind it.
tern devices --json | json '"\n".join(str(d.get("driver")) for d in j if d["name"] == "opencl" and not d.get("unavailable"))' | grep -q "Portable Computing" || skip "the OpenCL driver is not PoCL"
tern synth --shape tiny tiny.gguf >/dev/null
export POCL_CACHE_DIR=$PWD/pocl TERN_KERNELS=off
cat >stop.py <<'PY'
import glob, signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:])
while child.poll() is None and len(glob.glob("pocl/*/*/program.bc")) < 4: # some kernels are there, others follow
    time.sleep(0.001)
child.send_signal(signal.SIGTERM)
print("exit status", child.wait())
PY
"$TERN_PYTHON" stop.py tern run -m tiny.gguf --device opencl -p hello -n 3 --temp 0
export POCL_CACHE_DIR=$PWD/other
kernels() { find "$1" -name program.bc | wc -l; }
tern run -m tiny.gguf --device opencl -p hello -n 3 --temp 0 >/dev/null
[ "$(kernels pocl)" -lt "$(kernels other)" ] && echo "kernels that nobody wants any more are not built"
