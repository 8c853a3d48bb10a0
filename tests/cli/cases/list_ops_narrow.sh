# Descriptions are wrapped, not cut, to the width of the terminal.
COLUMNS=80 tern list ops >narrow
awk 'length($0) > 80 { print "too wide: " $0 }' narrow
grep -A 1 '^slice ' narrow
tr -s ' \n' ' ' <narrow >1 && tern list ops | tr -s ' \n' ' ' >2 && cmp 1 2 && echo "nothing lost"
