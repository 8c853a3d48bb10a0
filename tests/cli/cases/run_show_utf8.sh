graph g '%x = arange() {stop=8} %a = square(%x) %b = neg(%a) %c = sub(%b, %x) return %c as "c"' >g.tern
utf8 tern graph run g.tern --show --threads 1 --level none | hide_times
