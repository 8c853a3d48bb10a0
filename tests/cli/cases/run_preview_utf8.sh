graph g '%x = arange() {dtype=i32, stop=300} return %x as "größe"' >g.tern
utf8 tern graph run g.tern
echo ascii
tern graph run g.tern
