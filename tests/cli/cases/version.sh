tern version | sed -E 's/^tern [0-9]+\.[0-9]+\.[0-9]+ \(.*, .*, .*\)$/tern VERSION (...)/'
tern version >1 && tern --version >2 && tern -V >3 && cmp 1 2 && cmp 1 3 && echo same
