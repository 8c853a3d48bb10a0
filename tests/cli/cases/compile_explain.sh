# The whole report. Rates are given, so that estimates do not depend on the machine.
graph "" '%x = input "x" f32[64,128]
%w = constant f32[4] {1, 2, 3, 4}
%two = constant f32[] {2}
%a = mul(%x, %two)
%b = relu(%a)
%dead = neg(%w)
%s = softmax(%b) {axis=1}
%p = permute(%s) {axes=[1,0]}
%m = matmul(%p, %x)
return %m as "m"' >g.tern
tern graph compile g.tern --explain --threads 1 --cpu baseline --bandwidth 10 --peak 5 | hide_compile_times
