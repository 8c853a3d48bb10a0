# Hints that make no sense are a matter of the command line.
graph "" '%x = input "x" f32[4]
%a = neg(%x)
return %a' >g.tern
status tern graph compile g.tern --disable fsue
status tern graph compile g.tern --disable qqqqqqqq
status tern graph compile g.tern --disable memory
status tern graph compile g.tern --level hgih
status tern graph compile g.tern --goal speed
status tern graph compile g.tern --memory-limit lots
status tern graph compile g.tern --memory-limit 0
status tern graph compile g.tern --memory-limit -5
status tern graph compile g.tern --precision f64
status tern graph compile g.tern --device gpu
status tern graph compile g.tern --explain --bandwidth 0
status tern graph compile g.tern --explain --peak fast
status tern graph compile g.tern --threads 0
status tern graph run g.tern --repeat 0
status tern graph run g.tern --show --explain
status tern graph run g.tern --bandwidth 0
