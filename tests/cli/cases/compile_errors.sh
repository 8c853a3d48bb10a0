# What cannot be compiled, and hints that cannot be kept.
graph "" '%x = input "x" f32[64,64]
%a = matmul(%x, %x)
%b = matmul(%a, %x)
return %b' >g.tern
graph "" '%a = neg(%b)
%b = neg(%a)
return %b' >cycle.tern
echo 'graph {' >half.tern
status tern graph compile half.tern
status tern graph compile cycle.tern
status tern graph compile nowhere.tern
status tern graph compile g.tern --memory-limit 1K --cpu baseline
status tern graph compile g.tern --memory-limit 1G >/dev/null
status tern graph compile g.tern --dot no/such/place.dot
: >file
status tern graph compile g.tern --trace-passes file
