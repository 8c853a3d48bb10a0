# A fused step says what it is made of; the comment behind the graph closes the report.
graph g '# not this one
         %x = arange() {stop=8} from "a # ramp" %a = square(%x) %b = neg(%a) %c = exp(%b) return %c as "c"' >g.tern
printf '# Two words\n\n#   at the \033end.\n' >>g.tern
COLUMNS=80 tern graph run g.tern --show --threads 1 | hide_times
tern graph run g.tern --json --threads 1 | json '[(s["op"], s["ops"], s["kernel"]) for s in j["plan"]]'
