cat >shapes.tern <<'END'
graph shapes {
  %x = input "x" f32[32,784]
  %w = input "w" f32[512,256]
  %y = matmul(%x, %w)
  return %y
}
END
status tern graph check shapes.tern
graph typo '%x = input "x" f32[2] %y = reluu(%x) return %y' >typo.tern
status tern graph check typo.tern
graph later '%a = neg(%b) %b = neg(%a) return %b' >cycle.tern
status tern graph check cycle.tern
printf 'graph cut {\n  %%x = input "x" f32[2]\n' >cut.tern
status tern graph check cut.tern
: >empty.tern
status tern graph check empty.tern --json
head -c 100 /dev/zero >zeros.tern
status tern graph check zeros.tern
status tern graph print absent.tern
status tern graph check .
