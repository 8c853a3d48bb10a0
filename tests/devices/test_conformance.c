/* test_conformance.c - every op of ops.def, and fused regions, on every device of devices.def against the CPU's reference kernels, op
 * by op and unfused; and blocks and streams of every device that has them. Written once: a new device is tested by its row, a new op fails here until a graph below has it.
 *
 * Each graph runs on the device alone if it can, and with the CPU's help if not; both must agree with the reference within the bound of
 * its row (relative to numbers above 1, else absolute). Integers, bools and bounds of 0 mean equal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/random.h"
#include "base/status.h"
#include "devices/device.h"
#include "devices/opencl/opencl.h"
#include "graph/op.h"
#include "harness.h"
#include "tensor/blocks.h"
#include "tensor/half.h"

typedef struct conformance_row {
    const char *name;
    double bound;
    const char *text; /* inputs are filled by the first letter of their names: see fill */
} conformance_row;

#define X "%x = input \"x\" f32[5,37]\n"
#define P "%p = input \"p\" f32[5,37]\n"
#define Y "%y = input \"y\" f32[5,37]\n"
#define S "%s = input \"s\" f32[16,16]\n"
#define V "%v = input \"v\" f32[16,16]\n"

static const conformance_row rows[] = {
    {"arithmetic", 0,
     "graph { " X Y P
     "%0 = neg(%x) %1 = add(%0, %y) %2 = mul(%1, %p) %3 = sub(%2, %x) %4 = div(%3, %p) %5 = abs(%4)\n"
     "%6 = square(%5) %7 = reciprocal(%p) %8 = sqrt(%p) %9 = relu(%x) %10 = relu2(%y) return %4, %6, %7, %8, "
     "%9, %10 }"},
    {"rounding", 0,
     "graph { " X Y
     "%f = input \"f\" f32[] %w = mul(%x, %f) %0 = floor(%w) %1 = ceil(%w) %2 = trunc(%w) %3 = round(%w) "
     "%4 = sign(%w) %5 = clamp(%w) {low=-1.5, high=2.5} %6 = leaky_relu(%w) {slope=0.2} return %0, %1, %2, "
     "%3, %4, %5, %6 }"},
    {"crossed bounds and zeros", 0,
     "graph { " X "%n = full() {shape=[5,37], value=0} %m = mul(%x, %n) %0 = clamp(%x) {low=1, high=-0.5} "
     "%1 = relu(%m) %2 = relu2(%m) %3 = reciprocal(%1) %4 = reciprocal(%2) %5 = sign(%m) %6 = "
     "reciprocal(%5)\n"
     "return %0, %1, %3, %4, %6 }"},
    {"comparisons", 0,
     "graph { " X Y
     "%0 = eq(%x, %y) %1 = ne(%x, %y) %2 = lt(%x, %y) %3 = le(%x, %y) %4 = gt(%x, %y) %5 = ge(%x, %y)\n"
     "%6 = where(%2, %x, %y) %7 = maximum(%x, %y) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"tests", 0,
     "graph { " X Y "%z = div(%x, %x) %0 = isnan(%z) %1 = isinf(%z) %2 = isfinite(%z) %3 = logical_not(%0) "
     "%4 = logical_and(%1, %2)\n"
     "%5 = logical_or(%0, %2) %6 = logical_xor(%0, %2) %7 = minimum(%x, %y) return %0, %1, %2, %3, %4, %5, "
     "%6, %7 }"},
    {"exponentials", 4e-6,
     "graph { " X P "%0 = exp(%x) %1 = exp2(%x) %2 = expm1(%x) %3 = log(%p) %4 = log2(%p) %5 = log1p(%p) %6 "
     "= rsqrt(%p) %7 = cbrt(%x) "
     "return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"angles", 4e-6,
     "graph { " X P "%0 = sin(%x) %1 = cos(%x) %2 = tan(%p) %3 = asin(%p) %4 = acos(%p) %5 = atan(%x) %6 = "
     "sinh(%x) %7 = cosh(%x) "
     "return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"activations", 4e-6,
     "graph { " X P "%0 = tanh(%x) %1 = erf(%x) %2 = elu(%x) %3 = gelu(%x) %4 = gelu_tanh(%x) %5 = silu(%x) "
     "%6 = sigmoid(%x) "
     "%7 = softplus(%x) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"powers", 4e-6, "graph { " X P "%0 = pow(%p, %x) %1 = atan2(%x, %p) return %0, %1 }"},
    {"integers", 0,
     "graph { %n = input \"n\" i32[4,9] %m = input \"m\" i32[9] %0 = add(%n, %m) %1 = sub(%0, %n) %2 = "
     "mul(%n, %m) return %0, %1, %2 }"},
    {"bits", 0,
     "graph { %n = input \"n\" i32[4,9] %m = input \"m\" i32[9] %0 = bit_and(%n, %m) %1 = bit_or(%n, %m) %2 "
     "= bit_xor(%n, %m) "
     "%3 = bit_not(%n) %4 = floor_div(%n, %m) %5 = mod(%n, %m) return %0, %1, %2, %3, %4, %5 }"},
    {"casts", 0,
     "graph { " X "%0 = cast(%x) {dtype=f16} %1 = cast(%x) {dtype=bf16} %2 = cast(%x) {dtype=i32} %3 = "
     "cast(%x) {dtype=i8} "
     "%4 = cast(%x) {dtype=u8} %5 = cast(%x) {dtype=bool} %6 = cast(%0) {dtype=f32} return %0, %1, %2, %3, "
     "%4, %5, %6 }"},
    {"wide casts", 0,
     "graph { " X
     "%n = input \"n\" i32[7] %0 = cast(%n) {dtype=i64} %1 = cast(%0) {dtype=i8} %2 = cast(%x) {dtype=f64} "
     "%3 = cast(%2) {dtype=i64} return %0, %1, %2, %3 }"},
    {"half floats", 2e-3,
     "graph { %h = input \"h\" f16[3,21] %g = input \"g\" bf16[3,21] %0 = mul(%h, %h) %1 = add(%g, %g) %2 = "
     "sum(%h) {axes=[1]} return %0, %1, %2 }"},
    {"broadcasting", 0,
     "graph { " X
     "%c = input \"c\" f32[5,1] %r = input \"r\" f32[37] %0 = add(%x, %c) %1 = mul(%0, %r) return %1 }"},
    {"strides", 0,
     "graph { " X "%0 = permute(%x) {axes=[1,0]} %1 = slice(%0) {start=[36,0], stop=[0,5], step=[-3,2]} %2 = "
     "neg(%1) %3 = contiguous(%1) "
     "%4 = reshape(%1) {shape=[-1]} %5 = abs(%4) %6 = again(%4) %7 = neg(%6) return %2, %3, %5, %7 }"},
    {"row sums", 2e-6,
     "graph { " X P "%0 = sum(%x) {axes=[-1]} %1 = mean(%x) {axes=[-1], keepdims=true} %2 = var(%x) "
     "{axes=[-1]} %3 = max(%x) {axes=[-1]} "
     "%4 = min(%x) {axes=[1]} %5 = logsumexp(%x) {axes=[-1]} return %0, %1, %2, %3, %4, %5 }"},
    {"other axes", 2e-6,
     "graph { " X "%0 = sum(%x) {axes=[0]} %1 = mean(%x) %2 = prod(%x) {axes=[0]} %b = cast(%x) {dtype=bool} "
     "%3 = any(%b) {axes=[0]} %4 "
     "= all(%b) {axes=[1]} "
     "%5 = cumsum(%x) {axis=1} return %0, %1, %2, %3, %4, %5 }"},
    {"whole reductions", 2e-6,
     "graph { " X P
     "%0 = sum(%x) %1 = mean(%x) {keepdims=true} %2 = var(%x) {ddof=1} %3 = max(%x) %4 = min(%x) "
     "%5 = logsumexp(%x) %6 = prod(%p) {axes=[1]} return %0, %1, %2, %3, %4, %5, %6 }"},
    {"reductions of many numbers", 4e-6,
     "graph { %p = input \"p\" f32[2,150001] %f = full() {shape=[], value=4096} %x = add(%p, %f)\n"
     "%0 = sum(%x) %1 = mean(%x) {axes=[1]} %2 = var(%x) {axes=[1]} %3 = cumsum(%x) {axis=1} %4 = "
     "logsumexp(%p) %5 = log_softmax(%p) %6 = rmsnorm(%x) %7 = layernorm(%x) return %0, %1, %2, %3, %4, %5, "
     "%6, %7 }"},
    {"partial sums beyond the largest number", 4e-6,
     "graph { " X "%f = full() {shape=[], value=3e38} %1 = clamp(%x) {low=1, high=1} %2 = mul(%1, %f) %3 = "
     "neg(%2)\n"
     "%4 = concat(%2, %2, %3) {axis=0} %5 = sum(%4) {axes=[0]} %6 = mean(%4) {axes=[0]} %7 = cumsum(%4) "
     "{axis=0} return %5, %6, %7 }"},
    {"columns", 2e-6,
     "graph { %a = input \"a\" f32[3,6,5] %0 = var(%a) {axes=[0], ddof=1} %1 = max(%a) {axes=[1], "
     "keepdims=true} "
     "%2 = min(%a) {axes=[0,2]} %3 = logsumexp(%a) {axes=[1]} %4 = cumsum(%a) {axis=0} %p = permute(%a) "
     "{axes=[2,0,1]} %5 = mean(%p) {axes=[0,2]} %6 = cumsum(%p) {axis=1} return %0, %1, %2, %3, %4, %5, %6 "
     "}"},
    {"sums of integers", 0,
     "graph { %i = input \"n\" i32[4,9] %n = cast(%i) {dtype=i64} %0 = sum(%n) {axes=[0]} %1 = prod(%n) "
     "{axes=[0]} %2 = max(%n) "
     "{axes=[0]} "
     "%3 = min(%n) %4 = cumsum(%n) {axis=0} %b = cast(%n) {dtype=bool} %5 = any(%b) %6 = all(%b) {axes=[0]} "
     "return %0, %1, %2, %3, %4, %5, %6 }"},
    {"reductions of half floats", 2e-3,
     "graph { %h = input \"h\" f16[3,21] %g = input \"g\" bf16[3,21] %0 = sum(%h) {axes=[0]} %1 = max(%h) %2 "
     "= "
     "mean(%g) {axes=[0]} %3 = var(%g) %4 = cumsum(%h) {axis=0} return %0, %1, %2, %3, %4 }"},
    {"largest", 0, "graph { " X "%0 = argmax(%x) %1 = argmin(%x) {axis=0} return %0, %1 }"},
    {"softmax", 4e-6, "graph { " X "%0 = softmax(%x) %1 = log_softmax(%x) return %0, %1 }"},
    {"norms", 4e-6,
     "graph { " X "%r = input \"r\" f32[37] %0 = rmsnorm(%x, %r) %1 = layernorm(%x, %r, %r) return %0, %1 }"},
    {"norm and quantise", 2e-7, /* scales; what they scale to is equal */
     "graph { " X "%r = input \"r\" f32[37] %0 = rmsnorm(%x, %r) %1, %2 = quantise_rows(%0) return %1, %2 }"},
    {"residual", 4e-6,
     "graph { " X Y "%r = input \"r\" f32[37] %0 = add(%x, %y) %1 = rmsnorm(%0, %r) %2 = silu(%1) %3 = "
     "mul(%2, %0) %4 = softmax(%3) return %0, %4 }"},
    {"given scales", 0,
     "graph { " X "%p = input \"p\" f32[] %0 = quantise(%x, %p) %1 = dequantise(%0, %p) return %0, %1 }"},
    {"whole tensors", 2e-6,
     "graph { " X "%0, %1 = quantise_tensor(%x) %2, %3 = ternary_quantise(%x) %4 = ternary_dequantise(%2, "
     "%3) return %0, %1, %4 }"},
    {"matmul", 1e-5,
     "graph { %a = input \"a\" f32[2,7,19] %b = input \"b\" f32[2,19,35] %0 = matmul(%a, %b) "
     "%1 = matmul(%a, %a) {transpose_b=true} return %0, %1 }"},
    {"matmul f16", 4e-3,
     "graph { %h = input \"h\" f16[9,33] %g = input \"g\" f16[33,17] %0 = matmul(%h, %g) return %0 }"},
    {"linear", 1e-5,
     "graph { %a = input \"a\" f32[3,50] %w = input \"w\" f32[21,50] %h = input \"h\" f16[21,50] %0 = "
     "linear(%a, %w) %1 = linear(%a, %h) return %0, %1 }"},
    {"ternary_matmul", 0,
     "graph { %q = input \"q\" i8[3,67] %t = input \"t\" t2[21,67] %0 = ternary_matmul(%q, %t) return %0 }"},
    {"ternary_matmul with scales", 2e-6,
     "graph { %q = input \"q\" i8[3,72] %t = input \"t\" t2[21,72] %p = input \"p\" f32[21,2] %0 = "
     "ternary_matmul(%q, %t, %p) return %0 }"},
    {"ternary_matmul of t5", 0,
     "graph { %q = input \"q\" i8[2,3,168] %t = input \"t\" t5[21,168] %0 = ternary_matmul(%q, %t) return %0 "
     "}"},
    {"ternary_matmul of many rows", 0,
     "graph { %q = input \"q\" i8[9,1100] %t = input \"t\" t2[37,1100] %u = input \"u\" t5[37,1100] %0 = "
     "ternary_matmul(%q, %t) %1 = ternary_matmul(%q, %u) return %0, %1 }"},
    {"ternary_matmul with an epilogue", 2e-6,
     "graph { %q = input \"q\" i8[6,130] %t = input \"t\" t2[33,130] %p = input \"p\" f32[6,1] %f = input "
     "\"f\" f32[] "
     "%r = input \"r\" f32[6,33] %0 = ternary_matmul(%q, %t) %1 = dequantise(%0, %p) %2 = mul(%1, %f) %3 = "
     "add(%2, %r) "
     "return %3 }"},
    {"ternary blocks inside bytes", 2e-6,
     "graph { %q = input \"q\" i8[5,72] %t = input \"t\" t5[21,72] %p = input \"p\" f32[21,2] %0 = "
     "ternary_matmul(%q, %t, %p) %1 = relu(%0) return %1 }"},
    {"ternary rows with scales", 2e-6,
     "graph { %q = input \"q\" i8[5,73] %t = input \"t\" t5[21,73] %p = input \"p\" f32[21,1] %0 = "
     "ternary_matmul(%q, %t, %p) %1 = relu(%0) return %1 }"},
    {"matmul with an epilogue", 1e-5,
     "graph { %a = input \"a\" f32[2,21,40] %b = input \"b\" f32[40,70] %c = input \"c\" f32[70] %g = input "
     "\"g\" "
     "f32[2,21,70] %0 = matmul(%a, %b) %1 = add(%0, %c) %2 = gelu(%1) %3 = mul(%2, %g) return %3 }"},
    {"matmul of few rows with an epilogue", 1e-5,
     "graph { %a = input \"a\" f32[3,40] %b = input \"b\" f32[40,70] %w = input \"w\" f32[70,40] %c = input "
     "\"c\" "
     "f32[70] %0 = matmul(%a, %b) %1 = add(%0, %c) %2 = matmul(%a, %w) {transpose_b=true} %3 = relu(%2) "
     "return %1, %3 }"},
    {"matmul f16 of many rows", 4e-3,
     "graph { %h = input \"h\" f16[3,33,50] %g = input \"g\" f16[3,50,65] %0 = matmul(%h, %g) %1 = relu(%0) "
     "return %1 }"},
    {"linear with an epilogue", 1e-5,
     "graph { %a = input \"a\" f32[37,50] %w = input \"w\" f32[41,50] %h = input \"h\" bf16[41,50] %c = "
     "input \"c\" "
     "f32[41] %0 = linear(%a, %w) %1 = add(%0, %c) %2 = linear(%a, %h) %3 = silu(%2) return %1, %3 }"},
    {"linear i8", 0,
     "graph { %q = input \"q\" i8[5,50] %m = input \"m\" i8[41,50] %0 = linear(%q, %m) return %0 }"},
    {"weights in blocks", 1e-5,
     "graph { %a = input \"a\" f32[3,300] %b = input \"b\" q8_0[21,300] %c = input \"c\" q6_k[21,300] %d = "
     "input \"d\" q4_0[21,300] %e = input \"e\" q4_k[21,300] %0 = linear(%a, %b) %1 = linear(%a, %c) %2 = "
     "linear(%a, %d) %3 = linear(%a, %e) return %0, %1, %2, %3 }"},
    {"weights in blocks, many rows and an epilogue", 1e-5,
     "graph { %a = input \"a\" f32[9,72] %b = input \"b\" q8_0[41,72] %c = input \"c\" q6_k[41,72] %g = "
     "input \"g\" f32[41] %0 = linear(%a, %b) %1 = add(%0, %g) %2 = linear(%a, %c) return %1, %2 }"},
    {"rows of blocks", 0,
     "graph { %i = input \"i\" i64[4] %b = input \"b\" q8_0[5,300] %c = input \"c\" q6_k[5,300] %d = input "
     "\"d\" q4_0[5,300] %e = input \"e\" q4_k[5,300] %0 = gather(%b, %i) %1 = gather(%c, %i) %2 = gather(%d, "
     "%i) %3 = gather(%e, %i) return %0, %1, %2, %3 }"},
    {"packed rows", 0,
     "graph { %q = input \"q\" i8[3,67] %t = input \"t\" t2[21,67] %u = input \"u\" t5[21,67] %0 = slice(%t) "
     "{start=[18,0], stop=[1,67], step=[-3,1]} %1 = contiguous(%0) %2 = ternary_matmul(%q, %1) %3 = "
     "slice(%u) {start=[2,0], stop=[20,67], step=[2,1]} %4 = contiguous(%3) %5 = ternary_matmul(%q, %4) "
     "return %2, %5 }"},
    {"gather", 0,
     "graph { " X
     "%i = input \"i\" i64[4] %0 = gather(%x, %i) {axis=0} %1 = gather(%x, %i) {axis=1} return %0, %1 }"},
    {"rope", 1e-6,
     "graph { %x = input \"x\" f32[3,4,16] %i = input \"i\" i32[3] %0 = rope(%x, %i) %1 = rope(%x, %i) "
     "{dims=8, interleaved=true} return %0, %1 }"},
    {"attention", 1e-5,
     "graph { %q = input \"x\" f32[4,4,16] %k = input \"k\" f32[4,2,16] %i = input \"i\" i32[4] %j = "
     "constant i32[4] {0, 1, 2, -1}\n"
     "%c = state \"c\" f32[4,8,2,16] %v = state \"v\" f32[4,8,2,16] %0 = write_rows(%c, %k, %i, %j) %1 = "
     "write_rows(%v, %k, %i, %j)\n"
     "%2 = attention(%q, %0, %1, %i, %j) return %2, %0 }"},
    {"states", 0,
     "graph { %x = input \"x\" f32[2,3] %i = input \"i\" i64[2] %s = state \"s\" f32[6,7] %u = state \"u\" "
     "f32[2,3] "
     "%0 = write_slice(%s, %x, %i) %1 = overwrite(%u, %x) return %0, %1 }"},
    {"sources", 2e-6,
     "graph { %0 = full() {shape=[3,3], value=0.5} %1 = arange() {stop=5} %2 = eye() {rows=2, columns=3} %3 "
     "= rand() {shape=[4]} "
     "%4 = randn() {shape=[4]} " X "%5 = broadcast(%0) {shape=[2,3,3]} %6 = to_device(%x) {device=\"cpu\"} "
     "%7 = neg(%6) return %1, %2, %3, %4, %5, %7 }"},
    {"sorting", 0, "graph { " X "%0, %1 = sort(%x) %2, %3 = topk(%x) {k=3} return %0, %1, %2, %3 }"},
    {"moving", 0,
     "graph { " X Y "%0 = concat(%x, %y) %1 = stack(%x, %y) %2, %3 = split(%x) {sizes=[2,3]} %4 = pad(%x) "
     "{before=[1,0], after=[0,1]} "
     "%5 = tril(%x) %6 = triu(%x) %7 = flip(%x) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"moving in all ways", 0,
     "graph { %h = input \"h\" f16[2,3,5] %k = input \"k\" f16[2,2,5] %n = input \"n\" i32[4,6] %0 = "
     "permute(%h) "
     "{axes=[2,1,0]} %1 = permute(%k) {axes=[2,1,0]} %2 = concat(%0, %1, %0) {axis=1} %3 = stack(%0, %0) "
     "{axis=-1} "
     "%4, %5, %6 = split(%2) {sizes=[1,3,4], axis=1} %7 = pad(%h) {before=[1,0,2], after=[0,3,1], "
     "value=-1.5} "
     "%8 = flip(%3) {axes=[0,-1]} %9 = pad(%n) {before=[1,1], after=[1,1], value=7} %10 = tril(%n) "
     "{diagonal=1} "
     "%11 = triu(%9) {diagonal=-2} return %3, %5, %6, %7, %8, %9, %10, %11 }"},
    {"sorting in all ways", 0,
     "graph { %a = input \"a\" f32[3,37,2] %n = input \"n\" i32[300] %0 = div(%a, %a) %1 = relu(%a) %2 = "
     "mul(%0, %1) %3, "
     "%4 = sort(%2) {axis=1, descending=true} %5, %6 = topk(%n) {k=7, largest=false} %7 = slice(%n) "
     "{start=[299], "
     "stop=[0], step=[-2]} %8, %9 = sort(%7) %h = input \"h\" f16[3,21] %10, %11 = topk(%h) {k=2, axis=0} "
     "return %3, %4, "
     "%5, %6, %8, %9, %10, %11 }"},
    {"NaN in order", 0,
     "graph { %x = constant f32[6] {1, -1, 0, 2, 0, -2} %y = input \"y\" f32[6] %z = mul(%y, %x) %w = "
     "mul(%x, %z) "
     "%u = div(%w, %w) %v = sub(%u, %x) %0, %1 = sort(%v) %2, %3 = sort(%v) {descending=true} %4, %5 = "
     "topk(%v) {k=4} "
     "%6, %7 = topk(%v) {k=4, largest=false} return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"indices from the end", 0,
     "graph { %x = input \"x\" f32[4,6] %p = permute(%x) {axes=[1,0]} %i = constant i64[2,4] {0, -1, 5, 2, "
     "-6, 3, 1, 0} %0 = "
     "take_along(%p, %i) {axis=0} %j = constant i64[3] {-1, 0, 5} %u = input \"n\" i32[3,2] %m = input \"m\" "
     "i32[6,2] "
     "%1 = scatter_add(%m, %j, %u) %2 = one_hot(%j) {classes=6, dtype=i32} return %0, %1, %2 }"},
    {"indices", 2e-6,
     "graph { " X "%i = input \"i\" i64[5,37] %j = input \"j\" i64[3] %u = input \"u\" f32[3,37] %0 = "
     "take_along(%x, %i) {axis=0} "
     "%1 = scatter_add(%x, %j, %u) %2 = one_hot(%j) {classes=4} return %0, %1, %2 }"},
    {"images", 1e-5,
     "graph { %x = input \"x\" f32[1,2,8,8] %w = input \"w\" f32[3,2,3,3] %0 = conv2d(%x, %w) %1 = "
     "max_pool2d(%x) %2 = avg_pool2d(%x) return %0, %1, %2 }"},
    /* Every value of `special` alone, and every pair; flushing subnormal numbers is allowed, and nothing else. */
    {"special values", 1e-37,
     "graph { " S
     "%0 = neg(%s) %1 = abs(%s) %2 = square(%s) %3 = reciprocal(%s) %4 = sqrt(%s) %5 = relu(%s) %6 = "
     "relu2(%s) %7 = leaky_relu(%s) {slope=0.2} return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"special values rounded", 1e-37,
     "graph { " S
     "%0 = floor(%s) %1 = ceil(%s) %2 = trunc(%s) %3 = round(%s) %4 = sign(%s) %5 = clamp(%s) {low=-1.5, "
     "high=2.5} %6 = isnan(%s) %7 = isinf(%s) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"special pairs", 1e-37,
     "graph { " S V
     "%0 = add(%s, %v) %1 = sub(%s, %v) %2 = mul(%s, %v) %3 = div(%s, %v) %4 = maximum(%s, %v) %5 = "
     "minimum(%s, %v) %6 = lt(%s, %v) %7 = where(%6, %s, %v) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"special pairs compared", 0,
     "graph { " S V
     "%0 = eq(%s, %v) %1 = ne(%s, %v) %2 = le(%s, %v) %3 = gt(%s, %v) %4 = ge(%s, %v) %5 = isfinite(%s) "
     "return %0, %1, %2, %3, %4, %5 }"},
    {"special exponentials", 4e-6,
     "graph { " S
     "%0 = exp(%s) %1 = exp2(%s) %2 = expm1(%s) %3 = log(%s) %4 = log2(%s) %5 = log1p(%s) %6 = rsqrt(%s) "
     "%7 = elu(%s) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"special activations", 4e-6,
     "graph { " S
     "%0 = tanh(%s) %1 = erf(%s) %2 = gelu(%s) %3 = gelu_tanh(%s) %4 = silu(%s) %5 = sigmoid(%s) %6 = "
     "softplus(%s) return %0, %1, %2, %3, %4, %5, %6 }"},
    {"special angles", 4e-6,
     "graph { " S
     "%0 = sin(%s) %1 = cos(%s) %2 = tan(%s) %3 = asin(%s) %4 = acos(%s) %5 = atan(%s) %6 = sinh(%s) %7 = "
     "cosh(%s) return %0, %1, %2, %3, %4, %5, %6, %7 }"},
    {"special powers", 4e-6,
     "graph { " S V "%0 = pow(%s, %v) %1 = atan2(%s, %v) %2 = cbrt(%s) return %0, %1, %2 }"},
    {"special casts", 0,
     "graph { " S
     "%0 = cast(%s) {dtype=f16} %1 = cast(%s) {dtype=bf16} %2 = cast(%s) {dtype=i32} %3 = cast(%s) "
     "{dtype=i8} %4 = cast(%s) {dtype=u8} %5 = cast(%s) {dtype=bool} return %0, %1, %2, %3, %4, %5 }"},
};

/* ---- data ---- */

/* What functions treat by itself: ends, signs, halves, what rounds to something else. */
static const double special[] = {NAN,  INFINITY, -INFINITY, 0,   -0.0, 1e-40,   -1e-40, 0.5,
                                 -1.5, 2.5,      1,         -88, 300,  65519.9, 3e38,   -3e38};

/* By the first letter of an input's name: i, j indices in [0, 2]; n, m, q whole numbers; p, f in (0.1, 0.9); t ternary digits; s and v
 * special values, all pairs in 256 elements; all others in [-2, 2). Element e of an input is a function of its name and e. */
static double value_of(const char *name, uint64_t e)
{
    const double u = tern__random_uniform(harness_seed() + (uint64_t)name[0], e);
    switch (name[0]) {
    case 'i':
    case 'j':
        return (double)(e % 3);
    case 'n':
    case 'm':
    case 'q':
        return floor(u * 41) - 20;
    case 's':
        return special[e % TERN__COUNT(special)];
    case 'v':
        return special[e / TERN__COUNT(special) % TERN__COUNT(special)];
    case 'p':
    case 'f':
        return 0.1 + 0.8 * u;
    default:
        return u * 4 - 2;
    }
}

static void fill(const tern_port *port, void *data, size_t bytes)
{
    const uint64_t n = tern__dtype_is_ternary(port->dtype)
                           ? bytes
                           : bytes / (uint64_t)tern_dtype_get(port->dtype)->unit_bytes;
    for (uint64_t e = 0; e < n; e++) {
        const double v = value_of(port->name, e);
        switch (port->dtype) {
        case TERN_F32:
            ((float *)data)[e] = (float)v;
            break;
        case TERN_F16:
            ((uint16_t *)data)[e] = tern__f32_to_f16((float)v);
            break;
        case TERN_BF16:
            ((uint16_t *)data)[e] = tern__f32_to_bf16((float)v);
            break;
        case TERN_I8:
            ((int8_t *)data)[e] = (int8_t)v;
            break;
        case TERN_I32:
            ((int32_t *)data)[e] = (int32_t)v;
            break;
        case TERN_I64:
            ((int64_t *)data)[e] = (int64_t)v;
            break;
        case TERN_T5: /* five ternary digits */
            ((uint8_t *)data)[e] = (uint8_t)(e * 7 % 243);
            break;
        default: /* four */
            ((uint8_t *)data)[e] = (uint8_t)(e % 3 | (e / 3) % 3 << 2 | (e / 9) % 3 << 4 | 1 << 6);
        }
    }
}

/* Rows of numbers as above, packed. */
static void fill_blocks(const tern_port *port, uint8_t *data, size_t bytes)
{
    const int64_t n_rows = port->shape[0], columns = port->shape[1];
    float *x = calloc((size_t)columns, sizeof *x);
    for (int64_t r = 0; x && r < n_rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            x[c] = (float)value_of(port->name, (uint64_t)(r * columns + c));
        tern__blocks_pack_row(port->dtype, x, columns, data + (size_t)r * (bytes / (size_t)n_rows));
    }
    free(x);
}

/* The columns that pad a row are zeros. */
static void pad_ternary(const tern_port *port, uint8_t *data)
{
    const bool t2 = port->dtype == TERN_T2;
    const int64_t columns = port->shape[1], per_row = (columns + (t2 ? 3 : 4)) / (t2 ? 4 : 5);
    for (int64_t r = 0; r < port->shape[0]; r++) {
        uint8_t *last = &data[r * per_row + per_row - 1];
        for (int64_t c = columns, power = 1; !t2 && c < per_row * 5; c++) {
            power = 1;
            for (int64_t i = 0; i < c % 5; i++)
                power *= 3;
            *last = (uint8_t)(*last + (1 - *last / power % 3) * power);
        }
        if (!t2)
            continue;
        for (int64_t c = columns; c < per_row * 4; c++) {
            uint8_t *byte = &data[r * per_row + c / 4];
            *byte = (uint8_t)((*byte & ~(3 << c % 4 * 2)) | 1 << c % 4 * 2);
        }
    }
}

/* ---- running ---- */

enum { MOST_PORTS = 8 };

typedef struct outcome {
    int n;
    tern_tensor *y[MOST_PORTS];
    tern_program *program;
    tern_exec *exec;
} outcome;

static void outcome_free(outcome *o)
{
    tern_exec_free(o->exec);
    tern_program_free(o->program);
}

static tern_tensor *make_input(tern_ctx *ctx, const tern_port *port)
{
    tern__type type = {.dtype = port->dtype, .rank = port->rank};
    memcpy(type.shape, port->shape, (size_t)port->rank * sizeof *type.shape);
    const size_t bytes = tern__type_bytes(&type);
    void *data = calloc(1, bytes + 1);
    if (tern__dtype_is_block(port->dtype))
        fill_blocks(port, data, bytes);
    else
        fill(port, data, bytes);
    if (tern__dtype_is_ternary(port->dtype))
        pad_ternary(port, data);
    tern_tensor *t = tern_from_data(ctx, port->dtype, port->rank, port->shape, data);
    free(data);
    return t;
}

/* As a device runs it, or as the reference does. Twice, so that a second run finds what the first left. */
static tern_status run(tern_ctx *ctx, const conformance_row *row, bool reference, outcome *o)
{
    tern_graph *graph = NULL;
    tern_compile_options options = tern_compile_options_default();
    if (reference) {
        options.level = TERN_LEVEL_NONE;
        options.cpu = "baseline";
    }
    TERN_TRY(tern_graph_parse(ctx, row->text, strlen(row->text), &graph));
    tern_status status = tern_graph_compile(ctx, graph, &options, &o->program);
    tern_graph_free(graph);
    TERN_TRY(status);
    TERN_TRY(tern_exec_create(ctx, o->program, &o->exec));
    tern_program_info info;
    tern_program_get_info(o->program, &info);
    tern_tensor *in[MOST_PORTS];
    o->n = info.n_outputs;
    for (int i = 0; i < info.n_inputs && i < MOST_PORTS; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(o->program, i, &port));
        in[i] = make_input(ctx, &port);
    }
    for (int times = 0; times < 2; times++)
        TERN_TRY(tern_exec_run(o->exec, info.n_inputs, in, o->n, o->y));
    return TERN_OK;
}

