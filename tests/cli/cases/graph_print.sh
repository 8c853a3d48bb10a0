cat >g.tern <<'END'
# comments and layout are not kept
graph g { %a = input "x" f32[2,3]   %b = constant f32[3] {1, 2.5, -inf}
  %c = add(%a,%b) from "sum"
  %top, %1 = topk(%c) {k=2}
  return %top as "top", %1
}
END
tern graph print g.tern
tern graph print g.tern >1 && tern graph print 1 >2 && cmp 1 2 && echo stable
