# Both graphs in one drawing, the fused region boxed.
graph g '%x = input "x" f32[4,8]
%a = neg(%x)
%b = relu(%a)
return %b as "b"' >g.tern
tern graph compile g.tern --dot g.dot >/dev/null
cat g.dot
! command -v dot >/dev/null || dot -Tsvg g.dot >g.svg || echo "Graphviz does not take it"
