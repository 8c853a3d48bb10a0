# Never to a pipe unless asked for.
esc=$(printf '\033')
count() { { grep -c "$esc" || true; } | sed 's/^[1-9][0-9]*$/some/'; }
tern list dtypes | count
tern list dtypes --color auto | count
tern list dtypes --color=never | count
tern list dtypes --color always | count
NO_COLOR=1 tern list dtypes --color always | count
tern list dtypes --color always | sed "s/$esc\[[0-9;]*m//g" >1 && tern list dtypes >2 && cmp 1 2 && echo "the same words"
