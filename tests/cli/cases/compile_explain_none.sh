# At level none nothing is fused, and the report says what could be; a disabled pass says why it did not run.
graph "" '%x = input "x" f32[4,8]
%a = neg(%x)
%b = relu(%a)
return %b' >g.tern
tern graph compile g.tern --explain --level none --threads 1 --cpu baseline --bandwidth 10 --peak 5 | hide_compile_times
tern graph compile g.tern --explain --disable fuse --threads 1 --bandwidth 10 --peak 5 | grep 'fuse '
