graph g '%x = constant f32[5] {nan, inf, -inf, 1, -0.5} %n = constant f32[2] {nan, nan} %t = constant t2[2,3] {1, 0, -1, 0, 0, 1}
         %b = constant bool[2] {true, false} %h = constant f16[2] {0.1, 65504} %l = constant i64[2] {-9223372036854775808, 9223372036854775807}
         return %x as "x", %n as "nans", %t as "t", %b as "b", %h as "h", %l as "l"' >g.tern
tern graph run g.tern
tern graph run g.tern --json | json '[(o["name"], o["min"], o["max"], o["mean"], o["nan"], o["inf"]) for o in j["outputs"]]'
