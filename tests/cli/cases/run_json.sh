graph g '%x = arange() {stop=8} %a = square(%x) %b = neg(%a) %c = sub(%b, %a) return %c as "c"' >g.tern
tern graph run g.tern --json --threads 1 --level none --cpu baseline | hide_times
