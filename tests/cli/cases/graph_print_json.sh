graph g '%x = input "x" f32[2] %y = relu(%x) return %y as "y \"quoted\""' | tern graph print - --json