static double number_at(tern_tensor *t, int64_t e)
{
    const void *data = tern_data(t);
    switch (tern_dtype_of(t)) {
    case TERN_F32:
        return (double)((const float *)data)[e];
    case TERN_F64:
        return ((const double *)data)[e];
    case TERN_F16:
        return (double)tern__f16_to_f32(((const uint16_t *)data)[e]);
    case TERN_BF16:
        return (double)tern__bf16_to_f32(((const uint16_t *)data)[e]);
    case TERN_I32:
        return ((const int32_t *)data)[e];
    case TERN_I64:
        return (double)((const int64_t *)data)[e];
    case TERN_I8:
        return ((const int8_t *)data)[e];
    default:
        return ((const uint8_t *)data)[e];
    }
}

static void compare(const conformance_row *row, const char *device, outcome *got, outcome *want)
{
    CHECK_EQ(got->n, want->n);
    for (int i = 0; i < got->n; i++) {
        CHECK_EQ(tern_dtype_of(got->y[i]), tern_dtype_of(want->y[i]));
        CHECK_EQ(tern_numel(got->y[i]), tern_numel(want->y[i]));
        const double bound = tern_dtype_of(got->y[i]) < TERN_F16 ? 0 : row->bound;
        for (int64_t e = 0; e < tern_numel(got->y[i]); e++) {
            const double a = number_at(got->y[i], e), b = number_at(want->y[i], e);
            const double size = fabs(b) > 1 ? fabs(b) : 1;
            if (a == b || (isnan(a) && isnan(b)) || (isfinite(b) && fabs(a - b) <= bound * size))
                continue;
            harness_fail(__FILE__, __LINE__, "%s on %s: result %d[%lld] is %.9g, the reference's %.9g",
                         row->name, device, i, (long long)e, a, b);
            return;
        }
    }
}

