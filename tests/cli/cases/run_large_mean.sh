# The sum overflows; the mean does not.
graph g '%x = constant f64[4] {1e308, 1e308, 1e308, 1e308} return %x as "x"' | tern graph run - | head -n 1
