graph g '%a = arange() {stop=6} %b = constant f64[3] {nan, 1, inf} %c = cast(%a) {dtype=u8} return %a as "a", %b as "b", %c as "long.name"' |
    tern graph run - -o a=x.npz -o b=x.npz -o long.name=x.npz
tern inspect x.npz
tern inspect x.npz --json | json '[(a["name"], a["dtype"], a["shape"], a["min"], a["nan"], a["inf"]) for a in j["arrays"]]'
