#!/usr/bin/env bash
# Includes only point down (layers.txt), and the checker notices when they do not.
. "$(dirname "$0")/harness.sh"

check layers "$root/scripts/check-layers.sh"

# plant FILE INCLUDE EXPECTED: a tree with one file; EXPECTED is part of the complaint, "" for none.
plant()
{
    local tree=$scratch/tree output
    rm -rf "$tree"
    mkdir -p "$tree/include/tern" "$(dirname "$tree/$1")"
    cp "$root/layers.txt" "$tree/"
    printf '/* planted */\n%s\n' "#include $2" >"$tree/$1"
    output=$("$root/scripts/check-layers.sh" "$tree" 2>/dev/null)
    local status=$?
    if [ -z "$3" ] && [ $status -eq 0 ]; then
        pass
    elif [ -n "$3" ] && [ $status -ne 0 ] && [[ $output == *"$1:2: "*"$3"* ]]; then
        pass
    else
        fail "planted $1 with $2" "status $status, said '$output', expected '${3:-nothing}'"
    fi
}

plant src/graph/x.c '"tensor/y.h"' ''
plant src/kernels/ref/x.c '"base/y.h"' ''
plant src/model/x.c '"model/file/y.h"' ''
plant src/model/file/x.c '"model/model.h"' 'model/file may not include "model/model.h"'
plant src/model/file/x.c '"model/tokenizer/y.h"' 'model/file may not include "model/tokenizer/y.h"'
plant src/measure/x.c '"measure/results/y.h"' 'measure may not include "measure/results/y.h"'
plant src/measure/results/x.c '"measure/bench/y.h"' 'measure/results may not include "measure/bench/y.h"'
plant src/measure/results/x.c '"measure/compare/y.h"' 'measure/results may not include "measure/compare/y.h"'
plant src/measure/profile/x.c '"measure/memory/y.h"' 'measure/profile may not include "measure/memory/y.h"'
plant src/measure/memory/x.c '"measure/bench/y.h"' 'measure/memory may not include "measure/bench/y.h"'
plant src/measure/bench/x.c '"measure/compare/y.h"' 'measure/bench may not include "measure/compare/y.h"'
plant src/measure/compare/x.c '"measure/report/y.h"' 'measure/compare may not include "measure/report/y.h"'
plant src/measure/report/x.c '"measure/compare/y.h"' ''
plant src/measure/x86/x.c '"measure/y.h"' ''
plant src/passes/x.c '"devices/device.h"' 'passes may not include "devices/device.h"'
plant src/devices/opencl/x.c '"devices/rows/y.h"' ''
plant src/devices/opencl/x.c '"devices/cpu/y.h"' 'devices/opencl may not include "devices/cpu/y.h"'
plant src/devices/mlx/x.cpp '"devices/rows/y.h"' 'devices/mlx may not include "devices/rows/y.h"'
plant src/devices/rows/x.c '"devices/device.h"' 'devices/rows may not include "devices/device.h"'
plant src/tensor/x.h '"graph/node.h"' 'tensor may not include "graph/node.h"'
plant src/tensor/x.c '"y.h"' 'with its folder, as "tensor/y.h"'
plant src/base/x.c '<tern/dtype.h>' 'base may not include <tern/dtype.h>, which belongs to tensor'
plant src/base/x.c '<tern/nowhere.h>' 'no line in layers.txt'
plant src/runtime/x.c '<tern/tern.h>' 'for users of the library'
plant cli/x.c '<tern/tern.h>' ''
plant cli/x.c '"cmd.h"' ''
plant cli/x.c '"base/alloc.h"' 'public API only'
plant include/tern/log.h '<tern/dtype.h>' 'base may not include <tern/dtype.h>'

finish
