graph g '%x = input "x" f32[2] %y = relu(%x) return %y as "y"' | tern graph print --dot - | sed -n '1p;$p'
