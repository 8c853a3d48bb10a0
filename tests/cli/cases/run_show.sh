graph g '%x = arange() {stop=8} from "a ramp" %a = square(%x) %b = neg(%a) %top, %at = topk(%b) {k=2} %s = input "one" f32[]
         %c = sub(%top, %s) from "less one" return %c as "c", %at as "at"' >g.tern
npy '<f4' '()' '\0\0\200\077' >one.npy
tern graph run g.tern -i one=one.npy --show --threads 1 --cpu baseline --level none | hide_times
