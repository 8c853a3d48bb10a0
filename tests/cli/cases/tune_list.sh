graph g '%x = input "x" f32[8,2048] %a = exp(%x) return %a' >g.tern
export TERN_TUNING=$PWD/tuning.db
needs_sqlite
tern tune --list | sed "s|$PWD|DIR|"
tern tune g.tern --threads 1 --runs 1 >/dev/null 2>&1
tern tune --list | sed -E -e '1s/^.*(, [0-9]+ thread).*/CPU\1/' -e '2,$s/tile.*/.../' -e 's/  +/  /g' | uniq
tern tune --list --json | json 'sorted(j["rows"][0]), len(j["rows"]) >= 3, {r["op"] for r in j["rows"]}'
tern tune --clear | sed "s|$PWD|DIR|"
tern tune --clear
ls
echo "this is no database, but it is where one should be" >tuning.db
status tern tune --list 2>&1 | sed "s|$PWD|DIR|"
# A damaged file is told once, before anything is measured.
tern tune g.tern --threads 1 --runs 1 2>&1 >/dev/null | grep -c warning
tern tune --clear >/dev/null
TERN_TUNING=off tern tune --list
TERN_TUNING=off tern tune g.tern --threads 1 --runs 1 2>/dev/null | tail -n 1
