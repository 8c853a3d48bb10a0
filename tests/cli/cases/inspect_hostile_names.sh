# Control characters of a file never reach the terminal.
graph g '%x = input "a\x1b[31mb" f32[2] return %x as "c\x07\x9b"' >g.tern
tern inspect g.tern
status tern graph run g.tern
tern inspect g.tern --json | json 'ascii(j["inputs"][0]["name"] + j["outputs"][0]["name"])'
