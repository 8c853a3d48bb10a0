# A file that holds something else is found out before anything is measured, and what mends it is said.
needs_sqlite
graph g '%x = input "x" f32[4] %a = exp(%x) return %a' >g.tern
echo garbage >other.db
export TERN_TUNING=$PWD/other.db
status tern tune --devices --device cpu 2>&1 | sed "s|$PWD/||"
status tern tune g.tern 2>&1 | sed "s|$PWD/||"
tern tune --clear | sed "s|$PWD/||"
