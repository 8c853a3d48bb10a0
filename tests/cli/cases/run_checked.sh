# What --check-device compared is said, and that there is nothing to compare where the CPU computes.
ask() { tern run --threads 1 -p ROMEO: -n 2 --temp 0 --check-device "$@"; }
ask -v 2>&1 >/dev/null | grep -a checked
ask --json | json 'j["checked"]'
tern run --threads 1 -p ROMEO: -n 2 --temp 0 --json | json '"checked" in j'
tern devices --json | json '[d["name"] for d in j if d["name"] == "opencl" and not d.get("unavailable")]' | grep -q opencl || skip "there is no OpenCL device"
ask --device opencl -v 2>&1 >/dev/null | grep -a checked | sed -E 's/([0-9]+) of \1/ALL of ALL/'
ask --device opencl --json | json 'j["checked"]["checked_steps"] == j["checked"]["device_steps"] > 0, j["checked"]["check_failures"]'
