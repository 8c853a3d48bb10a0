graph g '%x = input "x" f32[4] %a = exp(%x) return %a' >g.tern
graph one '%x = input "x" f32[4] return %x' >one.tern
status tern tune
status tern tune g.tern --list
status tern tune --clear --json
status tern tune missing.tern
status tern tune g.tern -i y=y.npy
status tern tune g.tern --runs 0
status tern tune g.tern --threads x
status tern tune one.tern
