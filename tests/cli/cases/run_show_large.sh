# A hundred steps: tables are cut short, and say so.
{
    echo 'graph long { %v0 = full() {shape=[16], value=1}'
    for ((i = 1; i < 100; i++)); do echo "%v$i = add(%v$((i - 1)), %v0)"; done
    echo 'return %v99 as "y" }'
} >g.tern
tern graph run g.tern --show --threads 1 --level none | hide_times | grep -E '^-|more'