/* All of it, and nothing of it on the CPU. */
static bool ran_there(const char *device, const tern_ctx_stats *stats)
{
    return strcmp(device, "cpu") == 0 || (stats->device_steps > 0 && stats->fallback_steps == 0);
}

/* Every step by itself, too, within the bounds of devices/bounds.h. */
static void check_steps(const conformance_row *row, const char *device)
{
    tern_ctx *ctx = NULL;
    tern_ctx_stats stats;
    outcome o = {0};
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.tuning = "off";
    options.kernels = "off"; /* see conforms */
    options.check = true;
    tern_status status = tern_ctx_create(&options, &ctx);
    if (status == TERN_OK)
        status = run(ctx, row, false, &o);
    if (status != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s on %s, checked: %s", row->name, device, tern_last_error());
    tern_ctx_get_stats(ctx, &stats);
    if (stats.checked_steps != stats.device_steps || !ran_there(device, &stats))
        harness_fail(__FILE__, __LINE__, "%s on %s: %d of %d steps were checked", row->name, device,
                     (int)stats.checked_steps, (int)stats.device_steps);
    outcome_free(&o);
    tern_ctx_destroy(ctx);
}

/* One row on a device; false: it needs the CPU's help. */
static bool conforms(const conformance_row *row, const char *device, bool fallback)
{
    tern_ctx *contexts[2] = {NULL, NULL};
    outcome o[2] = {{0}, {0}};
    tern_status status = TERN_OK;
    for (int i = 0; i < 2 && status == TERN_OK; i++) {
        tern_ctx_options options = tern_ctx_options_default();
        options.device = i == 0 ? device : NULL;
        options.fallback = fallback;
        options.tuning = "off";
        options.kernels =
            "off"; /* PoCL compiles a kernel a second time to give its binary away, and keeps what it runs itself */
        status = tern_ctx_create(&options, &contexts[i]);
        if (status == TERN_OK)
            status = run(contexts[i], row, i == 1, &o[i]);
    }
    const bool alone = fallback || status != TERN_UNSUPPORTED;
    if (alone && status != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s on %s: %s", row->name, device, tern_last_error());
    else if (status == TERN_OK)
        compare(row, device, &o[0], &o[1]);
    tern_ctx_stats stats;
    tern_ctx_get_stats(contexts[0], &stats);
    if (status == TERN_OK && !fallback && !ran_there(device, &stats))
        harness_fail(__FILE__, __LINE__, "%s on %s: %d steps ran there, %d on the CPU", row->name, device,
                     (int)stats.device_steps, (int)stats.fallback_steps);
    for (int i = 0; i < 2; i++) {
        outcome_free(&o[i]);
        tern_ctx_destroy(contexts[i]);
    }
    return alone;
}

/* Graphs that a device is known not to run alone, by their names: one that joins them has lost an op. Other devices may leave out what
 * they like. */
static const struct {
    const char *device;
    const char *helped[16];
} known[] = {
    {"cpu", {NULL}},
    {"opencl", {"bits", "whole tensors", "sources", "images", NULL}},
    {"mlx",
     {"exponentials", "bits", "wide casts", "whole tensors", "weights in blocks",
      "weights in blocks, many rows and an epilogue", "rows of blocks", "sources", "sorting", "indices",
      "images", "sorting in all ways", "NaN in order", "indices from the end", "special powers", NULL}},
};

/* `precision` is what the device says that it computes in: f64 is not in every device's. */
static bool may_need_help(const char *device, const char *precision, const conformance_row *row)
{
    if (precision && !strstr(precision, "f64") && strstr(row->text, "f64"))
        return true;
    for (size_t i = 0; i < TERN__COUNT(known); i++) {
        if (strncmp(known[i].device, device, strlen(known[i].device)) != 0) /* opencl-as-gpu too */
            continue;
        for (int k = 0; known[i].helped[k]; k++)
            if (strcmp(known[i].helped[k], row->name) == 0)
                return true;
        return false;
    }
    return true;
}

#define SKIP_MISSING(ops, info)                                                            \
    do {                                                                                   \
        (ops)->describe((tern__isa_cap){.level = TERN__ISA_BASELINE}, info);               \
        if ((info)->unavailable) {                                                         \
            char reason[600];                                                              \
            snprintf(reason, sizeof reason, "device '%s' is unavailable: %s", (ops)->name, \
                     (info)->unavailable);                                                 \
            SKIP(reason);                                                                  \
        }                                                                                  \
    } while (0)

static void check_device(const tern__device_ops *ops)
{
    tern_device_info info;
    SKIP_MISSING(ops, &info);
    int alone = 0, n = 0;
    char helped[1024] = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        n++;
        if (conforms(&rows[i], ops->name, false)) {
            check_steps(&rows[i], ops->name);
            alone++;
            continue;
        }
        if (!may_need_help(ops->name, info.precision, &rows[i]))
            harness_fail(__FILE__, __LINE__, "%s no longer runs on %s alone", rows[i].name, ops->name);
        const size_t used = strlen(helped);
        snprintf(helped + used, sizeof helped - used, "%s%s", used ? ", " : "", rows[i].name);
        conforms(&rows[i], ops->name, true);
    }
    printf("%s: %d of %d graphs run on it alone%s%s\n", ops->name, alone, n,
           helped[0] ? "; the CPU helps with " : "", helped);
    CHECK(alone > 0);
}

/* ---- blocks and streams ---- */

/* Each waits for what the other was given before: so both blocks hold what was written last. */
static void check_streams(const tern__device_ops *ops, tern__device *d, tern__block *a, tern__block *b)
{
    char piece[] = "FROM", back[sizeof "from the host"] = "";
    tern__block some = {.bytes = sizeof piece, .host = piece}, again = {.bytes = sizeof back, .host = back};
    tern__stream *streams[2];
    tern__event *event;
    CHECK_OK(ops->stream_create(d, &streams[0]));
    CHECK_OK(ops->stream_create(d, &streams[1]));
    CHECK_OK(ops->copy(d, streams[0], b, 0, a, 0, sizeof back));
    CHECK_OK(ops->copy(d, streams[0], b, 0, &some, 0, 4));
    CHECK_OK(ops->record(d, streams[0], &event));
    CHECK_OK(ops->wait(d, streams[1], event)); /* the other stream reads what this one wrote */
    CHECK_OK(ops->copy(d, streams[1], &again, 0, b, 0, sizeof back));
    ops->event_destroy(d, event);
    CHECK_OK(ops->record(d, streams[1], &event));
    CHECK_OK(ops->synchronise_event(d, event));
    ops->event_destroy(d, event);
    CHECK_STR(back, "FROM the host");
    CHECK_OK(ops->record(d, streams[0], &event));
    ops->stream_destroy(d, streams[0]); /* before its event, which has happened */
    CHECK_OK(ops->stream_create(d, &streams[0]));
    CHECK_OK(ops->wait(d, streams[0], event));
    CHECK_OK(ops->synchronise_event(d, event));
    ops->event_destroy(d, event);
    ops->stream_destroy(d, streams[0]);
    ops->stream_destroy(d, streams[1]);
}

/* What whoever holds blocks of a device may rely on. */
static void check_blocks(const tern__device_ops *ops)
{
    tern_device_info info;
    SKIP_MISSING(ops, &info);
    const bool has[] = {ops->allocate,
                        ops->release,
                        ops->map,
                        ops->unmap,
                        ops->copy,
                        ops->synchronise,
                        ops->stream_create,
                        ops->stream_destroy,
                        ops->record,
                        ops->wait,
                        ops->synchronise_event,
                        ops->event_destroy};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        CHECK_EQ(has[i], ops->allocate != NULL); /* all or none */
    if (!ops->allocate)
        SKIP("it has no blocks of its own");
    const tern__device_options options = {.threads = 1, .isa_cap = {.level = TERN__ISA_BASELINE}};
    char text[] = "from the host", back[sizeof text] = "";
    tern__block host = {.bytes = sizeof text, .host = text}, again = {.bytes = sizeof back, .host = back},
                a = {0}, b = {0};
    tern__device *d = NULL;
    void *mapped = NULL;
    CHECK_OK(ops->create(&options, &d));
    CHECK_OK(ops->allocate(d, sizeof text, &a));
    CHECK_OK(ops->allocate(d, sizeof text, &b));
    CHECK_OK(ops->copy(d, NULL, &a, 0, &host, 0, sizeof text));
    check_streams(ops, d, &a, &b);
    CHECK_OK(ops->map(d, &b, TERN__ACCESS_READ | TERN__ACCESS_WRITE, &mapped));
    CHECK_STR((const char *)mapped, "FROM the host");
    ((char *)mapped)[0] = 'f';
    CHECK_OK(ops->unmap(d, &b, mapped));
    CHECK_OK(ops->copy(d, NULL, &again, 0, &b, 0, sizeof back));
    CHECK_STR(back, "fROM the host");
    CHECK_OK(ops->copy(d, NULL, &again, 1, &a, 0, 4)); /* places of both sides */
    CHECK_STR(back, "ffromthe host");
    CHECK_STATUS(ops->copy(d, NULL, &a, 1, &host, 0, sizeof text), TERN_OUT_OF_RANGE);
    CHECK_OK(ops->synchronise(d));
    ops->release(d, &a);
    ops->release(d, &b);
    ops->destroy(d);
}

#define TERN_DEVICE(name)                         \
    TEST(conforms_##name)                         \
    {                                             \
        const tern__device_ops *ops = NULL;       \
        CHECK_OK(tern__device_find(#name, &ops)); \
        check_device(ops);                        \
    }                                             \
    TEST(blocks_and_streams_##name)               \
    {                                             \
        const tern__device_ops *ops = NULL;       \
        CHECK_OK(tern__device_find(#name, &ops)); \
        check_blocks(ops);                        \
    }
#define TERN_PLUGIN TERN_DEVICE
#include "devices/devices.def"

/* The kernels that OpenCL devices other than processors get, on whatever device there is: work groups, local memory, and memory of
 * the device's own. */
#if TERN_HAVE_OPENCL
static tern__device_ops as_gpu;

static tern_status create_as_gpu(const tern__device_options *options, tern__device **out)
{
    const tern__device_ops *ops = NULL;
    TERN_TRY(tern__device_find("opencl", &ops));
    TERN_TRY(ops->create(options, out));
    (*out)->cpu = false;
    (*out)->in_place = false;
    (*out)->target.name = as_gpu.name;
    (*out)->local_bytes = 32 << 10; /* what small ones have */
    return TERN_OK;
}

TEST(conforms_opencl_as_gpu)
{
    const tern__device_ops *ops = NULL;
    CHECK_OK(tern__device_find("opencl", &ops));
    as_gpu = *ops;
    as_gpu.name = "opencl-as-gpu";
    as_gpu.create = create_as_gpu;
    CHECK(tern__device_add(&as_gpu));
    check_device(&as_gpu);
}
#endif

/* A graph for every op that anybody can record. */
TEST(every_op_has_a_graph)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        char call[64];
        bool found = false;
        if (tern__ops[op].flags & (TERN__INTERNAL | TERN__LEAF))
            continue;
        snprintf(call, sizeof call, " = %s(", tern__ops[op].name);
        for (size_t i = 0; i < sizeof rows / sizeof *rows && !found; i++)
            found = strstr(rows[i].text, call) != NULL;
        if (!found)
            harness_fail(__FILE__, __LINE__, "no graph has op %s", tern__ops[op].name);
    }
}

TEST(unknown_devices_are_refused)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = "abacus";
    CHECK_STATUS(tern_ctx_create(&options, &ctx), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "cpu") != NULL);
}
